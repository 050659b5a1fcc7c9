/**
 * What a notification of change (NOC) says was wrong with an entry that was paid all the same, and
 * which part of the corrected data holds what is right (Nacha Operating Rules, Appendix Five).
 */
export const changeTexts: Readonly<Record<string, string>> = {
  C01: 'the account number is another one',
  C02: 'the routing number is another one',
  C03: 'routing number and account number are others',
  C04: "the recipient's name is another one",
  C05: 'the account is of the other type (checking, savings)',
  C06: 'account number and account type are others',
  C07: 'routing number, account number and account type are others',
  C08: 'the number of the foreign bank is another one (IAT)',
  C09: "the recipient's identification number is another one",
  C10: "the company's name is another one",
  C11: "the company's identification is another one",
  C12: "the company's name and identification are others",
  C13: 'the form of the addenda is not as it should be',
  C14: 'the entry has to be an IAT',
};

/** C61 to C69 are for the bank that wrote a notification which ours refused. */
export function isChangeCode(code: string): boolean {
  return Object.hasOwn(changeTexts, code) || /^C6[1-9]$/.test(code);
}
