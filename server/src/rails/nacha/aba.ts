/** Routing numbers of the American Bankers Association: eight digits and a check digit. */

/** The ninth digit makes the sum of all digits, weighted 3, 7, 1 in turn, a multiple of ten. */
export function getCheckDigit(eightDigits: string): string {
  const weights = [3, 7, 1];
  let sum = 0;
  for (const [index, digit] of Array.from(eightDigits).entries()) {
    sum += Number(digit) * (weights[index % weights.length] ?? 0);
  }
  return String((10 - (sum % 10)) % 10);
}

/** Nine digits with the right check digit, of one of the ranges that banks have. */
export function isRoutingNumber(text: string): boolean {
  if (!/^[0-9]{9}$/.test(text) || text === '000000000') return false;
  const district = Number(text.slice(0, 2));
  // 01 to 12: the Reserve districts; 21 to 32: thrifts; 61 to 72: electronic.
  const isDistrict =
    (district >= 1 && district <= 12) ||
    (district >= 21 && district <= 32) ||
    (district >= 61 && district <= 72);
  return isDistrict && getCheckDigit(text.slice(0, 8)) === text.slice(8);
}
