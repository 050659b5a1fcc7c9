import { getCountry } from '../core/country.ts';
import { checkNib, checkNuban, checkRib } from './check-digits.ts';
import { account, accountType, bankName, branch, type Field, routing } from './field.ts';

/**
 * West African monetary union (BCEAO, instruction on the RIB): bank 5 characters beginning with the
 * country's letters, branch 5, account 12, key 2.
 */
function westAfricanRib(countryCode: string): readonly Field[] {
  const { alpha2 } = getCountry(countryCode);
  return [
    account({
      label: 'RIB',
      pattern: `${alpha2}[0-9]{22}`,
      hint: `24 characters: bank (beginning with ${alpha2}), branch, account and key`,
      check: checkRib,
    }),
  ];
}

/** Central African monetary union: bank 5 digits, branch 5, account 11, key 2. */
const centralAfricanRib: readonly Field[] = [
  account({ label: 'RIB', digits: 23, hint: 'bank, branch, account and key', check: checkRib }),
];

const portugueseNib: readonly Field[] = [
  account({
    label: 'NIB',
    digits: 21,
    hint: 'bank, branch, account and check digits',
    check: checkNib,
  }),
];

/** For a country without bank codes: the name of the bank, and the account. */
function namedBank(digits: readonly [number, number]): readonly Field[] {
  return [bankName, account({ digits })];
}

/** A clearing code for bank and branch. */
function clearingCode(
  code: number,
  digits: readonly [number, number],
  label = 'Branch code',
): readonly Field[] {
  return [
    routing({ label, digits: code, hint: 'code of the bank and its branch' }),
    account({ digits }),
  ];
}

/** Accounts without an IBAN in Africa, by alpha-3. */
export const africanBanks: Readonly<Record<string, readonly Field[]>> = {
  BEN: westAfricanRib('BEN'),
  BFA: westAfricanRib('BFA'),
  CIV: westAfricanRib('CIV'),
  // Besides the union's 24 characters, Bissau's banks use shorter numbers.
  GNB: [
    account({
      label: 'RIB',
      pattern: 'GW(?:[0-9]{19}|[0-9]{22})',
      hint: 'GW and 19 or 22 digits: bank, branch, account and key',
    }),
  ],
  MLI: westAfricanRib('MLI'),
  NER: westAfricanRib('NER'),
  SEN: westAfricanRib('SEN'),
  TGO: westAfricanRib('TGO'),
  CAF: centralAfricanRib,
  CMR: centralAfricanRib,
  COG: centralAfricanRib,
  GAB: centralAfricanRib,
  GNQ: centralAfricanRib,
  TCD: centralAfricanRib,
  COM: centralAfricanRib,
  MDG: centralAfricanRib,
  // Bank Al-Maghrib: bank 3 digits, city 3, account 16, key 2.
  MAR: [
    account({ label: 'RIB', digits: 24, hint: 'bank, city, account and key', check: checkRib }),
  ],
  // Algeria: bank 3 digits, branch 5, account 10, key 2. The post and the banks compute the key
  // by different rules, so only the form is checked.
  DZA: [account({ label: 'RIB or RIP', digits: 20, hint: 'bank, branch, account and key' })],
  AGO: portugueseNib,
  CPV: portugueseNib,
  MOZ: portugueseNib,
  NGA: [
    routing({
      pattern: '[0-9]{3}|[0-9]{5,6}',
      hint: '3, 5 or 6 digits: the code of the bank at the Central Bank of Nigeria or NIBSS',
      sampleStart: '044',
    }),
    account({ label: 'NUBAN', digits: 10, check: checkNuban }),
  ],
  GHA: [
    routing({ label: 'Sort code', digits: 6, hint: 'GhIPSS code of the bank and its branch' }),
    account({ digits: [10, 16] }),
  ],
  KEN: [
    routing({ digits: 2, hint: 'clearing code of the bank' }),
    branch({ digits: 3 }),
    account({ digits: [6, 16] }),
  ],
  TZA: namedBank([8, 20]),
  UGA: namedBank([8, 16]),
  RWA: namedBank([6, 18]),
  ETH: namedBank([7, 16]),
  // South African Reserve Bank, universal branch codes.
  ZAF: [
    routing({ label: 'Branch code', digits: 6, hint: 'universal branch code of the bank' }),
    account({ digits: [7, 13] }),
    accountType({ CHECKING: '', SAVINGS: '', TRANSMISSION: '' }),
  ],
  LSO: clearingCode(6, [7, 16]),
  SWZ: clearingCode(6, [7, 16]),
  NAM: clearingCode(6, [7, 13]),
  BWA: clearingCode(6, [7, 16]),
  ZMB: clearingCode(6, [7, 16], 'Sort code'),
  MWI: namedBank([6, 16]),
  ZWE: [bankName, branch({ digits: 5, isOptional: true }), account({ digits: [7, 17] })],
  SLE: clearingCode(6, [9, 18], 'Bank and branch code'),
  GMB: [bankName, account({ digits: [10, 18] })],
  GIN: namedBank([10, 18]),
  LBR: namedBank([6, 16]),
  COD: namedBank([11, 23]),
  SSD: namedBank([8, 16]),
  ERI: namedBank([6, 16]),
};
