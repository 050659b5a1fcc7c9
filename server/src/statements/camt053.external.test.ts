import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { validateXml } from '../../testing/setups/xsd.ts';
import { writeCamt053 } from './camt053.ts';
import { formatDay } from './period.ts';
import { readStatement } from './statements.ts';

/** Statements against the schema of the registration authority. */

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

test('statements are valid camt.053.001.08, whatever the client calls its transfers', async () => {
  const owner = await money.createOwner({ USD: 10_000_000n });
  const names = ['payroll-1', `<&"'>${'ü'.repeat(40)}`, 'a\uffffb', '😀 ]]>', '\u0301'];
  for (const clientTransferId of names) {
    const { payoutId } = await money.quoteAndCommit(owner, { clientTransferId });
    await money.observe({ ...owner, payoutId }, 'paid');
    await money.observe({ ...owner, payoutId }, 'returned');
  }
  const { payoutId } = await money.quoteAndCommit(owner);
  await money.observe({ ...owner, payoutId }, 'rejected');
  const day = formatDay(new Date(money.clock.nowMs()));
  await money.advance(86_400_000);
  const [row] = await money.rows<{ token: string }>(
    "select token from ledger_accounts where account_id = $1 and name = 'wallet'",
    [owner.accountId],
  );
  const wallet = { accountId: owner.accountId, currency: 'USD', token: row?.token ?? '' };
  for (const firstDay of ['2020-01-01', day]) {
    const period = { firstDay, lastDay: firstDay };
    const statement = await readStatement(money.db.tenant(owner.accountId), wallet, period);
    assert.ok(statement !== undefined);
    const text = (await Array.fromAsync(writeCamt053(statement, 'staging'))).join('');
    assert.equal(await validateXml(text), 'camt.053.001.08');
    assert.equal(text.includes('<Ntry>'), firstDay === day);
  }
});
