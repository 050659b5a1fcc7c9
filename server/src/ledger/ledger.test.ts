import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { newId } from '../core/ids.ts';
import { createMoneyTest, type MoneyTest } from '../payouts/money-test-setup.ts';
import { fundBalance, verifyLedger } from './ledger.ts';

/** Impossible states: each is tried with the owner's own rights, or with those of a tenant. */

const restrict = ['23001'];
const check = ['23514'];
const unique = ['23505'];
const foreignKey = ['23503', '23001'];
const forbidden = ['42501'];

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

/** The table of states of the architecture. */
const legal: Readonly<Record<(typeof statuses)[number], readonly string[]>> = {
  PENDING: ['PROCESSING', 'SCHEDULED'],
  SCHEDULED: ['PROCESSING'],
  PROCESSING: ['HOLD', 'READY_FOR_PICKUP', 'COMPLETED', 'CANCELLED', 'ERROR'],
  HOLD: ['PROCESSING', 'CANCELLED'],
  READY_FOR_PICKUP: ['COMPLETED', 'CANCELLED'],
  COMPLETED: ['CANCELLED'],
  CANCELLED: [],
  ERROR: ['PROCESSING', 'CANCELLED'],
};

test('every move of a payout that the table of states does not list is refused', async () => {
  for (const from of statuses) {
    for (const to of statuses) {
      if (from === to) continue;
      const [row] = await money.rows<{ isLegal: boolean }>(
        `select is_legal_move($1, $2) as "isLegal"`,
        [from, to],
      );
      assert.equal(row?.isLegal, legal[from].includes(to), `${from} to ${to}`);
    }
  }
});

test('the guard of the table refuses an illegal move of a real payout', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const pending = await money.quote(owner);
  const paid = await money.quoteAndCommit(owner);
  await money.observe(paid, 'paid');
  const refused = await money.quoteAndCommit(owner);
  await money.observe(refused, 'rejected');
  const tries: [string, readonly string[]][] = [
    [pending.id, ['COMPLETED', 'CANCELLED', 'HOLD', 'ERROR', 'READY_FOR_PICKUP']],
    [paid.payoutId, ['PENDING', 'SCHEDULED', 'PROCESSING', 'HOLD', 'READY_FOR_PICKUP', 'ERROR']],
    [refused.payoutId, ['PENDING', 'PROCESSING', 'HOLD', 'READY_FOR_PICKUP', 'COMPLETED', 'ERROR']],
    [paid.payoutId, ['PAID']],
  ];
  for (const [id, targets] of tries) {
    for (const to of targets) {
      const states = [...restrict, ...check];
      await money.refuse('update payouts set status = $2 where id = $1', [id, to], {
        states,
        what: to,
      });
    }
  }
  await money.assertSound();
});

/** What a payout is, as long as it is: none of it may change, before the commit or after. */
const terms: Readonly<Record<string, string>> = {
  id: 'gen_random_uuid()',
  account_id: `(select id from accounts where id <> account_id limit 1)`,
  user_id: `(select u.id from users u where u.account_id = payouts.account_id and u.id <> user_id)`,
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
  test(`the ${column} of a payout never changes`, async () => {
    const owner = await money.createOwner({ USD: 1_000_000n });
    await money.createUser(owner.accountId);
    const { payoutId } = await money.quoteAndCommit(owner);
    const { id } = await money.quote(owner);
    for (const [one, what] of [
      [payoutId, 'of a committed payout'],
      [id, 'of a quote'],
    ]) {
      const text = `update payouts set ${column} = ${value} where id = $1`;
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
  test(`a committed payout is not given ${what}`, async () => {
    const owner = await money.createOwner({ USD: 1_000_000n });
    const { payoutId } = await money.quoteAndCommit(owner, { deliveryType: 'CASH_PICKUP' });
    const text = `update payouts set ${assignment} where id = $1`;
    await money.refuse(text, [payoutId], { states: [...restrict, ...check], what });
    await money.assertSound();
  });
}

test('a payout begins as PENDING: no other is inserted, by whomever', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { id } = await money.quote(owner);
  // A copy of a quote in another state would be money paid that nobody was charged for.
  const text = `
    insert into payouts select (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(),
      'status', $2::text, 'committed_at', environment_now(), 'client_transfer_id',
      gen_random_uuid()))).* from payouts p where p.id = $1`;
  const states = [...restrict, ...check, ...forbidden];
  for (const status of ['PROCESSING', 'COMPLETED', 'CANCELLED']) {
    const values = [id, status];
    await money.refuse(text, values, { states, what: `the owner inserts ${status}` });
    const what = `a tenant inserts ${status}`;
    await money.refuseTenant(owner.accountId, { text, values }, { states, what });
  }
});

test('a payout is never deleted, and neither is what the ledger rests on', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { payoutId } = await money.quoteAndCommit(owner);
  const refuse = (text: string, value: string) =>
    money.refuse(text, [value], { states: [...restrict, ...foreignKey], what: text });
  await refuse('delete from payouts where id = $1', payoutId);
  await refuse('delete from ledger_transfers where payout_id = $1', payoutId);
  await refuse('update ledger_transfers set amount = 1 where payout_id = $1', payoutId);
  await refuse('delete from ledger_accounts where account_id = $1', owner.accountId);
  await refuse('delete from users where id = $1', owner.userId);
  await refuse('delete from accounts where id = $1', owner.accountId);
  await refuse('update events set payload = $1', '{}');
  await money.assertSound();
});

for (const table of ['ledger_transfers', 'payouts', 'events', 'attempts']) {
  test(`the table ${table} cannot be emptied at a stroke`, async () => {
    await money.refuse(`truncate ${table} cascade`, [], { states: restrict, what: table });
  });
}

test('an attempt is never removed: what was sent stays known', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { payoutId } = await money.quoteAndCommit(owner);
  await begin(owner.accountId, payoutId);
  const text = 'delete from attempts where payout_id = $1';
  await money.refuse(text, [payoutId], { states: restrict, what: text });
});

const insertAttempt = `
  insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence,
    started_at)
  values ($1, $2, $3, 'fake', 'one', 'x', $4, 1, now())`;

function begin(accountId: string, payoutId: string): Promise<unknown> {
  return money.rows(insertAttempt, [accountId, payoutId, 1, 'sending']);
}

test('there is at most one live attempt', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { payoutId, accountId } = await money.quoteAndCommit(owner);
  await begin(accountId, payoutId);
  for (const state of ['sending', 'unknown', 'accepted', 'paid']) {
    const values = [accountId, payoutId, 2, state];
    await money.refuse(insertAttempt, values, { states: unique, what: `a second one, ${state}` });
  }
  await money.rows(`update attempts set state = 'retry' where payout_id = $1`, [payoutId]);
  await money.rows(insertAttempt, [accountId, payoutId, 2, 'sending']);
  await money.assertSound();
});

test('a wallet never falls below zero, whoever tries', async () => {
  const { accountId } = await money.createOwner({ USD: 10n });
  const set = `update ledger_accounts set balance = -1 where account_id = $1 and name = 'wallet'`;
  await money.refuse(set, [accountId], { states: check, what: 'a negative wallet' });
  const post = `select post_transfer($1, 'USD', $2, 1::smallint, 'commit', 'wallet', 'fees', 11, null, now())`;
  await money.refuse(post, [accountId, newId()], { states: check, what: 'more than there is' });
  assert.equal(await money.balance(accountId, 'USD'), 10n);
  await money.assertSound();
});

test('a transfer has two different sides, a positive amount and a known purpose', async () => {
  const { accountId } = await money.createOwner({ USD: 1_000n, EUR: 1_000n });
  const text = `select post_transfer($1, 'USD', $2, 1::smallint, 'commit', 'wallet', $3, $4, null, now())`;
  for (const [what, to, amount] of [
    ['a transfer to itself', 'wallet', 1n],
    ['nothing', 'fees', 0n],
    ['a negative amount', 'fees', -1n],
    ['an unknown purpose', 'nowhere', 1n],
  ] as const) {
    await money.refuse(text, [accountId, newId(), to, amount], { states: check, what });
  }
  assert.equal(await money.balance(accountId, 'USD'), 1_000n);
  await money.assertSound();
});

test('one line of a journal is written once', async () => {
  const { accountId } = await money.createOwner({ USD: 1_000n });
  const values = [accountId, newId()];
  const text = `select post_transfer($1, 'USD', $2, 1::smallint, 'commit', 'wallet', 'suspense', 1, null, now())`;
  await money.rows(text, values);
  await money.refuse(text, values, { states: unique, what: 'the same line again' });
  assert.equal(await money.balance(accountId, 'USD'), 999n);
  await money.assertSound();
});

test('the index itself refuses a second committed client_transfer_id', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  await money.quoteAndCommit(owner, { clientTransferId: 'once' });
  const { id } = await money.quote(owner, { clientTransferId: 'once' });
  const text = `update payouts set status = 'PROCESSING', committed_at = environment_now() where id = $1`;
  await money.refuse(text, [id], { states: unique, what: 'a second commit past the function' });
  await money.assertSound();
});

test('the clock of live is the real one, and there is one environment', async () => {
  await using live = await createMoneyTest({ environmentName: 'live' });
  const refuse = (from: MoneyTest, text: string) =>
    from.refuse(text, [], { states: check, what: text });
  await refuse(live, 'update environment set clock_offset_us = 1');
  await refuse(money, 'update environment set clock_offset_us = -1');
  await refuse(
    live,
    `insert into environment (only_row, name, master_key_id) values (false, 'staging', 'x')`,
  );
});

test('live never becomes staging', async () => {
  await using live = await createMoneyTest({ environmentName: 'live' });
  const text = `update environment set name = 'staging'`;
  await live.refuse(text, [], { states: [...restrict, ...check], what: text });
});

test('the clock of staging never goes backwards', async () => {
  await money.advance(60_000);
  const text = 'update environment set clock_offset_us = clock_offset_us - 1000000';
  await money.refuse(text, [], { states: restrict, what: text });
});

test('verify notices a balance, a sum and a payout that are wrong', async () => {
  await using wrong = await createMoneyTest();
  const owner = await wrong.createOwner({ USD: 1_000_000n });
  const { payoutId } = await wrong.quoteAndCommit(owner);
  await wrong.assertSound();
  await wrong.rows(
    `update ledger_accounts set balance = balance + 1 where account_id = $1 and name = 'wallet'`,
    [owner.accountId],
  );
  const afterGift = await verifyLedger(wrong.db);
  assert.equal(afterGift.isSound, false);
  assert.deepEqual(
    afterGift.wrongBalances.map(({ name, balance, total }) => [name, balance, total]),
    [['wallet', '989901', '989900']],
  );
  assert.equal(afterGift.currencies.find(({ currency }) => currency === 'USD')?.total, '1');
  await wrong.rows(
    `update ledger_accounts set balance = balance - 1 where account_id = $1 and name = 'wallet'`,
    [owner.accountId],
  );
  await wrong.assertSound();
  await wrong.rows(`update payouts set status = 'COMPLETED', completed_at = now() where id = $1`, [
    payoutId,
  ]);
  const afterMove = await verifyLedger(wrong.db);
  assert.deepEqual(
    afterMove.wrongPayouts.map((row) => row.payout_id),
    [payoutId],
  );
});

test('funding adds up, in any order and from many sessions at once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          currency: fc.constantFrom('USD', 'EUR', 'BTC'),
          amount: fc.bigInt(0n, 999_999_999_999_999n),
        }),
        { maxLength: 12 },
      ),
      async (fundings) => {
        const { accountId } = await money.createOwner();
        await Promise.all(
          fundings.map(({ currency, amount }) =>
            fundBalance(money.db.tenant(accountId), { accountId, currency, amountMinor: amount }),
          ),
        );
        for (const currency of ['USD', 'EUR', 'BTC']) {
          const expected = fundings
            .filter((one) => one.currency === currency)
            .reduce((sum, { amount }) => sum + amount, 0n);
          assert.equal(await money.balance(accountId, currency), expected);
          assert.equal(await money.balance(accountId, currency, 'external'), -expected);
        }
      },
    ),
    { numRuns: 15 },
  );
  await money.assertSound();
});
