import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { z } from 'zod';
import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
} from '../../src/rails/contract/contract.ts';
import type { ConformanceSubject, Counterparty, ExpectedOutcome, Place } from './subject.ts';

/**
 * The smallest bank and the smallest rail that the suite can be tried on, and the ways in which the
 * rail can be wrong. A suite that lets one of these pass would be none.
 */

export const mistakes = [
  /** Every request books under a key of its own. */
  'new_key_each_time',
  /** A second send is not recognised. */
  'forgets_what_was_sent',
  /** The store's refusal to write twice is not heeded. */
  'ignores_revisions',
  /** What did not answer is called refused. */
  'silence_is_refusal',
  /** What did not answer is called never sent. */
  'silence_is_retry',
  /** Any 404 is believed. */
  'believes_404',
  /** Errors are thrown. */
  'throws',
  /** Callbacks need no signature. */
  'believes_anybody',
  /** A callback about a payment that is not known yet is an error. */
  'callback_needs_record',
  /** A refused payment is sent anew. */
  'resends_refused',
  /** The name is logged. */
  'logs_names',
  /** The account is a key of the store. */
  'keys_by_account',
  /** Amounts are said as 0. */
  'says_zero',
  /** Reasons are made up. */
  'says_own_words',
  /** Nothing is written before money leaves, and the store is what the query asks. */
  'books_first',
  /** The bank is never asked: what was not heard stays unknown. */
  'never_asks',
] as const;
export type Mistake = (typeof mistakes)[number] | 'none';

const secret = 'shared by the bank and the rail';
const configSchema = z.strictObject({ url: z.string() });
type MiniConfig = z.output<typeof configSchema>;

const answerSchema = z.strictObject({
  reference: z.string(),
  state: z.enum(['none', 'accepted', 'paid', 'rejected', 'returned']),
});
type BankState = z.output<typeof answerSchema>['state'];

export function describeMiniRail(mistake: Mistake): ConformanceSubject<MiniConfig> {
  return {
    module: {
      kind: 'mini',
      reference: { lengthMax: 32, charset: /^[0-9a-f]+$/ },
      configSchema,
      create: async ({ url }, host) => createMiniRail({ url, host, mistake }),
    },
    clock: 'steered',
    cannot: { files: 'it is told by callbacks', cancellation: 'a payment cannot be stopped' },
    callMsMax: 300,
    patienceMs: mistake === 'none' ? 60_000 : 3_000,
    booking: /^POST \/payments/,
    openCounterpart: openMiniBank,
  };
}

type Mini = { readonly url: string; readonly host: RailHost; readonly mistake: Mistake };

function createMiniRail(mini: Mini): RailCalls {
  const { host, mistake } = mini;
  const guard =
    (act: (instruction: Instruction, signal: AbortSignal) => Promise<RailAnswer>) =>
    async (instruction: Instruction, { signal }: CallContext): Promise<RailAnswer> => {
      if (mistake === 'logs_names') host.log('info', 'called', { name: nameOf(instruction) });
      try {
        return await act(instruction, signal);
      } catch (error) {
        if (mistake === 'throws') throw error;
        if (mistake === 'silence_is_refusal') return { outcome: 'rejected', reason: 'no_answer' };
        if (mistake === 'silence_is_retry') return { outcome: 'retry', reason: 'no_answer' };
        return unclear;
      }
    };
  const query = guard((instruction, signal) => askBank(mini, instruction, signal));
  return {
    query,
    send: guard((instruction, signal) => sendToBank(mini, instruction, signal)),
    readCallback: async ({ body, headers }) => {
      const text = Buffer.from(body).toString();
      const isSigned = headers['x-signature'] === sign(text);
      if (!isSigned && mistake !== 'believes_anybody')
        return { kind: 'refused', detail: 'unsigned' };
      const parsed = answerSchema.safeParse(readJson(text));
      if (!parsed.success) return { kind: 'malformed', detail: 'no event' };
      const { reference, state } = parsed.data;
      if (state === 'none') return { kind: 'malformed', detail: 'no state' };
      const record = await host.store.get('payments', reference);
      if (mistake === 'callback_needs_record' && record === undefined) throw new Error('unknown');
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
  signal: AbortSignal,
): Promise<RailAnswer> {
  const { mistake } = mini;
  const key = keyOf(mini, instruction);
  const record = await mini.host.store.get('payments', key);
  const isForgotten = mistake === 'forgets_what_was_sent' || mistake === 'resends_refused';
  if (record !== undefined && !isForgotten) return askBank(mini, instruction, signal);
  const change = { collection: 'payments', key, revision: record?.revision ?? 0 };
  const write = (): Promise<boolean> =>
    mini.host.store.write([{ ...change, next: { state: 'sent', value: {} } }]);
  if (mistake !== 'books_first') {
    const isMine = (await write()) || mistake === 'ignores_revisions';
    if (!isMine) return askBank(mini, instruction, signal);
  }
  const isAgain = record !== undefined && mistake === 'resends_refused';
  const answer = await book(mini, instruction, { signal, isAgain });
  if (mistake === 'books_first') await write();
  return answer;
}

function keyOf({ mistake }: Mini, { reference, attributes }: Instruction): string {
  return mistake === 'keys_by_account' ? `${attributes['account']} ${reference}` : reference;
}

/** The bank books a key once, so that asking for it again is harmless; with a mistake it is not. */
function book(
  mini: Mini,
  { reference, amountMinor }: Instruction,
  { signal, isAgain }: { signal: AbortSignal; isAgain: boolean },
): Promise<RailAnswer> {
  const isOwnKey = (
    ['new_key_each_time', 'forgets_what_was_sent', 'ignores_revisions'] as Mistake[]
  ).includes(mini.mistake);
  const key = isOwnKey ? `${reference} ${Math.random()}` : `${reference}${isAgain ? ' again' : ''}`;
  const body = { reference, key, amount: amountMinor.toString() };
  return callBank(mini, signal, { path: '/payments', body }).then((answer) => answer ?? unclear);
}

const unclear: RailAnswer = { outcome: 'unknown', reason: 'no_answer' };

async function askBank(
  mini: Mini,
  instruction: Instruction,
  signal: AbortSignal,
): Promise<RailAnswer> {
  if (mini.mistake === 'never_asks') return unclear;
  const record = await mini.host.store.get('payments', keyOf(mini, instruction));
  if (record === undefined) return { outcome: 'retry', reason: 'unreachable' };
  const answer = await callBank(mini, signal, { path: `/payments/${instruction.reference}` });
  // What is on its way may arrive yet, under the same key.
  return answer ?? book(mini, instruction, { signal, isAgain: false });
}

/** Undefined where the bank knows of no payment. */
async function callBank(
  { url, host, mistake }: Mini,
  signal: AbortSignal,
  request: { path: string; body?: object },
): Promise<RailAnswer | undefined> {
  const { path, body } = request;
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await host.fetch(url + path, { ...init, signal });
  if (mistake === 'believes_404' && response.status === 404) {
    return { outcome: 'rejected', reason: 'payer_refused' };
  }
  const text = await response.text();
  if (response.headers.get('x-signature') !== sign(text)) throw new Error('unsigned');
  const { state } = answerSchema.parse(readJson(text));
  switch (state) {
    case 'none':
      return undefined;
    case 'accepted':
    case 'paid':
      return mistake === 'says_zero'
        ? { outcome: state, charges: [{ id: '1', kind: 'bank', currency: 'EUR', amountMinor: 0n }] }
        : { outcome: state };
    case 'rejected':
    case 'returned': {
      const ownWords = 'the account was closed' as 'account_closed';
      return { outcome: state, reason: mistake === 'says_own_words' ? ownWords : 'account_closed' };
    }
  }
}

type Booking = { readonly reference: string; readonly amountMinor: bigint; state: BankState };

/** Books once per key, settles a step with each turn, and calls back until it is heard. */
async function openMiniBank({ callbackUrl }: Place): Promise<Counterparty> {
  const bookings = new Map<string, Booking>();
  const fates = new Map<string, ExpectedOutcome>();
  const events: string[] = [];
  const find = (reference: string): Booking | undefined =>
    [...bookings.values()].find((booking) => booking.reference === reference);
  const serve = async (request: IncomingMessage): Promise<string> => {
    const reference = (request.url ?? '').split('/')[2];
    if (reference !== undefined) {
      return JSON.stringify({ reference, state: find(reference)?.state ?? 'none' });
    }
    const order = z
      .strictObject({ reference: z.string(), key: z.string(), amount: z.string() })
      .parse(readJson(await readText(request)));
    const booking = bookings.get(order.key) ?? {
      reference: order.reference,
      amountMinor: BigInt(order.amount),
      state: fates.get(order.reference) === 'rejected' ? 'rejected' : 'accepted',
    };
    bookings.set(order.key, booking);
    return JSON.stringify({ reference: booking.reference, state: booking.state });
  };
  const server = createServer((request, response) => {
    serve(request).then(
      (body) => response.setHeader('x-signature', sign(body)).end(body),
      () => response.writeHead(400).end(),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return {
    address: { host: '127.0.0.1', port },
    config: (address) => ({ url: `http://127.0.0.1:${address?.port}` }),
    instruct: (draft, fate) => {
      fates.set(draft.reference, fate);
      return {
        ...draft,
        payerKey: 'bank',
        countryCode: 'ESP',
        deliveryType: 'BANK_DEPOSIT',
        currency: 'EUR',
        amountMinor: 12_345n,
        attributes: { account: 'ES9121000418450200051332' },
      };
    },
    payments: async ({ reference }) =>
      [...bookings.values()]
        .filter((booking) => booking.reference === reference && booking.state !== 'rejected')
        .map(({ amountMinor }) => amountMinor),
    turn: async () => {
      for (const booking of bookings.values()) {
        const next = moveOn(booking.state, fates.get(booking.reference));
        if (next === booking.state) continue;
        booking.state = next;
        events.push(JSON.stringify({ reference: booking.reference, state: next }));
      }
      for (const event of events.splice(0)) {
        if (!(await tell(callbackUrl, event))) events.push(event);
      }
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function moveOn(state: BankState, fate: ExpectedOutcome | undefined): BankState {
  if (state === 'accepted') return 'paid';
  return state === 'paid' && fate === 'returned' ? 'returned' : state;
}

async function tell(callbackUrl: string, event: string): Promise<boolean> {
  try {
    const headers = { 'x-signature': sign(event) };
    return (await fetch(callbackUrl, { method: 'POST', headers, body: event })).ok;
  } catch {
    return false;
  }
}

function sign(text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
