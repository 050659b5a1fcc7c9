import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { runCommand } from '../../testing/setups/commands.ts';
import { createCompany, createPayer, createRates } from '../../testing/setups/destinations.ts';
import {
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import type { CommandContext } from '../cli/context.ts';
import { AppError } from '../core/errors.ts';
import { formatToken } from '../core/ids.ts';
import { getRate } from '../core/rate.ts';
import { getDestinationToken } from '../destinations/catalog.ts';
import type { Rail } from '../rails/contract/contract.ts';
import type { PayerDeclaration } from '../rails/contract/declarations.ts';
import { type Backtest, isCursor, readChanges, runBacktest } from './backtest.ts';

/** Two rails that reach the same bank: the first one charges 0.25 USD a payout. */

function createRail(name: string, payers: readonly PayerDeclaration[]): Rail {
  const fake = createFakeRail(({ reference }) => ({
    outcome: 'paid',
    ...(name === 'first' && {
      charges: [{ id: reference, kind: 'partner', currency: 'USD', amountMinor: 25n }],
    }),
  }));
  return { ...fake, name, companies: [createCompany('first')], payers };
}

const rails = [
  createRail('first', [createPayer('bank')]),
  createRail('second', [createPayer('bank', { marginBasisPoints: 50 })]),
];
const rates = createRates({ 'USD/MXN': getRate('20') });
const off = JSON.stringify({ rails: [{ rail: 'first', offered: false }] });

let money: MoneyTest;
const owners: Owner[] = [];
let lastPayout = '';

/** 100 USD and a fee of 1, for 1,980 MXN. */
async function commit(owner: Owner) {
  return money.quoteAndCommit(owner, {
    rail: 'first',
    payerKey: 'bank',
    destinationToken: getDestinationToken('first', 'bank'),
    exchangeRate: '19.8',
    midRate: '20',
    destinationMinor: 198_000n,
  });
}

before(async () => {
  money = await createMoneyTest();
  for (let index = 0; index < 2; index += 1) {
    const owner = await money.createOwner({ USD: 1_000_000n });
    owners.push(owner);
    for (let payout = 0; payout < 3; payout += 1) lastPayout = (await commit(owner)).payoutId;
    await money.quote(owner);
  }
  const dispatcher = money.createDispatcherOf(rails, { rates });
  for (let round = 0; round < 3; round += 1) await dispatcher.runDue();
  assert.deepEqual(dispatcher.errors, []);
  await money.rows(
    `insert into payer_days (rail, payer_key, day, paid, refused_by_payer)
     values ('first', 'bank', environment_now()::date - 1, 190, 10),
       ('second', 'bank', environment_now()::date - 1, 60, 40)
     on conflict (rail, payer_key, day) do nothing`,
  );
});
after(async () => {
  await money.assertSound();
  await money[Symbol.asyncDispose]();
});

const monthMs = 30 * 86_400_000;

function replay(
  changes: string,
  scope: { accountId?: string; payoutsMax?: number; cursor?: string; backMs?: number } = {},
): Promise<Backtest> {
  const { accountId, payoutsMax = 100, cursor, backMs = monthMs } = scope;
  const nowMs = money.clock.nowMs();
  return runBacktest(
    { session: money.db.system, rails, presentRates: rates, nowMs },
    readChanges(changes),
    { accountId, payoutsMax, cursor, since: new Date(nowMs - backMs) },
  );
}

test('committed payouts of all accounts are replayed, and equal without changes', async () => {
  const found = await replay('{}');
  assert.deepEqual([found.payouts, found.replayed, found.priced_as_quoted], [6, 6, 6]);
  assert.deepEqual(found.total.after, found.total.before);
  assert.equal(found.total.before.charges_usd, '1.5');
  assert.equal(found.total.before.cost_usd, '12');
  assert.equal(found.total.before.expected_failures, 0.3);
  assert.equal(found.next, null);
  assert.equal((await replay('{}', { backMs: 0 })).payouts, 0);
});

test('a rail that is switched off moves its payouts to the next payer', async () => {
  const found = await replay(off);
  assert.deepEqual(found.moves, [{ from: 'first/bank', to: 'second/bank', payouts: 6 }]);
  const { payouts, cost_usd, charges_usd, expected_failures } = found.total.after;
  assert.deepEqual(
    { payouts, cost_usd, charges_usd, expected_failures },
    { payouts: 6, cost_usd: '9', charges_usd: '0', expected_failures: 2.4 },
  );
  assert.equal(found.total.after.payouts_without_charges, 6);
  assert.deepEqual(
    found.corridors.map(({ country }) => country),
    ['MEX'],
  );
  assert.deepEqual(
    found.rails.map(({ rail, before, after: changed }) => [rail, before.payouts, changed.payouts]),
    [
      ['first', 6, 0],
      ['second', 0, 6],
    ],
  );
});

test('pages reach every payout once, of all accounts or of one', async () => {
  for (const accountId of [undefined, owners[0]?.accountId]) {
    const scope = accountId === undefined ? {} : { accountId };
    const whole = await replay(off, scope);
    const tokens: string[] = [];
    let cursor: string | null = '';
    let pages = 0;
    while (cursor !== null) {
      const page: Backtest = await replay(off, {
        ...scope,
        payoutsMax: 2,
        ...(cursor !== '' && { cursor }),
      });
      tokens.push(...page.examples.moved.map(({ payout_token: token }) => token));
      pages += 1;
      cursor = page.next;
      assert.ok(cursor === null || isCursor(cursor, accountId));
    }
    assert.equal(pages, accountId === undefined ? 3 : 2);
    assert.deepEqual(
      tokens,
      whole.examples.moved.map(({ payout_token: token }) => token),
    );
    assert.equal(new Set(tokens).size, whole.payouts);
  }
});

test('the command reads the changes, and names faults and unknown payers', async () => {
  const open = { payments: { rails }, rates: { rates: () => rates } };
  const { db, keys, clock } = money;
  const context = { db, keys, clock, open } as unknown as CommandContext;
  const run = (values: Record<string, string>) => runCommand(context, 'routing backtest', values);
  const account = owners[1]?.accountId ?? '';
  const found = (await run({ changes: off, account, days: '2' })) as Backtest;
  assert.equal(found.moved, 3);
  assert.equal(found.examples.moved.at(-1)?.payout_token, formatToken('payout', lastPayout));
  const page = (await run({ changes: off, account, payouts: '2' })) as Backtest;
  assert.equal(page.moved, 2);
  await assert.rejects(
    run({ changes: off, account: owners[0]?.accountId ?? '', cursor: page.next ?? '' }),
    /cursor must come from an answer for the same account/,
  );
  await assert.rejects(run({ changes: '{"x":1}' }), /--changes has faults: .*x/);
  await assert.rejects(
    run({ changes: '{}', days: '367' }),
    /--days must be a whole number up to 366/,
  );
  await assert.rejects(
    run({ changes: '{"payers":[{"rail":"first","payer":"x"}]}' }),
    (error: Error) =>
      /payers\.0: no payer of the rail first matches/.test(error.message) &&
      error.cause instanceof AppError,
  );
});
