import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { newId } from '../core/ids.ts';
import { listPayoutRows, type PayoutFilter, payoutLists } from './payout-lists.sql.ts';
import { describePayoutReason } from './payout-reason.ts';
import { insertPayouts } from './quotes.sql.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(async () => {
  await money.assertSound();
  await money[Symbol.asyncDispose]();
});

const dayMs = 86_400_000;

async function list(
  { accountId }: Owner,
  filter: Omit<PayoutFilter, 'metadataHashes'>,
  range: { beforeId?: string; offset?: number; count?: number } = {},
): Promise<string[]> {
  const { beforeId, offset = 0, count = 100 } = range;
  const rows = await listPayoutRows(
    money.db.tenant(accountId),
    { accountId, beforeId, offset, count },
    { ...filter, metadataHashes: [] },
  );
  return rows.map(({ id }) => id);
}

test('client_transfer_id finds the committed payout and its other quotes only', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const other = await money.createOwner({ USD: 1_000_000n });
  const first = await money.quote(owner, { clientTransferId: 'invoice-1' });
  const second = await money.quote(owner, { clientTransferId: 'invoice-1' });
  await money.quote(owner, { clientTransferId: 'invoice-2' });
  await money.quote(other, { clientTransferId: 'invoice-1' });
  assert.equal((await money.commit(owner, first.id)).result, 'success');
  const ofInvoice = { clientTransferId: 'invoice-1' };
  assert.deepEqual(await list(owner, ofInvoice), [second.id, first.id]);
  assert.deepEqual(await list(owner, { ...ofInvoice, status: 'PENDING' }), [second.id]);
  assert.deepEqual(await list(owner, { ...ofInvoice, status: 'PROCESSING' }), [first.id]);
  assert.deepEqual(await list(owner, ofInvoice, { beforeId: second.id }), [first.id]);
  assert.deepEqual(await list(owner, { clientTransferId: 'invoice' }), []);
});

test('a time range lists the payouts committed in it, without gaps or repeats between pages', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  await money.clock.refresh(money.db.system);
  const startMs = money.clock.nowMs();
  const days: string[][] = [];
  for (let day = 0; day < 3; day += 1) {
    const made = [];
    for (let index = 0; index < 3; index += 1) made.unshift((await money.quote(owner)).id);
    days.push(made);
    await money.advance(dayMs);
  }
  const [first = [], second = [], third = []] = days;
  const at = (day: number): Date => new Date(startMs + day * dayMs - 1000);
  assert.deepEqual(await list(owner, { from: at(1), until: at(2) }), second);
  assert.deepEqual(await list(owner, { until: at(1) }), first);
  assert.deepEqual(await list(owner, { from: at(1) }), [...third, ...second]);
  const whole = [...third, ...second, ...first];
  const range = { from: at(0), until: at(9) };
  const paged: string[] = [];
  for (let beforeId: string | undefined; ; beforeId = paged.at(-1)) {
    const page = await list(
      owner,
      range,
      beforeId === undefined ? { count: 2 } : { beforeId, count: 2 },
    );
    if (page.length === 0) break;
    paged.push(...page);
  }
  assert.deepEqual(paged, whole);
  assert.deepEqual(await list(owner, range, { offset: 4, count: 2 }), whole.slice(4, 6));
});

test('a quote of yesterday committed today is listed today', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const quoted = await money.quote(owner, { lockSeconds: 86_400 });
  await money.advance(dayMs / 2);
  const betweenMs = money.clock.nowMs();
  await money.advance(1000);
  assert.equal((await money.commit(owner, quoted.id)).result, 'success');
  assert.deepEqual(await list(owner, { from: new Date(betweenMs) }), [quoted.id]);
  assert.deepEqual(await list(owner, { until: new Date(betweenMs) }), []);
});

test('the other filters combine', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const userId = await money.createUser(owner.accountId);
  const sourceToken = newId();
  const cash = await money.quote(owner, { deliveryType: 'CASH_PICKUP', sourceToken });
  const kenya = await money.quote({ ...owner, userId }, { countryCode: 'KEN', sourceToken });
  const plain = await money.quote(owner);
  assert.deepEqual(await list(owner, {}), [plain.id, kenya.id, cash.id]);
  assert.deepEqual(await list(owner, { deliveryType: 'CASH_PICKUP' }), [cash.id]);
  assert.deepEqual(await list(owner, { country: 'KEN' }), [kenya.id]);
  assert.deepEqual(await list(owner, { sourceToken }), [kenya.id, cash.id]);
  assert.deepEqual(await list(owner, { sourceToken, userId }), [kenya.id]);
  assert.deepEqual(await list(owner, { sourceToken, userId, status: 'HOLD' }), []);
});

test('a status finds its payouts among many others', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const pending = (await money.quote(owner)).id;
  const ids: Record<string, string> = {};
  for (const outcome of ['accepted', 'hold', 'paid', 'rejected', 'returned']) {
    const { payoutId } = await money.quoteAndCommit(owner);
    if (outcome === 'returned') await money.observe({ ...owner, payoutId }, 'paid');
    await money.observe({ ...owner, payoutId }, outcome);
    ids[outcome] = payoutId;
  }
  const { accepted, hold, paid, rejected, returned = '' } = ids;
  const find = (status: string, range: { beforeId?: string; count?: number } = {}) =>
    list(owner, { status }, range);
  assert.deepEqual(await find('PENDING'), [pending]);
  assert.deepEqual(await find('PROCESSING'), [accepted]);
  assert.deepEqual(await find('HOLD'), [hold]);
  assert.deepEqual(await find('COMPLETED'), [paid]);
  assert.deepEqual(await find('CANCELLED'), [returned, rejected]);
  assert.deepEqual(await find('CANCELLED', { count: 1 }), [returned]);
  assert.deepEqual(await find('CANCELLED', { beforeId: returned }), [rejected]);
  assert.deepEqual(await find('ERROR'), []);
  assert.deepEqual(await list(owner, { status: 'HOLD', country: 'KEN' }), []);
  assert.deepEqual(await list(owner, { payoutId: hold }), [hold]);
  assert.deepEqual(await list(owner, { payoutId: hold, status: 'PENDING' }), []);
});

test('every list reads along its index, and only its page without other filters', async () => {
  const owner = await money.createOwner();
  const quotes = Array.from({ length: 5000 }, (_, index) => ({
    ...money.describeQuote(owner),
    ...(index === 7 && { countryCode: 'KEN' }),
    ...(index === 9 && { deliveryType: 'BILL' }),
  }));
  for (let at = 0; at < quotes.length; at += 500) {
    await insertPayouts(money.db.system, quotes.slice(at, at + 500), true);
  }
  await money.rows('analyze');
  const values: Record<number, string> = {
    1: `'${owner.accountId}'`,
    2: `'ffffffff-ffff-ffff-ffff-ffffffffffff'`,
    3: '101',
    4: '0',
  };
  const explain = async (name: keyof typeof payoutLists, more: Record<number, string>) => {
    const given = { ...values, ...more };
    const shown = Array.from({ length: 13 }, (_, index) => given[index + 1] ?? 'null');
    // On one connection with a generic plan, as in the service.
    return money.db.systemTransaction(async (session) => {
      const run = (text: string) => readRows<Record<string, string>>(session, { name: '', text });
      await run(`prepare explained_${name} as ${payoutLists[name].text}`);
      const rows = await run(
        `explain (analyze, costs off, timing off) execute explained_${name}(${shown.join(', ')})`,
      );
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
  };
  const all = await explain('all', {});
  assert.match(
    all,
    /Scan Backward using payout_quotes_pkey on payout_quotes \w+ \(actual rows=101/,
  );
  const second = `'${quotes[1]?.clientTransferId}'`;
  const ofTransfer = await explain('ofTransfer', { 7: second });
  assert.match(ofTransfer, /using payout_quotes_transfer on payout_quotes \w+ \(actual rows=1/);
  const ofTime = await explain('ofTime', { 11: `now() - interval '1 hour'` });
  assert.match(ofTime, /using payout_quotes_created on payout_quotes \w+ \(actual rows=101/);
  const ofCountry = await explain('ofCountry', { 10: `'KEN'` });
  assert.match(ofCountry, /using payout_quotes_country on payout_quotes \w+ \(actual rows=1/);
  const ofType = await explain('ofDeliveryType', { 9: `'BILL'` });
  assert.match(ofType, /using payout_quotes_delivery_type on payout_quotes \w+ \(actual rows=1/);
  const one = await explain('one', { 13: `'${quotes[7]?.id}'` });
  assert.match(one, /using payout_quotes_pkey on payout_quotes \w+ \(actual rows=1/);
  for (const [name, status] of [
    ['open', 'HOLD'],
    ['cancelled', 'CANCELLED'],
    ['committed', 'COMPLETED'],
  ] as const) {
    const plan = await explain(name, { 6: `'${status}'` });
    assert.doesNotMatch(plan, /on payout_quotes \w+ \(actual rows=[^0]/, plan);
  }
  const wanted = quotes.at(1234);
  const clientTransferId = wanted?.clientTransferId;
  assert.deepEqual(await list(owner, { clientTransferId }), [wanted?.id]);
});

test('a waiting payout has a reason code and an actor, without details that clients must not see', async () => {
  const owner = await money.createOwner({ USD: 10_000_000n });
  const { accountId } = owner;
  const read = async (id: string) => {
    const rows = await listPayoutRows(
      money.db.tenant(accountId),
      { accountId, beforeId: undefined, count: 1000 },
      { metadataHashes: [] },
    );
    const row = rows.find((one) => one.id === id);
    assert.ok(row !== undefined);
    return describePayoutReason(row);
  };
  const operator = (reason_code: string) => ({ reason_code, actor: 'operator' });
  for (const [exception, code] of [
    ['unknown_outcome', 'outcome_unknown'],
    ['not_sent', 'not_sent'],
    ['parked', 'under_review'],
    ['screening', 'under_review'],
    ['velocity', 'under_review'],
  ] as const) {
    const payout = await money.quoteAndCommit(owner);
    assert.deepEqual(await read(payout.payoutId), { reason_code: '', actor: '' });
    await money.observe(payout, 'hold', { source: 'query', details: { exception } });
    assert.deepEqual(await read(payout.payoutId), operator(code), exception);
    await money.observe(payout, 'accepted', { source: 'query' });
    assert.deepEqual(await read(payout.payoutId), { reason_code: '', actor: '' }, exception);
  }
  const last = await money.quoteAndCommit(owner);
  const details = { is_exhausted: true, exception: 'routes_exhausted' };
  await money.observe(last, 'rejected', { source: 'query', details });
  assert.equal((await money.payout(last.payoutId)).status, 'ERROR');
  assert.deepEqual(await read(last.payoutId), operator('routes_exhausted'));
});

test('a refused payout names the client, the recipient or the payer as the actor', () => {
  const describe = (status_reason: string) =>
    describePayoutReason({ status: 'CANCELLED', status_reason, open_exceptions: [] });
  assert.deepEqual(describe('the account is closed'), {
    reason_code: 'account_closed',
    actor: 'recipient',
  });
  assert.deepEqual(describe('returned: the details of the destination are not valid'), {
    reason_code: 'invalid_details',
    actor: 'client',
  });
  assert.equal(describe('the payer failed').actor, 'payer');
  assert.deepEqual(describe('decided by a person'), {
    reason_code: 'decided_by_operator',
    actor: 'operator',
  });
  assert.equal(describe('some sentence of an earlier release').reason_code, 'other');
});
