import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../../testing/setups/database.ts';
import { openOwner } from '../../testing/setups/owner-session.ts';
import { type ProtectedRows, storeProtectedRows } from '../../testing/setups/protected-rows.ts';
import { createAuthenticator } from '../accounts/authentication.ts';
import { findInputs } from '../batches/row-inputs.sql.ts';
import { checkMasterKey } from '../cli/doctor/source-checks.ts';
import { readConfig } from '../config.ts';
import { DestroyedKey } from '../core/environment-keys.ts';
import { newId } from '../core/ids.ts';
import type { KeyRing } from '../core/sealing.ts';
import { createEnvironmentClock } from '../db/environment-clock.ts';
import { selectKeys } from '../db/environment-key-rows.ts';
import { findEnvironment } from '../db/environment-record.ts';
import { openMonths } from '../db/partitions.ts';
import { connectDatabase } from '../db/postgres/pool.ts';
import {
  appendTombstones,
  listTrustedKeys,
  readTombstones,
  TombstoneError,
} from '../erasure/tombstones.ts';
import { logIn } from '../operators/logins.ts';
import { listOperators } from '../operators/operators.ts';
import { changePolicy, listPolicies } from '../operators/policies.ts';
import { authenticateSession } from '../operators/sessions.ts';
import { createStore } from '../rails/host/host.ts';
import { readMessage } from '../rails/host/messages.ts';
import { secretContext } from '../rails/host/open.ts';
import { sealedPrefix } from '../rails/host/rail-config.ts';
import { openSigners } from '../webhooks/sending.ts';
import {
  destroyOldEnvironmentKeys,
  listEnvironmentKeys,
  rotateEnvironmentKeys,
} from './environment-key-rotation.ts';
import { openErasures } from './erasures.ts';
import { openKeyRing } from './key.ts';
import { removeOldKeys, rotateMasterKey } from './key-rotation.ts';
import { protectedTables } from './protected-tables.ts';

const folder = mkdtempSync(join(tmpdir(), 'outlay-environment-keys-'));
after(() => rmSync(folder, { recursive: true }));

const times = { announceMs: 50, trustMs: 50, settleMs: 0 };
const everything = { endsLinks: true, leavesRejected: false, renewsLate: false };

async function openInstallation(given: { database?: TestDatabase; data?: string } = {}) {
  const { database = await createTestDatabase(), data = mkdtempSync(join(folder, 'data-')) } =
    given;
  const config = readConfig({ DATABASE_URL: database.url, OUTLAY_DATA: data });
  const db = connectDatabase({ url: database.url, connectionsMax: 4 });
  const name = 'staging' as const;
  const base = { config, name, db, realNowMs: Date.now };
  const open = async () => {
    const opened = await openKeyRing(db, base);
    opened.follower.close();
    return opened;
  };
  const opened = await open();
  await openMonths(db.system);
  const owner = openOwner(database.url);
  return {
    ...opened,
    base,
    open,
    database,
    data,
    storeOf: (keys: KeyRing) => createStore('bank', db, keys),
    /** As the owner of the database. */
    rows: async (text: string) => (await owner.session.query({ name: '', text }, [])).rows,
    erasures: () => openErasures({ ...base, keys: opened.keys }).tombstones,
    close: async () => {
      await Promise.all([owner.close(), db.close()]);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([owner.close(), db.close()]);
      await database.drop();
    },
  };
}

type Installation = Awaited<ReturnType<typeof openInstallation>>;

/** What each table protects still opens, and authenticates. */
async function assertUsable(
  { base: { db } }: Installation,
  keys: KeyRing,
  rows: ProtectedRows,
): Promise<void> {
  const services = { session: db.system, keys };
  const clock = await createEnvironmentClock(db.system, {
    environmentName: 'staging',
    steadyMs: () => performance.now(),
    realNowMs: Date.now,
  });
  const authenticator = createAuthenticator({ db, clock, keys });
  const { account, issued, operator } = rows;
  const accessToken = issued.ok ? issued.accessToken : '';
  for (const token of [account.api_key, accessToken]) {
    assert.equal(
      (await authenticator.authenticate(token, '127.0.0.1'))?.accountId,
      account.account,
    );
  }
  assert.deepEqual(
    (await listOperators(services)).map(({ is_genuine: isGenuine }) => isGenuine),
    [true],
  );
  assert.ok((await listPolicies(services)).some(({ persons }) => persons === 1));
  assert.equal((await authenticateSession(services, operator.sessionToken))?.operator.name, 'ada');
  assert.equal((await openSigners({ db, keys }, rows.webhook)).length, 1);
  assert.deepEqual((await rows.storeOf(keys).get('files', 'one'))?.value, { text: 'file' });
  const message = await readMessage(services, { rail: 'bank', id: 'notice' });
  assert.equal(message.toString(), 'notice');
}

test('a rotation protects every row anew while another process continues, and the old keys open nothing', async () => {
  await using installed = await openInstallation();
  const { base, keys, follower } = installed;
  const rows = await storeProtectedRows({ db: base.db, keys });
  // As the process does every few seconds; on a busy machine the rows take longer than it trusts a reading.
  await follower.read();
  const before = await listEnvironmentKeys(base);
  const all = protectedTables.map(({ table }) => table).toSorted();
  assert.deepEqual(Object.keys(before[0]?.rows ?? {}).toSorted(), all, 'a row of each table');
  const sealed = keys.seal(Buffer.from('old'), 'test');
  const old = keys.signing;

  const { keys: stolen } = await installed.open();
  const single = { action: 'decision', persons: 1, aboveUsd: 0n } as const;
  const report = await rotateEnvironmentKeys(base, times);
  assert.deepEqual(report.rejected, []);
  assert.equal(report.generation, 2);
  assert.deepEqual(Object.keys(report.renewed).toSorted(), all);
  // As the other process does every few seconds.
  await follower.read();
  assert.equal(keys.generation, 2);
  assert.notEqual(keys.signing.id, old.id);
  await assertUsable(installed, keys, rows);
  assert.equal(keys.open(sealed, 'test').toString(), 'old');
  const [present, former] = await listEnvironmentKeys(base);
  assert.deepEqual([present?.state, former?.state], ['writes', 'reads']);
  assert.deepEqual(former?.rows, {});
  assert.deepEqual(Object.keys(present?.rows ?? {}).toSorted(), all);

  await assert.rejects(
    destroyOldEnvironmentKeys(base, { ...everything, endsLinks: false }, times),
    /links to receipts, .* --end-links/,
  );
  await assert.rejects(
    destroyOldEnvironmentKeys(base, everything),
    /may still write .* wait until/,
  );
  // As who has stolen the old keys would write it now.
  await changePolicy({ session: base.db.system, keys: stolen }, single);
  await assert.rejects(
    destroyOldEnvironmentKeys(base, everything, times),
    /written under the older keys after the rotation \(1\): policies decision; .*--renew-late/,
  );
  await changePolicy({ session: base.db.system, keys }, { ...single, persons: 2 });
  const { destroyed } = await destroyOldEnvironmentKeys(base, everything, times);
  assert.deepEqual(destroyed, [1]);
  await follower.read();
  assert.throws(() => keys.open(sealed, 'test'), DestroyedKey);
  const again = await installed.open();
  assert.throws(() => again.keys.open(sealed, 'test'), DestroyedKey);
  await assertUsable(installed, again.keys, rows);
  const login = { operator: 'ada', password: rows.operator.password, code: '' };
  await assert.rejects(logIn({ session: base.db.system, keys }, { address: '::1', ...login }));
  const inputs = await findInputs(
    { session: base.db.system, keys: again.keys },
    { ...rows.batch, afterNumber: 0, lastNumber: 9 },
  );
  assert.deepEqual(inputs.get(1), { country: 'MEX' });
  assert.equal(await rows.recordOf(again.keys).findAnswer(base.db.system), 'answer');
  const published = again.keys.signingKeys;
  assert.deepEqual(
    published.map(({ generation, id, isDestroyed }) => [generation, id, isDestroyed]),
    [
      [2, keys.signing.id, false],
      [1, old.id, true],
    ],
  );
  assert.deepEqual(published[1]?.until, published[0]?.since);
  await assert.rejects(destroyOldEnvironmentKeys(base, everything, times), /no older keys/);
});

test('a row that was changed past the service is reported, and stays under the old keys', async () => {
  await using installed = await openInstallation();
  const { base, keys, follower } = installed;
  const { operator } = await storeProtectedRows({ db: base.db, keys });
  await installed.rows(`update policies set persons = 1 where action = 'decision'`);
  await installed.rows(`update operators set mac = set_byte(mac, 35, get_byte(mac, 35) # 1)`);
  await installed.rows(`update webhook_secrets set id = gen_random_uuid()`);
  const { rejected, result } = await rotateEnvironmentKeys(base, times);
  assert.match(result, /do not verify/);
  const [{ secret } = {}] = await installed.rows(
    `select account_id || ' ' || endpoint_id || ' ' || id as secret from webhook_secrets`,
  );
  assert.deepEqual(rejected, [
    { table: 'operators', key: operator.id },
    { table: 'policies', key: 'decision' },
    { table: 'webhook_secrets', key: secret },
  ]);
  await follower.read();
  const listed = await listOperators({ session: base.db.system, keys });
  assert.deepEqual(
    listed.map(({ is_genuine: isGenuine }) => isGenuine),
    [false],
  );
  await assert.rejects(
    destroyOldEnvironmentKeys(base, everything, times),
    /rows do not verify .* \(3\): operators .* --leave-rejected/,
  );
  await destroyOldEnvironmentKeys(base, { ...everything, leavesRejected: true }, times);
  const [, former] = await listEnvironmentKeys(base);
  assert.deepEqual(former?.rows, { operators: 1, policies: 1, webhook_secrets: 1 });
});

test('a rotation that ended half-way is completed by the next one, under the same keys', async () => {
  await using installed = await openInstallation();
  const { base, keys } = installed;
  await storeProtectedRows({ db: base.db, keys });
  const failing = { ...base, realNowMs: () => assert.fail('killed') };
  await assert.rejects(rotateEnvironmentKeys(failing, times), /killed/);
  const examine = async () => {
    const keyRows = await selectKeys(base.db.system);
    const record = await findEnvironment(base.db.system);
    const indexKey = record?.index_key ?? Buffer.alloc(0);
    const indexGeneration = 1;
    const { findings } = checkMasterKey(base, {
      name: base.name,
      indexKey,
      indexGeneration,
      keyRows,
    });
    return findings.at(-1) ?? assert.fail();
  };
  assert.match((await examine()).text, /generation 2 has not ended: run .* environment-key rotate/);
  await assert.rejects(destroyOldEnvironmentKeys(base, everything, times), /has not ended/);
  const report = await rotateEnvironmentKeys(base, times);
  assert.deepEqual([report.is_resumed, report.generation], [true, 2]);
  const { isFine, text } = await examine();
  assert.ok(isFine);
  assert.match(text, /generation 2 writes; still kept: 1/);
  assert.equal((await rotateEnvironmentKeys(base, times)).generation, 3);
  await destroyOldEnvironmentKeys(base, everything, times);
  const states = (await listEnvironmentKeys(base)).map(({ state }) => state);
  assert.deepEqual(states, ['writes', 'destroyed', 'destroyed']);
});

test('a process that has not read the keys lately neither writes nor judges unknown ones', async () => {
  await using installed = await openInstallation();
  const { base, keys, follower } = installed;
  await rotateEnvironmentKeys(base, times);
  const fresh = await installed.open();
  const mac = fresh.keys.mac('row');
  assert.equal(keys.isMac('row', mac), false, 'trusted so lately that it must be forged');
  const { now } = performance;
  performance.now = () => now.call(performance) + 60_000;
  try {
    const hasCode = (error: unknown) => (error as { code?: string }).code === 'unavailable';
    assert.throws(() => keys.isMac('row', mac), hasCode);
    assert.throws(() => keys.open(mac, 'row'), hasCode);
    assert.throws(() => keys.mac('row'), hasCode);
    await follower.read();
    assert.equal(keys.isMac('row', mac), true);
  } finally {
    performance.now = now;
  }
});

test('secret files under older keys are listed, and keep those keys until they are sealed again', async () => {
  await using installed = await openInstallation();
  const { keys, follower } = installed;
  const [path, secret] = [join(folder, 'rails.json'), join(folder, 'secret')];
  const seal = () => {
    const sealed = keys.seal(Buffer.from('secret'), secretContext).toString('base64');
    writeFileSync(secret, `${sealedPrefix}${sealed}`);
  };
  seal();
  const rail = { kind: 'partner', name: 'cash', companies: [], payers: [] };
  const config = { key: { file: secret }, other: { env: 'NOT_SET_HERE' } };
  writeFileSync(path, JSON.stringify({ rails: [{ ...rail, config }] }));
  const base = { ...installed.base, config: { ...installed.base.config, OUTLAY_RAILS: path } };
  const { files_to_seal_again: files } = await rotateEnvironmentKeys(base, times);
  assert.deepEqual(files, [secret]);
  await follower.read();
  await assert.rejects(
    destroyOldEnvironmentKeys(base, everything, times),
    /sealed under older keys: .*secret; seal each one again/,
  );
  seal();
  writeFileSync(path, '{');
  await assert.rejects(destroyOldEnvironmentKeys(base, everything, times), /rails file has faults/);
  writeFileSync(path, JSON.stringify({ rails: [{ ...rail, config }] }));
  await destroyOldEnvironmentKeys(base, everything, times);
});

test('a generation that the one before did not endorse counts for nothing', async () => {
  await using installed = await openInstallation();
  const { base, keys, follower } = installed;
  const columns = `sealing_key, authentication_key, signing_key, public_key`;
  await installed.rows(
    `insert into environment_keys (generation, ${columns}, endorsement, announced_at, active_at, mac)
     select 2, ${columns}, '\\x00', announced_at, active_at, mac from environment_keys`,
  );
  await follower.read();
  assert.equal(keys.generation, 1);
  assert.equal((await installed.open()).keys.generation, 1);
  await assert.rejects(
    rotateEnvironmentKeys(base, times),
    /generation 2 that this environment did/,
  );
});

test('a backup from before the rotations starts with the master key of its time, and with no other', async () => {
  const first = await openInstallation();
  const { database, data } = first;
  const rows = await storeProtectedRows({ db: first.base.db, keys: first.keys });
  await first.close();
  const file = join(data, 'staging.key');
  const oldMasterKey = readFileSync(file, 'utf8');
  const backup = await createTestDatabase({ copyOf: database.url });
  const later = await openInstallation({ database, data });
  await rotateMasterKey(later.base, { pauseMs: 0 });
  await removeOldKeys(later.base);
  await rotateEnvironmentKeys(later.base, times);
  await later.follower.read();
  const erasedAt = new Date();
  await appendTombstones(later.erasures(), [{ accountId: newId(), userId: newId(), erasedAt }]);
  await destroyOldEnvironmentKeys(later.base, everything, times);
  await later.close();

  await assert.rejects(
    openInstallation({ database: backup, data }),
    /the master key of staging is not the one of its database: .* restore .*staging\.key/,
  );
  appendFileSync(file, oldMasterKey);
  const restored = await openInstallation({ database: backup, data });
  assert.equal(restored.keys.generation, 1);
  await assertUsable(restored, restored.keys, { ...rows, storeOf: restored.storeOf });
  assert.equal(readTombstones(restored.erasures()).length, 1);
  await restored.close();
  await Promise.all([database.drop(), backup.drop()]);
});

test('the list of erasures outlives its keys, and a database from before the rotation trusts it', async () => {
  await using installed = await openInstallation();
  const { base, keys, follower, erasures } = installed;
  const [first, second] = [newId(), newId()];
  const accountId = newId();
  const note = (userId: string) =>
    appendTombstones(erasures(), [{ accountId, userId, erasedAt: new Date() }]);
  await note(first);
  // The ring of a database that was backed up now.
  const backup = { ...erasures(), keys: { ...keys, signingKeys: keys.signingKeys } };
  const stolen = keys.signing;
  await rotateEnvironmentKeys(base, times);
  await follower.read();
  await note(second);
  await destroyOldEnvironmentKeys(base, everything, times);
  await follower.read();
  for (const place of [erasures(), backup]) {
    assert.deepEqual(
      readTombstones(place).map(({ userId }) => userId),
      [first, second],
    );
  }
  assert.ok(listTrustedKeys(backup).some(({ id }) => id === keys.signing.id));
  // Who kept the destroyed key has nobody erased.
  const thief = { ...erasures(), keys: { signing: stolen, signingKeys: [] } };
  await appendTombstones(thief, [{ accountId, userId: newId(), erasedAt: new Date() }]);
  assert.throws(() => readTombstones(erasures()), TombstoneError);
  assert.match(readFileSync(erasures().file, 'utf8'), /"kind":"key"/);
});
