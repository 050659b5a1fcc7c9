import { createHash } from 'node:crypto';
import type {
  CallbackMessage,
  CallbackReading,
  RailHost,
  RailObservation,
} from '../contract/contract.ts';
import { parseJson } from '../kit/answers.ts';
import {
  applyParty,
  applyPartyError,
  applyQuote,
  applyQuoteError,
  applyTransferError,
  applyTransferState,
} from './decisions.ts';
import { classifyTransferError, getReason } from './error-codes.ts';
import type { Parts } from './flow.ts';
import {
  type CallbackSubject,
  errorSchema,
  partySchema,
  quoteSchema,
  readCallbackPath,
  transferSchema,
} from './messages.ts';
import {
  describeEnd,
  describeRefusal,
  type Payment,
  type PaymentUpdate,
  type StoredPayment,
} from './payment.ts';
import { readSignature } from './signature.ts';

/**
 * Callbacks of the hub and the providers. One is accepted only with a signature of the hub or of the
 * payment's provider. What it changes depends on the payment's state, so that a repeated or late one
 * changes nothing.
 */

export type CallbackParts = Parts & { nameWallet(msisdn: string): Promise<string> };

type Callback = {
  readonly source: string;
  readonly subject: CallbackSubject;
  readonly content: unknown;
};

/** Undefined: the body is invalid. */
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
      return { kind: 'refused', detail: 'FSPIOP-Destination must be this participant' };
    }
    const { callbackDate, callbackAgeMaxMs } = settings;
    const dated = callbackDate === 'sent' ? (date ?? message.headers['date']) : date;
    if (dated === undefined) return { kind: 'refused', detail: 'Date must be signed' };
    if (!isFresh(dated, callbackAgeMaxMs, host)) {
      return {
        kind: 'refused',
        detail: 'Date must be within callbackAgeMaxMs of the current time',
      };
    }
    const subject = message.method === 'PUT' ? readCallbackPath(message.path) : undefined;
    if (subject === undefined) {
      return { kind: 'malformed', detail: 'the resource is not one that this participant serves' };
    }
    const content = parseJson(Buffer.from(message.body).toString('utf8'));
    const observations = await handleCallback(parts, { source, subject, content });
    if (observations === undefined) {
      return { kind: 'malformed', detail: `the body is not valid for ${subject.resource}` };
    }
    host.wake();
    return {
      kind: 'accepted',
      message: { ...describeMessage(message, observations), channel: 'callback', observations },
    };
  };
}

/**
 * Prevents the replay of a recorded callback when its wallet is looked up again later. Counterparties
 * use the time of day, which a moved clock of staging does not follow.
 */
function isFresh(
  date: string,
  ageMaxMs: number,
  { realNowMs }: Pick<RailHost, 'realNowMs'>,
): boolean {
  // An invalid date is NaN, for which the comparison is false.
  return Math.abs(Date.parse(date) - realNowMs()) <= ageMaxMs;
}

/**
 * The callback as it is stored, with the signature that proves it. A repeated callback with other
 * observations than before, because it had come too early, is another message.
 */
function describeMessage(
  { method, path, headers, body }: CallbackMessage,
  observations: readonly RailObservation[],
) {
  const kept = ['fspiop-source', 'fspiop-destination', 'fspiop-signature', 'date', 'content-type'];
  const head = Object.fromEntries(kept.map((name) => [name, headers[name] ?? '']));
  const text = Buffer.from(body).toString('utf8');
  const raw = Buffer.from(JSON.stringify({ method, path, headers: head, body: text }));
  const meaning = observations.map(({ id }) => id);
  const parts = [method, path, head['fspiop-source'], text, ...meaning];
  return { id: createHash('sha256').update(JSON.stringify(parts)).digest('base64url'), raw };
}

function handleCallback(parts: CallbackParts, callback: Callback): Promise<Observations> {
  switch (callback.subject.resource) {
    case 'parties':
      return handleParty(parts, callback);
    case 'quotes':
      return handleQuote(parts, callback);
    case 'transfers':
      return handleTransfer(parts, callback);
  }
}

async function handleParty(parts: CallbackParts, callback: Callback): Promise<Observations> {
  const { source, subject, content } = callback;
  const decide = subject.isError ? readPartyError(content) : readParty(parts, source, content);
  if (decide === undefined) return undefined;
  const transferIds = await parts.records.findByLookup(await parts.nameWallet(subject.id));
  const observations: RailObservation[] = [];
  for (const transferId of transferIds) {
    observations.push(...(await change(parts, transferId, decide)));
  }
  return observations;
}

type Decide = (stored: StoredPayment) => PaymentUpdate | undefined;

function readPartyError(content: unknown): Decide | undefined {
  const code = readErrorCode(content);
  return code === undefined ? undefined : (stored) => applyPartyError(stored, code);
}

/** A provider may claim a wallet only for itself; the hub may name any provider. */
function readParty(parts: CallbackParts, source: string, content: unknown): Decide | undefined {
  const { settings, host } = parts;
  const parsed = partySchema.safeParse(content);
  if (!parsed.success) return undefined;
  const { party } = parsed.data;
  const isHub = source === settings.hubFspId;
  const payeeFsp = party.partyIdInfo.fspId ?? (isHub ? undefined : source);
  if (payeeFsp === undefined || (!isHub && payeeFsp !== source)) return undefined;
  return (stored) => {
    const payer = host.payers.find(({ key }) => key === stored.value.payerKey);
    return applyParty(stored, party, { payeeFsp, wantedFsp: payer?.options['fspId'] });
  };
}

async function handleQuote(parts: CallbackParts, callback: Callback): Promise<Observations> {
  const { settings, records } = parts;
  const { subject, content } = callback;
  const code = subject.isError ? readErrorCode(content) : undefined;
  const quote = subject.isError ? undefined : quoteSchema.safeParse(content).data;
  if (code === undefined && quote === undefined) return undefined;
  const transferId = await records.findByQuote(subject.id);
  if (transferId === undefined) return [];
  return change(parts, transferId, (stored) => {
    if (!isAuthorized(parts, callback, stored.value) || stored.value.quoteId !== subject.id) {
      return undefined;
    }
    if (code !== undefined) return applyQuoteError(stored, code);
    return quote && applyQuote(stored, quote, settings);
  });
}

async function handleTransfer(parts: CallbackParts, callback: Callback): Promise<Observations> {
  const { host, records } = parts;
  const { subject, content } = callback;
  const code = subject.isError ? readErrorCode(content) : undefined;
  const update = subject.isError ? undefined : transferSchema.safeParse(content).data;
  if (code === undefined && update === undefined) return undefined;
  const stored = await records.findByKey(subject.id);
  if (stored === undefined || !isAuthorized(parts, callback, stored.value)) return [];
  const nowMs = host.nowMs();
  const realNowMs = host.realNowMs();
  const observations = await change(parts, subject.id, (current) => {
    if (code !== undefined)
      return applyTransferError(current, code, { isAnswer: false, realNowMs });
    return update && applyTransferState(current, update);
  });
  const contradiction = findContradiction(stored, code ?? update?.transferState ?? '', nowMs);
  return contradiction === undefined ? observations : [...observations, contradiction];
}

/** A paid transfer is reported as refused: the observation opens an exception. */
function findContradiction(
  { state, value: payment }: StoredPayment,
  code: string,
  nowMs: number,
): RailObservation | undefined {
  if (state !== 'paid') return undefined;
  if (code === 'ABORTED') return describeRefusal(payment, 'payer_refused', { code, atMs: nowMs });
  return /^\d/.test(code) && classifyTransferError(code) === 'final'
    ? describeRefusal(payment, getReason(code), { code, atMs: nowMs })
    : undefined;
}

function isAuthorized({ settings, host }: Parts, { source }: Callback, payment: Payment): boolean {
  if (source === settings.hubFspId || source === payment.payeeFsp) return true;
  const { transferId } = payment;
  host.log('warn', 'a callback came from a participant that is not part of the payment', {
    transferId,
    source,
  });
  return false;
}

function readErrorCode(content: unknown): string | undefined {
  return errorSchema.safeParse(content).data?.errorInformation.errorCode;
}

/** The notification about a payment that has ended, by this callback or before. */
async function change(
  { records, host }: Parts,
  transferId: string,
  decide: Decide,
): Promise<RailObservation[]> {
  const { record, isChanged } = await records.updateByKey(
    transferId,
    (stored) => stored && decide(stored),
  );
  if (record === undefined) return [];
  if (record.value.isContradicted && isChanged) {
    host.log('error', 'a transfer was reported as committed without its fulfilment', {
      transferId,
    });
  }
  const end = describeEnd(record, host.nowMs());
  return end === undefined ? [] : [end];
}
