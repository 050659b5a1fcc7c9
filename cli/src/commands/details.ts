import {
  type AnswerOf,
  type Client,
  type Fault,
  InvalidRequestError,
} from '../../../sdk/src/index.ts';
import type { Context } from '../command.ts';
import { Failure, UsageError } from '../failure.ts';
import { printable } from '../table.ts';
import { describeMissing } from './obstacles.ts';

/** What a destination needs of the recipient: asked one by one, or taken from options. */

type Attribute = AnswerOf<'readAttributes'>[number];
type Stored = AnswerOf<'storeAttributes'>;

export type Place = { user_token: string; destination_token: string; currency: string };

/** By attribute: its token, type or label, in any case. */
export type Given = readonly (readonly [name: string, value: string])[];

/** Answered by a verification, not by text. */
const readOnlyType = 'IDSelfieCollection';

/**
 * Stores what is needed and missing.
 *
 * @returns the set to pay with; `undefined` where the stored one is complete and nothing was given.
 * @throws Failure that names everything that is missing, where there is no person to ask.
 */
export async function collectDetails(
  context: Pick<Context, 'output' | 'ask' | 'signal'>,
  client: Client,
  { place, given }: { place: Place; given: Given },
): Promise<string | undefined> {
  const { output, signal } = context;
  const attributes = await client.readAttributes({ ...place }, { signal });
  const values = new Map(
    given.map(([name, value]) => [findAttribute(attributes, name).token, value]),
  );
  const writable = attributes.filter(({ type }) => type !== readOnlyType);
  const stored = attributes.find(({ attr_set_token }) => attr_set_token !== '')?.attr_set_token;
  if (output.isInteractive) await askFor(context, writable, values);
  if (values.size === 0) return stored;
  for (;;) {
    try {
      const answer = await store(client, { place, values, stored }, signal);
      checkComplete(answer);
      return answer.attr_set_token;
    } catch (error) {
      if (!(error instanceof InvalidRequestError)) throw error;
      if (!output.isInteractive) {
        noteFaults(output, writable, error.faults);
        throw error;
      }
      await askAgain(context, { attributes: writable, faults: error.faults, values });
    }
  }
}

function findAttribute(attributes: readonly Attribute[], name: string): Attribute {
  const wanted = name.toLowerCase();
  const found = attributes.find(({ token, type, label }) =>
    [token, type, label].some((text) => text.toLowerCase() === wanted),
  );
  if (found !== undefined) return found;
  const known = attributes.map(({ type, label }) => `${type} (${label})`).join(', ');
  throw new UsageError(`--detail ${name}: this destination asks for ${known}`);
}

async function store(
  client: Client,
  {
    place,
    values,
    stored,
  }: { place: Place; values: ReadonlyMap<string, string>; stored: string | undefined },
  signal: AbortSignal,
): Promise<Stored> {
  const body = {
    values: [...values].map(([token, value]) => ({ token, value })),
    attr_set_token: stored,
  };
  return client.storeAttributes({ ...place, body }, { signal });
}

/** A verification is missing only at the commit, which says where to do it. */
function checkComplete({ missing }: Stored): void {
  const needed = missing.filter(({ type }) => type !== readOnlyType);
  if (needed.length === 0) return;
  throw new Failure(['The destination needs more:', ...describeMissing(needed)].join('\n'), {
    code: 'attributes_missing',
    next: `add ${needed.map(({ type }) => `--detail ${type}=…`).join(' ')}`,
  });
}

/** Of each group of options one is chosen, then its values are asked with those that all need. */
async function askFor(
  { ask }: Pick<Context, 'ask'>,
  attributes: readonly Attribute[],
  values: Map<string, string>,
): Promise<void> {
  const chosen = new Map<string, string>();
  for (const attribute of attributes) {
    if (values.has(attribute.token) || attribute.value !== '') continue;
    const { alternatives } = attribute;
    for (const { group } of alternatives) {
      if (!chosen.has(group)) chosen.set(group, await askOption(ask, attributes, group));
    }
    const used = alternatives.find(({ group, option }) => chosen.get(group) === option);
    if (alternatives.length > 0 && used === undefined) continue;
    const answer = await askValue(ask, attribute, used?.validation);
    if (answer !== '') values.set(attribute.token, answer);
  }
}

async function askOption(
  ask: Context['ask'],
  attributes: readonly Attribute[],
  group: string,
): Promise<string> {
  const options = new Map(
    attributes
      .flatMap(({ alternatives }) => alternatives)
      .filter((alternative) => alternative.group === group)
      .map(({ option, label }) => [option, label]),
  );
  const choices = [...options].map(([value, label]) => ({ value, label }));
  return ask.select('Which of these do you have?', choices);
}

async function askValue(
  ask: Context['ask'],
  { label, input_type, is_optional, expected_value, validation }: Attribute,
  narrowed = validation,
): Promise<string> {
  const message = is_optional ? `${label} (optional)` : label;
  if (input_type === 'options') {
    const choices = validation.split('|').map((value) => ({ value, label: value }));
    const none = is_optional ? [{ value: '', label: 'leave out' }] : [];
    return ask.select(message, [...choices, ...none]);
  }
  return ask.text({
    message: `${message}: ${expected_value}`,
    isOptional: is_optional,
    check: (answer) => (couldMatch(answer, narrowed) ? undefined : expected_value),
  });
}

/**
 * Whether the service could accept an answer, which it tidies first (docs/interface.md, Attributes).
 * Check digits are known to the service alone.
 */
function couldMatch(answer: string, validation: string): boolean {
  const bare = answer.replaceAll(/[\s.()/-]/g, '');
  const spellings = [answer, bare, bare.replace(/^\+/, ''), `+${bare}`];
  const pattern = new RegExp(`^(?:${validation})$`);
  return spellings
    .flatMap((text) => [text, text.toUpperCase(), text.toLowerCase()])
    .some((text) => pattern.test(text));
}

/** Names the attribute of each fault: the service's detail may fit any of them. */
function noteFaults(
  output: Context['output'],
  attributes: readonly Attribute[],
  faults: readonly Fault[],
): void {
  for (const { token, detail } of faults) {
    const attribute = attributes.find((one) => one.token === token);
    if (attribute !== undefined) output.note(printable(`${attribute.label}: ${detail}`));
  }
}

/** @throws Failure for a fault of none of the answers, which would come again. */
async function askAgain(
  { ask, output }: Pick<Context, 'ask' | 'output'>,
  {
    attributes,
    faults,
    values,
  }: {
    attributes: readonly Attribute[];
    faults: readonly Fault[];
    values: Map<string, string>;
  },
): Promise<void> {
  for (const { token, detail } of faults) {
    const attribute = attributes.find((one) => one.token === token);
    if (attribute === undefined) throw new Failure(detail);
    output.note(printable(`${attribute.label}: ${detail}`));
    values.set(attribute.token, await askValue(ask, attribute));
  }
}
