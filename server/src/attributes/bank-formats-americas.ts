import {
  checkAba,
  checkCbu,
  checkCci,
  checkCedulaOrRuc,
  checkClabe,
  checkCpfOrCnpj,
  checkCuit,
  checkRut,
} from './check-digits.ts';
import {
  type AttributeType,
  account,
  accountType,
  bankName,
  branch,
  type Check,
  dropHyphens,
  type Field,
  field,
  identification,
  optional,
  routing,
} from './field.ts';

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const email = '[A-Za-z0-9._%+\\-]{1,64}@[A-Za-z0-9\\-]{1,63}(?:\\.[A-Za-z0-9\\-]{1,63}){1,3}';
const brazilianMobile = '\\+55[1-9][0-9]9[0-9]{8}';

/**
 * Since July 2026 the first twelve characters of a CNPJ may be letters too; its two check digits stay
 * digits (Receita Federal, normative instruction RFB 2.229/2024).
 */
const cnpj = '[0-9A-Z]{12}[0-9]{2}';
const cpfOrCnpj = `[0-9]{11}|${cnpj}`;
const cnpjForm = new RegExp(`^${cnpj}$`);
const cpfOrCnpjForm = new RegExp(`^(?:${cpfOrCnpj})$`);

/**
 * Whether the account number is a Pix key (Banco Central do Brasil, resolution BCB 1/2020): a
 * random key, an e-mail address, a mobile number, or the recipient's own CPF or CNPJ.
 */
function isPixKey(values: ReadonlyMap<AttributeType, string>): boolean {
  const number = values.get('BankAccountNumber') ?? '';
  if (/^\+|@|^[0-9a-f]{8}-[0-9a-f]{4}-/.test(number)) return true;
  return cpfOrCnpjForm.test(number) && number === values.get('IdentificationNumber');
}

const checkBrazilianAccount: Check = (value, { values }) => {
  if (value.length > 77)
    return { code: 'too_long', detail: 'A Pix key must have at most 77 characters' };
  if (!cnpjForm.test(value) || isPixKey(values)) return undefined;
  return { code: 'pix_key_mismatch', detail: 'A CNPJ as Pix key must equal IdentificationNumber' };
};

const accountPattern = '[0-9]{1,12}-?[0-9X]';
const pixPattern = `${cpfOrCnpj}|${brazilianMobile}|${uuid}|${email}`;
const pixKey = { group: 'account', name: 'pix_key', label: 'Pix key' };
const bankAccount = { group: 'account', name: 'bank_account', label: 'Bank, branch and account' };

const brazil: readonly Field[] = [
  identification({
    label: 'CPF or CNPJ',
    pattern: cpfOrCnpj,
    hint: '11 digits of a CPF or 14 digits and capital letters of a CNPJ, without punctuation',
    check: checkCpfOrCnpj,
  }),
  account({
    label: 'Account number or Pix key',
    pattern: `${accountPattern}|${cnpj}|${brazilianMobile}|${uuid}|${email}`,
    hint: 'The account with its check digit, or a Pix key (then omit bank and branch)',
    options: [
      { ...pixKey, pattern: pixPattern },
      { ...bankAccount, pattern: accountPattern },
    ],
    belongs: (option, values) => option !== pixKey.name || isPixKey(values),
    check: checkBrazilianAccount,
  }),
  routing({
    pattern: '[0-9]{3}|[0-9]{8}',
    hint: 'Bank code of 3 digits or ISPB of 8; not needed with a Pix key',
    options: [bankAccount],
  }),
  branch({
    label: 'Branch (agência)',
    pattern: '[0-9]{4}(?:-?[0-9X])?',
    hint: '4 digits and the check digit, if any; not needed with a Pix key',
    options: [bankAccount],
  }),
  optional(accountType({ CHECKING: '', SAVINGS: '', PAYMENT: 'conta de pagamento' })),
];

function identityType(choices: Readonly<Record<string, string>>): Field {
  return field({ type: 'IdentificationType', label: 'Identity document', choices });
}

/** For a country without bank codes: the name of the bank, and the account. */
function namedBank(digits: readonly [number, number]): readonly Field[] {
  return [bankName, account({ digits }), accountType()];
}

/** Accounts without an IBAN in the Americas, by alpha-3. */
export const americanBanks: Readonly<Record<string, readonly Field[]>> = {
  USA: [
    routing({
      label: 'Routing number (ABA)',
      digits: 9,
      hint: 'ABA routing number for ACH transfers',
      check: checkAba,
      sampleStart: '02',
    }),
    account({ digits: [4, 17] }),
    accountType(),
  ],
  // Payments Canada, standard 005: institution 3 digits, transit 5, account 5 to 12.
  CAN: [
    routing({ label: 'Institution number', digits: 3 }),
    branch({ label: 'Transit number', digits: 5 }),
    account({ digits: [5, 12] }),
  ],
  MEX: [account({ label: 'CLABE', digits: 18, check: checkClabe, sampleStart: '002180' })],
  BRA: brazil,
  // Banco Central de la República Argentina, communication A 6510: CBU of banks, CVU of wallets.
  ARG: [
    account({ label: 'CBU or CVU', digits: 22, check: checkCbu }),
    identification({ label: 'CUIT or CUIL', digits: 11, check: checkCuit, sampleStart: '20' }),
  ],
  CHL: [
    identification({
      label: 'RUT',
      pattern: '[0-9]{7,8}-?[0-9K]',
      hint: '7 or 8 digits and the check digit or K, without dots',
      check: checkRut,
      normalize: dropHyphens,
    }),
    routing({ label: 'Bank code', digits: 3, hint: 'CMF code of the bank' }),
    accountType({ CORRIENTE: '', VISTA: 'also CuentaRUT', AHORRO: '' }),
    account({ digits: [5, 20] }),
  ],
  COL: [
    identityType({ CC: 'cédula', CE: 'foreigner', NIT: 'tax number', PPT: '', PASSPORT: '' }),
    identification({
      pattern: '[0-9A-Z]{5,15}',
      hint: '5 to 15 digits or capital letters, without punctuation',
    }),
    routing({ digits: 4, hint: 'ACH Colombia code of the bank' }),
    accountType(),
    account({ digits: [6, 20] }),
  ],
  PER: [account({ label: 'CCI', digits: 20, check: checkCci, sampleStart: '002' })],
  ECU: [
    identification({
      label: 'Cédula or RUC',
      pattern: '[0-9]{10}|[0-9]{13}',
      hint: '10 digits of a cédula or 13 of a RUC',
      check: checkCedulaOrRuc,
    }),
    ...namedBank([6, 18]),
  ],
  BOL: [
    identification({
      label: 'Cédula de identidad',
      pattern: '[0-9]{5,10}(?:-?[0-9A-Z]{1,3})?',
      hint: '5 to 10 digits, with the complement, if any',
    }),
    bankName,
    account({ digits: [6, 20] }),
  ],
  PRY: [
    identification({
      label: 'Cédula or RUC',
      pattern: '[0-9]{5,8}(?:-[0-9])?',
      hint: '5 to 8 digits; a RUC with hyphen and check digit',
    }),
    bankName,
    account({ digits: [5, 20] }),
  ],
  URY: namedBank([6, 14]),
  // Sudeban: bank 4 digits, branch 4, check 2, account 10.
  VEN: [
    account({
      label: 'Código cuenta cliente',
      pattern: '01[0-9]{18}',
      hint: '20 digits beginning with the bank code',
    }),
    identification({
      label: 'Cédula or RIF',
      pattern: '[VEJGP][0-9]{5,9}',
      hint: 'V, E, J, G or P and 5 to 9 digits',
    }),
  ],
  // The Dominican Republic's IBAN contains the local number.
  HND: [...namedBank([8, 20])],
  NIC: [...namedBank([6, 20])],
  PAN: namedBank([4, 17]),
  HTI: namedBank([6, 16]),
  JAM: [
    bankName,
    branch({ label: 'Transit number', digits: 5, hint: 'transit number of the branch' }),
    account({ digits: [5, 17] }),
    accountType(),
  ],
  TTO: [
    bankName,
    branch({
      label: 'Transit number',
      digits: 5,
      hint: 'transit number of the branch',
      isOptional: true,
    }),
    account({ digits: [6, 16] }),
    accountType(),
  ],
  GUY: namedBank([6, 16]),
  SUR: [bankName, account({ digits: [6, 16] })],
  BRB: namedBank([6, 16]),
  BHS: namedBank([6, 16]),
  BLZ: namedBank([6, 16]),
};
