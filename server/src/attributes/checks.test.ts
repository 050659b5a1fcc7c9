import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeliveryType } from '../rails/contract/declarations.ts';
import { checkValues, matchesPattern } from './checks.ts';
import type { AttributeType } from './field.ts';
import { type Corridor, getProfile, identityVerification } from './requirements.ts';

const today = '2026-11-20';

type Values = Partial<Record<AttributeType, string>>;

function toCorridor(text: string): Corridor {
  const [deliveryType, countryCode, currency] = text.split(' ');
  return {
    deliveryType: deliveryType as DeliveryType,
    countryCode: countryCode ?? '',
    currency: currency ?? '',
  };
}

function check(corridorText: string, values: Values) {
  const corridor = toCorridor(corridorText);
  const given = new Map(Object.entries(values) as [AttributeType, string][]);
  return checkValues(getProfile(corridor), corridor, { values: given, today });
}

/** The codes of all faults, by attribute. */
function listFaults(corridorText: string, values: Values): string[] {
  return check(corridorText, values).faults.map(({ type, code }) => `${type} ${code}`);
}

const rightIbans: readonly string[] = [
  'DEU EUR DE89370400440532013000',
  'FRA EUR FR1420041010050500013M02606',
  'GLP EUR FR1420041010050500013M02606',
  'NLD EUR NL91ABNA0417164300',
  'BEL EUR BE68539007547034',
  'NOR NOK NO9386011117947',
  'GBR EUR GB29NWBK60161331926819',
  'SAU SAR SA0380000000608010167519',
  'KAZ KZT KZ86125KZT5004100100',
  'MLT EUR MT84MALT011000012345MTLCAST001S',
  'PAK PKR PK36SCBL0000001123456702',
  'UKR UAH UA213223130000026007233566001',
  'EGY EGP EG380019000500000000263180002',
  'CRI CRC CR05015202001026284066',
  'DOM DOP DO28BAGR00000001212453611324',
  'GTM GTQ GT82TRAJ01020000001210029690',
  'SLV USD SV62CENR00000000000000700025',
  'ARE AED AE070331234567890123456',
];

test('IBANs of the registry pass, and with a wrong digit they do not', () => {
  for (const line of rightIbans) {
    const [country = '', currency = '', iban = ''] = line.split(' ');
    const corridor = `BANK_DEPOSIT ${country} ${currency}`;
    assert.deepEqual(listFaults(corridor, { BankAccountNumber: iban }), [], line);
    const last = iban.at(-1) === '9' ? '8' : '9';
    const wrong = iban.slice(0, -1) + (/[0-9]/.test(iban.at(-1) ?? '') ? last : 'X');
    assert.notDeepEqual(listFaults(corridor, { BankAccountNumber: wrong }), [], line);
  }
});

test('an IBAN of another country is refused by its form', () => {
  const faults = listFaults('BANK_DEPOSIT DEU EUR', {
    BankAccountNumber: 'FR1420041010050500013M02606',
  });
  assert.deepEqual(faults, ['BankAccountNumber pattern_mismatch']);
});

const rightSets: readonly [corridor: string, values: Values][] = [
  ['MEX MXN', { BankAccountNumber: '032180000118359719' }],
  [
    'USA USD',
    {
      BankRoutingNumber: '021000021',
      BankAccountNumber: '123456789',
      BankAccountType: 'CHECKING',
    },
  ],
  ['GBR GBP', { BankRoutingNumber: '12-34-56', BankAccountNumber: '12345678' }],
  ['NGA NGN', { BankRoutingNumber: '011', BankAccountNumber: '0000014579' }],
  ['NGA NGN', { BankRoutingNumber: '000011', BankAccountNumber: '0000014579' }],
  ['NGA NGN', { BankRoutingNumber: '100004', BankAccountNumber: '8012345678' }],
  ['PER PEN', { BankAccountNumber: '01136600010003254221' }],
  ['ARG ARS', { BankAccountNumber: '2850590940090418135201', IdentificationNumber: '20267565393' }],
  [
    'CHL CLP',
    {
      IdentificationNumber: '12531909-2',
      BankRoutingNumber: '012',
      BankAccountType: 'VISTA',
      BankAccountNumber: '12531909',
    },
  ],
  ['NZL NZD', { BankAccountNumber: '01-0902-0068389-00' }],
  ['NZL NZD', { BankAccountNumber: '010902006838900' }],
  ['AUS AUD', { BankRoutingNumber: '062-000', BankAccountNumber: '12345678' }],
  ['CIV XOF', { BankAccountNumber: 'CI0080111301134291200589' }],
  ['SEN XOF', { BankAccountNumber: 'SN0100152000048500003035' }],
  ['CMR XAF', { BankAccountNumber: '10002000300277976315008' }],
  ['MAR MAD', { BankAccountNumber: '011519000001205000534921' }],
  ['MDG MGA', { BankAccountNumber: '00005030071289421016045' }],
  ['AGO AOA', { BankAccountNumber: '004400006729503010102' }],
  ['CPV CVE', { BankAccountNumber: '000300004547069110176' }],
  ['MOZ MZN', { BankAccountNumber: '000301080016367102371' }],
  ['CHN CNY', { BankAccountNumber: '6200000000000005' }],
  ['IND INR', { BankRoutingNumber: 'SBIN0000300', BankAccountNumber: '12345678901' }],
  ['JPN JPY', { BankRoutingNumber: '0001', BankAccountBranchNumber: '001' }],
  ['ECU USD', { IdentificationNumber: '1714307103', BankName: 'Banco Pichincha' }],
  ['VNM VND', { BankRoutingNumber: '970436', BankAccountNumber: '0011001234567' }],
  ['KEN USD', { SWIFT: 'BARCKENX', BankAccountNumber: '0123456789' }],
  ['FRA USD', { SWIFT: 'BNPAFRPPXXX', BankAccountNumber: 'FR1420041010050500013M02606' }],
];

test('account numbers with correct check digits pass', () => {
  for (const [destination, values] of rightSets) {
    const { faults } = check(`BANK_DEPOSIT ${destination}`, values);
    assert.deepEqual(faults, [], destination);
  }
});

const wrongSets: readonly [corridor: string, values: Values, faults: string[]][] = [
  ['MEX MXN', { BankAccountNumber: '032180000118359710' }, ['BankAccountNumber check_digit']],
  ['USA USD', { BankRoutingNumber: '021000022' }, ['BankRoutingNumber check_digit']],
  ['USA USD', { BankRoutingNumber: '990000008' }, ['BankRoutingNumber unknown_bank']],
  ['USA USD', { BankRoutingNumber: '000000000' }, ['BankRoutingNumber unknown_bank']],
  ['USA USD', { BankAccountType: 'cheque' }, ['BankAccountType pattern_mismatch']],
  [
    'NGA NGN',
    { BankRoutingNumber: '011', BankAccountNumber: '0000014578' },
    ['BankAccountNumber check_digit'],
  ],
  ['PER PEN', { BankAccountNumber: '01136600010003254222' }, ['BankAccountNumber check_digit']],
  [
    'CIV XOF',
    { BankAccountNumber: 'SN0080111301134291200589' },
    ['BankAccountNumber pattern_mismatch'],
  ],
  ['CIV XOF', { BankAccountNumber: 'CI0080111301134291200588' }, ['BankAccountNumber check_digit']],
  ['MAR MAD', { BankAccountNumber: '011519000001205000534922' }, ['BankAccountNumber check_digit']],
  ['CHN CNY', { BankAccountNumber: '6200000000000006' }, ['BankAccountNumber check_digit']],
  ['KEN USD', { SWIFT: 'BARCUGKX' }, ['SWIFT pattern_mismatch']],
  ['IND INR', { BankRoutingNumber: 'SBIN1000300' }, ['BankRoutingNumber pattern_mismatch']],
  [
    'BRA BRL',
    { IdentificationNumber: '11144477734', BankAccountNumber: '1-1', BankRoutingNumber: '1' },
    ['IdentificationNumber check_digit', 'BankRoutingNumber pattern_mismatch'],
  ],
];

test('all faults of wrong check digits, unknown banks and wrong forms are reported', () => {
  for (const [destination, values, expected] of wrongSets) {
    assert.deepEqual(listFaults(`BANK_DEPOSIT ${destination}`, values), expected, destination);
  }
});

test('a Pix key replaces bank, branch and account number', () => {
  const keys = [
    'someone@example.com',
    '+5511987654321',
    '0f0e0d0c-0b0a-4908-8706-050403020100',
    '11144477735',
  ];
  for (const key of keys) {
    const values = {
      IdentificationNumber: '11144477735',
      BankAccountNumber: key,
      RemittanceReason: 'SALARY',
    };
    const { faults, missing } = check('BANK_DEPOSIT BRA BRL', values);
    assert.deepEqual({ faults, missing }, { faults: [], missing: [] }, key);
  }
  const { missing } = check('BANK_DEPOSIT BRA BRL', {
    IdentificationNumber: '11144477735',
    BankAccountNumber: '123456-7',
  });
  assert.deepEqual(missing, ['BankRoutingNumber', 'BankAccountBranchNumber', 'RemittanceReason']);
});

test('an empty text of an option that is not chosen counts as absent', () => {
  const person = { IdentificationNumber: '11144477735', RemittanceReason: 'SALARY' };
  const bank = { BankRoutingNumber: '', BankAccountBranchNumber: '' };
  const key = { ...person, ...bank, BankAccountNumber: '11144477735' };
  const { faults, missing, normalized } = check('BANK_DEPOSIT BRA BRL', key);
  assert.deepEqual({ faults, missing }, { faults: [], missing: [] });
  assert.deepEqual(Object.fromEntries(normalized), {
    ...person,
    BankAccountNumber: '11144477735',
  });
  const account = check('BANK_DEPOSIT BRA BRL', { ...key, BankAccountNumber: '123456-7' });
  assert.deepEqual(account.missing, ['BankRoutingNumber', 'BankAccountBranchNumber']);
  // Every option needs it.
  assert.deepEqual(listFaults('BANK_DEPOSIT BRA BRL', { ...key, BankAccountNumber: '' }), [
    'BankAccountNumber pattern_mismatch',
  ]);
});

test('a CNPJ may have letters before its two check digits', () => {
  // The example of the Receita Federal.
  const cnpj = '12ABC34501DE35';
  const values = { IdentificationNumber: cnpj, BankAccountNumber: cnpj, RemittanceReason: 'GIFT' };
  const { faults, missing } = check('BANK_DEPOSIT BRA BRL', values);
  assert.deepEqual({ faults, missing }, { faults: [], missing: [] });
  const faulty: [Record<string, string>, string][] = [
    [{ IdentificationNumber: '12ABC34501DE36' }, 'IdentificationNumber check_digit'],
    [{ IdentificationNumber: '12ABC34501DEA5' }, 'IdentificationNumber pattern_mismatch'],
    [{ IdentificationNumber: '11144477735' }, 'BankAccountNumber pix_key_mismatch'],
  ];
  for (const [changes, fault] of faulty) {
    const found = listFaults('BANK_DEPOSIT BRA BRL', { ...values, ...changes });
    assert.ok(found.includes(fault), `${JSON.stringify(changes)} ${found.join()}`);
  }
});

test('a CNPJ as Pix key must be that of the recipient', () => {
  const values = { IdentificationNumber: '11144477735', BankAccountNumber: '11222333000181' };
  assert.deepEqual(listFaults('BANK_DEPOSIT BRA BRL', values), [
    'BankAccountNumber pix_key_mismatch',
  ]);
});

test('a number of one repeated digit is refused in spite of correct check digits', () => {
  const cases: [destination: string, type: AttributeType, value: string][] = [
    ['MEX MXN', 'BankAccountNumber', '0'.repeat(18)],
    ['CMR XAF', 'BankAccountNumber', '0'.repeat(23)],
    ['PER PEN', 'BankAccountNumber', '0'.repeat(20)],
    ['ARG ARS', 'BankAccountNumber', '0'.repeat(22)],
    ['BRA BRL', 'IdentificationNumber', '1'.repeat(11)],
  ];
  for (const [destination, type, value] of cases) {
    const faults = listFaults(`BANK_DEPOSIT ${destination}`, { [type]: value });
    assert.deepEqual(faults, [`${type} check_digit`], destination);
  }
});

test('a Mexican account of an unlisted bank passes by its check digit', () => {
  const rightOnes = Array.from({ length: 10 }, (_, digit) => `99918000011835971${digit}`).filter(
    (value) => listFaults('BANK_DEPOSIT MEX MXN', { BankAccountNumber: value }).length === 0,
  );
  assert.equal(rightOnes.length, 1);
});

test("Russia's account key depends on the bank", () => {
  const bank = { BankRoutingNumber: '044525225' };
  const rightOnes = Array.from({ length: 10 }, (_, digit) => `40817810${digit}00000000001`).filter(
    (value) =>
      listFaults('BANK_DEPOSIT RUS RUB', { ...bank, BankAccountNumber: value }).length === 0,
  );
  assert.equal(rightOnes.length, 1);
});

test('absent required values are missing, not faults', () => {
  assert.deepEqual(check('BANK_DEPOSIT USA USD', {}).missing, [
    'BankRoutingNumber',
    'BankAccountNumber',
    'BankAccountType',
  ]);
  assert.deepEqual(check('BANK_DEPOSIT USA USD', {}).faults, []);
  assert.deepEqual(check('BANK_DEPOSIT DEU EUR', { SWIFT: '' }), {
    faults: [],
    missing: ['BankAccountNumber'],
    normalized: new Map(),
  });
});

test('equal values in different spellings have one normalized form', () => {
  const given = { BankRoutingNumber: '12-34-56', BankAccountNumber: '12345678' };
  const { normalized } = check('BANK_DEPOSIT GBR GBP', given);
  assert.deepEqual(Object.fromEntries(normalized), {
    BankRoutingNumber: '123456',
    BankAccountNumber: '12345678',
  });
});

test('a value is stored in its form where the spelling is plain', () => {
  const cases: [corridor: string, type: AttributeType, given: string, stored: string][] = [
    [
      'BANK_DEPOSIT DEU EUR',
      'BankAccountNumber',
      ' de89 3704 0044 0532 0130 00 ',
      'DE89370400440532013000',
    ],
    ['BANK_DEPOSIT MEX MXN', 'BankAccountNumber', '032 180 00011835971 9', '032180000118359719'],
    ['BANK_DEPOSIT BRA BRL', 'IdentificationNumber', '111.444.777-35', '11144477735'],
    ['BANK_DEPOSIT BRA BRL', 'IdentificationNumber', '12.ABC.345/01DE-35', '12ABC34501DE35'],
    ['BANK_DEPOSIT BRA BRL', 'BankAccountNumber', '+55 (11) 98765-4321', '+5511987654321'],
    ['BANK_DEPOSIT BRA BRL', 'BankAccountNumber', '12345-6', '12345-6'],
    ['BANK_DEPOSIT CHL CLP', 'IdentificationNumber', '12.345.678-5', '123456785'],
    ['BANK_DEPOSIT IND INR', 'BankRoutingNumber', 'sbin0001234', 'SBIN0001234'],
    ['BANK_DEPOSIT USA USD', 'BankAccountType', 'savings', 'SAVINGS'],
    ['MOBILE_WALLET KEN KES', 'PhoneNumber', '254712123456', '+254712123456'],
    ['MOBILE_WALLET KEN KES', 'PhoneNumber', '00254 712-123-456', '+254712123456'],
    ['CASH_PICKUP MEX MXN', 'IdentificationNumber', 'g 1234 5678', 'G12345678'],
    ['HOME_DELIVERY VNM VND', 'Address1', ' 12 Trần Phú. ', '12 Trần Phú.'],
  ];
  for (const [corridor, type, given, stored] of cases) {
    const { faults, normalized } = check(corridor, { [type]: given });
    assert.deepEqual(faults, [], given);
    assert.equal(normalized.get(type), stored, given);
  }
});

test('no character of a wallet address is guessed', () => {
  const spaced = '0x5aAeb6053F3E94C9b9A09f33669435E7 Ef1BeAed';
  assert.deepEqual(listFaults('CRYPTOCURRENCY MEX ETH', { BankAccountNumber: spaced }), [
    'BankAccountNumber pattern_mismatch',
  ]);
});

test('the group of a Pix key and a bank account shows what each option needs', () => {
  const { requirements } = getProfile(toCorridor('BANK_DEPOSIT BRA BRL'));
  const options = requirements.flatMap(({ type, alternatives }) =>
    alternatives.map(({ group, name }) => `${group} ${name}: ${type}`),
  );
  assert.deepEqual(options, [
    'account pix_key: BankAccountNumber',
    'account bank_account: BankAccountNumber',
    'account bank_account: BankRoutingNumber',
    'account bank_account: BankAccountBranchNumber',
  ]);
  for (const { alternatives, validation } of requirements) {
    for (const one of alternatives) assert.ok(one.validation.length <= validation.length);
  }
});

test('mobile numbers must be of the country and mobile', () => {
  const fault = ['PhoneNumber not_a_mobile_number'];
  const cases: [country: string, number: string, faults: string[]][] = [
    ['KEN', '+254712123456', []],
    ['KEN', '+254202012345', ['PhoneNumber pattern_mismatch']],
    ['MEX', '+522221234567', []],
    ['USA', '+12015550123', []],
    ['JAM', '+12015550123', ['PhoneNumber not_a_mobile_number']],
    ['ALA', '+358412345678', []],
    ['VAT', '+393123456789', []],
    ['IND', '+911123456789', fault],
    ['KEN', '0712123456', ['PhoneNumber pattern_mismatch']],
  ];
  for (const [country, number, expected] of cases) {
    const corridor = `MOBILE_WALLET ${country} USD`;
    assert.deepEqual(listFaults(corridor, { PhoneNumber: number }), expected, number);
  }
});

test('the expiry of an identity document must be a calendar date after today', () => {
  const cases: [value: string, faults: string[]][] = [
    ['2026-11-21', []],
    ['2026-11-20', ['IdentificationExpiration expired']],
    ['2027-02-29', ['IdentificationExpiration not_a_date']],
    ['2028-02-29', []],
    ['2027-13-01', ['IdentificationExpiration pattern_mismatch']],
    ['0000-02-30', ['IdentificationExpiration not_a_date']],
  ];
  for (const [value, expected] of cases) {
    const faults = listFaults('CASH_PICKUP MEX MXN', { IdentificationExpiration: value });
    assert.deepEqual(faults, expected, value);
  }
});

test('national identity numbers have check digits, passports have none', () => {
  const number = { IdentificationNumber: '11144477734' };
  const asCpf = listFaults('CASH_PICKUP BRA BRL', { ...number, IdentificationType: 'CPF' });
  const asPassport = listFaults('CASH_PICKUP BRA BRL', {
    ...number,
    IdentificationType: 'PASSPORT',
  });
  assert.deepEqual(asCpf, ['IdentificationNumber check_digit']);
  assert.deepEqual(asPassport, []);
});

test('text takes any script but no control characters, lone surrogates or line breaks', () => {
  for (const value of ['Straße 5', '東京都千代田区1-1', 'شارع 9', 'X']) {
    assert.deepEqual(listFaults('HOME_DELIVERY VNM VND', { Address1: value }), [], value);
  }
  const wrong = ['\tx', 'x\n', 'a\u0000b', 'a\nb', 'a\u0085b', 'a\u2028b', 'a\ud800b', ' ', ''];
  wrong.push('a\u202eb', 'a\u200bb', 'a \u0301', '\u3164');
  for (const value of [...wrong, 'x'.repeat(101), 'x'.repeat(300)]) {
    const faults = listFaults('HOME_DELIVERY VNM VND', { Address1: value });
    assert.equal(faults.length, 1, JSON.stringify(value));
  }
});

test('an unknown or read-only attribute is a fault', () => {
  assert.deepEqual(listFaults('BANK_DEPOSIT MEX MXN', { CardNumber: '1' }), [
    'CardNumber unknown_attribute',
  ]);
  const corridor = toCorridor('BANK_DEPOSIT MEX MXN');
  const base = getProfile(corridor);
  const profile = { ...base, requirements: [...base.requirements, identityVerification] };
  const values = new Map<AttributeType, string>([['IDSelfieCollection', 'https://x.example']]);
  const result = checkValues(profile, corridor, { values, today });
  assert.deepEqual(
    result.faults.map((one) => one.code),
    ['read_only'],
  );
  assert.deepEqual(result.missing, ['BankAccountNumber']);
});

test('patterns are matched in linear time', () => {
  assert.equal(matchesPattern({ validation: '^(?:(?:a+)+)+$' }, `${'a'.repeat(200_000)}b`), false);
  const faults = listFaults('BANK_DEPOSIT BRA BRL', {
    BankAccountNumber: `${'a.'.repeat(500_000)}@`,
  });
  assert.deepEqual(faults, ['BankAccountNumber too_long']);
});

test('no fault repeats the value', () => {
  const secret = 'QQ-secret-QQ';
  for (const corridor of ['BANK_DEPOSIT BRA BRL', 'CASH_PICKUP MEX MXN', 'HOME_DELIVERY USA USD']) {
    const { requirements } = getProfile(toCorridor(corridor));
    const values = Object.fromEntries(requirements.map(({ type }) => [type, secret]));
    for (const fault of check(corridor, values).faults) {
      assert.ok(!fault.detail.includes(secret), fault.detail);
    }
  }
});
