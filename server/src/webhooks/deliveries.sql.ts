import { formatToken } from '../core/ids.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, nullable, type RowOf } from '../db/rows.ts';
import { algorithms } from './signatures.ts';

/** The SQL of sending: claims of endpoints, secrets, retries, the log. */

export type EndpointId = { readonly accountId: string; readonly endpointId: string };

export const deliveryKinds = ['event', 'replay', 'test'] as const;
export type DeliveryKind = (typeof deliveryKinds)[number];
export const deliveryResults = ['delivered', 'failed', 'abandoned'] as const;
export type DeliveryResult = (typeof deliveryResults)[number];

const claimColumns = {
  account_id: column.uuid,
  endpoint_id: column.uuid,
  fence: column.bigint,
  url: column.text,
  event_types: column.texts,
  cursor: column.bigint,
  replay_cursor: nullable(column.bigint),
  replay_end: nullable(column.bigint),
  replay_types: column.texts,
  back_offs: column.integer,
  failing_since: nullable(column.instant),
  revision: column.integer,
};
export type ClaimRow = RowOf<typeof claimColumns>;

/**
 * Endpoints with new events, or with something due, least recently served first. A lease that ends later
 * than one that begins now is from before the clock was set back.
 */
const claimQuery = defineQuery({
  name: 'claim_webhook_endpoints',
  text: `
    with now as materialized (select environment_now() as at), due as (
      select e.account_id, e.id
      from webhook_endpoints e join accounts a on a.id = e.account_id cross join now
      where e.status = 'ENABLED'
        and (e.lease_until is null or e.lease_until < clock_timestamp()
          or e.lease_until > clock_timestamp() + $2 * interval '1 millisecond')
        and (e.next_at <= now.at or not e.is_backing_off
          and (e.cursor < a.event_sequence or e.replay_cursor is not null))
      order by e.lease_until nulls first
      limit $1
      for update of e skip locked
    )
    update webhook_endpoints e
    set fence = e.fence + 1, lease_until = clock_timestamp() + $2 * interval '1 millisecond'
    from due
    where e.account_id = due.account_id and e.id = due.id
    returning e.account_id, e.id as endpoint_id, e.fence, e.url, e.event_types, e.cursor,
      e.replay_cursor, e.replay_end, e.replay_types, e.back_offs, e.failing_since, e.revision`,
  columns: claimColumns,
});

const secretColumns = {
  id: column.uuid,
  algorithm: column.oneOf(...algorithms),
  sealed: column.bytes,
};

const secretsQuery = defineQuery({
  name: 'list_webhook_signing_secrets',
  text: `
    select id, algorithm, sealed from webhook_secrets
    where account_id = $1 and endpoint_id = $2
      and (expires_at is null or expires_at > (select environment_now()))
    order by id desc`,
  columns: secretColumns,
});

const retryColumns = {
  is_replay: column.boolean,
  sequence: column.bigint,
  subject_id: column.uuid,
  tries: column.integer,
  first_at: column.instant,
  due_at: column.instant,
};
export type RetryRow = RowOf<typeof retryColumns>;

const retriesQuery = defineQuery({
  name: 'list_webhook_retries',
  text: `
    select is_replay, sequence, subject_id, tries, first_at, due_at from webhook_retries
    where account_id = $1 and endpoint_id = $2 order by sequence`,
  columns: retryColumns,
});

/** `revision` counts the client's changes of the endpoint: what the old terms met says nothing of the new. */
const saveQuery = defineQuery({
  name: 'save_webhook_progress',
  text: `
    update webhook_endpoints
    set cursor = $5, failing_since = case when revision = $4 then $6 else failing_since end,
      back_offs = case when revision = $4 then $7 else back_offs end,
      lease_until = clock_timestamp() + $8 * interval '1 millisecond'
    where account_id = $1 and id = $2 and fence = $3
    returning revision`,
  columns: { revision: column.integer },
});

const saveReplayStatement: Statement = {
  name: 'save_webhook_replay',
  text: `
    update webhook_endpoints
    set replay_cursor = nullif($5, replay_end),
      replay_end = case when $5 < replay_end then replay_end end
    where account_id = $1 and id = $2 and fence = $3 and revision = $4`,
};

/** If the client changed the endpoint meanwhile, it is due at once under the new terms. */
const releaseStatement: Statement = {
  name: 'release_webhook_endpoint',
  text: `
    update webhook_endpoints
    set lease_until = clock_timestamp(),
      is_backing_off = $5 and revision = $4,
      next_at = case when revision = $4 then $6::timestamptz else environment_now() end
    where account_id = $1 and id = $2 and fence = $3`,
};

const insertDeliveriesStatement: Statement = {
  name: 'insert_webhook_deliveries',
  text: `
    insert into webhook_deliveries (account_id, endpoint_id, url, id, month, kind, sequence,
      event_type, try, result, status_code, error, answer, answer_type, duration_ms, started_at,
      retry_at, message_id)
    select $1, $2, $3, d.id, month_of(d.started_at), d.kind, d.sequence, d.event_type, d.try,
      d.result, d.status_code, d.error, d.answer, d.answer_type, d.duration_ms, d.started_at,
      d.retry_at, d.message_id
    from unnest($4::uuid[], $5::text[], $6::bigint[], $7::text[], $8::integer[], $9::text[],
      $10::integer[], $11::text[], $12::bytea[], $13::text[], $14::integer[], $15::timestamptz[],
      $16::timestamptz[], $17::text[]) d (id, kind, sequence, event_type, try, result, status_code, error,
      answer, answer_type, duration_ms, started_at, retry_at, message_id)`,
};

const upsertRetriesStatement: Statement = {
  name: 'upsert_webhook_retries',
  text: `
    insert into webhook_retries (account_id, endpoint_id, is_replay, sequence, subject_id, tries,
      first_at, due_at)
    select $1, $2, * from unnest($3::boolean[], $4::bigint[], $5::uuid[], $6::integer[],
      $7::timestamptz[], $8::timestamptz[])
    on conflict (account_id, endpoint_id, is_replay, sequence)
    do update set tries = excluded.tries, first_at = excluded.first_at, due_at = excluded.due_at`,
};

const deleteRetriesStatement: Statement = {
  name: 'delete_webhook_retries',
  text: `
    delete from webhook_retries r
    using unnest($3::boolean[], $4::bigint[]) done (is_replay, sequence)
    where r.account_id = $1 and r.endpoint_id = $2
      and r.is_replay = done.is_replay and r.sequence = done.sequence`,
};

const stopStatement: Statement = {
  name: 'stop_webhook',
  text: `select stop_webhook($1, $2, $3, $4, $5, $6)`,
};

const writeAbandonedStatement: Statement = {
  name: 'write_abandoned_deliveries',
  text: `select write_abandoned_deliveries($1, $2, $3)`,
};

const testColumns = {
  account_id: column.uuid,
  endpoint_id: column.uuid,
  id: column.uuid,
  url: column.text,
};

/** A test is sent at most once. */
const claimTestsQuery = defineQuery({
  name: 'claim_webhook_tests',
  text: `
    with due as (
      select account_id, endpoint_id from webhook_tests
      order by created_at limit $1 for update skip locked
    )
    delete from webhook_tests t
    using due, webhook_endpoints e
    where t.account_id = due.account_id and t.endpoint_id = due.endpoint_id
      and e.account_id = t.account_id and e.id = t.endpoint_id
    returning t.account_id, t.endpoint_id, t.id, e.url`,
  columns: testColumns,
});

export async function claimEndpoints(
  session: Session,
  { count, leaseMs }: { count: number; leaseMs: number },
): Promise<ClaimRow[]> {
  return many(session, claimQuery, [count, leaseMs]);
}

export async function claimTests(
  session: Session,
  count: number,
): Promise<RowOf<typeof testColumns>[]> {
  return many(session, claimTestsQuery, [count]);
}

/** The secrets that sign now, newest first. */
export async function listSigningSecrets(
  session: Session,
  { accountId, endpointId }: EndpointId,
): Promise<RowOf<typeof secretColumns>[]> {
  return many(session, secretsQuery, [accountId, endpointId]);
}

export async function listRetries(
  session: Session,
  { accountId, endpointId }: EndpointId,
): Promise<RetryRow[]> {
  return many(session, retriesQuery, [accountId, endpointId]);
}

const idsOf = (claim: ClaimRow): unknown[] => [claim.account_id, claim.endpoint_id, claim.fence];

export type Progress = {
  readonly cursor: bigint;
  readonly failingSince: Date | undefined;
  readonly backOffs: number;
  readonly leaseMs: number;
};

/** Stores progress and renews the lease. Undefined if another process has taken the endpoint over. */
export async function saveProgress(
  session: Session,
  claim: ClaimRow,
  progress: Progress,
): Promise<{ revision: number } | undefined> {
  return maybeOne(session, saveQuery, [
    ...idsOf(claim),
    claim.revision,
    progress.cursor,
    progress.failingSince ?? null,
    progress.backOffs,
    progress.leaseMs,
  ]);
}

export async function saveReplayCursor(
  session: Session,
  claim: ClaimRow,
  cursor: bigint,
): Promise<void> {
  await exec(session, saveReplayStatement, [...idsOf(claim), claim.revision, cursor]);
}

/** `nextAt` is when something is due; an endpoint that backs off waits for it with new events too. */
export async function releaseEndpoint(
  session: Session,
  claim: ClaimRow,
  next: { isBackingOff: boolean; nextAt: Date | undefined },
): Promise<void> {
  const values = [claim.revision, next.isBackingOff, next.nextAt ?? null];
  await exec(session, releaseStatement, [...idsOf(claim), ...values]);
}

export type NewDelivery = {
  readonly id: string;
  /** The header webhook-id. */
  readonly messageId: string;
  readonly kind: DeliveryKind;
  readonly sequence: bigint | null;
  readonly type: string;
  readonly try: number;
  readonly result: DeliveryResult;
  readonly statusCode: number | null;
  readonly error: string;
  /** Sealed. */
  readonly answer: Buffer | null;
  readonly answerType: string;
  readonly durationMs: number;
  readonly startedAt: Date;
  readonly retryAt: Date | null;
};

export async function insertDeliveries(
  session: Session,
  { accountId, endpointId, url }: EndpointId & { url: string },
  deliveries: readonly NewDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const valuesOf = (key: keyof NewDelivery): unknown[] => deliveries.map((row) => row[key]);
  await exec(session, insertDeliveriesStatement, [
    accountId,
    endpointId,
    url,
    valuesOf('id'),
    valuesOf('kind'),
    valuesOf('sequence'),
    valuesOf('type'),
    valuesOf('try'),
    valuesOf('result'),
    valuesOf('statusCode'),
    valuesOf('error'),
    valuesOf('answer'),
    valuesOf('answerType'),
    valuesOf('durationMs'),
    valuesOf('startedAt'),
    valuesOf('retryAt'),
    valuesOf('messageId'),
  ]);
}

/**
 * Writes an event for each delivery that is abandoned, except of an event of webhooks: the events
 * of endpoints that refuse these would multiply. The first statement of a transaction: it locks the
 * account.
 */
export async function writeAbandonedEvents(
  session: Session,
  { accountId, endpointId }: EndpointId,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  const events = deliveries
    .filter(({ result, type }) => result === 'abandoned' && !type.startsWith('webhook.'))
    .map((delivery) => ({
      webhook_token: formatToken('webhook', endpointId),
      delivery_token: formatToken('delivery', delivery.id),
      sequence: Number(delivery.sequence),
      event_type: delivery.type,
      tries: delivery.try,
      status_code: delivery.statusCode ?? 0,
      error: delivery.error,
    }));
  if (events.length === 0) return;
  await exec(session, writeAbandonedStatement, [accountId, endpointId, JSON.stringify(events)]);
}

export async function upsertRetries(
  session: Session,
  { accountId, endpointId }: EndpointId,
  retries: readonly RetryRow[],
): Promise<void> {
  if (retries.length === 0) return;
  const valuesOf = (key: keyof RetryRow): unknown[] => retries.map((row) => row[key]);
  await exec(session, upsertRetriesStatement, [
    accountId,
    endpointId,
    valuesOf('is_replay'),
    valuesOf('sequence'),
    valuesOf('subject_id'),
    valuesOf('tries'),
    valuesOf('first_at'),
    valuesOf('due_at'),
  ]);
}

export async function deleteRetries(
  session: Session,
  { accountId, endpointId }: EndpointId,
  done: readonly { isReplay: boolean; sequence: bigint }[],
): Promise<void> {
  if (done.length === 0) return;
  await exec(session, deleteRetriesStatement, [
    accountId,
    endpointId,
    done.map(({ isReplay }) => isReplay),
    done.map(({ sequence }) => sequence),
  ]);
}

/** Stops sending, with an event for the client, unless the endpoint is not enabled or has changed since. */
export async function stopEndpoint(
  session: Session,
  claim: ClaimRow,
  stop: { status: 'PAUSED' | 'DISABLED'; reason: string },
): Promise<void> {
  const values = [claim.revision, stop.status, stop.reason];
  await exec(session, stopStatement, [...idsOf(claim), ...values]);
}
