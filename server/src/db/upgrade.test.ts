import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../testing/setups/database.ts';
import { createFakeRail, createRouting, describeQuote } from '../../testing/setups/money.ts';
import { newId } from '../core/ids.ts';
import { createKeyRing } from '../core/sealing.ts';
import { applyObservation } from '../dispatch/dispatch.sql.ts';
import { createDispatcher, dispatchTimes } from '../dispatch/dispatch.ts';
import { selectEvents } from '../events/events.sql.ts';
import { findRecord } from '../http/idempotency.sql.ts';
import { fundBalance, verifyLedger } from '../ledger/ledger.ts';
import { createGroupCommit } from '../payouts/group-commit.ts';
import { commitPayoutRow, insertPayouts, type NewPayout } from '../payouts/payouts.sql.ts';
import { prepareUser } from '../users/users.ts';
import { createEnvironmentClock } from './environment-clock.ts';
import { migrate, readMigrations } from './migrate.ts';
import { createSession } from './postgres/connection.ts';
import { connectDatabase, type Database, type Session } from './postgres/pool.ts';

/** A database of the sixth migration, with payouts in every state, becomes one of today. */

const firstVersions = 6;
const keys = createKeyRing(randomBytes(32));
const accountId = newId();
const user = prepareUser(
  { keys, accountId },
  {
    internal_user_id: 'old',
    country: 'MEX',
    first_name: 'Ana',
    last_name: 'Gómez',
    email: 'ana@example.org',
    metadata: undefined,
  },
).stored;
const userId = user.id;
const destinationToken = newId();
const [earlySet, lateSet] = [newId(), newId()];
const dayMs = 86_400_000;

let server: TestDatabase;
let url: string;
let old: Database;
before(async () => {
  server = await createTestDatabase();
  const address = new URL(server.url);
  address.pathname += '_old';
  url = address.href;
  await onServer(`create database ${nameOf(url)} template template0`);
  await migrateFirst();
  old = connectDatabase({ url, connectionsMax: 2 });
  await createOldData();
});
after(async () => {
  await old.close();
  await onServer(`drop database if exists ${nameOf(url)} with (force)`);
  await server.drop();
});

const nameOf = (address: string): string => new URL(address).pathname.slice(1);

async function onServer(text: string, on = server.url): Promise<void> {
  const client = new pg.Client({ connectionString: on });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

async function migrateFirst(): Promise<void> {
  await onServer(
    `create table migrations (version integer primary key, name text not null, hash text not null,
       applied_at timestamptz not null default now())`,
    url,
  );
  for (const { version, name, text, hash } of await readMigrations()) {
    if (version > firstVersions) continue;
    await onServer(text, url);
    await onServer(`insert into migrations values (${version}, '${name}', '${hash}')`, url);
  }
}

const ask = <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
  old.system.rows<Row>({ name: '', text }, values);

const advance = (milliseconds: number): Promise<unknown> =>
  ask(
    `update environment set clock_offset_us = clock_offset_us + $1,
       clock_target_us = clock_target_us + $1`,
    [BigInt(milliseconds) * 1000n],
  );

function describeOldQuote(changes: Partial<NewPayout>): NewPayout {
  return {
    ...describeQuote({ accountId, userId }),
    destinationToken,
    roundingNano: 3n,
    deliveryType: 'CASH_PICKUP',
    notifyUser: true,
    metadata: '{"order":"1"}',
    estimatedAvailability: new Date('2030-01-01T00:00:00Z'),
    metadataHashes: [randomBytes(16)],
    ...changes,
  };
}

/** The function of the time answered whole payouts, without what opens their attributes. */
const oldSession = createSession(({ text }, values) =>
  old.system.query(
    {
      name: '',
      text: text.replace('sealed, data_key', 'null::bytea as sealed, null::bytea as data_key'),
    },
    values,
  ),
);

async function quote(changes: Partial<NewPayout> = {}): Promise<string> {
  const payout = describeOldQuote(changes);
  await insertPayouts(oldSession, [payout], true);
  return payout.id;
}

async function commit(payoutId: string, session: Session = old.system): Promise<string> {
  const journalId = newId();
  const ids = { accountId, userId, payoutId };
  return (await commitPayoutRow(session, { ...ids, journalId, pickupCode: '01234567' })).result;
}

async function commitNew(changes: Partial<NewPayout> = {}): Promise<string> {
  const id = await quote(changes);
  assert.equal(await commit(id), 'success');
  return id;
}

async function observeNow(payoutId: string, outcome: string): Promise<void> {
  const result = await applyObservation(old.system, {
    accountId,
    payoutId,
    rail: undefined,
    observationId: newId(),
    source: 'sandbox',
    outcome,
    reason: `because "${outcome}"`,
    fence: undefined,
    dueAt: later,
    journalIds: makeIds(),
    extra: undefined,
  });
  assert.equal(result, 'applied');
}

const later = new Date('2031-01-01T00:00:00Z');
const makeIds = () => [newId(), newId(), newId()];
const identify = (payoutId: string) => [accountId, payoutId, newId()];

async function observe(payoutId: string, outcome: string): Promise<void> {
  // As the service of that time called it.
  const [row] = await old.system.rows<{ result: string }>(
    { name: '', text: 'select apply_observation($1, $2, $3, $4, $5, $6, $7, $8, $9) as result' },
    [...identify(payoutId), 'sandbox', outcome, `because "${outcome}"`, null, later, makeIds()],
  );
  assert.equal(row?.result, 'applied');
}

/** Claims a payout and writes its attempt, as the dispatch loop of the time did. */
async function beginAttempt(payoutId: string): Promise<void> {
  const [claim] = await ask<{ fence: bigint }>(
    'select fence from claim_dispatches(1, 1000, $1, $2)',
    [accountId, payoutId],
  );
  const [begun] = await ask<{ mode: string }>('select mode from begin_attempt($1, $2, $3, $4, 1)', [
    accountId,
    payoutId,
    claim?.fence,
    payoutId.replaceAll('-', ''),
  ]);
  assert.equal(begun?.mode, 'send');
}

async function storeSet(setId: string): Promise<void> {
  await ask(
    `with made as (
       insert into attribute_sets values ($1, $2, $3, $4, 'MXN', 1, environment_now(), now()))
     insert into attribute_set_versions (account_id, set_id, version, profile_version, fingerprint,
       sealed, is_complete, created_at)
     values ($1, $2, 1, '1', sha256('1'), $5, true, now())`,
    [accountId, setId, userId, destinationToken, Buffer.from('sealed')],
  );
}

const ids: Record<string, string> = {};
const key = { key: 'a key', fingerprint: Buffer.alloc(32, 7) };

async function createOldData(): Promise<void> {
  await ask(`insert into environment (name, master_key_id) values ('staging', 'test')`);
  await ask(`insert into accounts (id, name, created_at) values ($1, 'Old', now())`, [accountId]);
  await createOldUser();
  await fundBalance(old.system, { accountId, currency: 'USD', amountMinor: 10_000_000n });
  await fundBalance(old.system, { accountId, currency: 'EUR', amountMinor: 0n });
  ids['expired'] = await quote({ lockSeconds: 60, notifyUser: false });
  ids['COMPLETED'] = await commitNew();
  await observe(ids['COMPLETED'], 'paid');
  ids['late attributes'] = await quote({ needsAttributes: true });
  assert.equal(await commit(ids['late attributes']), 'addtl_attr_req');
  await storeSet(earlySet);
  assert.equal(await commit(ids['late attributes']), 'success');
  // A month begins, and then the sandbox jumps over a year.
  await advance(33 * dayMs);
  ids['returned'] = await commitNew({ feeMinor: 0n });
  await observe(ids['returned'], 'paid');
  await advance(400 * dayMs);
  await observe(ids['returned'], 'returned');
  await storeSet(lateSet);
  ids['returned at once'] = await commitNew();
  await observe(ids['returned at once'], 'returned');
  ids['rejected'] = await commitNew();
  await observe(ids['rejected'], 'rejected');
  ids['rejected without fee'] = await commitNew({ feeMinor: 0n });
  await observe(ids['rejected without fee'], 'rejected');
  ids['READY_FOR_PICKUP'] = await commitNew({ destinationToken: newId() });
  await beginAttempt(ids['READY_FOR_PICKUP']);
  await observe(ids['READY_FOR_PICKUP'], 'ready_for_pickup');
  ids['HOLD'] = await commitNew();
  await observe(ids['HOLD'], 'hold');
  ids['same currency'] = await commitNew({
    destinationCurrency: 'USD',
    destinationMinor: 10_000n,
    exchangeRate: '1',
  });
  await commitTogether();
  ids['sending'] = await commitNew({ destinationToken: newId() });
  await beginAttempt(ids['sending']);
  ids['PENDING'] = await quote({ needsAttributes: true });
  ids['never sent'] = await commitNew({ destinationToken: newId() });
}

async function createOldUser(): Promise<void> {
  await ask(
    `insert into users (account_id, id, internal_user_id, email_index, country, data_key, sealed,
       created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, now(), now())`,
    [
      accountId,
      userId,
      user.internalUserId,
      user.emailIndex,
      user.country,
      user.dataKey,
      user.sealed,
    ],
  );
}

/** The group of the time, whose answer was made by the database. */
async function commitTogether(): Promise<void> {
  const id = await quote({ feeMinor: 1n, attrSetId: earlySet });
  const rows = await ask<{ body: string }>(
    'select body from commit_payouts($1, $2, $3, $4, $5, $6, $7, true)',
    [[accountId], [userId], [id], [newId()], ['76543210'], [key.key], [key.fingerprint]],
  );
  assert.equal(rows.length, 1);
  ids['together'] = id;
}

type Picture = { [part: string]: unknown };

/** What clients and auditors can read, in the words of both. */
async function readPicture(): Promise<Picture> {
  const columns = `account_id, id, user_id, status, status_reason, client_transfer_id, source_token,
    source_currency, source_amount, fee, destination_token, destination_currency,
    destination_amount, exchange_rate, rounding_nano, rail, payer_key, payer_name, attr_set_id,
    attr_version, delivery_type, country, needs_attributes, needs_verification, notify_user,
    metadata, pickup_code, created_at, expires_at, estimated_availability, committed_at,
    completed_at, updated_at`;
  return {
    payouts: await ask(`select ${columns} from payouts order by id`),
    transfers: await ask(
      `select account_id, currency, journal_id, line, kind, from_name, to_name, amount,
         wallet_balance, payout_id, created_at
       from ledger_transfers order by currency, journal_id, line`,
    ),
    balances: await ask('select * from ledger_accounts order by currency, name'),
    dispatches: await ask(`
      select account_id, payout_id, due_at, tries, fence, lease_until from payout_dispatches
      order by payout_id`),
    attempts: await ask(`
      select account_id, payout_id, number, rail, payer_key, reference, state, reason, fence,
        started_at, taken_at, unknown_since, answered_at
      from attempts order by payout_id, number`),
    observations: await ask(`
      select account_id, payout_id, id, source, outcome, reason, is_applied, observed_at
      from observations order by id`),
    notifications: await ask('select * from notifications order by id'),
    metadata: await ask('select * from payout_metadata order by payout_id, entry_hash'),
    records: await ask(
      'select account_id, key, fingerprint, status, body, created_at from idempotency_records',
    ),
  };
}

const idOf = (name: string): string => {
  const id = ids[name];
  assert.ok(id !== undefined, name);
  return id;
};

test('an old database tells the same of everything after the migrations, and its books are right', async () => {
  const picture = await readPicture();
  const events = await ask<{ sequence: bigint; type: string; payload: string; created_at: Date }>(
    'select sequence, type, payload, created_at from events order by sequence',
  );
  const statuses = await ask<{ status: string }>('select distinct status from payouts order by 1');
  assert.deepEqual(
    statuses.map(({ status }) => status),
    ['CANCELLED', 'COMPLETED', 'HOLD', 'PENDING', 'PROCESSING', 'READY_FOR_PICKUP'],
  );
  await old.close();
  await Promise.all([migrate({ url }), migrate({ url })]);
  old = connectDatabase({ url, connectionsMax: 4 });
  const now = await readPicture();
  for (const [part, rows] of Object.entries(picture)) assert.deepEqual(now[part], rows, part);
  const feed = await selectEvents(old.tenant(accountId), { accountId, after: 0n, count: 1000 });
  assert.deepEqual(
    feed.map((event) => ({ ...event, payload: JSON.parse(event.payload) as unknown })),
    events.map((event) => ({ ...event, payload: JSON.parse(event.payload) as unknown })),
  );
  const record = await findRecord(old.tenant(accountId), { accountId, key: key.key });
  assert.match(String(record?.body), /^\{"payout_token".*"pickup_code":"76543210"/);
  const { isSound, ...proof } = await verifyLedger(old);
  assert.ok(isSound, JSON.stringify(proof));
});

test('payouts that were under way go on where they were: nothing is sent or paid twice', async () => {
  const wallet = async (): Promise<bigint> => {
    const [row] = await ask<{ balance: bigint }>(
      `select balance from ledger_accounts where name = 'wallet' and currency = 'USD'`,
    );
    return row?.balance ?? 0n;
  };
  const funds = await wallet();
  const group = createGroupCommit(old);
  const together = (name: string) =>
    group.submit({ accountId, userId, payoutId: idOf(name), requestKey: undefined });
  for (const name of ['PENDING', 'together', 'COMPLETED', 'HOLD', 'rejected', 'expired']) {
    assert.equal((await together(name)) !== undefined, name === 'PENDING', name);
  }
  assert.equal(await wallet(), funds - 10_100n);
  assert.equal(await commit(idOf('together')), 'success');
  assert.equal(await commit(idOf('rejected')), 'ended');
  assert.equal(await commit(idOf('expired')), 'ex_rate_expired');
  assert.equal(await wallet(), funds - 10_100n);

  await observeNow(idOf('late attributes'), 'returned');
  assert.equal(await wallet(), funds - 100n);
  await observeNow(idOf('HOLD'), 'rejected');
  await observeNow(idOf('COMPLETED'), 'returned');
  assert.equal(await wallet(), funds + 20_000n);

  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  const clock = await createEnvironmentClock(old.system, {
    environmentName: 'staging',
    steadyMs: () => performance.now(),
  });
  // The claims of the processes that ran before are over.
  await ask('update payout_dispatches set lease_until = null');
  const dispatcher = createDispatcher({
    times: dispatchTimes.staging,
    db: old,
    keys,
    clock,
    rails: new Map([[rail.name, rail]]),
    ...createRouting(old, [rail]),
    rules: undefined,
    onAnswer: () => undefined,
    onError: () => undefined,
  });
  await dispatcher.runDue();
  await dispatcher.runOne(accountId, idOf('READY_FOR_PICKUP'));
  for (const [name, kind] of [
    ['never sent', 'send'],
    ['sending', 'query'],
    ['READY_FOR_PICKUP', 'query'],
  ] as const) {
    const [row] = await ask<{ status: string; reference: string }>(
      `select p.status, a.reference from payouts p
       join attempts a on a.account_id = p.account_id and a.payout_id = p.id where p.id = $1`,
      [idOf(name)],
    );
    const calls = rail.calls.filter(({ reference }) => reference === row?.reference);
    assert.deepEqual([calls.map((call) => call.kind), row?.status], [[kind], 'COMPLETED'], name);
  }
  const { isSound, ...proof } = await verifyLedger(old);
  assert.ok(isSound, JSON.stringify(proof));
});
