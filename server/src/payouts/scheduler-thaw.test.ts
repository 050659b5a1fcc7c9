import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { MoneyTest, Owner } from '../../testing/setups/money.ts';
import {
  createScheduleTest,
  hourMs,
  rail,
  type ScheduleTest,
} from '../../testing/setups/schedules.ts';
import type { FreezeObject } from '../controls/freezes.sql.ts';
import { resume, stop } from '../controls/freezes.ts';

/** What a person lets go on runs with the next pass, not with the retry of the next minute. */

let money: MoneyTest;
let open: ScheduleTest['open'];
let schedule: ScheduleTest['schedule'];
before(async () => {
  ({ money, open, schedule } = await createScheduleTest());
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

const freezes: readonly [FreezeObject['scope'], (owner: Owner) => Partial<FreezeObject>][] = [
  ['account', ({ accountId }) => ({ account_id: accountId })],
  ['commits', () => ({})],
  ['recipient', ({ accountId, userId }) => ({ account_id: accountId, user_id: userId })],
];

for (const [scope, nameObject] of freezes) {
  test(`the end of a freeze (${scope}) has the scheduled payouts judged that waited for it`, async () => {
    const owner = await money.createOwner({ USD: 100_000n });
    const ids = [await schedule(owner), await schedule(owner)];
    const by = { by: 'ada', reason: 'a test' };
    const { freeze } = await stop(money.db, { scope, ...nameObject(owner) }, by);
    await money.advance(hourMs);
    await open().drain();
    for (const id of ids) assert.equal((await money.payout(id)).status, 'SCHEDULED');
    await open().drain();
    await resume(money.db, freeze.id, by);
    // Another freeze of theirs would have them wait again.
    await open().drain();
    for (const id of ids) assert.equal((await money.payout(id)).status, 'PROCESSING');
  });
}

test('the end of the freeze of one recipient lets those of others wait', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const other = { ...owner, userId: await money.createUser(owner.accountId) };
  const [own, foreign] = [await schedule(owner), await schedule(other)];
  const by = { by: 'ada', reason: 'a test' };
  const froze = ({ accountId, userId }: Owner) =>
    stop(money.db, { scope: 'recipient', account_id: accountId, user_id: userId }, by);
  const first = await froze(owner);
  const second = await froze(other);
  await money.advance(hourMs);
  await open().drain();
  await resume(money.db, first.freeze.id, by);
  await open().drain();
  assert.equal((await money.payout(own)).status, 'PROCESSING');
  assert.equal((await money.payout(foreign)).status, 'SCHEDULED');
  await resume(money.db, second.freeze.id, by);
});

test('the approval of an identity has the scheduled payouts judged that waited for it', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const id = await schedule(owner);
  const payers = rail.payers.map((payer) => ({
    ...payer,
    verification: { kind: 'always' } as const,
  }));
  const verifying = { rail: { ...rail, payers } };
  await money.advance(hourMs);
  await open(verifying).drain();
  const { status, status_reason: reason } = await money.payout(id);
  assert.deepEqual([status, reason], ['SCHEDULED', "the user's identity is not verified"]);
  await money.rows(`update users set kyc_status = 'approved' where id = $1`, [owner.userId]);
  await open(verifying).drain();
  assert.equal((await money.payout(id)).status, 'PROCESSING');
});
