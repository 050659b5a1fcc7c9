import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { first, pay, rates } from '../../testing/setups/routes.ts';
import { resume, stop } from '../controls/freezes.ts';
import { compileCatalog } from '../destinations/catalog.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { findReadiness, type ReadinessServices } from './readiness.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

/** A rail that needs the town of a recipient, and pays no more than a hundred. */
const rail: Rail = {
  ...first(pay),
  checkRecipient: ({ beneficiary, amountMinor }) => [
    ...(beneficiary.city === ''
      ? [{ field: 'city', code: 'missing' as const, detail: 'the town is needed' }]
      : []),
    { field: 'BankAccountNumber', code: 'missing', detail: 'an account is needed' },
    ...(amountMinor > 10_000n
      ? [{ field: 'amount', code: 'amount_refused' as const, detail: 'it is too large' }]
      : []),
  ],
};
const catalog = compileCatalog([rail]);

async function find(changes: Partial<ReadinessServices>, amountMinor?: bigint) {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const [payer] = catalog.payersIn('MEX');
  assert.ok(payer !== undefined);
  const services: ReadinessServices = {
    keys: money.keys,
    rails: [rail],
    rates: () => rates,
    today: '2026-01-01',
    isRecovering: false,
    isRailDown: () => false,
    railsOf: ({ payer: { railName } }) => [railName],
    createIdentityLink: async () => '',
    ...changes,
  };
  const { accountId, userId } = owner;
  const query = { userId, destination: { payer, currency: 'MXN' }, sourceCurrency: 'USD' };
  const session = money.db.tenant(accountId);
  const lock = (status: string) =>
    money.rows('update users set status = $2 where id = $1', [userId, status]);
  return {
    accountId,
    lock,
    ask: () => findReadiness(services, { session, accountId }, { ...query, amountMinor }),
  };
}

test("a rail's objections are listed with what they are about, each detail once", async () => {
  const { ask } = await find({}, 10_001n);
  const { obstacles } = await ask();
  assert.deepEqual(
    obstacles.map(({ code, missing = [] }) => [code, missing.map((one) => one.field || one.type)]),
    [
      ['attributes_missing', ['BankAccountNumber']],
      ['recipient_missing', ['city']],
      ['amount_refused', []],
    ],
  );
});

test('a rail that is down, an open recovery and a locked recipient stand in the way', async () => {
  const { ask, lock } = await find({ isRailDown: () => true, isRecovering: true });
  await lock('LOCKED');
  const codes = (await ask()).obstacles.map(({ code }) => code);
  assert.deepEqual(codes.slice(0, 3), ['recovering', 'rail_unavailable', 'user_not_active']);
});

test('a stop of the operator is an obstacle', async () => {
  const { accountId, ask } = await find({});
  const by = { by: 'Ada', reason: 'a test' };
  const stopped = [
    await stop(money.db, { scope: 'sending' }, by),
    await stop(money.db, { scope: 'corridor', country: 'MEX' }, by),
    await stop(money.db, { scope: 'rail', rail: rail.name }, by),
    await stop(money.db, { scope: 'rail', rail: 'another' }, by),
    await stop(money.db, { scope: 'account', account_id: accountId }, by),
  ];
  const codes = (await ask()).obstacles.map(({ code }) => code);
  for (const code of ['sending_stopped', 'corridor_frozen', 'rail_frozen', 'account_frozen']) {
    assert.equal(codes.filter((one) => one === code).length, 1, code);
  }
  for (const { freeze } of stopped) {
    await resume(money.db, freeze.id, by);
  }
  assert.deepEqual(
    (await ask()).obstacles.map(({ code }) => code).filter((code) => /frozen|stopped/.test(code)),
    [],
  );
});
