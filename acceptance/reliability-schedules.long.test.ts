import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  commitPayout,
  createPayout,
  createRecipient,
  deliveryCases,
  type Recipient,
} from './recipients.ts';
import { type Pair, runThrough, startPair, waitUntilIdle } from './reliability-kit.ts';
import { isoOf, moveTo, readNowMs } from './schedule-kit.ts';
import { type Account, advance, createAccount, fund } from './service.ts';
import { stopProcess } from './service-process.ts';

/** Scheduled payouts of several accounts, run by processes of which one dies. */

let pair: Pair;
before(async () => {
  pair = await startPair({ isProcess: true });
});
after(() => pair.stop());

type Client = { account: Account; recipient: Recipient };

const clients = 10;
const payoutsEach = 4;

/** Every second account has funds for half of its payouts only. */
async function createClient(index: number): Promise<Client> {
  const account = await createAccount(pair.first, { USD: index % 2 === 0 ? '1000' : '250' });
  return { account, recipient: await createRecipient(account.api, deliveryCases.wallet) };
}

async function schedule({ account, recipient }: Client, scheduledFor: string): Promise<string> {
  const payout = await createPayout(account.api, recipient, { scheduled_for: scheduledFor });
  const { payout_token: token = '' } = payout;
  assert.equal((await commitPayout(account.api, recipient, token)).status, 'success');
  return token.slice('payout_'.length);
}

const rounds = process.env['OUTLAY_TEST_LONG'] === '1' ? 3 : 1;

async function countBy(ids: readonly string[]): Promise<Record<string, number>> {
  const rows = await pair.books.rows<{ status: string; count: number }>(
    `select case when status = 'SCHEDULED' then status else 'ran' end as status,
       count(*)::integer as count
     from payout_states where payout_id = any ($1) group by 1`,
    [ids],
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

async function waitForRuns(ids: readonly string[], count: number): Promise<void> {
  for (const endMs = performance.now() + 60_000; ; await sleep(5)) {
    const { ran = 0 } = await countBy(ids);
    if (ran >= count) return;
    if (performance.now() > endMs) throw new Error(`only ${ran} of ${count} ran`);
  }
}

test('kill -9 of a process that runs scheduled payouts: each runs and is sent once', async () => {
  const owners = await Promise.all(
    Array.from({ length: clients }, (_, index) => createClient(index)),
  );
  for (let round = 0; round < rounds; round += 1) {
    const victim = await pair.startAnother();
    const { process: child } = victim;
    assert.ok(child !== undefined);
    // Far off, however long the commits take; the clock is moved to shortly before it.
    const runsAtMs = (await readNowMs(pair.first.demo)) + 3_600_000;
    const scheduledFor = isoOf(runsAtMs);
    const ids = (
      await Promise.all(
        owners.flatMap((client) =>
          Array.from({ length: payoutsEach }, () => schedule(client, scheduledFor)),
        ),
      )
    ).flat();
    await moveTo(pair.first.demo, isoOf(runsAtMs - 2000));
    await waitForRuns(ids, 1);
    await stopProcess(child, 'SIGKILL');
    await waitUntilIdle(pair.books);
    for (const [index, { account }] of owners.entries()) {
      if (index % 2 === 1) await fund(runThrough(pair.second, account), 'USD', '250');
    }
    for (const { account } of owners) await fund(account.api, 'USD', '500');
    await waitForRuns(ids, ids.length);
  }
  await advance(pair.second.demo, 86_400);
  const twice = await pair.books.rows(
    `select payout_id from ledger_journals where kind in ('commit', 'complete')
     group by payout_id, kind having count(*) > 1`,
  );
  assert.deepEqual(twice, [], 'money moved twice');
  const resent = await pair.books.rows(
    `select payout_id from attempts group by payout_id
     having count(*) > 1 or count(distinct reference) > 1`,
  );
  assert.deepEqual(resent, [], 'a rail was instructed twice');
  const left = await pair.books.rows(
    `select status from payout_states where status <> 'COMPLETED'`,
  );
  assert.deepEqual(left, []);
  await pair.books.assertSound();
});
