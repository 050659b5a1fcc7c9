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

/** The SQL of the audit log. Proofs read it whole. */

const proofMsMax = 24 * 3_600_000;

const entryColumns = {
  sequence: column.text,
  id: column.uuid,
  actor_kind: column.oneOf('operator', 'credential', 'system'),
  actor_id: nullable(column.uuid),
  actor: column.text,
  role: column.text,
  address: column.text,
  action: column.text,
  object: column.text,
  account_id: nullable(column.uuid),
  reason: column.text,
  request_id: column.text,
  outcome: column.oneOf('requested', 'waiting', 'done', 'refused', 'failed'),
  state_before: column.text,
  state_after: column.text,
} as const;
const selected = Object.keys(entryColumns)
  .filter((name) => name !== 'sequence')
  .join(', ');

const insert: Statement = {
  name: 'insert_audit_entry',
  // The trigger gives sequence, digest and hash.
  text: `
    insert into audit_entries (id, created_at, actor_kind, actor_id, actor, role, address, action,
      object, account_id, reason, request_id, outcome, state_before, state_after)
    values ($1, clock_timestamp(), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
};

const insertOfClient: Statement = {
  name: 'append_client_audit',
  text: `select append_client_audit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
};

const linkColumns = {
  ...entryColumns,
  created_us: column.text,
  digest: column.text,
  hash: column.text,
} as const;

const page = defineQuery({
  name: 'select_audit_links',
  answerMsMax: proofMsMax,
  text: `
    select sequence::text as sequence, ${selected},
      (extract(epoch from created_at) * 1000000)::bigint::text as created_us,
      encode(digest, 'hex') as digest, encode(hash, 'hex') as hash
    from audit_entries where sequence > $1 order by audit_entries.sequence limit $2`,
  columns: linkColumns,
});

const newest = defineQuery({
  name: 'select_audit_entries',
  text: `
    select sequence::text as sequence, ${selected}, created_at
    from audit_entries
    where ($1::text is null or actor = $1) and ($2::text is null or action like $2 || '%')
      and ($3::timestamptz is null or created_at >= $3)
      and ($4::timestamptz is null or created_at < $4)
      and ($5::bigint is null or sequence < $5)
    order by audit_entries.sequence desc limit $6`,
  columns: { ...entryColumns, created_at: column.instant },
});

const head = defineQuery({
  name: 'find_audit_head',
  text: `select sequence::text as sequence, encode(hash, 'hex') as hash from audit_head`,
  columns: { sequence: column.text, hash: column.text },
});

const unsignedHead = defineQuery({
  name: 'find_unsigned_audit_head',
  text: `
    select h.sequence::text as sequence, encode(h.hash, 'hex') as hash from audit_head h
    where h.sequence > 0
      and not exists (select from audit_checkpoints c where c.sequence = h.sequence)`,
  columns: { sequence: column.text, hash: column.text },
});

const insertCheckpoint: Statement = {
  name: 'insert_audit_checkpoint',
  text: `
    insert into audit_checkpoints (sequence, statement, signature, key_id, created_at)
    values ($1, $2, $3, $4, clock_timestamp())`,
};

const checkpoints = defineQuery({
  name: 'select_audit_checkpoints',
  answerMsMax: proofMsMax,
  text: `
    select statement, encode(signature, 'base64') as signature, key_id
    from audit_checkpoints order by sequence`,
  columns: { statement: column.text, signature: column.text, key_id: column.text },
});

export type AuditEntryRow = RowOf<typeof entryColumns>;
export type AuditLinkRow = RowOf<typeof linkColumns>;

export type NewAuditEntry = Omit<AuditEntryRow, 'sequence'>;

export async function insertAuditEntry(session: Session, entry: NewAuditEntry): Promise<void> {
  await exec(session, insert, [
    entry.id,
    entry.actor_kind,
    entry.actor_id,
    entry.actor,
    entry.role,
    entry.address,
    entry.action,
    entry.object,
    entry.account_id,
    entry.reason,
    entry.request_id,
    entry.outcome,
    entry.state_before,
    entry.state_after,
  ]);
}

/** Also on the connection of a client, for its own account. */
export async function insertClientEntry(
  session: Session,
  entry: Omit<NewAuditEntry, 'actor_kind' | 'actor' | 'role' | 'reason'>,
): Promise<void> {
  await exec(session, insertOfClient, [
    entry.account_id,
    entry.id,
    entry.actor_id,
    entry.address,
    entry.action,
    entry.object,
    entry.request_id,
    entry.outcome,
    entry.state_before,
    entry.state_after,
  ]);
}

export const listAuditLinks = (session: Session, after: string, count: number) =>
  many(session, page, [after, count]);

export type AuditFilter = {
  actor: string | undefined;
  /** The beginning of the action. */
  action: string | undefined;
  from: Date | undefined;
  to: Date | undefined;
  /** Entries before this sequence. */
  before: string | undefined;
  count: number;
};

/** The newest first. */
export const listAuditEntries = (session: Session, filter: AuditFilter) =>
  many(session, newest, [
    filter.actor ?? null,
    filter.action ?? null,
    filter.from ?? null,
    filter.to ?? null,
    filter.before ?? null,
    filter.count,
  ]);

export const findAuditHead = (session: Session) => one(session, head);
export const findUnsignedAuditHead = (session: Session) => maybeOne(session, unsignedHead);

export async function storeAuditCheckpoint(
  session: Session,
  row: { sequence: string; statement: string; signature: Buffer; keyId: string },
): Promise<void> {
  await exec(session, insertCheckpoint, [row.sequence, row.statement, row.signature, row.keyId]);
}

export const listAuditCheckpoints = (session: Session) => many(session, checkpoints);
