import type { Schemas } from '../../api/client.ts';

export type Attribute = Schemas['Attribute'];

/** The choices of an attribute with `options`: its validation lists them. */
export function listChoices({
  validation,
  expected_value: hint,
}: Attribute): { value: string; label: string }[] {
  const plain = validation.replace(/^\^?\(?(?:\?:)?/, '').replace(/\)?\$?$/, '');
  return plain.split('|').map((value) => {
    const note = new RegExp(`\\b${value.replace(/\W/g, '\\$&')} \\(([^)]+)\\)`).exec(hint)?.[1];
    // With a meaning it is a code, such as that of a bank, and stays as it is.
    const isWords = note === undefined && /^[A-Z_]+$/.test(value);
    const words = isWords ? value.replaceAll('_', ' ').toLowerCase() : value;
    const label = words.charAt(0).toUpperCase() + words.slice(1);
    return { value, label: note === undefined ? label : `${label}: ${note}` };
  });
}

/**
 * What is said about an attribute with `options` beside its choices, such as when it is required. The
 * list of choices ends at the first full stop that is not in the meaning of one.
 */
export function findChoiceHint({ expected_value: hint }: Attribute): string | undefined {
  const rest = hint.replace(/^One of: (?:\([^()]*\)|[^().])*(?:\. )?/, '');
  return rest === '' ? undefined : rest;
}

export type Group = { group: string; options: { option: string; label: string }[] };

/** The groups of which one option is to be complete, such as a Pix key or a bank account. */
export function listGroups(attributes: readonly Attribute[]): Group[] {
  const groups = new Map<string, Map<string, string>>();
  for (const { group, option, label } of attributes.flatMap(({ alternatives }) => alternatives)) {
    const options = groups.get(group) ?? new Map<string, string>();
    groups.set(group, options.set(option, label));
  }
  return [...groups].map(([group, options]) => ({
    group,
    options: [...options].map(([option, label]) => ({ option, label })),
  }));
}

export type Chosen = Readonly<Record<string, string>>;

/** What is asked for, with the chosen option of each group. */
export function listAsked(attributes: readonly Attribute[], chosen: Chosen): Attribute[] {
  return attributes.flatMap((attribute) => {
    if (attribute.alternatives.length === 0) return [attribute];
    const fitting = attribute.alternatives.find(({ group, option }) => chosen[group] === option);
    return fitting === undefined ? [] : [{ ...attribute, validation: fitting.validation }];
  });
}

/** A sentence where the value does not have the form; the service checks it again, and more. */
export function findFormFault(
  { validation, is_optional: isOptional, expected_value: hint }: Attribute,
  value: string,
): string | undefined {
  if (value === '') return isOptional ? undefined : 'Required';
  try {
    return new RegExp(`^(?:${validation})$`, 'u').test(value) ? undefined : `Must be: ${hint}`;
  } catch {
    // RE2 knows forms that this engine does not; then only the service checks it.
    return undefined;
  }
}
