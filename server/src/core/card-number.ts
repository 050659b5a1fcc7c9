/** Numbers of payment cards (ISO/IEC 7812-1), which are recognized in order to be refused. */

/** The Luhn formula, annex B. */
export function isLuhn(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const weighted = index % 2 === 1 ? digit * 2 : digit;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}

/** The shortest numbers in use have 12 digits. */
const digitsMin = 12;
const digitsMax = 19;
const betweenDigits = /(?<=[0-9])[ ./\\_\u00a0\u202f-]+(?=[0-9])/g;
const fourGroups = /(?:[0-9]{4}[ ./_-]){3}[0-9]{4}/g;

/**
 * Whether a text has a card number in it, with or without separators. One in ten other numbers of such
 * a length is taken for one.
 */
export function hasCardNumber(text: string): boolean {
  const candidates = [
    ...(text.match(/[0-9]+/g) ?? []),
    ...(text.replaceAll(betweenDigits, '').match(/[0-9]+/g) ?? []),
    ...(text.match(fourGroups) ?? []).map((groups) => groups.replaceAll(/[^0-9]/g, '')),
  ];
  return candidates.some(
    (digits) => digits.length >= digitsMin && digits.length <= digitsMax && isLuhn(digits),
  );
}
