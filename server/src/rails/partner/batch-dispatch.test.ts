import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../../testing/setups/money.ts';
import { describeConfig, newKeys, openPartner } from '../../../testing/setups/partner.ts';
import { openTestHost } from '../../../testing/setups/rail.ts';
import type { Database } from '../../db/postgres/pool.ts';
import { dispatchTimes } from '../../dispatch/dispatch.ts';
import type { Rail } from '../contract/contract.ts';
import { railModule } from './rail.ts';

/** Due payouts of one rail as the dispatcher sends them: in few requests, each paid once. */

const keys = newKeys();
let money: MoneyTest;
let owner: Owner;
let partner: Awaited<ReturnType<typeof openPartner>>;
let rail: Rail;
const requests: string[] = [];

before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 100_000_000n });
  partner = await openPartner({ isInstant: true, capabilities: ['batches'] }, keys);
  const host = await openTestHost(
    {
      name: 'fake',
      nowMs: money.clock.nowMs,
      fetch: async (input, init) => {
        const { pathname } = new URL(input instanceof Request ? input.url : input);
        requests.push(`${init?.method ?? 'GET'} ${pathname.split('/')[1]}`);
        return await fetch(input, init);
      },
    },
    { db: money.db, keys: money.keys, close: async () => undefined },
  );
  const url = `http://127.0.0.1:${partner.port}`;
  const config = describeConfig({ keys, url, config: { capabilities: ['batches'] } });
  rail = {
    ...(await railModule.create(config, host)),
    name: 'fake',
    kind: 'partner',
    pace: { concurrencyMax: 500, perSecondMax: null, failuresMax: Number.POSITIVE_INFINITY },
    reference: railModule.reference,
    dailyLimits: {},
    companies: [],
    payers: [],
  };
});
after(async () => {
  await partner.close();
  await money[Symbol.asyncDispose]();
});
afterEach(async () => {
  requests.length = 0;
  partner.state.options.faults = [];
  await money.assertSound();
});

/** Its calls may take long, as in live: many leave at once, and a busy machine must not cut them off. */
const createDispatcher = (through: Database = money.db) =>
  money.createDispatcherOf([rail], { through, times: dispatchTimes.live });

async function commitSeveral(count: number): Promise<string[]> {
  const payouts = await Promise.all(
    Array.from({ length: count }, () => money.quoteAndCommit(owner)),
  );
  return payouts.map(({ payoutId }) => payoutId);
}

async function assertPaidOnce(payoutIds: readonly string[]): Promise<void> {
  const { payments } = await partner.readRecords();
  const paid = new Map(Object.entries(payments).map(([key, one]) => [key, one.paidCount]));
  for (const id of payoutIds) {
    assert.equal((await money.payout(id)).status, 'COMPLETED');
    const attempts = await money.attempts(id);
    const counts = attempts.map(({ reference }) => paid.get(reference));
    assert.deepEqual(counts, [1], `the attempts of ${id}`);
  }
}

test('payouts that are due at once leave in a few requests', async () => {
  const payoutIds = await commitSeveral(150);
  const dispatcher = createDispatcher();
  assert.equal(await dispatcher.runDue(), 150);
  assert.deepEqual(dispatcher.errors, []);
  await assertPaidOnce(payoutIds);
  assert.ok(requests.includes('PUT batches'), requests.join());
  assert.ok(requests.length <= 20, `${requests.length} requests`);
});

test('a payout that is due by itself leaves at once, by itself', async () => {
  const payoutIds = await commitSeveral(1);
  await createDispatcher().runDue();
  assert.deepEqual(requests, ['PUT payments']);
  await assertPaidOnce(payoutIds);
});

test('after a lost answer the payouts of a batch are queried, and none is sent again', async () => {
  const payoutIds = await commitSeveral(40);
  const fault = { on: 'batch', kind: 'reset_after', share: 1, count: 1, pattern: '' } as const;
  partner.state.options.faults = [{ ...fault, delayMs: 0 }];
  const dispatcher = createDispatcher();
  await dispatcher.runDue();
  const sent = requests.length;
  for (let round = 0; round < 5; round += 1) {
    await money.advance(60_000);
    await dispatcher.runDue();
  }
  assert.deepEqual([...new Set(requests.slice(sent))], ['GET batches']);
  await assertPaidOnce(payoutIds);
});

test('two processes that send at the same time pay each payout once', async () => {
  const payoutIds = await commitSeveral(60);
  const dispatchers = [createDispatcher(), createDispatcher(money.connect())];
  await Promise.all(dispatchers.map((dispatcher) => dispatcher.runDue()));
  await assertPaidOnce(payoutIds);
});
