import { checkRussianAccount } from './check-digits.ts';
import { account, bankName, dropHyphens, type Field, optional, routing } from './field.ts';

/** Accounts in Europe and the Caucasus that are not named by an IBAN, by alpha-3. */
export const europeanBanks: Readonly<Record<string, readonly Field[]>> = {
  // Pay.UK's modulus check needs its weight table, which no kept library carries; the form alone
  // is checked.
  GBR: [
    routing({
      label: 'Sort code',
      pattern: '[0-9]{2}-?[0-9]{2}-?[0-9]{2}',
      hint: '6 digits; hyphens may stand between the pairs',
      normalize: dropHyphens,
    }),
    account({ digits: 8 }),
  ],
  // Bank of Russia, regulation 762-P: BIK of nine digits beginning with 0, account of twenty.
  RUS: [
    routing({
      label: 'BIK',
      pattern: '0[0-9]{8}',
      hint: "9 digits beginning with 0: the bank's BIK",
      sampleStart: '044525',
    }),
    account({
      pattern: '(?:30|40|42|45)[0-9]{18}',
      hint: '20 digits beginning with 40, 42, 45 or 30',
      check: checkRussianAccount,
      sampleStart: '40817810',
    }),
    optional(bankName),
  ],
  // Central Bank of Armenia: five digits of the bank open a number of eleven to sixteen.
  ARM: [
    account({
      pattern: '[1-9][0-9]{10,15}',
      hint: '11 to 16 digits, the first five those of the bank',
    }),
  ],
};
