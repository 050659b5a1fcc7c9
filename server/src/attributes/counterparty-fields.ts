import { birthDateMin, isAdult } from '../core/calendar-date.ts';
import type {
  PayerRequirements,
  RequiredField,
  StoredRequirements,
} from '../rails/contract/requirements.ts';
import { writePublicPattern } from '../rails/kit/patterns.ts';
import { findChoice, fitsField, writeForField } from '../rails/kit/required-fields.ts';
import {
  type AttributeType,
  attributeTypes,
  type Check,
  type Choices,
  type Field,
  field,
  freeText,
  optional,
  type Requirement,
} from './field.ts';

/**
 * What a counterparty asks for, together with the formats of this service, as fields of the destination.
 * A counterparty narrows a format, replaces it by codes of its own, or adds a field. What it does not ask
 * for of an account becomes optional, so that a payer that may take the payout over can still get it; what
 * the law of the country asks for stays.
 *
 * A form can depend on values, such as the bank, or the country of the recipient. A field that is required
 * in all of the forms that are known is required. One of some forms is optional; it is missing beside the
 * attributes under which it is required, and the rail says it of what depends on the user.
 */
export function addCounterpartyFields(
  base: readonly Field[],
  requirements: PayerRequirements,
): readonly Field[] {
  const asked = collectFields(requirements);
  const known = new Set(base.map(({ requirement }) => requirement.type));
  const added = [...asked].flatMap(([type, found]) =>
    known.has(type) ? [] : [makeField(type, found)],
  );
  const kept: Field[] = [];
  const unasked: Field[] = [];
  for (const one of base) {
    const { type, alternatives } = one.requirement;
    const found = asked.get(type);
    if (found !== undefined) kept.push(narrowField(one, found));
    else if (accountTypes.has(type) && alternatives.length === 0) unasked.push(optional(one));
    else kept.push(one);
  }
  // The bank before the account, and what this counterparty has no use for at the end.
  const isOfAccount = ({ requirement }: Field): boolean => accountTypes.has(requirement.type);
  return [
    ...added.filter(isOfAccount),
    ...kept,
    ...added.filter((one) => !isOfAccount(one)),
    ...unasked,
  ];
}

/** What says where an account is; everything else is about the person or the payment. */
const accountTypes: ReadonlySet<AttributeType> = new Set([
  'BankAccountBranchNumber',
  'BankAccountNumber',
  'BankAccountType',
  'BankName',
  'BankRoutingNumber',
  'SWIFT',
] as const);

/** The fields of an attribute, each from a form that has it. */
type Asked = {
  readonly fields: readonly RequiredField[];
  readonly isRequired: boolean;
  /** Where not every form asks for it: under which values it is required. */
  readonly conditions: readonly string[];
  readonly demands: readonly Demand[];
};

/** A form that is known, with the attributes on which it depends, and whether it requires the field. */
type Demand = {
  readonly pairs: readonly { type: AttributeType; field: RequiredField; value: string }[];
  readonly isRequired: boolean;
};

const types = new Set<string>(attributeTypes);

function isAttributeType(type: string | undefined): type is AttributeType {
  // The verification is this service's own.
  return type !== undefined && types.has(type) && type !== 'IDSelfieCollection';
}

/** Without those of values that the counterparty no longer takes, such as a bank that it left out. */
function listLive({ variants }: PayerRequirements): PayerRequirements['variants'] {
  const first = variants.find(({ given }) => Object.keys(given).length === 0)?.forms[0]?.fields;
  const isTaken = ([key, value]: [string, string]): boolean => {
    const choices = first?.find((one) => one.key === key)?.choices;
    return choices === undefined || choices.some((one) => one.value === value);
  };
  return variants.filter(({ given }) => Object.entries(given).every(isTaken));
}

function collectFields(requirements: PayerRequirements): Map<AttributeType, Asked> {
  const variants = listLive(requirements);
  const asked = new Map<AttributeType, Asked>();
  for (const { given, forms } of variants) {
    for (const one of forms[0]?.fields ?? []) {
      if (!isAttributeType(one.attribute)) continue;
      const before = asked.get(one.attribute) ?? noFields;
      const values = describeGiven(given, forms[0]?.fields ?? []);
      const conditions = one.isRequired && values.length > 0 ? [values.join(' and ')] : [];
      asked.set(one.attribute, {
        ...before,
        fields: [...before.fields, one],
        isRequired: before.isRequired && one.isRequired,
        conditions: [...before.conditions, ...conditions],
      });
    }
  }
  for (const [type, one] of asked) {
    const isEverywhere = variants.every(({ forms }) =>
      forms[0]?.fields.some(({ attribute }) => attribute === type),
    );
    const demands = variants.map((variant) => describeDemand(variant, type));
    asked.set(type, { ...one, isRequired: one.isRequired && isEverywhere, demands });
  }
  return asked;
}

/** `Bank name is Makati Bank`: what a form depends on, in the words that a person sees. */
function describeGiven(
  given: StoredRequirements['given'],
  fields: readonly RequiredField[],
): string[] {
  return Object.entries(given).map(([key, value]) => {
    const found = fields.find((one) => one.key === key);
    const choice = found?.choices?.find((one) => one.value === value);
    const label = describeLabel(found?.label ?? '');
    const meaning = describeLabel(choice?.label ?? '');
    return `${label === '' || label === key ? writeWords(key) : label} is ${
      meaning === '' || meaning === value ? writeCode(value) : meaning
    }`;
  });
}

/** The counterparty's name of a field that has no label: `legalType` is "legal type". */
const writeWords = (key: string): string =>
  key
    .replaceAll(/[._]/g, ' ')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase();

/** A code that is a word, such as BUSINESS; codes of countries and banks stay. */
const writeCode = (value: string): string =>
  /^[A-Z]{5,}(?:_[A-Z]+)*$/.test(value) ? value.toLowerCase().replaceAll('_', ' ') : value;

const noFields: Asked = { fields: [], isRequired: true, conditions: [], demands: [] };

function describeDemand({ given, forms }: StoredRequirements, attribute: AttributeType): Demand {
  const fields = forms[0]?.fields ?? [];
  const pairs = Object.entries(given).flatMap(([key, value]) => {
    const found = fields.find((one) => one.key === key);
    const type = found?.attribute;
    return found !== undefined && isAttributeType(type) ? [{ type, field: found, value }] : [];
  });
  const isRequired = fields.some((one) => one.attribute === attribute && one.isRequired);
  return { pairs, isRequired };
}

/** Of the forms that fit these attributes best: whether all require the field. */
function isDemanded(
  demands: readonly Demand[],
  values: ReadonlyMap<AttributeType, string>,
): boolean {
  const fitting = demands.filter(({ pairs }) =>
    pairs.every(({ type, field: one, value }) => {
      return findChoice(one, writeForField(one, values.get(type) ?? '')) === value;
    }),
  );
  const most = Math.max(0, ...fitting.map(({ pairs }) => pairs.length));
  // What depends on the user alone is the rail's to say.
  return most > 0 && fitting.every(({ pairs, isRequired }) => pairs.length < most || isRequired);
}

function demandBy({ demands }: Asked): Required<Pick<Field, 'isDemanded'>> {
  return { isDemanded: (values) => isDemanded(demands, values) };
}

function narrowField(base: Field, asked: Asked): Field {
  const { requirement } = base;
  const isOptional = requirement.isOptional && !asked.isRequired;
  const check = checkBoth(base.check, checkAsked(requirement.label, asked));
  const narrowed = {
    ...base,
    ...demandBy(asked),
    requirement: { ...requirement, ...narrowDigits(requirement, asked), isOptional },
    check,
  };
  const choices = listChoices(asked);
  if (choices === undefined || requirement.alternatives.length > 0) return narrowed;
  const shared = shareChoices(requirement.validation.split('|'), asked);
  if (requirement.inputType === 'options' && shared.length > 0) {
    return shared.length === requirement.validation.split('|').length
      ? narrowed
      : { ...narrowed, requirement: { ...narrowed.requirement, ...describeChoices(shared, {}) } };
  }
  // The counterparty has codes of its own, which replace the format.
  return makeField(requirement.type, { ...asked, isRequired: !isOptional });
}

/** A number of digits as the counterparty takes it; nothing where it takes all, or it is no such number. */
function narrowDigits({ validation, expectedValue, alternatives }: Requirement, asked: Asked) {
  const range = /^\^\[0-9\]\{(\d+),(\d+)\}\$$/.exec(validation);
  if (range === null || alternatives.length > 0) return {};
  const [minimum, maximum] = [Number(range[1]), Number(range[2])];
  const [least, most] = findLengths(asked);
  const digits = [Math.max(minimum, least), Math.min(maximum, most)] as const;
  if (digits[0] > digits[1] || (digits[0] === minimum && digits[1] === maximum)) return {};
  const narrowed = field({ type: 'BankAccountNumber', label: '', digits }).requirement;
  return {
    validation: narrowed.validation,
    expectedValue: expectedValue.replace(/^\d+ to \d+ digits/, narrowed.expectedValue),
  };
}

function shareChoices(values: readonly string[], { fields }: Asked): readonly string[] {
  return values.filter((value) => fields.some((one) => findChoice(one, value) !== undefined));
}

function describeChoices(values: readonly string[], meanings: Choices) {
  const { validation, expectedValue } = field({
    type: 'BankName',
    label: '',
    choices: Object.fromEntries(values.map((value) => [value, meanings[value] ?? ''])),
  }).requirement;
  return { validation, expectedValue };
}

function makeField(type: AttributeType, asked: Asked): Field {
  const first = asked.fields[0];
  const name = describeLabel(first?.label ?? type);
  const isOptional = !asked.isRequired;
  const check = checkAsked(name, asked);
  const hint = describeHint(asked);
  const choices = listChoices(asked);
  const shared = { type, label: name, isOptional, check };
  if (choices !== undefined) {
    const made = field({ ...shared, choices });
    const { expectedValue } = made.requirement;
    const sentence = hint === '' ? expectedValue : `${expectedValue}. ${hint}`;
    const shownRequirement = { ...made.requirement, expectedValue: sentence };
    return { ...made, ...demandBy(asked), requirement: shownRequirement };
  }
  if (asked.fields.every(({ input }) => input === 'date')) {
    const isBirth = type === 'DateOfBirth';
    const made = field({
      ...shared,
      ...(isBirth && { check: checkBoth(checkBirthDate, check), sampleStart: '19' }),
      isDate: true,
      hint: join('A date: YYYY-MM-DD', hint),
    });
    return { ...made, ...demandBy(asked) };
  }
  // Forms with patterns of their own are checked, and shown as a text.
  const patterns = new Set(asked.fields.map(({ pattern }) => pattern));
  const shown = patterns.size === 1 ? writePublicPattern(first?.pattern ?? '') : undefined;
  const lengthMax = Math.max(...asked.fields.map((one) => one.lengthMax ?? 255));
  const made = field({
    ...shared,
    pattern: shown?.slice(1, -1) ?? freeText(Math.min(Math.max(lengthMax, 2), 255)),
    hint: join(describeDigits(shown) || describeLengths(asked) || name, hint),
  });
  return { ...made, ...demandBy(asked) };
}

const join = (...sentences: readonly string[]) => sentences.filter((one) => one !== '').join('. ');

/** Of all forms; undefined where one takes free text, or its codes cannot stand in a pattern. */
function listChoices({ fields }: Asked): Choices | undefined {
  const choices = new Map<string, string>();
  for (const one of fields) {
    if (one.choices === undefined) return undefined;
    for (const { value, label } of one.choices) {
      if (!choicePattern.test(value)) return undefined;
      choices.set(value, label === value ? '' : describeLabel(label));
    }
  }
  return choices.size > choicesMax ? undefined : Object.fromEntries(choices);
}

/** Clients split the pattern at `|`; none of these characters means anything else in it. */
const choicePattern = /^[A-Za-z0-9](?:[A-Za-z0-9 _:/,&'-]*[A-Za-z0-9])?$/;
const choicesMax = 500;

/** Without the characters that set the meaning of a choice apart. */
function describeLabel(text: string): string {
  return text.replaceAll(/[()]/g, ' ').replaceAll(/\s+/g, ' ').trim().slice(0, 100);
}

/** `9 digits`, for a pattern that takes a number of digits. */
function describeDigits(pattern = ''): string {
  const range = /^\^(?:\\d|\[0-9\])\{(\d+)(?:,(\d+))?\}\$$/.exec(pattern);
  if (range === null) return '';
  const [, least, most = least] = range;
  return least === most ? `${least} digits` : `${least} to ${most} digits`;
}

/** The least and the most that one of the forms takes. */
const findLengths = ({ fields }: Asked): [least: number, most: number] => [
  Math.min(...fields.map(({ lengthMin = 0 }) => lengthMin)),
  Math.max(...fields.map(({ lengthMax = Number.POSITIVE_INFINITY }) => lengthMax)),
];

function describeLengths(asked: Asked): string {
  const [least, most] = findLengths(asked);
  if (!Number.isFinite(most)) return least > 1 ? `At least ${least} characters` : '';
  return least === most ? `${least} characters` : `${Math.max(least, 1)} to ${most} characters`;
}

function describeHint({ isRequired, conditions }: Asked): string {
  if (isRequired || conditions.length === 0) return '';
  const shown = [...new Set(conditions)].slice(0, conditionsShown);
  const more = conditions.length > shown.length ? ', and in other cases' : '';
  return `The payer requires it where ${shown.join(' or ')}${more}`;
}

const conditionsShown = 5;

/** One form must take the value: which one it is depends on the recipient. */
function checkAsked(label: string, asked: Asked): Check {
  const lengths = describeLengths(asked);
  return (value) =>
    asked.fields.some((one) => fitsField(one, writeForField(one, value)))
      ? undefined
      : {
          code: 'pattern_mismatch',
          detail: join(`${label} must have the form that the payer requires`, lengths),
        };
}

/** As of the user's own date of birth. */
const checkBirthDate: Check = (value, { today }) => {
  if (value < birthDateMin) {
    return { code: 'invalid_value', detail: `The date of birth must be ${birthDateMin} or later` };
  }
  if (isAdult(value, today)) return undefined;
  return { code: 'too_young', detail: 'The date of birth must be at least eighteen years ago' };
};

function checkBoth(first: Check | undefined, second: Check): Check {
  return (value, context) => first?.(value, context) ?? second(value, context);
}
