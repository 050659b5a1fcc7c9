/**
 * Account requirements of the simulated Wise, and the validation of recipients by them. They are the
 * state of a simulator: a test changes a form, as Wise may at any time.
 */

export type FormField = {
  readonly key: string;
  readonly name?: string;
  /** Of one without `values`: text when absent. With them it is a select, or a radio. */
  readonly input?: 'text' | 'date' | 'radio';
  readonly isOptional?: boolean;
  readonly regexp?: string;
  /** Values, each with its name where it has one. */
  readonly values?: readonly (string | readonly [key: string, name: string])[];
  readonly refreshes?: boolean;
  readonly lengths?: readonly [number, number];
  /** Only asked for when another field has one of these values. */
  readonly when?: readonly [key: string, values: readonly string[]];
};

export type Form = { readonly type: string; readonly fields: readonly FormField[] };

const holder: FormField = { key: 'accountHolderName', name: 'Full Name', lengths: [2, 140] };
const legalType: FormField = {
  key: 'legalType',
  name: 'Recipient type',
  values: [
    ['PRIVATE', 'Person'],
    ['BUSINESS', 'Business'],
  ],
};
const email: FormField = {
  key: 'email',
  isOptional: true,
  regexp: '^[^\\s]+@[^\\s]+\\.[^\\s]{2,}$',
};

const address: readonly FormField[] = [
  { key: 'address.country', values: ['US', 'MX', 'GB', 'DE', 'CA', 'PH'], refreshes: true },
  { key: 'address.city', lengths: [1, 255] },
  { key: 'address.postCode', lengths: [1, 32] },
  { key: 'address.firstLine', lengths: [1, 255] },
  { key: 'address.state', lengths: [1, 30], when: ['address.country', ['US', 'CA']] },
];

/** Of each currency the form of its accounts, without the fields that all of them have. */
export const firstForms: Readonly<Record<string, Form>> = {
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
  // Banks by codes of Wise's own, branches of one of them, and a number that businesses have.
  PHP: {
    type: 'philippines',
    fields: [
      { ...legalType, input: 'radio', refreshes: true },
      {
        key: 'bankCode',
        name: 'Bank name',
        values: [
          ['BDO', 'Banco de Oro (BDO)'],
          ['BPI', 'Bank of the Philippine Islands'],
        ],
        refreshes: true,
      },
      {
        key: 'branchCode',
        name: 'Branch',
        values: [
          ['001', 'Makati'],
          ['002', 'Cebu'],
        ],
        when: ['bankCode', ['BPI']],
      },
      { key: 'accountNumber', name: 'Account number', regexp: '^\\d{6,16}$', lengths: [6, 16] },
      {
        key: 'taxId',
        name: 'Tax identification number',
        regexp: '^\\d{9}$',
        when: ['legalType', ['BUSINESS']],
      },
      {
        key: 'dateOfBirth',
        name: 'Date of birth',
        input: 'date',
        isOptional: true,
        regexp: '^\\d{4}-\\d{2}-\\d{2}$',
        when: ['legalType', ['PRIVATE']],
      },
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

/** The fields that are asked for, given what the client has filled so far. */
function listFields(form: Form, values: ReadonlyMap<string, unknown>): readonly FormField[] {
  const common = [email, legalType, holder].filter(
    ({ key }) => !form.fields.some((own) => own.key === key),
  );
  return [...common, ...form.fields].filter(({ when }) => {
    if (when === undefined) return true;
    const value = values.get(when[0]);
    return typeof value === 'string' && when[1].includes(value);
  });
}

const keyOf = (value: string | readonly [string, string]): string =>
  typeof value === 'string' ? value : value[0];
const nameOf = (value: string | readonly [string, string]): string =>
  typeof value === 'string' ? value : value[1];

export function describeForm(form: Form, body: Readonly<Record<string, unknown>> = {}): object {
  const fields = listFields(form, flatten(body)).map((field) => ({
    name: field.name ?? field.key,
    group: [
      {
        key: field.key,
        name: field.name ?? field.key,
        type: field.input ?? (field.values === undefined ? 'text' : 'select'),
        refreshRequirementsOnChange: field.refreshes === true,
        required: field.isOptional !== true,
        example: '',
        ...(field.lengths === undefined
          ? {}
          : { minLength: field.lengths[0], maxLength: field.lengths[1] }),
        ...(field.regexp === undefined ? {} : { validationRegexp: field.regexp }),
        valuesAllowed:
          field.values?.map((value) => ({ key: keyOf(value), name: nameOf(value) })) ?? null,
      },
    ],
  }));
  return { type: form.type, title: form.type, fields };
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
  form: Form | undefined,
  body: Readonly<Record<string, unknown>>,
): readonly FieldFault[] {
  if (form === undefined || body['type'] !== form.type) {
    return [{ code: 'NOT_VALID', path: 'type', message: 'Unknown type of recipient' }];
  }
  const values = flatten(body);
  const faults: FieldFault[] = [];
  for (const field of listFields(form, values)) {
    const value = values.get(field.key);
    const text = typeof value === 'string' ? value : '';
    if (text === '' && field.isOptional === true) continue;
    const [least, most] = field.lengths ?? [1, 300];
    const isValid =
      text.length >= least &&
      text.length <= most &&
      (field.regexp === undefined || new RegExp(field.regexp).test(text)) &&
      (field.values === undefined || field.values.some((one) => keyOf(one) === text)) &&
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
