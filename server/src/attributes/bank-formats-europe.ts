import { checkRussianAccount } from './check-digits.ts';
import { account, bankName, dropHyphens, type Field, optional, routing } from './field.ts';

/** Accounts without an IBAN in Europe and the Caucasus, by alpha-3. */
export const europeanBanks: Readonly<Record<string, readonly Field[]>> = {
  // Only the form is checked: no maintained library has the weight table of Pay.UK's modulus check.
  GBR: [
    routing({
      label: 'Sort code',
      pattern: '[0-9]{2}-?[0-9]{2}-?[0-9]{2}',
      hint: '6 digits, with or without hyphens between the pairs',
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
  // Central Bank of Armenia: eleven to sixteen digits, of which the first five name the bank.
  ARM: [
    account({
      pattern: '[1-9][0-9]{10,15}',
      hint: '11 to 16 digits beginning with the 5 of the bank',
    }),
  ],
};
