import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { verifyBookings } from './booking-proof.ts';
import { bookBalance } from './bookings.ts';
import { verifyChains } from './chain-source.ts';
import { verifyLedger } from './ledger.ts';

/** What the owner of the database credits by itself, with the triggers that post and link. */

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest({ environmentName: 'live' });
});
after(() => money[Symbol.asyncDispose]());

const fund = ({ accountId }: Owner, reference: string, amountMinor = 500n) =>
  bookBalance(
    money,
    { accountId, kind: 'fund', reference, currency: 'USD', amountMinor },
    { by: 'ada', reason: 'wire' },
  );

/** Of the account: the code, and the amount. */
async function findWrong({ accountId }: Owner): Promise<[string, string, string][]> {
  const wrong = await verifyBookings(money.db, { keys: money.keys, isFundingFree: false });
  return wrong
    .filter((row) => row.account_id === accountId)
    .map(({ code, amount, reference }) => [code, amount, reference]);
}

const credit = `
  insert into ledger_journals (account_id, id, kind, source_currency, source_amount, wallet_balance,
    created_at)
  select account_id, gen_random_uuid(), 'fund', 'USD', 99999900, balance + 99999900, clock_timestamp()
  from ledger_accounts where account_id = $1 and currency = 'USD' and name = 'wallet'`;

test('bookings of the service are sound', async () => {
  const owner = await money.createOwner();
  await fund(owner, 'wire 1');
  await fund(owner, 'wire 2');
  await bookBalance(
    money,
    { ...owner, kind: 'adjust', reference: 'fee', currency: 'USD', amountMinor: -20n },
    { by: 'bob', reason: 'a charge' },
  );
  assert.deepEqual(await findWrong(owner), []);
});

test('what clears suspense is sound with its booking, and found without it', async () => {
  const owner = await money.createOwner();
  await fund(owner, 'wire', 100_000n);
  const payout = await money.quoteAndCommit(owner, { destinationMinor: 180_000n });
  await money.observe(payout, 'paid');
  await money.observe(payout, 'returned', { details: { amount: '180500' } });
  await bookBalance(
    money,
    { ...payout, kind: 'suspense', reference: 'repaid', currency: 'MXN', amountMinor: -200n },
    { by: 'bob', reason: 'sent back' },
  );
  assert.deepEqual(await findWrong(owner), []);
  await money.rows(
    `insert into ledger_journals (account_id, id, kind, source_currency, source_amount, created_at)
     values ($1, gen_random_uuid(), 'suspense_debit', 'MXN', 300, clock_timestamp())`,
    [owner.accountId],
  );
  assert.deepEqual(await findWrong(owner), [['not_booked', '-300', '']]);
});

test('money that was credited past the service is found, although chains and balances add up', async () => {
  const owner = await money.createOwner();
  await fund(owner, 'wire');
  await money.rows(credit, [owner.accountId]);
  assert.equal((await verifyLedger(money.db)).isSound, true);
  assert.deepEqual((await verifyChains(money.db, { keys: [], outside: [] })).findings, []);
  assert.deepEqual(await findWrong(owner), [['not_booked', '99999900', '']]);
});

test('a booking that was written past the service, or whose money is missing, is found', async () => {
  const owner = await money.createOwner();
  await fund(owner, 'wire');
  await money.rows(
    `insert into balance_bookings (account_id, reference, kind, currency, amount, reason, booked_by,
       balance_after, booked_at, mac)
     select account_id, 'other', kind, currency, amount, reason, booked_by, balance_after, booked_at + interval '1 s', mac
     from balance_bookings where account_id = $1`,
    [owner.accountId],
  );
  assert.deepEqual(await findWrong(owner), [
    ['no_journal', '500', 'other'],
    ['forged', '500', 'other'],
  ]);
});

test('the amount, the operator and the reason of a booking cannot be changed unseen', async () => {
  for (const change of [`amount = 501`, `booked_by = 'bob'`, `reason = 'other'`]) {
    const owner = await money.createOwner();
    await fund(owner, 'wire');
    await money.ownerTransaction(async (session) => {
      const run = (text: string) => session.query({ name: '', text }, []);
      await run('set local session_replication_role = replica');
      await run(`update balance_bookings set ${change} where account_id = '${owner.accountId}'`);
    });
    const codes = (await findWrong(owner)).map(([code]) => code);
    assert.ok(codes.includes('forged'), change);
  }
});

test('in staging clients fund their balances themselves', async () => {
  await using staging = await createMoneyTest();
  await staging.createOwner({ USD: 1000n });
  const verify = (isFundingFree: boolean) =>
    verifyBookings(staging.db, { keys: staging.keys, isFundingFree });
  assert.deepEqual(await verify(true), []);
  assert.equal((await verify(false)).length, 1);
});
