import { assert } from '../../core/errors.ts';
import { findUserKey, type KeyRing, openBytes, rowContext, sealBytes } from '../../core/sealing.ts';
import type { Database } from '../../db/postgres/pool.ts';
import { defineProtectedTable, reseal } from '../../db/protected-tables.ts';
import { column } from '../../db/rows.ts';
import { noAccount, storeTraceContext } from '../../tracing/trace-contexts.ts';
import { traceFetch } from '../../tracing/trace-fetch.ts';
import { findRecorded } from '../../tracing/tracing.ts';
import type {
  InboundProblem,
  LogFields,
  RailHost,
  RailObservation,
  RailStore,
  RecordChange,
  StoredRecord,
} from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import { reasonTexts } from '../contract/reasons.ts';
import { nameObservation } from '../contract/references.ts';
import { sealMessage } from './messages.ts';
import {
  countUnresolvedInbound,
  findRecordOwners,
  getRecord,
  insertMessage,
  listRecords,
  type Recipient,
  type RecordRow,
  type RecordWrite,
  writeRecords,
} from './rail-memory.sql.ts';

/** The `RailHost` of a rail: its records in the database, and the way for its inbound messages. */

export type HostOptions = {
  name: string;
  payers: readonly PayerDeclaration[];
  listAttributes?: RailHost['listAttributes'];
  requirements?: RailHost['requirements'];
  db: Database;
  keys: KeyRing;
  nowMs: () => number;
  realNowMs: () => number;
  fetch: typeof fetch;
  callbackUrl: string;
  wake: () => void;
  /** Called when there are observations to apply. */
  onInboundMessage: () => void;
  log: (level: 'info' | 'warn' | 'error', message: string, fields: LogFields) => void;
};

export function createHost(options: HostOptions): RailHost {
  const { name, payers, db, keys, onInboundMessage } = options;
  return {
    name,
    payers,
    ...(options.listAttributes && { listAttributes: options.listAttributes }),
    ...(options.requirements && { requirements: options.requirements }),
    nowMs: options.nowMs,
    realNowMs: options.realNowMs,
    fetch: traceFetch(options.fetch, db.tracing),
    callbackUrl: options.callbackUrl,
    store: createStore(name, db, keys),
    wake: options.wake,
    log: (level, message, fields = {}) => options.log(level, message, { ...fields, rail: name }),
    receive: async (message) => {
      for (const { id } of findRecorded(db.tracing) === undefined ? [] : message.observations) {
        const subjectId = nameObservation(name, id);
        await storeTraceContext(db.system, db.tracing, { accountId: noAccount, subjectId });
      }
      const isNew = await insertMessage(
        db.system,
        {
          rail: name,
          id: message.id,
          channel: message.channel,
          ...(await sealMessage({ session: db.system, keys }, name, message)),
          problems: JSON.stringify((message.problems ?? []).map(describeProblem)),
        },
        message.observations.map(describeObservation),
      );
      if (isNew) onInboundMessage();
      return isNew ? 'new' : 'known';
    },
    countUnresolvedInbound: () => countUnresolvedInbound(db.system, name),
  };
}

const outcomes: ReadonlySet<unknown> = new Set<RailObservation['outcome']>([
  'accepted',
  'ready_for_pickup',
  'paid',
  'rejected',
  'returned',
]);

/** The form of a rail's observations is not trusted: what cannot be stored is refused at once. */
function describeObservation(observation: RailObservation) {
  const { id, reference, outcome, amountMinor, charges = [], atMs } = observation;
  assert(outcomes.has(outcome), 'an observation must have a known outcome');
  assert(amountMinor === undefined || amountMinor > 0n, 'an observed amount must be positive');
  for (const charge of charges) assert(charge.amountMinor > 0n, 'a charge must be positive');
  const reason = observation.reason ?? '';
  assert(
    reason === '' || Object.hasOwn(reasonTexts, reason),
    'an observation must have a known reason',
  );
  return {
    id,
    reference,
    outcome,
    reason,
    code: observation.code ?? '',
    providerReference: observation.providerReference ?? '',
    amountMinor: amountMinor ?? null,
    charges: JSON.stringify(
      charges.map((charge) => ({
        id: charge.id,
        kind: charge.kind,
        currency: charge.currency,
        amount: charge.amountMinor.toString(),
      })),
    ),
    at: new Date(atMs),
  };
}

const problemKinds: ReadonlySet<unknown> = new Set<InboundProblem['kind']>([
  'unreadable',
  'not_understood',
  'report_missing',
  'unmatched',
]);
const problemDetailMax = 500;

function describeProblem({ id, kind, detail, currency, amountMinor }: InboundProblem) {
  assert(problemKinds.has(kind), 'an inbound problem must have a known kind');
  assert(amountMinor === undefined || amountMinor > 0n, 'the amount of a problem must be positive');
  return {
    id,
    kind,
    detail: detail.slice(0, problemDetailMax),
    currency: currency ?? null,
    amount: amountMinor?.toString() ?? null,
  };
}

const nameRecord = (rail: string, collection: string, key: string): string =>
  rowContext('rail_records', rail, collection, key);

/** Those that are about no single person; bank files are among them, which are large. */
export const protectedRecords = defineProtectedTable({
  table: 'rail_records',
  key: { rail: 'text', collection: 'text', key: 'text' },
  values: ['sealed'],
  where: 'account_id is null',
  columns: { rail: column.text, collection: column.text, key: column.text },
  portion: 20,
  renew: (keys, { rail, collection, key, sealed }) => ({
    sealed: reseal(keys, sealed, nameRecord(rail, collection, key)),
  }),
});

/** Whether the record was about a person whose data was erased since. */
function isEmptied({ sealed, data_key: dataKey }: RecordRow): boolean {
  return sealed.length === 0 || dataKey?.length === 0;
}

/**
 * A record about one payment is sealed under the key of its recipient, so that an erasure shreds it in
 * backups too; every other one under the environment's keys.
 */
export function createStore(rail: string, db: Database, keys: KeyRing): RailStore {
  const openSealed = (collection: string, row: RecordRow): Buffer => {
    const { sealed, account_id: accountId, user_id: userId, data_key: dataKey } = row;
    const context = nameRecord(rail, collection, row.key);
    if (accountId === null || userId === null || dataKey === null)
      return keys.open(sealed, context);
    return openBytes(keys.unwrap(dataKey, { accountId, userId }), sealed, context);
  };
  const open = (collection: string, row: RecordRow): StoredRecord => ({
    key: row.key,
    state: row.state,
    revision: Number(row.revision),
    value: JSON.parse(openSealed(collection, row).toString('utf8')),
  });
  const seal = ({ collection, key, next }: RecordChange, owner: Recipient | undefined) => {
    if (next === undefined) return null;
    const context = nameRecord(rail, collection, key);
    const plain = Buffer.from(JSON.stringify(next.value));
    if (owner === undefined) return keys.seal(plain, context);
    const userKey = findUserKey(keys, owner.data_key, {
      accountId: owner.account_id,
      userId: owner.user_id,
    });
    return userKey === undefined ? Buffer.alloc(0) : sealBytes(userKey, plain, context);
  };
  const describeChange = (change: RecordChange, owner: Recipient | undefined): RecordWrite => ({
    reference: change.reference ?? null,
    collection: change.collection,
    key: change.key,
    revision: change.revision,
    state: change.next?.state ?? null,
    sealed: seal(change, owner),
    owner,
  });
  return {
    get: async (collection, key) => {
      const row = await getRecord(db.system, { rail, collection, key });
      return row === undefined || isEmptied(row) ? undefined : open(collection, row);
    },
    isErased: async (collection, key) => {
      const row = await getRecord(db.system, { rail, collection, key });
      return row !== undefined && isEmptied(row);
    },
    list: async (collection, { state, after = '', count }) => {
      const rows = await listRecords(db.system, { rail, collection, state, after, count });
      return rows.map((row) => open(collection, row));
    },
    write: async (changes) => {
      const named = changes.map(({ reference = null, ...change }) => ({ ...change, reference }));
      const owners = await findRecordOwners(db.system, rail, named);
      const writes = changes.map((change, index) => describeChange(change, owners.get(index)));
      return writeRecords(db.system, rail, writes);
    },
  };
}
