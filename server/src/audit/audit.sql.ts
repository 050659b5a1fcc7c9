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

/** What the code of an entry covers. */
export const vouchedColumns = {
  id: column.uuid,
  actor_kind: column.oneOf('operator', 'credential', 'system'),
  actor_id: nullable(column.uuid),
  actor: column.text,
  role: column.text,
  credential: column.text,
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
const entryColumns = { sequence: column.text, ...vouchedColumns } as const;
const selectedNames = Object.keys(vouchedColumns);
const selected = selectedNames.join(', ');

const insert: Statement = {
  name: 'insert_audit_entry',
  // The trigger gives sequence, digest and hash.
  text: `
    insert into audit_entries (id, created_at, actor_kind, actor_id, actor, role, credential, address,
      action, object, account_id, reason, request_id, outcome, state_before, state_after, mac)
    values ($1, clock_timestamp(), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
};

const insertOfClient: Statement = {
  name: 'append_client_audit',
  text: `select append_client_audit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
};

const linkColumns = {
  ...entryColumns,
  created_us: column.text,
  digest: column.text,
  hash: column.text,
  mac: column.bytes,
} as const;

const page = defineQuery({
  name: 'select_audit_links',
  answerMsMax: proofMsMax,
  text: `
    select sequence::text as sequence, ${selected},
      (extract(epoch from created_at) * 1000000)::bigint::text as created_us,
      encode(digest, 'hex') as digest, encode(hash, 'hex') as hash, mac
    from audit_entries where sequence > $1 order by audit_entries.sequence limit $2`,
  columns: linkColumns,
});

/**
 * Entries get their sequence under a lock and their time just before, so that both orders agree but for
 * seconds: the sequences of a time follow from its neighbors, and no list reads along the time.
 */
const within = `
  ($3::timestamptz is null or e.created_at >= $3) and ($4::timestamptz is null or e.created_at < $4)
  and ($5::bigint is null or e.sequence < $5)
  and e.sequence > coalesce((
    select sequence from audit_entries where created_at < $3 - interval '1 minute'
    order by created_at desc limit 1), 0)
  and e.sequence < coalesce((
    select sequence from audit_entries where created_at >= $4 + interval '1 minute'
    order by created_at limit 1), 9223372036854775807)`;

const newestColumns = { ...entryColumns, created_at: column.instant };
const newestSelected = ['e.sequence::text as sequence', ...selectedNames.map((name) => `e.${name}`)]
  .concat('e.created_at')
  .join(', ');

/** Newest first, each along an index. A range of one value makes the planner order by its index. */
const newest = {
  all: defineQuery({
    name: 'select_audit_entries',
    text: `
      select ${newestSelected} from audit_entries e
      where $1::text is null and $2::text is null and ${within}
      order by e.sequence desc limit $6`,
    columns: newestColumns,
  }),
  ofActor: defineQuery({
    name: 'select_audit_entries_of_actor',
    text: `
      select ${newestSelected} from audit_entries e
      where e.actor between $1 and $1 and $2::text is null and ${within}
      order by e.actor desc, e.sequence desc limit $6`,
    columns: newestColumns,
  }),
  /** Jumps from one action to the next one, and reads the newest entries of each. */
  ofAction: defineQuery({
    name: 'select_audit_entries_of_action',
    text: `
      with recursive actions as (
        (select action collate "C" as action from audit_entries
          where action collate "C" >= $2 order by action collate "C" limit 1)
        union all
        select (
          select n.action collate "C" from audit_entries n
          where n.action collate "C" > actions.action order by n.action collate "C" limit 1)
        from actions where starts_with(actions.action, $2)
      )
      select ${newestSelected} from actions
      cross join lateral (
        select * from audit_entries e
        where e.action collate "C" = actions.action and ($1::text is null or e.actor = $1)
          and ${within}
        order by e.sequence desc limit $6
      ) e
      where starts_with(actions.action, $2)
      order by e.sequence desc limit $6`,
    columns: newestColumns,
  }),
};

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
      and not exists (
        select from audit_checkpoints c where c.sequence = h.sequence and c.key_id = $1)`,
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
    select sequence::text as sequence, statement,
      translate(encode(signature, 'base64'), E'\\n', '') as signature, key_id
    from audit_checkpoints c where (c.sequence, c.key_id) > ($1::bigint, $2::text)
    -- Not by the text.
    order by c.sequence, c.key_id limit $3`,
  columns: {
    sequence: column.text,
    statement: column.text,
    signature: column.text,
    key_id: column.text,
  },
});

export type AuditEntryRow = RowOf<typeof entryColumns>;
export type AuditLinkRow = RowOf<typeof linkColumns>;

export type NewAuditEntry = RowOf<typeof vouchedColumns>;

export async function insertAuditEntry(
  session: Session,
  entry: NewAuditEntry & { mac: Buffer },
): Promise<void> {
  await exec(session, insert, [
    entry.id,
    entry.actor_kind,
    entry.actor_id,
    entry.actor,
    entry.role,
    entry.credential,
    entry.address,
    entry.action,
    entry.object,
    entry.account_id,
    entry.reason,
    entry.request_id,
    entry.outcome,
    entry.state_before,
    entry.state_after,
    entry.mac,
  ]);
}

/** Also on the connection of a client, for its own account. */
export async function insertClientEntry(
  session: Session,
  entry: Omit<NewAuditEntry, 'actor_kind' | 'reason'> & { mac: Buffer },
): Promise<void> {
  await exec(session, insertOfClient, [
    entry.account_id,
    entry.id,
    entry.actor_id,
    entry.actor,
    entry.role,
    entry.credential,
    entry.address,
    entry.action,
    entry.object,
    entry.request_id,
    entry.outcome,
    entry.state_before,
    entry.state_after,
    entry.mac,
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
  many(session, chooseList(filter), [
    filter.actor ?? null,
    filter.action ?? null,
    filter.from ?? null,
    filter.to ?? null,
    filter.before ?? null,
    filter.count,
  ]);

function chooseList({ actor, action }: AuditFilter) {
  if (action !== undefined) return newest.ofAction;
  return actor === undefined ? newest.all : newest.ofActor;
}

export const findAuditHead = (session: Session) => one(session, head);
export const findUnsignedAuditHead = (session: Session, keyId: string) =>
  maybeOne(session, unsignedHead, [keyId]);

export async function storeAuditCheckpoint(
  session: Session,
  row: { sequence: string; statement: string; signature: Buffer; keyId: string },
): Promise<void> {
  await exec(session, insertCheckpoint, [row.sequence, row.statement, row.signature, row.keyId]);
}

const pageCheckpoints = 1000;

export async function* readAuditCheckpoints(session: Session) {
  for (let after = { sequence: '-1', key_id: '' }; ; ) {
    const rows = await many(session, checkpoints, [after.sequence, after.key_id, pageCheckpoints]);
    for (const { statement, signature, key_id } of rows) yield { statement, signature, key_id };
    after = rows.at(-1) ?? after;
    if (rows.length < pageCheckpoints) return;
  }
}
