/** Account requirements of the simulated Wise, and the validation of recipients by them. */

type Field = {
  readonly key: string;
  readonly isOptional?: boolean;
  readonly regexp?: string;
  readonly values?: readonly string[];
  readonly refreshes?: boolean;
  readonly lengths?: readonly [number, number];
};

const holder: Field = { key: 'accountHolderName', lengths: [2, 140] };
const legalType: Field = { key: 'legalType', values: ['PRIVATE', 'BUSINESS'] };
const email: Field = { key: 'email', isOptional: true, regexp: '^[^\\s]+@[^\\s]+\\.[^\\s]{2,}$' };

const address: readonly Field[] = [
  { key: 'address.country', values: ['US', 'MX', 'GB', 'DE', 'CA'], refreshes: true },
  { key: 'address.city', lengths: [1, 255] },
  { key: 'address.postCode', lengths: [1, 32] },
  { key: 'address.firstLine', lengths: [1, 255] },
];
const state: Field = { key: 'address.state', lengths: [1, 30] };

const accounts: Readonly<Record<string, { type: string; fields: readonly Field[] }>> = {
  EUR: { type: 'iban', fields: [{ key: 'IBAN', regexp: '^[A-Z]{2}[0-9]{2}[0-9A-Z]{8,30}$' }] },
  GBP: {
    type: 'sort_code',
    fields: [
      { key: 'sortCode', regexp: '^[0-9]{6}$' },
      { key: 'accountNumber', regexp: '^[0-9]{8}$' },
    ],
  },
  MXN: { type: 'mexican', fields: [{ key: 'clabe', regexp: '^[0-9]{18}$' }] },
  INR: {
    type: 'indian',
    fields: [
      { key: 'ifscCode', regexp: '^[A-Za-z]{4}0[0-9A-Za-z]{6}$' },
      { key: 'accountNumber', lengths: [5, 20] },
    ],
  },
  USD: {
    type: 'aba',
    fields: [
      { key: 'abartn', regexp: '^[0-9]{9}$' },
      { key: 'accountNumber', lengths: [4, 17] },
      { key: 'accountType', values: ['checking', 'savings'] },
      ...address,
    ],
  },
};

/** The fields of a currency's account, given what the client has filled so far. */
function listFields(currency: string, values: ReadonlyMap<string, unknown>): readonly Field[] {
  const account = accounts[currency];
  if (account === undefined) return [];
  const country = values.get('address.country');
  const more = country === 'US' || country === 'CA' ? [state] : [];
  return [email, legalType, holder, ...account.fields, ...more];
}

export function describeForms(
  currency: string,
  body: Readonly<Record<string, unknown>> = {},
): readonly object[] {
  const account = accounts[currency];
  if (account === undefined) return [];
  const fields = listFields(currency, flatten(body)).map((field) => ({
    name: field.key,
    group: [
      {
        key: field.key,
        name: field.key,
        type: field.values === undefined ? 'text' : 'select',
        refreshRequirementsOnChange: field.refreshes === true,
        required: field.isOptional !== true,
        example: '',
        ...(field.lengths === undefined
          ? {}
          : { minLength: field.lengths[0], maxLength: field.lengths[1] }),
        ...(field.regexp === undefined ? {} : { validationRegexp: field.regexp }),
        valuesAllowed: field.values?.map((key) => ({ key, name: key })) ?? null,
      },
    ],
  }));
  return [{ type: account.type, title: account.type, fields }];
}

function flatten(body: Readonly<Record<string, unknown>>): Map<string, unknown> {
  const values = new Map<string, unknown>();
  const details = body['details'];
  if (typeof details === 'object' && details !== null) {
    for (const [key, value] of Object.entries(details)) {
      if (typeof value !== 'object' || value === null) values.set(key, value);
      else for (const [inner, one] of Object.entries(value)) values.set(`${key}.${inner}`, one);
    }
  }
  values.set('accountHolderName', body['accountHolderName']);
  return values;
}

/** Accounts ending in this are refused when the recipient is created. */
export const refusedEnd = '0404';
/** Payments to accounts ending in this bounce after they were sent. */
export const bouncingEnd = '0505';

export type FieldFault = { readonly code: string; readonly path: string; readonly message: string };

export function listFieldFaults(
  currency: string,
  body: Readonly<Record<string, unknown>>,
): readonly FieldFault[] {
  const values = flatten(body);
  const faults: FieldFault[] = [];
  if (body['type'] !== accounts[currency]?.type) {
    faults.push({ code: 'NOT_VALID', path: 'type', message: 'Unknown type of recipient' });
  }
  for (const field of listFields(currency, values)) {
    const value = values.get(field.key);
    const text = typeof value === 'string' ? value : '';
    if (text === '' && field.isOptional === true) continue;
    const [least, most] = field.lengths ?? [1, 300];
    const isValid =
      text.length >= least &&
      text.length <= most &&
      (field.regexp === undefined || new RegExp(field.regexp).test(text)) &&
      (field.values === undefined || field.values.includes(text)) &&
      !(isAccount(field.key) && text.endsWith(refusedEnd));
    if (!isValid) faults.push({ code: 'NOT_VALID', path: field.key, message: 'Not valid' });
  }
  return faults;
}

const isAccount = (key: string): boolean => ['IBAN', 'accountNumber', 'clabe'].includes(key);

export function isBouncing(details: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(details).some(
    ([key, value]) => isAccount(key) && typeof value === 'string' && value.endsWith(bouncingEnd),
  );
}

export const transferForm: readonly object[] = [
  {
    type: 'transfer',
    fields: [
      {
        name: 'Transfer reference',
        group: [
          {
            key: 'reference',
            name: 'Transfer reference',
            type: 'text',
            refreshRequirementsOnChange: false,
            required: false,
            displayFormat: null,
            example: null,
            minLength: null,
            maxLength: 18,
            validationRegexp: '[a-zA-Z0-9- ]*',
            validationAsync: null,
            valuesAllowed: null,
          },
        ],
      },
    ],
  },
];
