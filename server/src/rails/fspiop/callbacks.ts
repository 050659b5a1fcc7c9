import { createHash } from 'node:crypto';
import type {
  CallbackMessage,
  CallbackReading,
  RailHost,
  RailObservation,
} from '../contract/contract.ts';
import {
  takeParty,
  takePartyError,
  takeQuote,
  takeQuoteError,
  takeTransferError,
  takeTransferNews,
} from './decisions.ts';
import { getReason, weighTransferError } from './error-codes.ts';
import type { Parts } from './flow.ts';
import {
  type CallbackSubject,
  errorSchema,
  partySchema,
  quoteSchema,
  readCallbackPath,
  transferSchema,
} from './messages.ts';
import { describeEnd, describeRefusal, type Payment } from './payment.ts';
import type { Held, Next } from './payment-records.ts';
import { parseJson, readSignature } from './signature.ts';

/**
 * What the hub and the providers tell. A callback is believed when the signature over it is that of
 * the hub or of the provider that the payment is with; what it changes rests on the payment's state,
 * so that the same one again, or late, changes nothing.
 */

export type CallbackParts = Parts & { nameWallet(msisdn: string): Promise<string> };

type Told = {
  readonly source: string;
  readonly subject: CallbackSubject;
  readonly content: unknown;
};

/** Undefined: the body makes no sense. */
type Observations = readonly RailObservation[] | undefined;

export function createCallbackReader(parts: CallbackParts) {
  const basePath = new URL(parts.host.callbackUrl).pathname.replace(/\/$/, '');
  return async (message: CallbackMessage): Promise<CallbackReading> => {
    const { settings, host } = parts;
    const proof = await readSignature(
      { ...message, uris: [message.path, `${basePath}${message.path}`] },
      settings.publicKeys,
    );
    if (proof.kind === 'unproven') return { kind: 'refused', detail: proof.detail };
    const { source, destination, date } = proof;
    if (destination !== '' && destination !== settings.fspId) {
      return { kind: 'refused', detail: 'it is addressed to another participant' };
    }
    const { callbackDate, callbackAgeMaxMs } = settings;
    const dated = callbackDate === 'sent' ? (date ?? message.headers['date']) : date;
    if (dated === undefined) return { kind: 'refused', detail: 'its Date was not signed' };
    if (!isFresh(dated, callbackAgeMaxMs, host)) {
      return { kind: 'refused', detail: 'its Date is not within callbackAgeMaxMs' };
    }
    const subject = message.method === 'PUT' ? readCallbackPath(message.path) : undefined;
    if (subject === undefined) {
      return { kind: 'malformed', detail: 'no such resource is waited for' };
    }
    const content = parseJson(Buffer.from(message.body).toString('utf8'));
    const observations = await apply(parts, { source, subject, content });
    if (observations === undefined) {
      return { kind: 'malformed', detail: `the body is none of ${subject.resource}` };
    }
    host.wake();
    return {
      kind: 'accepted',
      message: { ...keepMessage(message, observations), channel: 'callback', observations },
    };
  };
}

/**
 * Whoever has recorded a signed callback could tell it again much later, when its wallet is looked
 * up anew. Counterparts date it by the time of day, which a moved clock of staging does not follow.
 */
function isFresh(
  date: string,
  ageMaxMs: number,
  { realNowMs }: Pick<RailHost, 'realNowMs'>,
): boolean {
  // What is no date is a NaN, which is within no distance.
  return Math.abs(Date.parse(date) - realNowMs()) <= ageMaxMs;
}

/**
 * Kept whole, with the signature, which is the proof of what was said. The same words that mean more
 * than they did before, for they came too early then, are another message.
 */
function keepMessage(
  { method, path, headers, body }: CallbackMessage,
  observations: readonly RailObservation[],
) {
  const kept = ['fspiop-source', 'fspiop-destination', 'fspiop-signature', 'date', 'content-type'];
  const head = Object.fromEntries(kept.map((name) => [name, headers[name] ?? '']));
  const text = Buffer.from(body).toString('utf8');
  const raw = Buffer.from(JSON.stringify({ method, path, headers: head, body: text }));
  const meaning = observations.map(({ id }) => id);
  const words = [method, path, head['fspiop-source'], text, ...meaning];
  return { id: createHash('sha256').update(JSON.stringify(words)).digest('base64url'), raw };
}

function apply(parts: CallbackParts, told: Told): Promise<Observations> {
  switch (told.subject.resource) {
    case 'parties':
      return applyParty(parts, told);
    case 'quotes':
      return applyQuote(parts, told);
    case 'transfers':
      return applyTransfer(parts, told);
  }
}

async function applyParty(parts: CallbackParts, told: Told): Promise<Observations> {
  const { source, subject, content } = told;
  const decide = subject.isError ? readPartyError(content) : readParty(parts, source, content);
  if (decide === undefined) return undefined;
  const transferIds = await parts.records.findByLookup(await parts.nameWallet(subject.id));
  const observations: RailObservation[] = [];
  for (const transferId of transferIds) {
    observations.push(...(await change(parts, transferId, decide)));
  }
  return observations;
}

type Decide = (held: Held) => Next | undefined;

function readPartyError(content: unknown): Decide | undefined {
  const code = readErrorCode(content);
  return code === undefined ? undefined : (held) => takePartyError(held, code);
}

/** A provider may speak for its own wallets only; the hub may name any provider. */
function readParty(parts: CallbackParts, source: string, content: unknown): Decide | undefined {
  const { settings, host } = parts;
  const parsed = partySchema.safeParse(content);
  if (!parsed.success) return undefined;
  const { party } = parsed.data;
  const isHub = source === settings.hubFspId;
  const payeeFsp = party.partyIdInfo.fspId ?? (isHub ? undefined : source);
  if (payeeFsp === undefined || (!isHub && payeeFsp !== source)) return undefined;
  return (held) => {
    const payer = host.payers.find(({ key }) => key === held.payment.payerKey);
    return takeParty(held, party, { payeeFsp, wantedFsp: payer?.options['fspId'] });
  };
}

async function applyQuote(parts: CallbackParts, told: Told): Promise<Observations> {
  const { settings, host, records } = parts;
  const { subject, content } = told;
  const code = subject.isError ? readErrorCode(content) : undefined;
  const quote = subject.isError ? undefined : quoteSchema.safeParse(content).data;
  if (code === undefined && quote === undefined) return undefined;
  const transferId = await records.findByQuote(subject.id);
  if (transferId === undefined) return [];
  return change(parts, transferId, (held) => {
    if (!maySpeak(parts, told, held.payment) || held.payment.quoteId !== subject.id) {
      return undefined;
    }
    if (code !== undefined) return takeQuoteError(held, code);
    return quote && takeQuote(held, quote, { settings, nowMs: host.nowMs() });
  });
}

async function applyTransfer(parts: CallbackParts, told: Told): Promise<Observations> {
  const { host, records } = parts;
  const { subject, content } = told;
  const code = subject.isError ? readErrorCode(content) : undefined;
  const news = subject.isError ? undefined : transferSchema.safeParse(content).data;
  if (code === undefined && news === undefined) return undefined;
  const held = await records.find(subject.id);
  if (held === undefined || !maySpeak(parts, told, held.payment)) return [];
  const nowMs = host.nowMs();
  const realNowMs = host.realNowMs();
  const observations = await change(parts, subject.id, (current) => {
    if (code !== undefined) return takeTransferError(current, code, { isAnswer: false, realNowMs });
    return news && takeTransferNews(current, news);
  });
  const contradiction = findContradiction(held, code ?? news?.transferState ?? '', nowMs);
  return contradiction === undefined ? observations : [...observations, contradiction];
}

/** A transfer that was paid is said to be dead: a person has to look into it. */
function findContradiction(
  { state, payment }: Held,
  code: string,
  nowMs: number,
): RailObservation | undefined {
  if (state !== 'paid') return undefined;
  if (code === 'ABORTED') return describeRefusal(payment, 'payer_refused', { code, atMs: nowMs });
  return /^\d/.test(code) && weighTransferError(code) === 'dead'
    ? describeRefusal(payment, getReason(code), { code, atMs: nowMs })
    : undefined;
}

function maySpeak({ settings, host }: Parts, { source }: Told, payment: Payment): boolean {
  if (source === settings.hubFspId || source === payment.payeeFsp) return true;
  const { transferId } = payment;
  host.log('warn', 'a participant speaks of a payment that is not with it', { transferId, source });
  return false;
}

function readErrorCode(content: unknown): string | undefined {
  return errorSchema.safeParse(content).data?.errorInformation.errorCode;
}

/** What there is to observe of a payment that has ended, be it by this callback or before. */
async function change(
  { records, host }: Parts,
  transferId: string,
  decide: Decide,
): Promise<RailObservation[]> {
  const changed = await records.change(transferId, decide);
  if (changed === undefined) return [];
  const { state, payment } = changed.held;
  if (payment.isContradicted && changed.isChanged) {
    host.log('error', 'the hub calls a transfer committed without its fulfilment', { transferId });
  }
  const end = describeEnd(state, payment, host.nowMs());
  return end === undefined ? [] : [end];
}
