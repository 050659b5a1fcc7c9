import type { AccountForm, RecipientFault, RequiredField } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import { isRunnable } from '../kit/patterns.ts';
import { findChoice, fitsField } from '../kit/required-fields.ts';
import type { RequirementField, RequirementForm } from './protocol.ts';
import {
  accountKeys,
  findAttribute,
  isKnownKey,
  type Recipient,
  readField,
} from './recipient-fields.ts';

/** Wise's forms of recipient accounts: what they ask for, and what a recipient fills in. */

/** The body of POST /v1/accounts without the profile; keys of `details` may have one dot. */
export type RecipientDetails = {
  readonly type: string;
  readonly accountHolderName: string;
  readonly details: Readonly<Record<string, unknown>>;
};

export type FormFilling =
  | { readonly kind: 'filled'; readonly details: RecipientDetails }
  /** A key that cannot be filled, or whose value does not have the form's form. */
  | { readonly kind: 'unfit'; readonly field: string };

/** The forms of an answer in the words of the contract; the one that clients are asked for first. */
export function describeForms(
  answer: readonly RequirementForm[],
  payer: PayerDeclaration,
  currency: string,
): readonly AccountForm[] {
  const named = payer.options['recipientType'];
  const forms = answer
    .filter(({ type }) => named === undefined || type === named)
    .map(({ type, fields }) => ({
      type,
      fields: fields.flatMap(({ group }) => group.map((one) => describeField(one, payer))),
    }));
  const ranks = new Map(forms.map((form) => [form, rankForm(form, payer, currency)]));
  return forms.toSorted((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0));
}

/** Forms of what accounts in the currency are made of come first, then those that can be filled at all. */
function rankForm({ fields }: AccountForm, payer: PayerDeclaration, currency: string): number {
  const usual = accountKeys[currency] ?? [];
  const isUsual = usual.length > 0 && usual.every((key) => fields.some((one) => one.key === key));
  const unknown = fields.filter(({ key, isRequired }) => isRequired && !isKnownKey(key, payer));
  return unknown.length * 2 + (isUsual ? 0 : 1);
}

/** A choice with more values, or a longer one, than the host takes is a text that Wise checks. */
const choicesMax = 1000;
const choiceLengthMax = 100;

/** Without a payer: of a transfer, to which attributes mean nothing. */
export function describeField(field: RequirementField, payer?: PayerDeclaration): RequiredField {
  const { key, type, required, refreshRequirementsOnChange, valuesAllowed } = field;
  const { minLength: lengthMin, maxLength: lengthMax, validationRegexp } = field;
  const isClosed =
    valuesAllowed !== undefined &&
    valuesAllowed.length > 0 &&
    valuesAllowed.length <= choicesMax &&
    valuesAllowed.every((one) => one.key !== '' && one.key.length <= choiceLengthMax);
  const pattern = validationRegexp ?? '';
  const source = payer === undefined ? undefined : findAttribute(key, payer);
  return {
    key,
    ...(source !== undefined && { attribute: source.type }),
    isCompact: source?.isCompact === true,
    label: cleanLabel(field.name) || key,
    input: isClosed ? 'options' : type === 'date' ? 'date' : 'text',
    isRequired: required,
    isRefreshing: refreshRequirementsOnChange,
    ...(lengthMin !== undefined && { lengthMin: Math.min(lengthMin, lengthLimit) }),
    ...(lengthMax !== undefined && { lengthMax: Math.min(lengthMax, lengthLimit) }),
    // One that cannot be run is left out here, and Wise checks the value when it gets it.
    ...(pattern !== '' && isRunnable(pattern) && { pattern }),
    ...(isClosed && {
      choices: valuesAllowed.map((one) => ({
        value: one.key,
        label: cleanLabel(one.name) || one.key,
      })),
    }),
  };
}

const lengthLimit = 10_000;

/** One line of plain text. */
function cleanLabel(text = ''): string {
  return text
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, 100)
    .trim();
}

/** The patterns of an answer that cannot be run here, by key. */
export function listUncheckedKeys(answer: readonly RequirementForm[]): readonly string[] {
  const fields = answer.flatMap((form) => form.fields.flatMap(({ group }) => group));
  const unchecked = fields.filter(
    ({ validationRegexp = '' }) => validationRegexp !== '' && !isRunnable(validationRegexp),
  );
  return [...new Set(unchecked.map(({ key }) => key))];
}

/** The first form that can be filled; where none can, the one that clients are asked for. */
export function chooseForm(
  forms: readonly AccountForm[],
  recipient: Recipient,
): AccountForm | undefined {
  return forms.find((form) => fillForm(form, recipient).kind === 'filled') ?? forms[0];
}

/** Every required field with a valid value, and the optional ones that we have one for. */
export function fillForm(form: AccountForm, recipient: Recipient): FormFilling {
  const values = new Map<string, string>();
  for (const field of form.fields) {
    const value = readValue(field, recipient);
    if (value !== '' && fitsField(field, value)) values.set(field.key, value);
    else if (field.isRequired) return { kind: 'unfit', field: field.key };
  }
  const name = readField('accountHolderName', recipient)?.value ?? '';
  if (name === '') return { kind: 'unfit', field: 'accountHolderName' };
  // The name is always a member of the account; version 1 of the forms has no field for it.
  values.set('accountHolderName', values.get('accountHolderName') ?? name);
  return { kind: 'filled', details: nestDetails(form.type, values) };
}

/** Everything that the recipient has for the form, valid or not: what Wise is asked with. */
export function draftDetails(form: AccountForm, recipient: Recipient): RecipientDetails {
  const values = new Map<string, string>();
  for (const field of form.fields) {
    const value = readValue(field, recipient);
    if (value !== '') values.set(field.key, value);
  }
  return nestDetails(form.type, values);
}

/** "" where there is none; of a choice in Wise's spelling, such as `checking` for `CHECKING`. */
export function readValue(field: RequiredField, recipient: Recipient): string {
  const value = readField(field.key, recipient)?.value ?? '';
  return field.choices === undefined ? value : (findChoice(field, value) ?? value);
}

/** The values on which other fields depend. */
export type Triggers = {
  /** Of closed lists. */
  readonly given: Readonly<Record<string, string>>;
  /** Of free text, which can tell of a person. */
  readonly free: Readonly<Record<string, string>>;
};

export function readTriggers(form: AccountForm, recipient: Recipient): Triggers {
  const given: Record<string, string> = {};
  const free: Record<string, string> = {};
  for (const field of form.fields) {
    if (!field.isRefreshing) continue;
    const value = readValue(field, recipient);
    if (value === '') continue;
    if (field.choices === undefined) free[field.key] = value;
    else if (fitsField(field, value)) given[field.key] = value;
  }
  return { given, free };
}

/** What keeps the recipient from filling the form; only `field`s of clients and users are named. */
export function listFormFaults(form: AccountForm, recipient: Recipient): readonly RecipientFault[] {
  const faults: RecipientFault[] = [];
  for (const field of form.fields) {
    const source = readField(field.key, recipient);
    const { label, isRequired } = field;
    if (source === undefined) {
      const detail = `the payer requires ${label} (${field.key}), which it is not configured for`;
      if (isRequired) faults.push({ field: 'destination', code: 'not_served', detail });
      continue;
    }
    const value = readValue(field, recipient);
    if (value === '' && isRequired) {
      const detail = `the payer requires it for this account: ${label}`;
      faults.push({ field: source.field, code: 'missing', detail });
    } else if (value !== '' && isRequired && !fitsField(field, value)) {
      const detail = `it must have the form that the payer requires of ${label}`;
      faults.push({ field: source.field, code: 'invalid', detail });
    }
  }
  return faults;
}

/** `address.city` becomes a member of `address`; the name stands beside `details`. */
export function nestDetails(type: string, values: ReadonlyMap<string, string>): RecipientDetails {
  const details: Record<string, unknown> = {};
  const nested = new Map<string, Record<string, string>>();
  for (const [key, value] of values) {
    if (key === 'accountHolderName') continue;
    const [outer = key, inner] = key.split('.');
    if (inner === undefined) {
      details[outer] = value;
      continue;
    }
    const members = nested.get(outer) ?? {};
    members[inner] = value;
    nested.set(outer, members);
    details[outer] = members;
  }
  return { type, accountHolderName: values.get('accountHolderName') ?? '', details };
}
