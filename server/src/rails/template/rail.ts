import { createHmac, timingSafeEqual } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type {
  CallbackMessage,
  CallbackReading,
  ExclusiveResource,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
  RailModule,
} from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { parseJson, toText } from '../kit/answers.ts';
import { exchangeHttp } from '../kit/http-exchange.ts';
import { openPaymentBook } from '../kit/payment-book.ts';
import { minorUnits } from '../kit/records.ts';

/**
 * A rail to begin a new one from (docs/guides/rails.md): a bank with an HTTP interface that books
 * each idempotency key once, signs what it says, and posts callbacks. Operators cannot configure it.
 */
const configSchema = z.strictObject({
  url: z.url(),
  /** Shared with the bank. */
  secret: z.string().min(32),
  timeoutSeconds: z.number().min(0.1).max(120).default(20),
});
type Config = z.output<typeof configSchema>;

const paymentSchema = z.object({
  reference: z.string(),
  amount: minorUnits,
  currency: z.string(),
  state: z.enum(['accepted', 'paid', 'rejected', 'returned']),
  reason: z.string().default(''),
});
type Payment = z.output<typeof paymentSchema>;

const answerSchema = z.discriminatedUnion('state', [
  paymentSchema,
  z.object({ reference: z.string(), state: z.literal('none') }),
]);
const eventSchema = z.object({ id: z.string().min(1).max(64), payment: paymentSchema });

/** The bank's codes in our vocabulary. */
const reasons = new Map<string, Reason>([
  ['CLOSED', 'account_closed'],
  ['DETAILS', 'invalid_details'],
]);

export const railModule: RailModule<Config> = {
  kind: 'template',
  about: 'A rail to begin a new one from.',
  corridors: [{ countries: 'any', deliveryType: 'BANK_DEPOSIT', currencies: ['EUR'] }],
  reference: { lengthMax: 64, charset: /^[0-9A-Za-z-]+$/ },
  pace: { concurrencyMax: 16, perSecondMax: null },
  configSchema,
  listExclusives,
  create: async (config, host) => createCalls(config, host),
};

/** No second installation may be this client of the bank. */
function listExclusives({ secret }: Config): ExclusiveResource[] {
  return [{ what: 'what the bank knows us by', value: secret }];
}

function createCalls(config: Config, host: RailHost): RailCalls {
  const bank = createBankClient(config, host);
  const book = openPaymentBook(host, {
    collection: 'payments',
    states: ['sent', 'cancelled'],
    value: z.object({ amountMinor: minorUnits, currency: z.string(), account: z.string() }),
    isSame: ({ value }, instruction) => isDeepStrictEqual(value, describe(instruction)),
    // `sent`: it may have left, and only the bank knows its outcome.
    answer: ({ state }) =>
      state === 'sent' ? { outcome: 'accepted' } : { outcome: 'rejected', reason: 'cancelled' },
  });
  const query: RailCalls['query'] = async (instruction, { signal, isStopped }) => {
    const known = await book.answer(instruction);
    // Nothing leaves before the book has it.
    if (known === undefined) return { outcome: 'retry', reason: 'unreachable' };
    if (known.outcome !== 'accepted') return known;
    const answer = await bank.find(instruction, signal);
    // The order may still be on its way: it is repeated with its key, so that one of them counts.
    const isThere = answer?.state !== 'none';
    if (!isThere && isStopped === true) return { outcome: 'unknown', reason: 'no_answer' };
    return readAnswer(isThere ? answer : await bank.order(instruction, signal), instruction);
  };
  return {
    query,
    send: async (instruction, { signal }) => {
      const { answer } = await book.enter(instruction, {
        state: 'sent',
        value: describe(instruction),
      });
      if (answer.outcome !== 'accepted') return answer;
      return readAnswer(await bank.order(instruction, signal), instruction);
    },
    cancel: async (instruction, context) => {
      const answer = await book.cancel(instruction, {
        tombstone: { state: 'cancelled', value: describe(instruction) },
        // This bank cannot stop an order.
        withdraw: () => undefined,
      });
      return answer.outcome === 'accepted' ? query(instruction, context) : answer;
    },
    checkRecipient: ({ attributes }) =>
      attributes === undefined || attributes[accountType] !== undefined
        ? []
        : [{ field: accountType, code: 'missing', detail: 'an account number is required' }],
    readCallback: async (message) => readCallback(message, config, host.nowMs()),
  };
}

const accountType = 'BankAccountNumber';

function describe({ amountMinor, currency, attributes }: Instruction) {
  return { amountMinor, currency, account: attributes[accountType] ?? '' };
}

const answerBytesMax = 100_000;

type BankAnswer = z.output<typeof answerSchema> | undefined;

function createBankClient({ url, secret, timeoutSeconds }: Config, host: RailHost) {
  /** Undefined where there is no definite answer: a time-out, a reset, another form, no signature. */
  const call = async (path: string, signal: AbortSignal, body?: string): Promise<BankAnswer> => {
    const headers = { 'x-signature': sign(body ?? path, secret) };
    const result = await exchangeHttp(
      { method: body === undefined ? 'GET' : 'POST', url: url + path, headers, body, signal },
      { ...host, timeoutMs: timeoutSeconds * 1000, answerBytesMax },
    );
    if (result.kind !== 'answered') {
      host.log('warn', 'the bank gave no definite answer', { error: result.error });
      return undefined;
    }
    const text = toText(result.body);
    const isProven = isSigned(text, result.headers.get('x-signature') ?? '', secret);
    return isProven ? answerSchema.safeParse(parseJson(text)).data : undefined;
  };
  return {
    find: ({ reference }: Instruction, signal: AbortSignal) =>
      call(`/payments/${reference}`, signal),
    order: (instruction: Instruction, signal: AbortSignal) => {
      const { reference, beneficiary } = instruction;
      const { amountMinor, currency, account } = describe(instruction);
      const name = `${beneficiary.firstName} ${beneficiary.lastName}`;
      const amount = amountMinor.toString();
      const order = { key: reference, reference, amount, currency, account, name };
      return call('/payments', signal, JSON.stringify(order));
    },
  };
}

/** An answer with another reference, amount or currency proves nothing. */
function readAnswer(answer: BankAnswer, instruction: Instruction): RailAnswer {
  if (answer === undefined) return { outcome: 'unknown', reason: 'no_answer' };
  const isSame =
    answer.state !== 'none' &&
    answer.reference === instruction.reference &&
    answer.amount === instruction.amountMinor &&
    answer.currency === instruction.currency;
  return isSame ? describeState(answer) : { outcome: 'unknown', reason: 'not_understood' };
}

function describeState({ state, reason }: Payment) {
  return state === 'rejected' || state === 'returned'
    ? { outcome: state, reason: reasons.get(reason) ?? ('other' as const) }
    : { outcome: state };
}

function readCallback(
  { body, headers }: CallbackMessage,
  { secret }: Config,
  nowMs: number,
): CallbackReading {
  if (!isSigned(body, headers['x-signature'] ?? '', secret)) {
    return { kind: 'refused', detail: 'x-signature must be the HMAC of the body' };
  }
  const event = eventSchema.safeParse(parseJson(Buffer.from(body).toString()));
  if (!event.success) return { kind: 'malformed', detail: 'the body must be an event' };
  const { id, payment } = event.data;
  const { reference } = payment;
  const observations = [{ id, reference, atMs: nowMs, ...describeState(payment) }];
  return { kind: 'accepted', message: { id, channel: 'callback', raw: body, observations } };
}

function sign(text: string | Uint8Array, secret: string): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}

function isSigned(text: string | Uint8Array, signature: string, secret: string): boolean {
  const expected = Buffer.from(sign(text, secret));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
