import { corridorOf, type Destination, formatAttributeToken } from '../attributes/attributes.ts';
import { checkValues, matchesPattern } from '../attributes/checks.ts';
import type { AttributeType, Field } from '../attributes/field.ts';
import { getFields, getProfile } from '../attributes/requirements.ts';
import { makeSampleSet } from '../attributes/sample-values.ts';
import type { Fault } from '../core/errors.ts';
import { nameChoice, nameField } from './field-names.ts';

/**
 * The form of a destination's attributes: the requirements of the API, with names for texts. The
 * description of the page's answer (`page-view.ts`) says what each member is.
 */

/** The day for which examples are made; they depend on nothing else. */
const exampleDay = '2026-01-01';

export function describeForm(destination: Destination) {
  const corridor = corridorOf(destination);
  const profile = getProfile(corridor);
  const fields = getFields(corridor);
  // Of the formats alone: nobody can make up a value for every pattern of a counterparty.
  const { requirements: _asked, ...formats } = corridor;
  const examples = makeSampleSet(getFields(formats), {
    seed: '',
    countryCode: corridor.countryCode,
    today: exampleDay,
  });
  return fields
    .filter(({ requirement }) => !requirement.isReadOnly)
    .map((field) => {
      const { type, validation, inputType, isOptional, alternatives } = field.requirement;
      const digits = readDigits(validation);
      return {
        token: formatAttributeToken(profile, type),
        ...nameField(field.requirement, corridor.deliveryType),
        input: inputType,
        is_optional: isOptional,
        length_max: 255,
        digits,
        example:
          corridor.deliveryType === 'CRYPTOCURRENCY' || isWords(field)
            ? ''
            : showExample(field, examples.get(type) ?? ''),
        input_mode: chooseInputMode(type, digits),
        autocomplete: autocompletes[type] ?? 'off',
        choices: inputType === 'options' ? listChoices(field) : [],
        options: [...new Set(alternatives.map(({ name }) => name))],
      };
    });
}

function listChoices({ requirement }: Field) {
  const { validation, expectedValue } = requirement;
  return validation.split('|').map((value) => {
    const { text, isCode } = nameChoice(value);
    const meaning =
      new RegExp(`(?:^| )${RegExp.escape(value)} \\(([^)]*)\\)`).exec(expectedValue)?.[1] ?? '';
    return { value, text, shows_value: isCode || text === '', meaning };
  });
}

/** None where a counterparty wants another form. */
function showExample({ requirement }: Field, example: string): string {
  return example !== '' && matchesPattern(requirement, example) ? showForm(example) : '';
}

/** Without the digits, so that no real account or document number is shown or copied. */
function showForm(example: string): string {
  return example.replaceAll(/[0-9]/g, '0');
}

/** Names and addresses, for which an example would only be taken for an advice. */
function isWords({ requirement }: Field): boolean {
  return requirement.inputType !== 'text' || requirement.validation.startsWith('^[^\\x00');
}

function readDigits(validation: string): number[] {
  const [, least, greatest = least] = /^\^\[0-9\]\{(\d+)(?:,(\d+))?\}\$$/.exec(validation) ?? [];
  return least === undefined ? [] : [Number(least), Number(greatest)];
}

function chooseInputMode(type: AttributeType, digits: readonly number[]): string {
  if (type === 'PhoneNumber') return 'tel';
  return digits.length > 0 ? 'numeric' : 'text';
}

/** Autofill fields of HTML; all others are off, so that nothing is filled in by mistake. */
const autocompletes: Partial<Record<AttributeType, string>> = {
  PhoneNumber: 'tel',
  Address1: 'street-address',
  City: 'address-level2',
  BankState: 'address-level1',
  PostalCode: 'postal-code',
  BankAccountName: 'name',
};

export type GivenValue = { token: string; value: string };

/**
 * Every fault of the values, those of absent ones included, by the checks of the API. The details
 * repeat no value.
 */
export function checkForm(
  destination: Destination,
  { values, today }: { values: readonly GivenValue[]; today: string },
): Fault[] {
  const corridor = corridorOf(destination);
  const profile = getProfile(corridor);
  const tokens = new Map(
    profile.requirements.map(({ type }) => [type, formatAttributeToken(profile, type)]),
  );
  const given = new Map<AttributeType, string>();
  for (const [type, token] of tokens) {
    const value = values.find((one) => one.token === token)?.value ?? '';
    // An empty field of a form is one without a value.
    if (value.trim() !== '') given.set(type, value);
  }
  const { faults, missing } = checkValues(profile, corridor, { values: given, today });
  return [
    ...faults.map(({ type, code, detail }) => ({ type, code, detail })),
    ...missing.map((type) => ({ type, code: 'required' as const, detail: `${type} is required` })),
  ].map(({ type, ...fault }) => {
    const token = tokens.get(type);
    const index = values.findIndex((one) => one.token === token);
    const pointer = index === -1 ? '/values' : `/values/${index}/value`;
    return { pointer, ...(token !== undefined && { token }), ...fault };
  });
}
