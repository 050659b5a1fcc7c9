/**
 * Notifications of change (NOC): the entry was paid, and these details of it need a correction (Nacha
 * Operating Rules, Appendix Five).
 */
export const changeTexts: Readonly<Record<string, string>> = {
  C01: 'incorrect account number',
  C02: 'incorrect routing number',
  C03: 'incorrect routing number and account number',
  C04: 'incorrect recipient name',
  C05: 'incorrect account type (checking, savings)',
  C06: 'incorrect account number and account type',
  C07: 'incorrect routing number, account number and account type',
  C08: 'incorrect identification of the foreign bank (IAT)',
  C09: 'incorrect identification number of the recipient',
  C10: 'incorrect company name',
  C11: 'incorrect company identification',
  C12: 'incorrect company name and identification',
  C13: 'addenda format error',
  C14: 'the entry must be an IAT',
};

/** C61 to C69 are refusals of a notification, between banks. */
export function isChangeCode(code: string): boolean {
  return Object.hasOwn(changeTexts, code) || /^C6[1-9]$/.test(code);
}
