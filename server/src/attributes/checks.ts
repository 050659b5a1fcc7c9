import { RE2JS } from 're2js';
import { isRealDate } from '../core/calendar-date.ts';
import type { FaultCode } from '../core/errors.ts';
import { findCharacterFault } from '../core/plain-text.ts';
import type { AttributeType, CheckContext, Field, Option, Problem, Requirement } from './field.ts';
import { type Corridor, getFields, type RequirementProfile } from './requirements.ts';
import { listSpellings } from './spellings.ts';

/** A fault of one value. The detail never repeats the value, which is personal data. */
export type AttributeFault = { type: AttributeType; code: FaultCode; detail: string };

export type CheckResult = {
  /** At most one fault for each value, in the order of the profile. */
  faults: AttributeFault[];
  /** Required attributes without a value: not a fault, since a partial set may be stored. */
  missing: AttributeType[];
  /** The valid values, normalized. */
  normalized: Map<AttributeType, string>;
};

/** Applies to every value besides its pattern. UTF-16 code units. */
export const valueLengthMax = 255;

/** Patterns by their text, a few hundred in all. */
const compiled = new Map<string, RE2JS>();

/** Whether the whole value matches, in time linear in its length. */
export function matchesPattern(
  { validation }: Pick<Requirement, 'validation'>,
  value: string,
): boolean {
  let pattern = compiled.get(validation);
  if (pattern === undefined) {
    pattern = RE2JS.compile(validation);
    compiled.set(validation, pattern);
  }
  return pattern.matches(value);
}

function findFormProblem(requirement: Requirement, value: string): Problem | undefined {
  if (requirement.isReadOnly) {
    return { code: 'read_only', detail: `${requirement.label} is read-only` };
  }
  if (value.length > valueLengthMax) {
    const detail = `${requirement.label} must have at most ${valueLengthMax} characters`;
    return { code: 'too_long', detail };
  }
  const characters = findCharacterFault(value);
  if (characters !== undefined) {
    return { code: 'invalid_characters', detail: `${requirement.label} ${characters}` };
  }
  if (!matchesPattern(requirement, value)) {
    const detail = `${requirement.label} must match its pattern. ${requirement.expectedValue}`;
    return { code: 'pattern_mismatch', detail };
  }
  return undefined;
}

type Entry = { requirement: Requirement; field: Field | undefined; value: string };

function findProblem(entry: Entry, context: CheckContext): Problem | undefined {
  const { requirement, field, value } = entry;
  const problem = findFormProblem(requirement, value);
  if (problem !== undefined) return problem;
  // The pattern admits 31 February.
  if (requirement.inputType === 'date' && !isRealDate(value)) {
    return {
      code: 'not_a_date',
      detail: `${requirement.label} must be a calendar date, YYYY-MM-DD`,
    };
  }
  return field?.check?.(value, context);
}

/** Whether every field of an option has a value that belongs to it. */
function isOptionComplete(
  { group, name }: Option,
  fields: readonly Field[],
  values: ReadonlyMap<AttributeType, string>,
): boolean {
  return fields.every(({ requirement: { type, alternatives }, belongs }) => {
    const part = alternatives.find((other) => other.group === group && other.name === name);
    if (part === undefined) return true;
    const value = values.get(type);
    const matches = value !== undefined && matchesPattern(part, value);
    return matches && (belongs?.(name, values) ?? true);
  });
}

type WithOptions = Pick<Requirement, 'alternatives'>;

/** The options of an attribute's group that do not need it. */
export function listOtherOptions(
  { alternatives }: WithOptions,
  attributes: readonly WithOptions[],
): Option[] {
  const own = new Set(alternatives.map(({ group, name }) => `${group} ${name}`));
  const groups = new Set(alternatives.map(({ group }) => group));
  return attributes
    .flatMap((attribute) => attribute.alternatives)
    .filter(({ group, name }) => groups.has(group) && !own.has(`${group} ${name}`));
}

/**
 * Checks the values of an attribute set against its profile: the pattern of each, then what no
 * pattern can express (check digits, checksums, numbering plans, dates, consistency with each
 * other). Before that, values are tidied. An empty text counts as absent for an optional attribute and
 * for one that another option does without.
 */
export function checkValues(
  profile: RequirementProfile,
  corridor: Corridor,
  given: { values: ReadonlyMap<AttributeType, string>; today: string },
): CheckResult {
  const list = getFields(corridor);
  const fields = new Map(list.map((one) => [one.requirement.type, one]));
  const known = new Map(profile.requirements.map((one) => [one.type, one]));
  const values = tidyValues(known, corridor, given.values);
  const context: CheckContext = { countryCode: corridor.countryCode, values, today: given.today };
  const result: CheckResult = { faults: [], missing: [], normalized: new Map() };
  for (const type of values.keys()) {
    if (known.has(type)) continue;
    const detail = `${type} is not an attribute of this destination`;
    result.faults.push({ type, code: 'unknown_attribute', detail });
  }
  for (const [type, requirement] of known) {
    const field = fields.get(type);
    const value = values.get(type);
    const others = listOtherOptions(requirement, profile.requirements);
    const isOmittable = requirement.isOptional || others.length > 0;
    if (value === undefined || (value === '' && isOmittable)) {
      const isRequired = !requirement.isOptional && !requirement.isReadOnly;
      const isMissing = isRequired
        ? others.every((option) => !isOptionComplete(option, list, values))
        : field?.isDemanded?.(values) === true;
      if (isMissing) result.missing.push(type);
      continue;
    }
    const problem = findProblem({ requirement, field, value }, context);
    if (problem === undefined) result.normalized.set(type, field?.normalize?.(value) ?? value);
    else result.faults.push({ type, ...problem });
  }
  return result;
}

function tidyValues(
  known: ReadonlyMap<AttributeType, Requirement>,
  { deliveryType }: Corridor,
  values: ReadonlyMap<AttributeType, string>,
): Map<AttributeType, string> {
  const tidied = new Map(values);
  for (const [type, value] of values) {
    const requirement = known.get(type);
    if (requirement === undefined || value.length > valueLengthMax) continue;
    const spellings = listSpellings(requirement, deliveryType, value);
    const found = spellings.find((spelling) => matchesPattern(requirement, spelling));
    if (found !== undefined) tidied.set(type, found);
  }
  return tidied;
}
