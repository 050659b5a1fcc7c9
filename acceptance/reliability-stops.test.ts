import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from './commands.ts';
import { commitPayout, createPayout, createRecipient, deliveryCases } from './recipients.ts';
import { findKeyHolder, type Pair, startPair } from './reliability-kit.ts';
import { advance, createAccount, ok } from './service.ts';
import { stopProcess } from './service-process.ts';
import { untilAdmitted } from './until-admitted.ts';

/** A stop of all sending while processes send, of which one dies. */

let pair: Pair;
before(async () => {
  pair = await startPair();
});
after(() => pair.stop());

const payouts = 60;
const reason = ['--reason', 'a drill'];

const countAttempts = async (): Promise<number> => {
  const [row] = await pair.books.rows<{ count: number }>(
    'select count(*)::integer as count from attempts',
  );
  return row?.count ?? 0;
};

test('a stop by command holds across kill -9, and after it each payout is sent once', async () => {
  const { api } = await createAccount(pair.first, { USD: '100000' });
  const recipient = await createRecipient(api, deliveryCases.wallet);
  const victim = await pair.startAnother();
  const commit = async (): Promise<void> => {
    const { payout_token: token } = await untilAdmitted(() => createPayout(api, recipient));
    const { status } = await untilAdmitted(() => commitPayout(api, recipient, token));
    assert.equal(status, 'success');
  };
  const sending = Promise.all(Array.from({ length: payouts }, commit));
  while ((await countAttempts()) === 0) await sleep(5);
  const holder = findKeyHolder(pair);
  const stopped = await runCommand(holder, ['sending', 'stop', ...reason]);
  assert.equal(stopped['result'], 'stopped');
  const sent = await countAttempts();
  assert.ok(victim.process !== undefined);
  await stopProcess(victim.process, 'SIGKILL');
  await sending;
  await commit();
  await waitUntilHeld();
  assert.equal(await countAttempts(), sent, 'nothing was sent after the answer of the stop');
  const [{ held } = { held: 0 }] = await pair.books.rows<{ held: number }>(
    'select count(*)::integer as held from payout_dispatches where frozen_by is not null',
  );
  assert.ok(held > 0);
  await pair.books.assertSound();

  const resumed = await runCommand(holder, ['sending', 'resume', ...reason]);
  assert.equal(resumed['result'], 'resumed');
  await waitForAttempts(payouts + 1);
  ok(await pair.first.demo.get('/sandbox/clock'));
  await advance(pair.first.demo, 86_400);
  const wrong = await pair.books.rows(
    `select payout_id from attempts group by payout_id
     having count(*) > 1 or bool_or(state <> 'paid')`,
  );
  assert.deepEqual(wrong, [], 'each was sent once, and paid');
  await pair.books.assertSound();
});

/** Waits until every payout that was not sent is held. */
async function waitUntilHeld(): Promise<void> {
  const text = `
    select count(*)::integer as count from payout_dispatches d
    where frozen_by is null and not exists (
      select from attempts a where a.account_id = d.account_id and a.payout_id = d.payout_id)`;
  for (const endMs = performance.now() + 120_000; ; await sleep(20)) {
    const [{ count } = { count: 0 }] = await pair.books.rows<{ count: number }>(text);
    if (count === 0) return;
    if (performance.now() > endMs) throw new Error(`${count} payouts are not held`);
  }
}

async function waitForAttempts(count: number): Promise<void> {
  for (const endMs = performance.now() + 60_000; ; await sleep(20)) {
    const found = await countAttempts();
    if (found >= count) return;
    if (performance.now() > endMs) throw new Error(`only ${found} of ${count} were sent`);
  }
}
