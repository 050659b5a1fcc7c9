import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { newId } from '../core/ids.ts';
import { fundBalance, readPostings, verifyLedger } from './ledger.ts';

/** States that the schema must refuse, tried as the owner of the tables or as a tenant. */

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

test('a tenant cannot write a commit, and no role can commit a payout twice', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { id } = await money.quote(owner);
  const text = `
    insert into payout_states (account_id, payout_id, status, client_transfer_id, committed_at,
      updated_at)
    select account_id, id, 'PROCESSING', gen_random_uuid(), now(), now()
    from payout_quotes where id = $1`;
  const values = [id];
  await money.refuseTenant(
    owner.accountId,
    { text, values },
    { states: forbidden, what: 'a tenant commits' },
  );
  await money.commit(owner, id);
  await money.refuse(text, values, { states: unique, what: 'a second state' });
  await money.assertSound();
});

test('payouts, ledger accounts and journals cannot be deleted', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { payoutId } = await money.quoteAndCommit(owner);
  const refuse = (text: string, value: string) =>
    money.refuse(text, [value], { states: [...restrict, ...foreignKey], what: text });
  await refuse('delete from payout_quotes where id = $1', payoutId);
  await refuse('delete from payout_states where payout_id = $1', payoutId);
  await refuse('delete from ledger_journals where payout_id = $1', payoutId);
  await refuse('update ledger_journals set source_amount = 1 where payout_id = $1', payoutId);
  await refuse('delete from ledger_accounts where account_id = $1', owner.accountId);
  await refuse('delete from users where id = $1', owner.userId);
  await refuse('delete from accounts where id = $1', owner.accountId);
  await refuse('update events set payload = $1', '{}');
  await money.assertSound();
});

for (const table of ['ledger_journals', 'payout_quotes', 'payout_states', 'events', 'attempts']) {
  test(`the table ${table} cannot be truncated`, async () => {
    await money.refuse(`truncate ${table} cascade`, [], { states: restrict, what: table });
  });
}

test('attempts cannot be deleted', async () => {
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

test('a payout has at most one alive attempt', async () => {
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

test('a wallet balance cannot become negative', async () => {
  const { accountId } = await money.createOwner({ USD: 10n });
  const set = `update ledger_accounts set balance = -1 where account_id = $1 and name = 'wallet'`;
  await money.refuse(set, [accountId], { states: check, what: 'a negative wallet' });
  const post = `
    insert into ledger_journals (account_id, id, kind, batch_id, source_currency, source_amount,
      wallet_balance, created_at)
    values ($1, $2, 'reserve', gen_random_uuid(), 'USD', 11, -1, now())`;
  await money.refuse(post, [accountId, newId()], { states: check, what: 'more than there is' });
  assert.equal(await money.balance(accountId, 'USD'), 10n);
  await money.assertSound();
});

const insertJournal = `
  insert into ledger_journals (account_id, id, kind, batch_id, source_currency, source_amount, fee,
    wallet_balance, created_at)
  values ($1, $2, $3, gen_random_uuid(), 'USD', $4, $5, 999, now())`;

test('a journal has a known kind, a positive amount and no negative fee', async () => {
  const { accountId } = await money.createOwner({ USD: 1_000n });
  for (const [what, kind, amount, fee] of [
    ['nothing', 'reserve', 0n, 0n],
    ['a negative amount', 'reserve', -1n, 0n],
    ['a negative fee', 'reserve', 1n, -1n],
    ['an unknown kind', 'gift', 1n, 0n],
    ['a payout without its terms', 'commit', 1n, 0n],
    ['a batch where none can be', 'fund', 1n, 0n],
  ] as const) {
    const values = [accountId, newId(), kind, amount, fee];
    await money.refuse(insertJournal, values, { states: check, what });
  }
  assert.equal(await money.balance(accountId, 'USD'), 1_000n);
  await money.assertSound();
});

test('journals are immutable, and balances follow from them', async () => {
  const { accountId } = await money.createOwner({ USD: 1_000n });
  await fundBalance(money.db.system, { accountId, currency: 'USD', amountMinor: 1n });
  const again = `insert into ledger_journals select * from ledger_journals where account_id = $1`;
  await money.refuse(again, [accountId], { states: unique, what: 'the same journals again' });
  assert.equal(await money.balance(accountId, 'USD'), 1_001n);
  assert.equal(await money.balance(accountId, 'USD', 'external'), -1_001n);
  await money.assertSound();
});

test('verify reports a reserve without a row of a batch', async () => {
  await using wrong = await createMoneyTest();
  const { accountId } = await wrong.createOwner({ USD: 1_000n });
  await wrong.rows(insertJournal, [accountId, newId(), 'reserve', 1n, 0n]);
  const proof = await verifyLedger(wrong.db);
  assert.equal(proof.isSound, false);
  assert.deepEqual(
    proof.wrongBatches.map(({ currency, held }) => [currency, held]),
    [['USD', '1']],
  );
});

test('a funding that waited for the account has the time after it', async () => {
  const { accountId } = await money.createOwner({ USD: 100n });
  const waitsForLock = `
    select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  const { funding, releasedAt } = await money.db.systemTransaction(async (session) => {
    const lock = { name: '', text: 'select from accounts where id = $1 for update' };
    await session.query(lock, [accountId]);
    const waiting = fundBalance(money.db.system, { accountId, currency: 'USD', amountMinor: 1n });
    while ((await money.rows(waitsForLock)).length === 0) await sleep(5);
    return { funding: waiting, releasedAt: new Date() };
  });
  await funding;
  const [last] = await money.rows<{ created_at: Date }>(
    `select created_at from ledger_journals where account_id = '${accountId}'
     order by id desc limit 1`,
  );
  assert.ok(last !== undefined && last.created_at >= releasedAt);
});

test('a ledger account has a known name, forever', async () => {
  const { accountId } = await money.createOwner({ USD: 100n });
  const open = (currency: string, name: string) =>
    money.rows(
      `insert into ledger_accounts (account_id, currency, name, token, created_at)
       values ('${accountId}', '${currency}', '${name}', gen_random_uuid(), now())`,
    );
  await assert.rejects(open('USD', 'pocket'), /must have a known name/);
  await assert.rejects(open('dollars', 'wallet'), /must have a known name and a currency code/);
  await assert.rejects(
    money.rows(`update ledger_accounts set name = 'fees' where account_id = '${accountId}'`),
    /names of ledger accounts are immutable/,
  );
});

test('every kind of journal sums to zero in each currency', async () => {
  const sums = await money.rows<{ kind: string; total: bigint | null }>(
    `select k.kind, sum(side.amount)::bigint as total
     from (values ('fund'), ('adjust_credit'), ('adjust_debit'), ('commit'), ('complete'), ('refund'), ('return'), ('reserve'),
       ('batch_commit'), ('release')) k (kind)
     cross join lateral journal_lines(k.kind, 'USD', 100, 7, 'MXN', 1800, 'fake') l
     cross join lateral (values (l.from_name, -l.amount), (l.to_name, l.amount)) side (name, amount)
     group by k.kind, l.currency`,
  );
  assert.equal(new Set(sums.map(({ kind }) => kind)).size, 10);
  assert.ok(sums.every(({ total }) => total === 0n));
});

test('the unique index refuses a second commit of a client_transfer_id', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  await money.quoteAndCommit(owner, { clientTransferId: 'once' });
  const { id } = await money.quote(owner, { clientTransferId: 'once' });
  const text = `
    insert into payout_states (account_id, payout_id, status, client_transfer_id, committed_at,
      updated_at)
    select account_id, id, 'PROCESSING', client_transfer_id, now(), now()
    from payout_quotes where id = $1`;
  await money.refuse(text, [id], { states: unique, what: 'a second commit past the function' });
  await money.assertSound();
});

test('the clock of live cannot be moved, and there is one environment row', async () => {
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

test('live cannot become staging', async () => {
  await using live = await createMoneyTest({ environmentName: 'live' });
  const text = `update environment set name = 'staging'`;
  await live.refuse(text, [], { states: [...restrict, ...check], what: text });
});

test('the clock of staging cannot go backwards', async () => {
  await money.advance(60_000);
  const text = 'update environment set clock_offset_us = clock_offset_us - 1000000';
  await money.refuse(text, [], { states: restrict, what: text });
});

test('verify reports a wrong balance, a wrong sum and a wrong payout', async () => {
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
  await wrong.rows(
    `update payout_states set status = 'COMPLETED', completed_at = now() where payout_id = $1`,
    [payoutId],
  );
  const afterMove = await verifyLedger(wrong.db);
  assert.deepEqual(
    afterMove.wrongPayouts.map((row) => row.payout_id),
    [payoutId],
  );
});

test('what a transaction posts changes the balance of its own currency', async () => {
  const { accountId } = await money.createOwner({ USD: 100n, EUR: 100n });
  const { postings, balances } = await money.db.systemTransaction(async (session) => {
    await fundBalance(session, { accountId, currency: 'USD', amountMinor: 7n });
    return readPostings(session, accountId);
  });
  assert.deepEqual(
    postings.map(({ to, minor, currency }) => [to, minor, currency]),
    [['wallet', 7n, 'USD']],
  );
  assert.deepEqual(
    balances.map(({ currency, before: earlier, after: later }) => [currency, earlier, later]),
    [['USD', 100n, 107n]],
  );
});

test('concurrent funding adds up', async () => {
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
