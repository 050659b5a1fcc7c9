import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { fixEnvironmentKeys } from '../core/environment-keys.ts';
import { createKeyRing, MissingMasterKey, newDataKey, readMasterKey } from '../core/sealing.ts';
import { createStore } from '../rails/host/host.ts';
import { readMessage, sealMessage } from '../rails/host/messages.ts';
import { listUsers } from '../users/user-search.ts';
import { findUser } from '../users/users.ts';
import { type ErasureServices, endHold, eraseUser, placeHold, reapplyErasures } from './erasure.ts';
import { readTombstones, TombstoneError } from './tombstones.ts';

let money: MoneyTest;
let folder: string;
let services: ErasureServices;
before(async () => {
  money = await createMoneyTest();
  folder = mkdtempSync(join(tmpdir(), 'outlay-erasures-'));
  services = servicesOf('staging.jsonl');
});
after(async () => {
  await money.assertSound();
  await money[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

function servicesOf(name: string): ErasureServices {
  const { db, keys } = money;
  const tombstones = { file: join(folder, name), environment: 'staging', keys };
  return { db, keys, tombstones };
}

const by = { actor: 'Ada', reason: 'asked for by letter' };
const hasCode = (code: string) => (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === code;

const contextOf = (accountId: string) => ({
  session: money.db.tenant(accountId),
  keys: money.keys,
  accountId,
});
const anyUser = {
  nameParts: [],
  internalUserId: undefined,
  email: undefined,
  country: undefined,
  status: undefined,
  from: undefined,
  until: undefined,
  ids: undefined,
};

test('an erased user reads as erased, and nothing of the person is left in its row', async () => {
  const owner = await money.createOwner();
  const at = await eraseUser(services, { ...owner, ...by });
  const user = await findUser(contextOf(owner.accountId), owner.userId);
  assert.deepEqual(user?.erasedAt, at);
  assert.deepEqual(new Set(Object.values(user?.person ?? {})), new Set(['']));
  const range = { beforeId: undefined, count: 10 };
  const listed = await listUsers(contextOf(owner.accountId), range, anyUser);
  assert.deepEqual(
    listed.map(({ id, status }) => ({ id, status })),
    [{ id: owner.userId, status: 'DEACTIVE' }],
  );
  const [row] = await money.rows('select sealed, data_key from users where id = $1', [
    owner.userId,
  ]);
  assert.deepEqual(row, { sealed: Buffer.alloc(0), data_key: Buffer.alloc(0) });
  assert.deepEqual(
    await money.rows('select 1 from user_names where user_id = $1', [owner.userId]),
    [],
  );
  assert.deepEqual(await eraseUser(services, { ...owner, ...by }), at, 'again: the same');
});

test('a user with payouts that have not ended is erased when they have', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const { payoutId } = await money.quoteAndCommit(owner);
  await assert.rejects(eraseUser(services, { ...owner, ...by }), hasCode('payouts_open'));
  await money.observe({ ...owner, payoutId }, 'rejected');
  const before = await money.balance(owner.accountId, 'USD');
  const state = (await money.payout(payoutId)).status;
  await money.rows('delete from payout_dispatches where payout_id = $1', [payoutId]);
  await eraseUser(services, { ...owner, ...by });
  assert.equal(await money.balance(owner.accountId, 'USD'), before);
  assert.equal((await money.payout(payoutId)).status, state);
});

test('a legal hold refuses an erasure until its end, and a hold that was ended does not', async () => {
  const owner = await money.createOwner();
  const now = new Date(money.clock.nowMs());
  const until = new Date(now.getTime() + 86_400_000);
  const hold = { ...owner, reason: 'court order 17', placedBy: 'Ada', until };
  await assert.rejects(placeHold(money.db, { ...hold, until: now }, now), /in the future/);
  const placed = await placeHold(money.db, hold, now);
  const day = until.toISOString().slice(0, 10);
  await assert.rejects(eraseUser(services, { ...owner, ...by }), new RegExp(`until ${day}`));
  await endHold(money.db, { id: placed.id, endedBy: 'Bob' });
  await eraseUser(services, { ...owner, ...by });
  await assert.rejects(endHold(money.db, { id: placed.id, endedBy: 'Bob' }), hasCode('not_found'));
  await assert.rejects(placeHold(money.db, hold, now), hasCode('user_erased'), 'nothing is left');
});

test('a legal hold ends by itself at its date', async () => {
  const owner = await money.createOwner();
  const now = new Date(money.clock.nowMs());
  const until = new Date(now.getTime() + 60_000);
  await placeHold(money.db, { ...owner, reason: 'audit', placedBy: 'Ada', until }, now);
  await assert.rejects(eraseUser(services, { ...owner, ...by }), hasCode('legal_hold'));
  await money.advance(120_000);
  await eraseUser(services, { ...owner, ...by });
});

test('records of rails about payments to the person are emptied, and their keys stay taken', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const other = await money.createOwner({ USD: 100_000n });
  const [mine, theirs] = [await money.quoteAndCommit(owner), await money.quoteAndCommit(other)];
  const store = createStore('fake', money.db, money.keys);
  for (const { accountId, userId, payoutId, reference } of [mine, theirs]) {
    await money.rows(
      `insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence,
        started_at) values ($1, $2, 1, 'fake', 'one', $3, 'rejected', 1, now())`,
      [accountId, payoutId, reference],
    );
    const next = { state: 'paid', value: { name: 'Ana Gómez' } };
    const change = {
      collection: 'payments',
      key: `pay ${reference}`,
      revision: 0,
      reference,
      next,
    };
    assert.equal(await store.write([change]), true);
    await money.rows(
      `insert into rail_messages (rail, id, channel, sealed, received_at)
      values ('fake', $1, 'file', 'sealed', now())`,
      [`message ${reference}`],
    );
    await money.rows(
      `insert into rail_observations (rail, id, message_id, reference, outcome, happened_at,
        received_at, due_at, state) values ('fake', $1, $2, $1, 'paid', now(), now(), now(), 'applied')`,
      [reference, `message ${reference}`],
    );
    await money.observe({ accountId, userId, payoutId }, 'rejected');
    await money.rows('delete from payout_dispatches where payout_id = $1', [payoutId]);
  }
  await eraseUser(services, { ...owner, ...by });
  assert.equal(await store.get('payments', `pay ${mine.reference}`), undefined);
  const kept = await store.list('payments', { count: 10 });
  assert.deepEqual(
    kept.map(({ key }) => key),
    [`pay ${theirs.reference}`],
  );
  const again = { collection: 'payments', key: `pay ${mine.reference}`, revision: 0 };
  assert.equal(await store.write([{ ...again, next: { state: 'sent', value: {} } }]), false);
  const messages = await money.rows<{ id: string; length: number }>(
    `select id, length(sealed) from rail_messages order by length(sealed)`,
  );
  assert.deepEqual(
    messages.map(({ id, length }) => [id, length > 0]),
    [
      [`message ${mine.reference}`, false],
      [`message ${theirs.reference}`, true],
    ],
  );
});

test('records of rails are sealed by the person, so that a later key opens no backup of them', async () => {
  const secrets = { sealing: newDataKey(), authentication: newDataKey(), signing: newDataKey() };
  const environment = fixEnvironmentKeys(newDataKey(), secrets);
  const [older, newer] = [readMasterKey(newDataKey()), readMasterKey(newDataKey())];
  const keys = createKeyRing({ list: () => [older] }, environment);
  const afterwards = createKeyRing({ list: () => [newer] }, environment);
  const owner = await money.createOwner({ USD: 100_000n });
  const other = await money.createOwner({ USD: 100_000n });
  for (const user of [owner, other]) {
    await money.rows('update users set data_key = $2 where id = $1', [
      user.userId,
      keys.wrap(newDataKey(), user),
    ]);
  }
  const [mine, theirs] = [await money.quoteAndCommit(owner), await money.quoteAndCommit(other)];
  for (const { accountId, payoutId, reference } of [mine, theirs]) {
    await money.rows(
      `insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence,
        started_at) values ($1, $2, 1, 'bank', 'one', $3, 'rejected', 1, now())`,
      [accountId, payoutId, reference.replaceAll('-', '')],
    );
  }
  const store = createStore('bank', money.db, keys);
  const { reference } = mine;
  const change = { collection: 'payments', key: reference, revision: 0, reference };
  const value = { name: 'Ana Gómez' };
  assert.equal(await store.write([{ ...change, next: { state: 'sent', value } }]), true);
  const paid = { collection: 'payments', key: reference, revision: 1 };
  assert.equal(await store.write([{ ...paid, next: { state: 'paid', value } }]), true);
  assert.deepEqual((await store.get('payments', reference))?.value, value);
  assert.deepEqual((await store.list('payments', { count: 9 }))[0]?.value, value);
  const opening = { session: money.db.system, keys };
  const raw = Buffer.from('<Stmt>Ana Gómez, Luis Pérez</Stmt>');
  const message = { id: 'statement 1', channel: 'file' as const, raw };
  const observe = (of: string) => ({ id: of, reference: of, outcome: 'paid' as const, atMs: 0 });
  const observations = [observe(mine.reference), observe(theirs.reference)];
  const sealed = await sealMessage(opening, 'bank', { ...message, observations });
  assert.equal(sealed.users.length, 2);
  await money.rows(
    `insert into rail_messages (rail, id, channel, sealed, user_ids, received_at)
    values ('bank', 'statement 1', 'file', $1, $2, now())`,
    [sealed.sealed, sealed.users],
  );
  const name = { rail: 'bank', id: 'statement 1' };
  assert.deepEqual(await readMessage(opening, name), raw);
  // The database is a backup now: its keys are wrapped by the older master key.
  const late = { session: money.db.system, keys: afterwards };
  await assert.rejects(readMessage(late, name), MissingMasterKey);
  const laterStore = createStore('bank', money.db, afterwards);
  await assert.rejects(laterStore.get('payments', reference), MissingMasterKey);
  await money.rows(`update users set data_key = '', erased_at = now() where id = $1`, [
    owner.userId,
  ]);
  assert.equal(await store.get('payments', reference), undefined);
  assert.deepEqual(await store.list('payments', { count: 9 }), []);
  await assert.rejects(readMessage(opening, name), hasCode('user_erased'));
  const again = await sealMessage(opening, 'bank', { ...message, observations });
  assert.equal(again.sealed.length, 0);
  for (const { payoutId, ...of } of [mine, theirs]) {
    await money.observe({ ...of, payoutId }, 'rejected');
  }
});

test('an erasure that a restore undid is done again; a list that others wrote is refused', async () => {
  const own = servicesOf('restored.jsonl');
  const owner = await money.createOwner();
  await eraseUser(own, { ...owner, ...by });
  const noted = readTombstones(own.tombstones);
  assert.deepEqual(
    noted.map(({ userId }) => userId),
    [owner.userId],
  );
  // As if the database were an older one: the user is there, and the erasure is not.
  const back = await money.createOwner();
  await eraseUser({ ...own, db: money.connect() }, { ...back, ...by });
  const ring = createKeyRing(newDataKey());
  const forged = { ...own, tombstones: { ...own.tombstones, keys: ring } };
  assert.throws(() => readTombstones(forged.tombstones), TombstoneError);
  const [line = ''] = readFileSync(own.tombstones.file, 'utf8').split('\n');
  const { statement } = JSON.parse(line) as { statement: string };
  const victim = await money.createOwner();
  const named = line.replace(statement.slice(20, 60), statement.slice(20, 60));
  const stolen = named.replaceAll(owner.userId, victim.userId);
  const forgedFile = servicesOf('forged.jsonl');
  writeFileSync(forgedFile.tombstones.file, `${stolen}\n`);
  await assert.rejects(reapplyErasures(forgedFile), TombstoneError);
});

test('a line that a crash cut is passed over, and the list continues after it', async () => {
  const own = servicesOf('cut.jsonl');
  const [first, second] = [await money.createOwner(), await money.createOwner()];
  await eraseUser(own, { ...first, ...by });
  const [whole = ''] = readFileSync(own.tombstones.file, 'utf8').split('\n');
  appendFileSync(own.tombstones.file, '{"statement":"{');
  await eraseUser(own, { ...second, ...by });
  // The brace ends the statement, not the line.
  appendFileSync(own.tombstones.file, whole.slice(0, whole.indexOf('}') + 1));
  assert.deepEqual(
    readTombstones(own.tombstones).map(({ userId }) => userId),
    [first.userId, second.userId],
  );
});

test('erasures that another process noted elsewhere are added to the list of this one', async () => {
  const own = servicesOf('late.jsonl');
  const owner = await money.createOwner();
  await eraseUser(services, { ...owner, ...by });
  assert.equal(await reapplyErasures(own), 0);
  assert.ok(readTombstones(own.tombstones).some(({ userId }) => userId === owner.userId));
});
