import { z } from 'zod';
import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
} from '../../src/rails/contract/contract.ts';
import { openBankCounterparty, signAsBank } from '../counterparties/template/bank.ts';
import type { ConformanceSubject } from './subject.ts';

/**
 * A small rail for the bank of the template, with defects that can be planted in it. The suite is
 * tested by them: it must find each.
 */

export const plantedDefects = [
  /** Every request has a new idempotency key. */
  'new_key_each_time',
  /** A second send is not recognized. */
  'forgets_what_was_sent',
  /** A write that the store refused for its revision counts as done. */
  'ignores_revisions',
  /** No answer is taken for a refusal. */
  'silence_is_refusal',
  /** No answer is taken for a request that was never sent. */
  'silence_is_retry',
  /** Any 404 is taken for a refusal. */
  'believes_404',
  /** Errors are thrown. */
  'throws',
  /** Callbacks need no signature. */
  'believes_anybody',
  /** A callback for a payment without a record throws. */
  'callback_needs_record',
  /** A second send is a new order. */
  'resends_refused',
  /** The name is logged. */
  'logs_names',
  /** The account is a key of the store. */
  'keys_by_account',
  /** Charges have the amount 0. */
  'says_zero',
  /** Reasons are not of the vocabulary. */
  'says_own_words',
  /** The record is written after the order has left. */
  'books_first',
  /** A query never calls the bank. */
  'never_asks',
  /** A query orders again although an operator has stopped the payment. */
  'orders_while_stopped',
] as const;
export type PlantedDefect = (typeof plantedDefects)[number] | 'none';

const configSchema = z.strictObject({ url: z.string() });
type MiniConfig = z.output<typeof configSchema>;

const answerSchema = z.object({
  reference: z.string(),
  state: z.enum(['none', 'accepted', 'paid', 'rejected', 'returned']),
});
const eventSchema = z.object({ id: z.string(), payment: answerSchema });

export function describeMiniRail(defect: PlantedDefect): ConformanceSubject<MiniConfig> {
  return {
    module: {
      kind: 'mini',
      reference: { lengthMax: 32, charset: /^[0-9a-f]+$/ },
      configSchema,
      create: async ({ url }, host) => createMiniRail({ url, host, defect }),
    },
    clock: 'steered',
    unsupported: { files: 'the bank posts callbacks', cancellation: 'a payment cannot be stopped' },
    // Short for the cases that hang; a defect must not hide behind a call that a busy machine delays.
    callMsMax: defect === 'none' ? 300 : 1_500,
    timeoutMs: defect === 'none' ? 60_000 : 3_000,
    booking: /^POST \/payments/,
    openCounterparty: (place) => openBankCounterparty(place, (url) => ({ url })),
  };
}

type Mini = { readonly url: string; readonly host: RailHost; readonly defect: PlantedDefect };

function createMiniRail(mini: Mini): RailCalls {
  const { host, defect } = mini;
  const guard =
    (act: (instruction: Instruction, context: CallContext) => Promise<RailAnswer>) =>
    async (instruction: Instruction, context: CallContext): Promise<RailAnswer> => {
      if (defect === 'logs_names') host.log('info', 'called', { name: nameOf(instruction) });
      try {
        return await act(instruction, context);
      } catch (error) {
        if (defect === 'throws') throw error;
        if (defect === 'silence_is_refusal') return { outcome: 'rejected', reason: 'no_answer' };
        if (defect === 'silence_is_retry') return { outcome: 'retry', reason: 'no_answer' };
        return unclear;
      }
    };
  const query = guard((instruction, context) => queryBank(mini, instruction, context));
  return {
    query,
    send: guard((instruction, context) => sendToBank(mini, instruction, context)),
    readCallback: async ({ body, headers }) => {
      const text = Buffer.from(body).toString();
      const isSigned = headers['x-signature'] === signAsBank(text);
      if (!isSigned && defect !== 'believes_anybody')
        return { kind: 'refused', detail: 'unsigned' };
      const parsed = eventSchema.safeParse(readJson(text));
      if (!parsed.success) return { kind: 'malformed', detail: 'no event' };
      const { reference, state } = parsed.data.payment;
      if (state === 'none') return { kind: 'malformed', detail: 'no state' };
      const record = await host.store.get('payments', reference);
      if (defect === 'callback_needs_record' && record === undefined) throw new Error('unknown');
      const id = `${reference} ${state}`;
      const isBad = state === 'rejected' || state === 'returned';
      const reason = isBad ? ({ reason: 'account_closed' } as const) : {};
      const observation = { id, reference, outcome: state, atMs: host.nowMs(), ...reason };
      const message = { id, channel: 'callback', raw: body, observations: [observation] } as const;
      return { kind: 'accepted', message };
    },
  };
}

function nameOf({ beneficiary }: Instruction): string {
  return `${beneficiary.firstName} ${beneficiary.lastName}`;
}

async function sendToBank(
  mini: Mini,
  instruction: Instruction,
  context: CallContext,
): Promise<RailAnswer> {
  const { defect } = mini;
  const key = keyOf(mini, instruction);
  const record = await mini.host.store.get('payments', key);
  const isForgotten = defect === 'forgets_what_was_sent' || defect === 'resends_refused';
  if (record !== undefined && !isForgotten) return queryBank(mini, instruction, context);
  const change = { collection: 'payments', key, revision: record?.revision ?? 0 };
  const write = (): Promise<boolean> =>
    mini.host.store.write([{ ...change, next: { state: 'sent', value: {} } }]);
  if (defect !== 'books_first') {
    const isMine = (await write()) || defect === 'ignores_revisions';
    if (!isMine) return queryBank(mini, instruction, context);
  }
  const isAgain = record !== undefined && defect === 'resends_refused';
  const answer = await book(mini, instruction, { signal: context.signal, isAgain });
  if (defect === 'books_first') await write();
  return answer;
}

function keyOf({ defect }: Mini, { reference, attributes }: Instruction): string {
  return defect === 'keys_by_account'
    ? `${attributes['BankAccountNumber']} ${reference}`
    : reference;
}

/** The bank books a key once, so that repeating an order is harmless; with some defects it is not. */
function book(
  mini: Mini,
  { reference, amountMinor, currency }: Instruction,
  { signal, isAgain }: { signal: AbortSignal; isAgain: boolean },
): Promise<RailAnswer> {
  const isOwnKey = (
    ['new_key_each_time', 'forgets_what_was_sent', 'ignores_revisions'] as PlantedDefect[]
  ).includes(mini.defect);
  const key = isOwnKey ? `${reference} ${Math.random()}` : `${reference}${isAgain ? ' again' : ''}`;
  const body = { reference, key, amount: amountMinor.toString(), currency };
  return callBank(mini, signal, { path: '/payments', body }).then((answer) => answer ?? unclear);
}

const unclear: RailAnswer = { outcome: 'unknown', reason: 'no_answer' };

async function queryBank(
  mini: Mini,
  instruction: Instruction,
  { signal, isStopped = false }: CallContext,
): Promise<RailAnswer> {
  if (mini.defect === 'never_asks') return unclear;
  const record = await mini.host.store.get('payments', keyOf(mini, instruction));
  if (record === undefined) return { outcome: 'retry', reason: 'unreachable' };
  const answer = await callBank(mini, signal, { path: `/payments/${instruction.reference}` });
  if (answer === undefined && isStopped && mini.defect !== 'orders_while_stopped') return unclear;
  // An earlier order may still arrive, under the same key.
  return answer ?? book(mini, instruction, { signal, isAgain: false });
}

/** Undefined where the bank has no payment of the reference. */
async function callBank(
  { url, host, defect }: Mini,
  signal: AbortSignal,
  request: { path: string; body?: object },
): Promise<RailAnswer | undefined> {
  const { path, body } = request;
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await host.fetch(url + path, { ...init, signal });
  if (defect === 'believes_404' && response.status === 404) {
    return { outcome: 'rejected', reason: 'payer_refused' };
  }
  const text = await response.text();
  if (response.headers.get('x-signature') !== signAsBank(text)) throw new Error('unsigned');
  const { state } = answerSchema.parse(readJson(text));
  switch (state) {
    case 'none':
      return undefined;
    case 'accepted':
    case 'paid':
      return defect === 'says_zero'
        ? { outcome: state, charges: [{ id: '1', kind: 'bank', currency: 'EUR', amountMinor: 0n }] }
        : { outcome: state };
    case 'rejected':
    case 'returned': {
      const ownWords = 'the account was closed' as 'account_closed';
      return { outcome: state, reason: defect === 'says_own_words' ? ownWords : 'account_closed' };
    }
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
