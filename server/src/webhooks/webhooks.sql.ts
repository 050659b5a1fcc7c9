import type { Session, Statement } from '../db/postgres/pool.ts';
import {
  column,
  defineQuery,
  exec,
  many,
  maybeOne,
  nullable,
  one,
  type RowOf,
} from '../db/rows.ts';
import {
  type DeliveryResult,
  deliveryKinds,
  deliveryResults,
  type EndpointId,
} from './deliveries.sql.ts';
import { type Algorithm, algorithms } from './signatures.ts';

/** The SQL of endpoints as clients manage them, and of the log as they read it. */

export const endpointStatuses = ['ENABLED', 'PAUSED', 'DISABLED'] as const;

const endpointColumns = {
  id: column.uuid,
  url: column.text,
  description: column.text,
  event_types: column.texts,
  status: column.oneOf(...endpointStatuses),
  status_reason: column.text,
  algorithm: column.oneOf(...algorithms),
  public_key: column.text,
  previous_expires_at: nullable(column.instant),
  failing_since: nullable(column.instant),
  next_at: nullable(column.instant),
  backlog: column.bigint,
  replay_cursor: nullable(column.bigint),
  replay_end: nullable(column.bigint),
  created_at: column.instant,
};
export type EndpointRow = RowOf<typeof endpointColumns>;

const endpointText = `
  select e.id, e.url, e.description, e.event_types, e.status, e.status_reason,
    s.algorithm, s.public_key, (
      select o.expires_at from webhook_secrets o
      where o.account_id = e.account_id and o.endpoint_id = e.id
        and o.expires_at > (select environment_now())
      order by o.expires_at desc limit 1) as previous_expires_at,
    e.failing_since, e.next_at, count_events(a.id, e.cursor, a.event_sequence) + (
      select count(*) from webhook_retries r
      where r.account_id = e.account_id and r.endpoint_id = e.id) as backlog,
    e.replay_cursor, e.replay_end, e.created_at
  from webhook_endpoints e
  join accounts a on a.id = e.account_id
  join webhook_secrets s
    on s.account_id = e.account_id and s.endpoint_id = e.id and s.expires_at is null
  where e.account_id = $1`;

const listQuery = defineQuery({
  name: 'list_webhook_endpoints',
  text: `${endpointText} order by e.id desc`,
  columns: endpointColumns,
});

const findQuery = defineQuery({
  name: 'find_webhook_endpoint',
  text: `${endpointText} and e.id = $2`,
  columns: endpointColumns,
});

/** An account may have this many endpoints. */
export const endpointsMax = 20;

/** Sends events that are written from now on. Inserts nothing if the account has its maximum. */
const insertStatement: Statement = {
  name: 'insert_webhook_endpoint',
  text: `
    insert into webhook_endpoints (account_id, id, url, description, event_types, cursor, created_at)
    select a.id, $2, $3, $4, $5, a.event_sequence, environment_now()
    from accounts a
    where a.id = $1
      and (select count(*) from webhook_endpoints where account_id = $1) < ${endpointsMax}`,
};

const updateStatement: Statement = {
  name: 'update_webhook_endpoint',
  text: `
    update webhook_endpoints
    set url = coalesce($3, url), description = coalesce($4, description),
      event_types = coalesce($5, event_types), revision = revision + 1,
      next_at = case when is_backing_off then environment_now() else next_at end
    where account_id = $1 and id = $2`,
};

const pauseStatement: Statement = {
  name: 'pause_webhook_endpoint',
  text: `
    update webhook_endpoints
    set status = 'PAUSED', status_reason = 'paused by the client', revision = revision + 1
    where account_id = $1 and id = $2 and status = 'ENABLED'`,
};

const resumeStatement: Statement = {
  name: 'resume_webhook_endpoint',
  text: `
    with due as (
      update webhook_retries set first_at = environment_now(), due_at = environment_now()
      where account_id = $1 and endpoint_id = $2)
    update webhook_endpoints
    set status = 'ENABLED', status_reason = '', is_backing_off = false, next_at = environment_now(),
      failing_since = null, back_offs = 0, revision = revision + 1
    where account_id = $1 and id = $2`,
};

const removeStatement: Statement = {
  name: 'remove_webhook_endpoint',
  text: `delete from webhook_endpoints where account_id = $1 and id = $2`,
};

const insertSecretStatement: Statement = {
  name: 'insert_webhook_secret',
  text: `
    insert into webhook_secrets (account_id, endpoint_id, id, algorithm, sealed, public_key,
      created_at)
    values ($1, $2, $3, $4, $5, $6, environment_now())`,
};

const deleteOldSecretsStatement: Statement = {
  name: 'delete_old_webhook_secrets',
  text: `
    delete from webhook_secrets
    where account_id = $1 and endpoint_id = $2 and expires_at is not null`,
};

const endSecretStatement: Statement = {
  name: 'end_webhook_secret',
  text: `
    update webhook_secrets set expires_at = environment_now() + $3 * interval '1 hour'
    where account_id = $1 and endpoint_id = $2 and expires_at is null`,
};

const noticeStatement: Statement = {
  name: 'notice_webhook_rotation',
  text: `update webhook_endpoints set revision = revision + 1 where account_id = $1 and id = $2`,
};

/** A test that is not sent yet serves for the request, too. */
const insertTestQuery = defineQuery({
  name: 'insert_webhook_test',
  text: `
    insert into webhook_tests as t (account_id, endpoint_id, id, created_at)
    values ($1, $2, $3, environment_now())
    on conflict (account_id, endpoint_id) do update set created_at = t.created_at
    returning id`,
  columns: { id: column.uuid },
});

const rangeQuery = defineQuery({
  name: 'count_webhook_replay',
  text: `
    select count(*) as count, min(v.sequence) as first, max(v.sequence) as last
    from events v
    join webhook_endpoints e on e.account_id = v.account_id and e.id = $2
    where v.account_id = $1 and v.sequence between $3 and $4
      and v.created_at >= $5 and v.created_at < $6
      and (cardinality($7::text[]) = 0
        or array[v.type, split_part(v.type, '.', 1) || '.*'] && $7::text[])
      and (cardinality(e.event_types) = 0
        or array[v.type, split_part(v.type, '.', 1) || '.*'] && e.event_types)`,
  columns: {
    count: column.bigint,
    first: nullable(column.bigint),
    last: nullable(column.bigint),
  },
});

const startReplayStatement: Statement = {
  name: 'start_webhook_replay',
  text: `
    update webhook_endpoints
    set replay_cursor = $3::bigint - 1, replay_end = $4, replay_types = $5, revision = revision + 1
    where account_id = $1 and id = $2 and replay_cursor is null`,
};

const deliveryColumns = {
  id: column.uuid,
  message_id: column.text,
  kind: column.oneOf(...deliveryKinds),
  sequence: nullable(column.bigint),
  event_type: column.text,
  try: column.integer,
  result: column.oneOf(...deliveryResults),
  status_code: nullable(column.integer),
  error: column.text,
  answer: nullable(column.bytes),
  answer_type: column.text,
  duration_ms: column.integer,
  url: column.text,
  started_at: column.instant,
  retry_at: nullable(column.instant),
};
export type DeliveryRow = RowOf<typeof deliveryColumns>;

const deliveryNames = `id, message_id, kind, sequence, event_type, try, result, status_code, error, answer,
  answer_type, duration_ms, url, started_at, retry_at`;

const listDeliveriesQuery = defineQuery({
  name: 'list_webhook_deliveries',
  text: `
    select ${deliveryNames} from webhook_deliveries
    where account_id = $1 and endpoint_id = $2
      and ($3::uuid is null or id < $3) and ($5::text is null or result = $5)
      and ($6::text is null or event_type = $6) and ($7::bigint is null or sequence = $7)
    order by id desc limit $4`,
  columns: deliveryColumns,
});

const findDeliveryQuery = defineQuery({
  name: 'find_webhook_delivery',
  text: `
    select ${deliveryNames} from webhook_deliveries
    where account_id = $1 and endpoint_id = $2 and id = $3`,
  columns: deliveryColumns,
});

const measureColumns = {
  status: column.oneOf(...endpointStatuses),
  count: column.integer,
  failing: column.integer,
  backlog: column.float,
  /** Since when the oldest event waits for an endpoint that does not fail; 0 where none waits. */
  oldest_seconds: column.float,
};
export type WebhookMeasureRow = RowOf<typeof measureColumns>;

const measureQuery = defineQuery({
  name: 'measure_webhooks',
  text: `
    with waiting as (
      select account_id, endpoint_id, count(*) as count from webhook_retries group by 1, 2)
    select e.status, count(*)::integer as count,
      (count(*) filter (where e.failing_since is not null))::integer as failing,
      sum(count_events(a.id, e.cursor, a.event_sequence) + coalesce(w.count, 0))::float8 as backlog,
      coalesce(extract(epoch from environment_now() - min(next.created_at)), 0)::float8
        as oldest_seconds
    from webhook_endpoints e
    join accounts a on a.id = e.account_id
    left join waiting w on w.account_id = e.account_id and w.endpoint_id = e.id
    left join lateral (
      select v.created_at from events v
      where e.failing_since is null and v.account_id = e.account_id and v.sequence > e.cursor
      order by v.sequence limit 1
    ) next on true
    group by e.status`,
  columns: measureColumns,
});

export type EndpointTerms = { url: string; description: string; eventTypes: readonly string[] };
/** What is undefined stays as it is. */
export type EndpointChanges = { [Name in keyof EndpointTerms]: EndpointTerms[Name] | undefined };

const idsOf = ({ accountId, endpointId }: EndpointId): unknown[] => [accountId, endpointId];

/** Of all accounts, by status: endpoints, those that fail now, and events that are not sent yet. */
export async function measureWebhooks(session: Session): Promise<WebhookMeasureRow[]> {
  return many(session, measureQuery);
}

export async function listEndpoints(session: Session, accountId: string): Promise<EndpointRow[]> {
  return many(session, listQuery, [accountId]);
}

export async function findEndpoint(
  session: Session,
  id: EndpointId,
): Promise<EndpointRow | undefined> {
  return maybeOne(session, findQuery, idsOf(id));
}

/** False if the account has its maximum of endpoints. */
export async function insertEndpoint(
  session: Session,
  id: EndpointId,
  { url, description, eventTypes }: EndpointTerms,
): Promise<boolean> {
  return (await exec(session, insertStatement, [...idsOf(id), url, description, eventTypes])) === 1;
}

export async function updateEndpoint(
  session: Session,
  id: EndpointId,
  { url, description, eventTypes }: EndpointChanges,
): Promise<void> {
  const values = [url, description, eventTypes].map((value) => value ?? null);
  await exec(session, updateStatement, [...idsOf(id), ...values]);
}

export async function pauseEndpoint(session: Session, id: EndpointId): Promise<void> {
  await exec(session, pauseStatement, idsOf(id));
}

/** Everything that waits for a retry is due at once, with another 14 days. */
export async function resumeEndpoint(session: Session, id: EndpointId): Promise<void> {
  await exec(session, resumeStatement, idsOf(id));
}

/** The log stays until its months are dropped. */
export async function removeEndpoint(session: Session, id: EndpointId): Promise<void> {
  await exec(session, removeStatement, idsOf(id));
}

export type SealedSecret = {
  id: string;
  algorithm: Algorithm;
  sealed: Buffer;
  publicKey: string;
};

export async function insertSecret(
  session: Session,
  id: EndpointId,
  { id: secretId, algorithm, sealed, publicKey }: SealedSecret,
): Promise<void> {
  const values = [secretId, algorithm, sealed, publicKey];
  await exec(session, insertSecretStatement, [...idsOf(id), ...values]);
}

/** The newest secret signs for some hours more; those before it no longer. */
export async function endSecret(
  session: Session,
  id: EndpointId,
  overlapHours: number,
): Promise<void> {
  await exec(session, deleteOldSecretsStatement, idsOf(id));
  await exec(session, endSecretStatement, [...idsOf(id), overlapHours]);
  await exec(session, noticeStatement, idsOf(id));
}

/** The id of the test that will be sent. */
export async function insertTest(
  session: Session,
  id: EndpointId,
  testId: string,
): Promise<string> {
  return (await one(session, insertTestQuery, [...idsOf(id), testId])).id;
}

/** Sequences inclusive, times from the first to before the last. */
export type ReplayRange = {
  from: bigint;
  to: bigint;
  since: Date;
  until: Date;
  eventTypes: readonly string[];
};

/** How many kept events of a range the endpoint would get, with the first and the last of them. */
export async function countReplay(
  session: Session,
  id: EndpointId,
  { from, to, since, until, eventTypes }: ReplayRange,
): Promise<RowOf<typeof rangeQuery.columns>> {
  return one(session, rangeQuery, [...idsOf(id), from, to, since, until, eventTypes]);
}

/** False if another replay is under way. */
export async function startReplay(
  session: Session,
  id: EndpointId,
  { first, last, eventTypes }: { first: bigint; last: bigint; eventTypes: readonly string[] },
): Promise<boolean> {
  return (await exec(session, startReplayStatement, [...idsOf(id), first, last, eventTypes])) === 1;
}

export type DeliveryFilter = {
  beforeId: string | undefined;
  count: number;
  result: DeliveryResult | undefined;
  type: string | undefined;
  sequence: bigint | undefined;
};

/** Newest first. */
export async function listDeliveries(
  session: Session,
  id: EndpointId,
  { beforeId, count, result, type, sequence }: DeliveryFilter,
): Promise<DeliveryRow[]> {
  const values = [beforeId ?? null, count, result ?? null, type ?? null, sequence ?? null];
  return many(session, listDeliveriesQuery, [...idsOf(id), ...values]);
}

export async function findDelivery(
  session: Session,
  id: EndpointId,
  deliveryId: string,
): Promise<DeliveryRow | undefined> {
  return maybeOne(session, findDeliveryQuery, [...idsOf(id), deliveryId]);
}
