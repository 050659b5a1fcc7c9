import { createHash } from 'node:crypto';
import type {
  AccountForm,
  CallContext,
  RailHost,
  RequirementsKey,
  StoredRequirements,
} from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import {
  chooseForm,
  describeForms,
  draftDetails,
  fillForm,
  listUncheckedKeys,
  nestDetails,
  type RecipientDetails,
  readTriggers,
  type Triggers,
} from './account-forms.ts';
import type { Api, ApiResult } from './api.ts';
import { requirementFormsSchema } from './protocol.ts';
import type { Recipient } from './recipient-fields.ts';

/**
 * Dynamic account requirements: Wise says for a quote which fields a recipient account must have, and
 * says more when fields with `refreshRequirementsOnChange` have got their values. What it says is kept
 * by the host, in versions, and becomes the attributes of the destination. A payment reads it again.
 */

export type FilledForm =
  | { readonly kind: 'filled'; readonly details: RecipientDetails }
  /** A key that cannot be filled, or whose value does not have the form's form. */
  | { readonly kind: 'unfit'; readonly field: string }
  | { readonly kind: 'failed'; readonly result: Failure };

type Failure = Exclude<ApiResult<never>, { kind: 'answered' }>;
type Forms = readonly AccountForm[];
type Reading = { readonly kind: 'answered'; readonly value: Forms } | Failure;

export type Requirements = {
  /** The account of a payment, by the forms that Wise has now. */
  fillIn(quoteId: string, recipient: Recipient, context: CallContext): Promise<FilledForm>;
  /** Reads what Wise asks for under these values, and has the host keep it. */
  read(
    asked: { quoteId: string; payer: PayerDeclaration; key: RequirementsKey },
    context: CallContext,
  ): Promise<Reading>;
  /**
   * The forms that the host has for the recipient; undefined where it has none of the payer. What is
   * not known yet is wanted, and the forms before it are given.
   */
  findStored(recipient: Recipient): Forms | undefined;
};

/** Each round asks for what the values of the round before require. */
const roundsMax = 6;

/** Version 1.1 has the name and e-mail of the recipient among the fields. */
export const minorVersion = { 'accept-minor-version': '1' };

type Cached = { readonly forms: Forms; readonly untilMs: number };

type Parts = {
  readonly api: Api;
  readonly host: RailHost;
  readonly cache: Map<string, Cached>;
  readonly keepMs: number;
};

export function createRequirements(
  { api, host }: { readonly api: Api; readonly host: RailHost },
  keepMs: number,
): Requirements {
  const parts: Parts = { api, host, cache: new Map(), keepMs };
  return {
    fillIn: (quoteId, recipient, context) => fillIn(parts, { quoteId, recipient }, context),
    read: ({ quoteId, payer, key }, context) => {
      const values = new Map(Object.entries(key.given));
      const question = { quoteId, payer, key, isKept: true };
      if (values.size === 0) return ask(parts, question, context);
      const type = host.requirements?.find({ ...key, given: {} })?.forms[0]?.type;
      // Before the first form is known, there is nothing to fill in.
      if (type === undefined) return Promise.resolve({ kind: 'missing' });
      const body = { currency: key.currency, ...nestDetails(type, values) };
      return ask(parts, { ...question, body }, context);
    },
    findStored: (recipient) => findStored(host, recipient),
  };
}

async function ask(
  { api, host }: Parts,
  question: Question,
  context: CallContext,
): Promise<Reading> {
  const { payer, key, body, isKept } = question;
  const path = `/v1/quotes/${question.quoteId}/account-requirements`;
  const method = body === undefined ? 'GET' : 'POST';
  const request = { method, path, headers: minorVersion } as const;
  const answer = await api(
    body === undefined ? request : { ...request, body },
    requirementFormsSchema,
    context,
  );
  if (answer.kind !== 'answered') return answer;
  // A route without any account is not one that Wise would have quoted.
  if (answer.value.length === 0) return { kind: 'unclear', reason: 'not_understood' };
  const forms = describeForms(answer.value, payer, key.currency);
  const unchecked = listUncheckedKeys(answer.value).slice(0, 20).join(' ');
  if (unchecked !== '') {
    const fields = { payer: key.payerKey, currency: key.currency, keys: unchecked };
    host.log('warn', 'patterns of account requirements cannot be checked here', fields);
  }
  if (isKept && forms.length > 0) await keep(host, { ...key, forms });
  return { kind: 'answered', value: forms };
}

async function readCached(
  parts: Parts,
  { name, ...question }: Question & { readonly name: string },
  context: CallContext,
): Promise<Reading> {
  const { cache, host, keepMs } = parts;
  const known = cache.get(name);
  if (known !== undefined && known.untilMs > host.realNowMs()) {
    return { kind: 'answered', value: known.forms };
  }
  const answer = await ask(parts, question, context);
  if (answer.kind !== 'answered') return useStored(host, question, answer);
  if (cache.size >= cacheMax) cache.clear();
  cache.set(name, { forms: answer.value, untilMs: host.realNowMs() + keepMs });
  return answer;
}

async function fillIn(
  parts: Parts,
  { quoteId, recipient }: { quoteId: string; recipient: Recipient },
  context: CallContext,
): Promise<FilledForm> {
  const { payer, currency } = recipient;
  const route = `${payer.key}:${currency}`;
  const first = { payerKey: payer.key, currency, given: {} };
  const question = { quoteId, payer, key: first, isKept: true };
  let answer = await readCached(parts, { ...question, name: route }, context);
  let asked = nameTriggers({ given: {}, free: {} });
  for (let round = 0; round < roundsMax; round += 1) {
    if (answer.kind !== 'answered') return { kind: 'failed', result: answer };
    const form = chooseForm(answer.value, recipient);
    if (form === undefined) return { kind: 'unfit', field: 'type' };
    const triggers = readTriggers(form, recipient);
    const name = nameTriggers(triggers);
    if (name === asked) return fillForm(form, recipient);
    asked = name;
    // What depends on the text of a person, or is not the form that clients are asked for, is not kept.
    const isKept = Object.keys(triggers.free).length === 0 && form === answer.value[0];
    const body = { currency, ...draftDetails(form, recipient) };
    const key = { ...first, given: triggers.given };
    const next = { ...question, key, body, isKept, name: `${route}:${form.type}:${name}` };
    answer = await readCached(parts, next, context);
  }
  return { kind: 'unfit', field: 'refreshRequirementsOnChange' };
}

function findStored(host: RailHost, recipient: Recipient): Forms | undefined {
  const memory = host.requirements;
  if (memory === undefined) return undefined;
  const find = (key: RequirementsKey): StoredRequirements | undefined => {
    const found = memory.find(key);
    void memory.want(key).then((isStored) => {
      if (isStored && memory.find(key) === undefined) host.wake();
    });
    return found;
  };
  const key = { payerKey: recipient.payer.key, currency: recipient.currency, given: {} };
  let stored = find(key);
  for (let round = 0; stored !== undefined && round < roundsMax; round += 1) {
    const [form] = stored.forms;
    if (form === undefined) return undefined;
    const { given } = readTriggers(form, recipient);
    if (isEqual(given, stored.given)) return stored.forms;
    const next = find({ ...key, given });
    if (next === undefined) return stored.forms;
    stored = next;
  }
  return stored?.forms;
}

type Question = {
  readonly quoteId: string;
  readonly payer: PayerDeclaration;
  readonly key: RequirementsKey;
  /** Of a form that is filled in part; absent: nothing is. */
  readonly body?: object;
  readonly isKept: boolean;
};

/** Forms in memory; more routes than this are read again. */
const cacheMax = 1000;

/** A failure to keep them fails no payment: the answer of Wise is there. */
async function keep(
  host: RailHost,
  requirements: RequirementsKey & { readonly forms: Forms },
): Promise<void> {
  try {
    await host.requirements?.keep([requirements]);
  } catch (error) {
    const { payerKey: payer, currency } = requirements;
    const reason = error instanceof Error ? error.message : typeof error;
    host.log('error', 'account requirements are not kept', { payer, currency, reason });
  }
}

/** Where Wise gives no answer now, the last version counts. */
function useStored(host: RailHost, { key, isKept }: Question, answer: Failure): Reading {
  if (answer.kind !== 'unclear' || !isKept) return answer;
  const stored = host.requirements?.find(key);
  if (stored === undefined) return answer;
  const { payerKey: payer, currency } = key;
  const ageSeconds = Math.round((host.nowMs() - stored.readAtMs) / 1000);
  const fields = { payer, currency, version: stored.version, ageSeconds };
  host.log('warn', 'Wise does not give account requirements: the last ones are used', fields);
  return { kind: 'answered', value: stored.forms };
}

/** A digest, because values of free text can tell of a person. */
function nameTriggers({ given, free }: Triggers): string {
  const pairs = Object.entries({ ...given, ...free }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(pairs)).digest('hex');
}

function isEqual(
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
