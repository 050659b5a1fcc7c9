import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { createRates } from '../../testing/setups/destinations.ts';
import type { MoneyTest, Owner } from '../../testing/setups/money.ts';
import {
  createScheduleTest,
  hourMs,
  type OpenOptions,
  rail,
  type ScheduleTest,
} from '../../testing/setups/schedules.ts';
import { newId } from '../core/ids.ts';
import { fundBalance } from '../ledger/ledger.ts';
import type { Rail } from '../rails/contract/contract.ts';

/** What keeps scheduled payouts from running or from being canceled. */

let money: MoneyTest;
let open: ScheduleTest['open'];
let schedule: ScheduleTest['schedule'];
let cancel: ScheduleTest['cancel'];
let storeSet: ScheduleTest['storeSet'];
before(async () => {
  ({ money, open, schedule, cancel, storeSet } = await createScheduleTest());
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

test('checks of a commit are made again when a payout runs', async () => {
  const obstacles: [
    string,
    string,
    (owner: Owner, id: string) => Promise<unknown>,
    OpenOptions?,
  ][] = [
    [
      'the user is not active',
      'the user was not active in time',
      ({ userId }) => money.rows(`update users set status = 'LOCKED' where id = $1`, [userId]),
    ],
    [
      'there is no recent exchange rate',
      'there was no recent exchange rate in time',
      async () => undefined,
      { rates: createRates({}) },
    ],
    [
      'the destination is not offered',
      'the destination was not offered in time',
      async () => undefined,
      { rail: { ...rail, companies: [], payers: [] } },
    ],
    [
      'the payer does not accept the recipient data',
      'the payer did not accept the recipient data',
      async () => undefined,
      {
        rail: {
          ...rail,
          checkRecipient: ({ amountMinor }) =>
            amountMinor === 198_000n
              ? [{ field: 'city', code: 'missing', detail: 'the town is needed' }]
              : [],
        },
      },
    ],
  ];
  for (const [waiting, ended, change, options] of obstacles) {
    const owner = await money.createOwner({ USD: 100_000n });
    const needsAttributes = options?.rail?.checkRecipient !== undefined;
    const id = await schedule(owner, needsAttributes ? await storeSet(owner) : {});
    await change(owner, id);
    await money.advance(hourMs);
    await open(options).drain();
    const waits = await money.payout(id);
    assert.deepEqual([waits.status, waits.status_reason], ['SCHEDULED', waiting]);
    assert.equal((await money.commit(owner, id)).result, 'success');
    await money.advance(2 * hourMs);
    await open(options).drain();
    const cancelled = await money.payout(id);
    assert.deepEqual([cancelled.status, cancelled.status_reason], ['CANCELLED', ended]);
    assert.equal((await money.commit(owner, id)).result, 'ended');
    assert.equal(await money.balance(owner.accountId, 'USD'), 100_000n);
  }
});

test('a check that fails leaves its payout to a later try, and lets the others run', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const failing = await schedule(owner, { ...(await storeSet(owner)), sourceMinor: 20_000n });
  const other = await schedule(owner);
  await money.advance(hourMs);
  const checkRecipient: Rail['checkRecipient'] = ({ amountMinor }) => {
    if (amountMinor === 396_000n) throw new Error('a defect');
    return [];
  };
  const scheduler = open({ rail: { ...rail, checkRecipient }, leaseMs: 1 });
  await scheduler.drain();
  assert.deepEqual(scheduler.errors.map(String), ['Error: a defect']);
  assert.equal((await money.payout(failing)).status, 'SCHEDULED');
  assert.equal((await money.payout(other)).status, 'PROCESSING');
  await open().drain();
  assert.equal((await money.payout(failing)).status, 'PROCESSING');
});

test('a restored payout neither runs nor is canceled before the recovery ends', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const id = await schedule(owner);
  await money.rows(
    `insert into recoveries (id, reason, since, started_at) values ($1, 'a test', now(), now())`,
    [newId()],
  );
  await money.advance(5 * hourMs);
  const scheduler = open();
  await scheduler.drain();
  assert.equal((await money.payout(id)).status, 'SCHEDULED');
  assert.equal((await cancel(owner, id)).result, 'disputed');
  await money.rows(
    `update recoveries set listed_at = now(), released_at = now(), closed_at = now()
     where closed_at is null`,
  );
  await scheduler.drain();
  // Its deadline has passed meanwhile: it is tried once, and the funds are there.
  assert.equal((await money.payout(id)).status, 'PROCESSING');
});

test('a payout that a rail may have paid before a restore is neither canceled nor sent again', async () => {
  const owner = await money.createOwner();
  const id = await schedule(owner);
  await money.rows(
    `insert into exceptions (account_id, id, payout_id, rail, kind, opened_at)
     values ($1, $2, $3, 'first', 'recovered', now())`,
    [owner.accountId, newId(), id],
  );
  assert.deepEqual(await cancel(owner, id), { result: 'disputed', status: 'SCHEDULED' });
  await money.advance(5 * hourMs);
  await open().drain();
  assert.equal((await money.payout(id)).status, 'SCHEDULED');
  await fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 20_000n });
  await open().drain();
  assert.equal((await money.payout(id)).status, 'PROCESSING');
});
