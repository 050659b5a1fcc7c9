import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { add, subtract } from './exact.ts';
import { commitPayout, createPayout, createRecipient, deliveryCases } from './recipients.ts';
import {
  cancel,
  cancellationPath,
  courseOf,
  isoOf,
  moveTo,
  read,
  readNowMs,
  type Scheduled,
  schedule,
} from './schedule-kit.ts';
import {
  createAccount,
  daySeconds,
  ok,
  readBalance,
  type Service,
  startService,
} from './service.ts';
import { assertProblem } from './shapes.ts';
import { untilAdmitted } from './until-admitted.ts';

/** Scheduled payouts that their client cancels. */

let service: Service;
before(async () => {
  service = await startService();
});
after(() => service.stop());

test('a client cancels what has not run, as often as it likes', async () => {
  const { api: own } = await createAccount(service, { USD: '1000' });
  const recipient = await createRecipient(own, deliveryCases.bank);
  const quote = await createPayout(own, recipient, {
    scheduled_for: isoOf((await readNowMs(own)) + 9e7),
  });
  assertProblem(await cancel(own, recipient, quote['payout_token'] ?? ''), 409, 'illegal_move');
  const { payout_token: token, ...payout } = await schedule(own, recipient);
  const key = { 'idempotency-key': randomUUID() };
  const path = cancellationPath(recipient, token);
  const first = await own.post<Scheduled>(path, undefined, key);
  assert.equal(ok(first)['status'], 'CANCELLED');
  assert.equal(ok(first)['reason_code'], 'cancelled_by_client');
  assert.equal(ok(first).cancelable, false);
  assert.equal(ok(await cancel(own, recipient, token))['status'], 'CANCELLED');
  const replayed = await own.post(path, undefined, key);
  assert.equal(replayed.headers['idempotent-replayed'], 'true');
  assert.equal(replayed.text, first.text);
  await moveTo(own, payout.runs_until);
  assert.deepEqual(courseOf(await read(own, recipient, token)), [
    ['PENDING'],
    ['SCHEDULED'],
    ['CANCELLED', 'cancelled_by_client'],
  ]);
  assert.equal(await readBalance(own), '1000');
  assert.equal((await commitPayout(own, recipient, token)).status, 'failure');
  const other = await createAccount(service);
  assertProblem(await cancel(other.api, recipient, token), 404, 'not_found');
});

test('of a cancellation and the run at the same moment, one wins', async () => {
  const { api: own } = await createAccount(service, { USD: '10000' });
  const recipient = await createRecipient(own, deliveryCases.bank);
  const scheduledFor = isoOf((await readNowMs(own)) + 2 * daySeconds * 1000);
  const payouts = await Promise.all(
    Array.from({ length: 20 }, () =>
      untilAdmitted(() => schedule(own, recipient, { scheduled_for: scheduledFor })),
    ),
  );
  const moved = moveTo(own, scheduledFor);
  const answers = await Promise.all(
    payouts.map(async ({ payout_token: token }, index) => {
      await sleep(index * 4);
      return cancel(own, recipient, token);
    }),
  );
  await moved;
  let taken = '0';
  for (const [index, { payout_token: token }] of payouts.entries()) {
    const payout = await read(own, recipient, token);
    const isCanceled = answers[index]?.status === 200;
    assert.equal(payout['status'] === 'CANCELLED', isCanceled);
    if (!isCanceled) taken = add(taken, payout.total_debit.text);
  }
  assert.equal(subtract('10000', await readBalance(own)), taken);
});
