import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase, type TestDatabase } from '../server/testing/setups/database.ts';
import { runOutlay } from './outlay-process.ts';
import {
  type CommitResult,
  createPayout,
  createRecipient,
  deliveryCases,
  payoutPath,
  type Recipient,
} from './recipients.ts';
import { type Books, openBooks, runThrough } from './reliability-kit.ts';
import {
  type Account,
  type Api,
  advance,
  createAccount,
  ok,
  type Service,
  startService,
} from './service.ts';
import { assertProblem } from './shapes.ts';

/**
 * A process was not restarted with the newest master key, with which another one wraps: it cannot read
 * what the other one writes. It says so, and nothing is lost.
 */

const [older = '', newer = ''] = [0, 1].map(() => randomBytes(32).toString('base64'));
const folder = mkdtempSync(join(tmpdir(), 'outlay-skew-'));
let database: TestDatabase;
let books: Books;
let behind: Service;
let ahead: Service;
let account: Account;
/** The same account, through the process that has both keys. */
let api: Api;
let recipient: Recipient;

const settingsWith = (keys: string) => ({ DATABASE_URL: database.url, OUTLAY_MASTER_KEY: keys });
/** In the folder that has the key of the first operator. */
const startBehind = (keys: string) =>
  startService({ isProcess: true, settings: settingsWith(keys), dataDirectory: folder });

before(async () => {
  database = await createTestDatabase();
  behind = await startBehind(older);
  account = await createAccount(behind, { USD: '1000' });
  // Only the process behind sends payouts.
  const settings = settingsWith(`${newer},${older}`);
  ahead = await startService({ isProcess: true, settings, role: 'serve' });
  api = runThrough(ahead, account);
  recipient = await createRecipient(api, deliveryCases.bank);
  books = openBooks(database.url);
});
after(async () => {
  await books.assertSound();
  await books.close();
  await Promise.all([behind.stop(), ahead.stop()]);
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** Lines of the log with this text. */
const linesOf = (service: Service, pattern: RegExp): string[] =>
  service
    .output()
    .split('\n')
    .filter((line) => pattern.test(line));

async function waitFor(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + 60_000; !(await isSo()); await sleep(50)) {
    assert.ok(performance.now() < endMs, behind.output());
  }
}

test('what needs the key is 503 with a clear log, and everything else is answered', async () => {
  const own = await createRecipient(account.api, deliveryCases.bank);
  for (const path of [`/user/${recipient.userToken}`, '/user', '/events?type=user.created']) {
    const reply = await account.api.get(path);
    const { detail } = assertProblem(reply, 503, 'unavailable');
    assert.match(detail, /master key that other processes use is missing/);
    assert.match(String(reply.headers['retry-after']), /^\d+$/);
    assert.equal((await api.get(path)).status, 200, path);
  }
  ok(await account.api.get(`/user/${own.userToken}`));
  ok(await api.get(`/user/${own.userToken}`));
  ok(await account.api.get('/account/balance'));
  const [line = '', ...others] = linesOf(behind, /"msg":"request not answered"/);
  assert.match(line, /"name":"MissingMasterKey"/);
  assert.match(
    line,
    /"advice":"the master key [0-9a-f]{16} is missing: .*keys\.md#rotate-the-master-key/,
  );
  assert.ok(others.length < 3, 'repeated lines are counted');
  assert.deepEqual(linesOf(behind, /"msg":"request failed"/), []);
});

test('a payout that the process cannot read is not sent and not refused, and goes on with the key', async () => {
  const quote = await createPayout(api, recipient);
  const path = payoutPath(recipient, quote['payout_token'] ?? '');
  assert.equal(ok(await api.put<CommitResult>(path)).status, 'success');
  await waitFor(() => linesOf(behind, /MissingMasterKey.*callRail/).length > 0);
  const waiting = ok(await api.get<{ status: string }>(path));
  assert.equal(waiting.status, 'PROCESSING');
  const readStates = async (): Promise<string[]> => {
    const { attempts } = ok(await api.get<{ attempts: { state: string }[] }>(`${path}/decision`));
    return attempts.map(({ state }) => state);
  };
  await waitFor(async () => !(await readStates()).includes('sending'));
  assert.deepEqual(new Set(await readStates()), new Set(['retry']));
  await behind.stop();
  behind = await startBehind(`${newer},${older}`);
  // Past the back-off of the next try.
  await advance(runThrough(behind, account), 120);
  await waitFor(async () => (await readStates()).some((state) => /accepted|paid/.test(state)));
});

test('once the rotation has ended, a process with the old key alone does not start', async () => {
  const installation = { dataDirectory: folder, settings: settingsWith(`${newer},${older}`) };
  const rotated = await runOutlay(installation, ['key', 'rotate']);
  assert.equal(rotated.exitCode, 0, rotated.complaint);
  const refused = await runOutlay({ ...installation, settings: settingsWith(older) }, ['serve']);
  assert.notEqual(refused.exitCode, 0);
  assert.match(
    refused.complaint,
    /^outlay: the master key of staging is not the one of its database/m,
  );
  ok(await runThrough(behind, account).get(`/user/${recipient.userToken}`));
});
