import { checkBic, checkCard } from './check-digits.ts';
import {
  account,
  accountType,
  bankName,
  branch,
  type Field,
  field,
  freeText,
  optional,
  routing,
} from './field.ts';

/** For countries whose domestic clearing identifies banks by SWIFT/BIC. */
function bankByBic(alpha2: string): Field {
  return field({
    type: 'SWIFT',
    label: 'SWIFT/BIC',
    pattern: `[A-Z]{4}${alpha2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?`,
    hint: 'The SWIFT/BIC of the bank: 8 or 11 characters',
    check: checkBic,
    sampleStart: `OTLY${alpha2}22`,
  });
}

function namedBank(digits: readonly [number, number]): readonly Field[] {
  return [bankName, account({ digits })];
}

const japaneseHolder = field({
  type: 'BankAccountName',
  label: 'Name of the account holder in katakana',
  pattern: freeText(48),
  hint: 'As in the passbook; the bank checks it',
  isOptional: true,
});

const vietnameseAccount = account({
  pattern: '[0-9A-Z]{6,19}',
  hint: '6 to 19 digits or capital letters',
});

const eastAsianBanks: Readonly<Record<string, readonly Field[]>> = {
  // UnionPay International's remittance to cards: ISO/IEC 7812 numbers that begin with 62.
  CHN: [
    account({
      label: 'UnionPay card number',
      pattern: '62[0-9]{14,17}',
      hint: '16 to 19 digits beginning with 62, as on the debit card',
      check: checkCard,
    }),
    optional(bankName),
    field({
      type: 'BankAccountName',
      label: 'Name of the account holder in Chinese characters',
      pattern: freeText(48),
      hint: 'As registered with the bank; not needed if registered in Latin letters',
      isOptional: true,
    }),
  ],
  // Japanese Banks' Payment Clearing Network (Zengin): bank 4 digits, branch 3, account 7.
  JPN: [
    routing({ digits: 4, hint: 'code of the bank' }),
    branch({ digits: 3 }),
    accountType({ ORDINARY: 'futsu', CURRENT: 'toza', SAVINGS: 'chochiku' }),
    account({ digits: 7, hint: 'a shorter number with leading zeros' }),
    japaneseHolder,
  ],
  // Korea Financial Telecommunications and Clearings Institute: bank 3 digits.
  KOR: [routing({ digits: 3, hint: 'code of the bank' }), account({ digits: [10, 16] })],
  TWN: [
    routing({ digits: 3, hint: 'code of the bank' }),
    branch({ digits: 4, isOptional: true }),
    account({ digits: [10, 16] }),
  ],
  // Hong Kong Interbank Clearing: bank 3 digits; the account begins with the branch's 3.
  HKG: [
    routing({ digits: 3, hint: 'clearing code of the bank' }),
    account({ digits: [9, 12], hint: '3 of the branch, then the account' }),
  ],
  MAC: [bankByBic('MO'), account({ digits: [9, 18] })],
};

const southEastAsianBanks: Readonly<Record<string, readonly Field[]>> = {
  PHL: [bankByBic('PH'), account({ digits: [6, 20] })],
  // NAPAS: the bank by its identification number, beginning with 970 or 971.
  VNM: [
    routing({
      label: 'Bank BIN',
      pattern: '97[01][0-9]{3}',
      hint: '6 digits beginning with 970 or 971: the NAPAS number of the bank',
    }),
    vietnameseAccount,
  ],
  IDN: [
    routing({ digits: 3, hint: 'Bank Indonesia code of the bank' }),
    account({ digits: [8, 18] }),
  ],
  THA: [
    routing({ digits: 3, hint: 'Bank of Thailand code of the bank' }),
    account({ digits: [10, 15] }),
  ],
  MYS: [bankByBic('MY'), account({ digits: [5, 20] })],
  SGP: [bankByBic('SG'), account({ digits: [5, 14] })],
  KHM: namedBank([5, 18]),
  LAO: namedBank([8, 20]),
  MMR: namedBank([9, 20]),
  BRN: [bankByBic('BN'), account({ digits: [8, 16] })],
};

const southAsianBanks: Readonly<Record<string, readonly Field[]>> = {
  // Reserve Bank of India: four letters of the bank, a zero, six characters of the branch.
  IND: [
    routing({
      label: 'IFSC',
      pattern: '[A-Z]{4}0[0-9A-Z]{6}',
      hint: '11 characters: 4 letters of the bank, 0, 6 characters of the branch',
    }),
    account({ digits: [9, 18] }),
  ],
  // Bangladesh Bank: bank 3 digits, district 2, branch 3, check 1.
  BGD: [
    routing({ label: 'Routing number', digits: 9, hint: 'code of the bank and its branch' }),
    account({ digits: [9, 17] }),
  ],
  // LankaClear: bank 4 digits, branch 3.
  LKA: [
    routing({ digits: 4, hint: 'beginning with 6 or 7', sampleStart: '7' }),
    branch({ digits: 3 }),
    account({ digits: [6, 18] }),
  ],
  NPL: namedBank([8, 20]),
  BTN: namedBank([9, 16]),
  MDV: [bankName, account({ digits: 13 })],
  AFG: [bankByBic('AF'), account({ digits: [8, 18] })],
};

/** Accounts of twenty digits and a bank code (MFO or BIK), as in the former Soviet Union. */
const centralAsianBanks: Readonly<Record<string, readonly Field[]>> = {
  UZB: [routing({ label: 'MFO', digits: 5, hint: 'code of the bank' }), account({ digits: 20 })],
  KGZ: [routing({ label: 'BIK', digits: 6, hint: 'code of the bank' }), account({ digits: 16 })],
  TJK: [routing({ label: 'BIK', digits: 9, hint: 'code of the bank' }), account({ digits: 20 })],
  TKM: [
    routing({ label: 'BAB', digits: 9, hint: 'code of the bank' }),
    account({ digits: [20, 23] }),
  ],
};

/** Accounts without an IBAN in Asia, by alpha-3. */
export const asianBanks: Readonly<Record<string, readonly Field[]>> = {
  ...eastAsianBanks,
  ...southEastAsianBanks,
  ...southAsianBanks,
  ...centralAsianBanks,
};
