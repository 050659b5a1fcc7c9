import { type KeyRing, rowContext } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import { defineProtectedTable, reseal } from '../db/protected-tables.ts';
import { column } from '../db/rows.ts';
import type { TracePlace } from '../tracing/trace-contexts.ts';
import { runInSpan } from '../tracing/tracing.ts';
import {
  type DeliveryResult,
  type EndpointId,
  listSigningSecrets,
  type NewDelivery,
} from './deliveries.sql.ts';
import type { Message, RenderEvents } from './messages.ts';
import type { Sender, SendResult, Target } from './sender.ts';
import { createSigner, type Signer, signMessage } from './signatures.ts';

/** What turns and tests share: signing, sending, and the row of the log. */

export type DeliveryServices = {
  readonly db: Database;
  readonly keys: KeyRing;
  readonly sender: Sender;
  readonly renderEvents: RenderEvents;
  /** Requests at once to one endpoint. */
  readonly concurrencyMax: number;
  /** The environment's time. */
  readonly nowMs: () => number;
  /** Real time, by which receivers check the age of a signature. */
  readonly realNowMs: () => number;
  readonly steadyMs: () => number;
  readonly random: () => number;
  readonly isStopping: () => boolean;
  /** Ends requests that are under way. */
  readonly cut: AbortSignal;
  readonly onDelivery: (result: DeliveryResult) => void;
};

/** What a secret is sealed for. */
export function secretContext({ accountId, endpointId }: EndpointId, secretId: string): string {
  return rowContext('webhook_secrets', accountId, endpointId, secretId);
}

export const protectedSecrets = defineProtectedTable({
  table: 'webhook_secrets',
  key: { account_id: 'uuid', endpoint_id: 'uuid', id: 'uuid' },
  values: ['sealed'],
  columns: { account_id: column.uuid, endpoint_id: column.uuid, id: column.uuid },
  renew: (keys, { account_id: accountId, endpoint_id: endpointId, id, sealed }) => ({
    sealed: reseal(keys, sealed, secretContext({ accountId, endpointId }, id)),
  }),
});

export const protectedDeliveries = defineProtectedTable({
  table: 'webhook_deliveries',
  key: { account_id: 'uuid', endpoint_id: 'uuid', id: 'uuid', month: 'date' },
  values: ['answer'],
  columns: { account_id: column.uuid, id: column.uuid },
  replacement: 'renew_webhook_deliveries',
  renew: (keys, { account_id: accountId, id, answer }) => ({
    answer: reseal(keys, answer, answerContext({ accountId }, id)),
  }),
});

/** The signers of an endpoint: of the newest secret, and of the one before it for a while. */
export async function openSigners(
  { db, keys }: Pick<DeliveryServices, 'db' | 'keys'>,
  id: EndpointId,
): Promise<Signer[]> {
  const secrets = await listSigningSecrets(db.waiting, id);
  return secrets.map(({ id: secretId, algorithm, sealed }) => {
    const secret = keys.open(sealed, secretContext(id, secretId)).toString();
    return createSigner({ algorithm, secret });
  });
}

export type Posting = {
  readonly message: Message;
  readonly signers: readonly Signer[];
  readonly target: Target;
  readonly signal: AbortSignal;
  readonly place: TracePlace | undefined;
};

export function postMessage(
  { db: { tracing }, realNowMs }: Pick<DeliveryServices, 'db' | 'realNowMs'>,
  { message, signers, target, signal, place }: Posting,
): Promise<SendResult> {
  const timestampSeconds = Math.floor(realNowMs() / 1000);
  const headers = signMessage({ ...message, timestampSeconds }, signers);
  const { body } = message;
  if (tracing === undefined || place === undefined) return target.send({ headers, body }, signal);
  const attributes = { 'outlay.event.type': message.type };
  const start = { name: 'deliver webhook', kind: 'client', attributes } as const;
  return runInSpan(tracing, { ...start, ...place }, async (span) => {
    const result = await target.send(
      { headers: { ...headers, ...tracing.headers() }, body },
      signal,
    );
    if (result.answer !== undefined) {
      span.set({ 'http.response.status_code': result.answer.statusCode });
    }
    if (result.error !== '') span.fail('not_delivered');
    return result;
  });
}

/** What the answer of an endpoint is sealed for. */
export function answerContext({ accountId }: Pick<EndpointId, 'accountId'>, id: string): string {
  return rowContext('webhook_deliveries', accountId, id);
}

type Described = Pick<
  NewDelivery,
  'id' | 'messageId' | 'kind' | 'sequence' | 'type' | 'try' | 'result' | 'retryAt'
>;

/** The row of the log. */
export function describeDelivery(
  { keys }: Pick<DeliveryServices, 'keys'>,
  place: Pick<EndpointId, 'accountId'>,
  sent: Described & { sendResult: SendResult; startedAtMs: number },
): NewDelivery {
  const { sendResult, startedAtMs, ...described } = sent;
  const { answer, error, durationMs } = sendResult;
  const hasBody = answer !== undefined && answer.body.length > 0;
  return {
    ...described,
    statusCode: answer?.statusCode ?? null,
    error,
    answer: hasBody ? keys.seal(answer.body, answerContext(place, described.id)) : null,
    answerType: answer?.contentType ?? '',
    durationMs,
    startedAt: new Date(startedAtMs),
  };
}
