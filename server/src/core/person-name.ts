/**
 * The form in which two ways of writing one person's name are equal: without regard to case, spaces
 * and characters that cannot be seen, in Unicode's compatibility form. Empty where nothing is left.
 * Checks that count persons compare this form, so that one person is not counted twice.
 */
export function normalizePersonName(name: string): string {
  return (
    name
      .normalize('NFKC')
      .replaceAll(/[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/gu, '')
      // Through capitals, so that letters with two small forms (ß, ς) are one.
      .toUpperCase()
      .toLowerCase()
      .normalize('NFKC')
      .replaceAll(/[\p{Z}\s]+/gu, ' ')
      .trim()
  );
}
