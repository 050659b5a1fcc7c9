import { newId } from '../core/ids.ts';
import { writeJson } from '../core/json-text.ts';
import { type KeyRing, rowContext } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { defineProtectedTable, renewMac } from '../db/protected-tables.ts';
import {
  type AuditLinkRow,
  insertAuditEntry,
  insertClientEntry,
  listAuditLinks,
  type NewAuditEntry,
  vouchedColumns,
} from './audit.sql.ts';

export {
  type AuditFilter,
  findAuditHead as readAuditHead,
  findUnsignedAuditHead,
  listAuditEntries,
  readAuditCheckpoints,
  storeAuditCheckpoint,
} from './audit.sql.ts';

/** The audit log: who did what, from where, why, and what it changed (`db/schema/audit.sql`). */

export type Actor =
  | {
      kind: 'operator';
      id: string;
      name: string;
      role: string;
      /** The key or session; absent where the operator has just been created. */
      credential?: string | undefined;
      address: string;
    }
  | { kind: 'credential'; id: string; address: string }
  | { kind: 'system' };

type OperatorActor = Extract<Actor, { kind: 'operator' }>;

/** An operator, as the log names it. */
export function describeActor(
  { id, name, role, credential }: Omit<OperatorActor, 'kind' | 'address'>,
  address: string,
): OperatorActor {
  return { kind: 'operator', id, name, role, credential, address };
}

export type AuditEntry = {
  actor: Actor;
  /** Noun and verb, such as `account fund`. */
  action: string;
  object?: Readonly<Record<string, unknown>>;
  accountId?: string | undefined;
  reason?: string | undefined;
  requestId?: string | undefined;
  outcome: NewAuditEntry['outcome'];
  before?: unknown;
  after?: unknown;
};

export type AuditLog = { readonly session: Session; readonly keys: Pick<KeyRing, 'mac'> };

/**
 * The chain shows that no entry was changed, not that the service wrote it: the trigger links what the
 * owner of the database inserts. Each entry therefore has a code under a key that the database does not
 * have. It covers neither the sequence nor the time, which the database gives.
 */
export function describeEntry(row: NewAuditEntry): string {
  return rowContext(
    'audit_entries',
    row.id,
    row.actor_kind,
    row.actor_id ?? '',
    row.actor,
    row.role,
    row.credential,
    row.address,
    row.action,
    row.object,
    row.account_id ?? '',
    row.reason,
    row.request_id,
    row.outcome,
    row.state_before,
    row.state_after,
  );
}

export const protectedEntries = defineProtectedTable({
  table: 'audit_entries',
  key: { sequence: 'bigint' },
  values: ['mac'],
  columns: vouchedColumns,
  replacement: 'renew_audit_entries',
  renew: renewMac(describeEntry),
});

/** Appends an entry, in the transaction of the session; returns its id. */
export async function appendAudit({ session, keys }: AuditLog, entry: AuditEntry): Promise<string> {
  const { actor } = entry;
  const id = newId();
  const row: NewAuditEntry = {
    id,
    actor_kind: actor.kind,
    actor_id: actor.kind === 'system' ? null : actor.id,
    actor: actor.kind === 'operator' ? actor.name : '',
    role: actor.kind === 'operator' ? actor.role : '',
    credential: describeCredential(actor),
    address: actor.kind === 'system' ? '' : actor.address,
    action: entry.action,
    object: formatState(entry.object ?? {}),
    account_id: entry.accountId ?? null,
    reason: entry.reason ?? '',
    request_id: entry.requestId ?? '',
    outcome: entry.outcome,
    state_before: formatState(entry.before),
    state_after: formatState(entry.after),
  };
  await insertAuditEntry(session, { ...row, mac: keys.mac(describeEntry(row)) });
  return id;
}

function describeCredential(actor: Actor): string {
  if (actor.kind === 'credential') return actor.id;
  return actor.kind === 'operator' ? (actor.credential ?? '') : '';
}

/**
 * The request of a client, or of an operator for it. The credential is undefined where a link alone admitted
 * it.
 */
export type ClientRequest = {
  readonly accountId: string;
  readonly credentialId: string | undefined;
  readonly operator?: Pick<OperatorActor, 'id' | 'name' | 'role' | 'credential'> | undefined;
  readonly address: string;
  readonly requestId: string;
};

export function describeClient(context: {
  readonly principal: Pick<ClientRequest, 'accountId' | 'operator'> & {
    readonly credentialId: string;
  };
  readonly request: { readonly id: string; readonly remoteAddress: string };
}): ClientRequest {
  const { principal, request } = context;
  const { accountId, credentialId, operator } = principal;
  const { remoteAddress: address, id: requestId } = request;
  return { accountId, credentialId, operator, address, requestId };
}

/**
 * Appends an entry about what a client changed, in the transaction of the change, and last in it: other
 * entries wait until the transaction ends.
 */
export async function appendClientAudit(
  { session, keys }: AuditLog,
  client: ClientRequest,
  entry: Pick<AuditEntry, 'action' | 'object' | 'before' | 'after'> & {
    outcome?: AuditEntry['outcome'];
  },
): Promise<void> {
  const row: NewAuditEntry = {
    id: newId(),
    actor_kind: client.operator === undefined ? 'credential' : 'operator',
    actor_id: client.operator?.id ?? client.credentialId ?? null,
    actor: client.operator?.name ?? '',
    role: client.operator?.role ?? '',
    credential: (client.operator ? client.operator.credential : client.credentialId) ?? '',
    address: client.address,
    action: entry.action,
    object: formatState(entry.object ?? {}),
    account_id: client.accountId,
    reason: '',
    request_id: client.requestId,
    outcome: entry.outcome ?? 'done',
    state_before: formatState(entry.before),
    state_after: formatState(entry.after),
  };
  await insertClientEntry(session, { ...row, mac: keys.mac(describeEntry(row)) });
}

/** JSON with amounts as text; "" for nothing. */
function formatState(state: unknown): string {
  return state === undefined ? '' : writeJson(state);
}

const pageEntries = 500;

/**
 * All entries in their order, with what the chain says of each.
 *
 * @param keys those of the codes; without them no code is compared
 */
export async function* readAuditLinks(session: Session, keys?: Pick<KeyRing, 'isMac'>) {
  for (let after = '0'; ; ) {
    const rows = await listAuditLinks(session, after, pageEntries);
    for (const row of rows) {
      const { sequence: place, digest, hash } = row;
      const isVouched = keys?.isMac(describeEntry(row), row.mac) ?? true;
      yield { place, digest, hash, isVouched, row: toHashedRow(row) };
    }
    after = rows.at(-1)?.sequence ?? after;
    if (rows.length < pageEntries) return;
  }
}

/** The row as `length_prefixed` and the trigger in `db/schema/audit.sql` hash it. */
function toHashedRow(row: AuditLinkRow) {
  return {
    audit_sequence: row.sequence,
    id: row.id,
    actor_id: row.actor_id,
    account_id: row.account_id,
    texts: [
      row.actor_kind,
      row.actor,
      row.role,
      row.credential,
      row.address,
      row.action,
      row.object,
      row.reason,
      row.request_id,
      row.outcome,
      row.state_before,
      row.state_after,
    ],
    created_us: row.created_us,
  };
}
