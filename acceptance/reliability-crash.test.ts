import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  checkLog,
  createRecipients,
  finishAll,
  finishUnknown,
  funds,
  type Log,
  workUntil,
} from './crash-kit.ts';
import { createPayout, payoutPath, type Recipient, readPayout } from './recipients.ts';
import { type Pair, runThrough, startPair, waitUntilIdle } from './reliability-kit.ts';
import { type Account, createAccount, ok, readBalance } from './service.ts';
import { stopProcess } from './service-process.ts';

/** kill -9 of one of two processes, and a loss of their database, under load. */

const rounds = process.env['OUTLAY_TEST_LONG'] === '1' ? 2 : 1;

let pair: Pair;
before(async () => {
  pair = await startPair();
});
after(() => pair.stop());

test('kill -9 of one of two processes under load: the other continues its work', async () => {
  const account = await createAccount(pair.first, { USD: funds });
  const recipients = await createRecipients(account.api);
  const log: Log = { entries: [], users: [] };
  for (let round = 0; round < rounds; round += 1) {
    const victim = await pair.startAnother();
    const api = runThrough(victim, account);
    const { process: child } = victim;
    assert.ok(child !== undefined);
    await workUntil({ api, recipients, log }, () => stopProcess(child, 'SIGKILL'));
    // The database is alive and ends the transactions of the dead process by itself.
    await waitUntilIdle(pair.books);
    await checkLog(pair.books, account, log);
    await finishUnknown(account.api, log);
    await checkLog(pair.books, account, log);
  }
  await finishAll(runThrough(pair.second, account), pair.books, account);
});

test('during a short loss of the database requests fail, and nothing acknowledged is lost', async () => {
  const account = await createAccount(pair.first, { USD: funds });
  const recipients = await createRecipients(account.api);
  const log: Log = { entries: [], users: [] };
  await workUntil({ api: account.api, recipients, log }, async () => {
    await pair.books.rows(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()
         and application_name like 'outlay%'`,
    );
    // Workers end at their first failure; the others are ended here.
    for (let tries = 0; tries < 50; tries += 1) {
      await pair.books.rows(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
           and application_name like 'outlay%'`,
      );
      await sleep(10);
    }
  });
  const reply = await account.api.get('/account/balance');
  assert.ok([200, 503].includes(reply.status));
  await waitUntilIdle(pair.books);
  await checkLog(pair.books, account, log);
  await finishUnknown(account.api, log);
  await finishAll(account.api, pair.books, account);
  const { status } = await createPayoutAndCommit(account, recipients);
  assert.equal(status, 'PROCESSING');
  assert.ok(Number(await readBalance(account.api)) > 0);
});

async function createPayoutAndCommit(account: Account, recipients: readonly Recipient[]) {
  const [recipient] = recipients;
  assert.ok(recipient !== undefined);
  const { payout_token: token = '' } = await createPayout(account.api, recipient);
  ok(await account.api.put(payoutPath(recipient, token)));
  return readPayout(account.api, recipient, token);
}
