import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';

/** Changes of payouts that the schema must refuse, tried as the owner of the tables. */

const restrict = ['23001'];
const check = ['23514'];
const foreignKey = ['23503', '23001'];

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(async () => {
  await money[Symbol.asyncDispose]();
});

const statuses = [
  'PENDING',
  'SCHEDULED',
  'PROCESSING',
  'HOLD',
  'READY_FOR_PICKUP',
  'COMPLETED',
  'CANCELLED',
  'ERROR',
] as const;

/** The permitted transitions. */
const legal: Readonly<Record<(typeof statuses)[number], readonly string[]>> = {
  PENDING: ['PROCESSING', 'SCHEDULED'],
  SCHEDULED: ['PROCESSING', 'CANCELLED'],
  PROCESSING: ['HOLD', 'READY_FOR_PICKUP', 'COMPLETED', 'CANCELLED', 'ERROR'],
  HOLD: ['PROCESSING', 'CANCELLED'],
  READY_FOR_PICKUP: ['COMPLETED', 'CANCELLED'],
  COMPLETED: ['CANCELLED'],
  CANCELLED: [],
  ERROR: ['PROCESSING', 'CANCELLED'],
};

test('transitions that the state table does not list are refused', async () => {
  for (const from of statuses) {
    for (const to of statuses) {
      if (from === to) continue;
      const [row] = await money.rows<{ isLegal: boolean }>(
        `select exists (
           select from payout_transitions where from_status = $1 and to_status = $2) as "isLegal"`,
        [from, to],
      );
      assert.equal(row?.isLegal, legal[from].includes(to), `${from} to ${to}`);
    }
  }
});

test('the trigger refuses an illegal transition of a payout', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const pending = await money.quote(owner);
  const paid = await money.quoteAndCommit(owner);
  await money.observe(paid, 'paid');
  const refused = await money.quoteAndCommit(owner);
  await money.observe(refused, 'rejected');
  for (const to of ['COMPLETED', 'CANCELLED', 'HOLD', 'ERROR', 'READY_FOR_PICKUP', 'PENDING']) {
    const text = `
      insert into payout_states (account_id, payout_id, status, client_transfer_id, committed_at,
        completed_at, updated_at)
      select account_id, id, $2, client_transfer_id, now(),
        case when $2 = 'COMPLETED' then now() end, now()
      from payout_quotes where id = $1`;
    await money.refuse(text, [pending.id, to], { states: [...restrict, ...check], what: to });
  }
  const tries: [string, readonly string[]][] = [
    [paid.payoutId, ['PENDING', 'SCHEDULED', 'PROCESSING', 'HOLD', 'READY_FOR_PICKUP', 'ERROR']],
    [refused.payoutId, ['PENDING', 'PROCESSING', 'HOLD', 'READY_FOR_PICKUP', 'COMPLETED', 'ERROR']],
    [paid.payoutId, ['PAID']],
  ];
  for (const [id, targets] of tries) {
    for (const to of targets) {
      const states = [...restrict, ...check];
      await money.refuse('update payout_states set status = $2 where payout_id = $1', [id, to], {
        states,
        what: to,
      });
    }
  }
  await money.assertSound();
});

/** Columns that must not change before or after the commit. */
const terms: Readonly<Record<string, string>> = {
  id: 'gen_random_uuid()',
  account_id: `(select id from accounts where id <> account_id limit 1)`,
  user_id: `(select u.id from users u where u.account_id = payout_quotes.account_id and u.id <> user_id)`,
  client_transfer_id: `'another'`,
  source_token: 'gen_random_uuid()',
  source_currency: `'EUR'`,
  source_amount: '1',
  fee: '0',
  destination_token: 'gen_random_uuid()',
  destination_currency: `'EUR'`,
  destination_amount: '1',
  exchange_rate: `'19'`,
  rounding_nano: '5',
  rail: `'other'`,
  payer_key: `'other'`,
  payer_name: `'Other'`,
  delivery_type: `'CASH_PICKUP'`,
  country: `'USA'`,
  needs_attributes: 'true',
  needs_verification: 'true',
  created_at: `created_at - interval '1 day'`,
  expires_at: `expires_at + interval '1 day'`,
};

for (const [column, value] of Object.entries(terms)) {
  test(`${column} of a payout is immutable`, async () => {
    const owner = await money.createOwner({ USD: 1_000_000n });
    await money.createUser(owner.accountId);
    const { payoutId } = await money.quoteAndCommit(owner);
    const { id } = await money.quote(owner);
    for (const [one, what] of [
      [payoutId, 'of a committed payout'],
      [id, 'of a quote'],
    ]) {
      const text = `update payout_quotes set ${column} = ${value} where id = $1`;
      await money.refuse(text, [one], {
        states: [...restrict, ...foreignKey],
        what: `${column} ${what}`,
      });
    }
    await money.assertSound();
  });
}

for (const [what, assignment] of [
  ['another pickup code', `pickup_code = '00000000'`],
  ['an earlier commit', `committed_at = committed_at - interval '1 day'`],
  ['no commit', `committed_at = null`],
  ['a completion that was none', `completed_at = now()`],
] as const) {
  test(`a committed payout cannot be given ${what}`, async () => {
    const owner = await money.createOwner({ USD: 1_000_000n });
    const { payoutId } = await money.quoteAndCommit(owner, { deliveryType: 'CASH_PICKUP' });
    const text = `update payout_states set ${assignment} where payout_id = $1`;
    await money.refuse(text, [payoutId], { states: [...restrict, ...check], what });
    await money.assertSound();
  });
}
