import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { runCommand } from '../../testing/setups/commands.ts';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { exceptionKinds, inboundKinds, listDecisions } from './exceptions.ts';

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 1_000_000_000n });
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

type Listed = {
  id: string;
  kind: string;
  amount: string | null;
  currency: string | null;
  resolution: string;
  payout_token: string;
  decisions: { decided_by: string; reason: string; action: string; is_effective: boolean }[];
};
type Page = { matching: number; shown: number; next_cursor: string | null; exceptions: Listed[] };

type Values = Record<string, string | true>;
const run = (name: string, values: Values) =>
  runCommand({ db: money.db, keys: money.keys, name: 'staging' }, name, values);
const list = async (values: Values = {}) => (await run('exception list', values)) as Page;

/** Creates exceptions about inbound messages, some in the same instant. */
async function open(rail: string, count: number, kind = 'unmatched'): Promise<void> {
  await money.rows(
    `insert into exceptions (account_id, id, rail, kind, detail, currency, amount, opened_at, problem_id)
     select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), $1, $2, 'a reference', 'USD',
       1050, environment_now() - (n / 3) * interval '1.000001 second', 'problem ' || n || $2
     from generate_series(1, $3) n`,
    [rail, kind, count],
  );
}

describe('exception list', () => {
  before(() => open('bank', 205));

  it('returns every row once, the number of matches, and no cursor on the last page', async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    let pages = 0;
    do {
      const page: Page = await list({ rail: 'bank', ...(cursor !== null && { cursor }) });
      assert.equal(page.matching, 205);
      seen.push(...page.exceptions.map(({ id }) => id));
      cursor = page.next_cursor;
      pages += 1;
    } while (cursor !== null && pages < 10);
    assert.deepEqual([pages, seen.length, new Set(seen).size], [3, 205, 205]);
  });

  it('shows decimals with their currency', async () => {
    const { exceptions } = await list({ rail: 'bank', limit: '1' });
    assert.deepEqual([exceptions[0]?.amount, exceptions[0]?.currency], ['10.5', 'USD']);
  });

  it('filters by kind, rail, time and state', async () => {
    await open('cash', 3, 'unreadable');
    assert.equal((await list({ kind: 'unreadable' })).matching, 3);
    assert.equal((await list({ rail: 'cash', kind: 'unmatched' })).matching, 0);
    const tomorrow = new Date(money.clock.nowMs() + 86_400_000).toISOString().slice(0, 10);
    assert.equal((await list({ rail: 'cash', from: tomorrow })).matching, 0);
    assert.equal((await list({ rail: 'cash', to: tomorrow })).matching, 3);
    assert.equal((await list({ rail: 'cash', closed: true })).matching, 0);
    await assert.rejects(list({ all: true, closed: true }), /exclude each other/);
    await assert.rejects(
      list({ cursor: 'banana' }),
      /cursor must be the one that the previous page returned/,
    );
  });

  it('shows who decided about a held payout, and why', async () => {
    const { payoutId } = await money.quoteAndCommit(owner);
    await money.rows(
      `select open_exception($1, $2, 'bank', 'velocity', 'over a limit', null, null, environment_now())`,
      [owner.accountId, payoutId],
    );
    await money.rows(
      `insert into payout_decisions (account_id, payout_id, id, action, decided_by, reason,
         is_effective, decided_at, operator_id, about, mac)
       values ($1, $2, gen_random_uuid(), 'release', 'ada', 'known client', false, environment_now(),
         gen_random_uuid(), sha256('x'), sha256('x') || '\\x00000001')`,
      [owner.accountId, payoutId],
    );
    const token = `payout_${payoutId}`;
    const { exceptions } = await list({ payout: token });
    assert.equal(exceptions.length, 1);
    const [{ payout_token: shown, decisions } = { payout_token: '', decisions: [] }] = exceptions;
    assert.equal(shown, token);
    assert.deepEqual(
      decisions.map(({ action, decided_by: who, reason, is_effective: did }) => [
        action,
        who,
        reason,
        did,
      ]),
      [['release', 'ada', 'known client', false]],
    );
    const all = await listDecisions(money.db, { accountId: owner.accountId, payoutId });
    assert.deepEqual(
      all.map(({ decided_by: who, reason }) => [who, reason]),
      [['ada', 'known client']],
    );
  });
});

describe('exception close', () => {
  it('closes none that came after the newest one that was seen', async () => {
    await open('seen', 4, 'unreadable');
    const [newest, ...older] = (await list({ rail: 'seen' })).exceptions;
    await open('seen', 1);
    await money.rows(
      `insert into exceptions (account_id, id, rail, kind, opened_at)
       values ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'seen', 'unreadable',
         environment_now())`,
    );
    const close = { kind: 'unreadable', rail: 'seen', reason: 'read by hand' };
    const second = older[0]?.id ?? '';
    assert.deepEqual(await run('exception close', { ...close, newest: second }), {
      result: 'done',
      closed: 3,
    });
    const left = (await list({ rail: 'seen', kind: 'unreadable' })).exceptions.map(({ id }) => id);
    assert.deepEqual([left.length, left.includes(newest?.id ?? '')], [2, true]);
  });

  const by = { reason: 'sent to another system' };

  it('closes all of a kind and rail, returns their number, and leaves the others', async () => {
    await open('left', 2);
    await open('flood', 30);
    await open('flood', 4, 'not_understood');
    const answer = await run('exception close', { kind: 'unmatched', rail: 'flood', ...by });
    assert.deepEqual(answer, { result: 'done', closed: 30 });
    assert.equal((await list({ rail: 'flood' })).matching, 4);
    assert.equal((await list({ rail: 'left' })).matching, 2);
    const { exceptions } = await list({ rail: 'flood', closed: true, limit: '1' });
    assert.equal(exceptions[0]?.resolution, 'dismissed by test-owner: sent to another system');
  });

  it('closes no exceptions of payouts in bulk', async () => {
    for (const kind of exceptionKinds) {
      if ((inboundKinds as readonly string[]).includes(kind)) continue;
      await assert.rejects(
        run('exception close', { kind, rail: 'bank', ...by }),
        /--kind must be one of unmatched, .*; payout decide closes the others/,
      );
    }
  });

  it('requires one exception, or a kind and a rail', async () => {
    for (const values of [{}, { kind: 'unmatched' }, { rail: 'bank' }, { from: '2026-01-01' }]) {
      await assert.rejects(run('exception close', { ...values, ...by }), /give --exception, or/);
    }
  });
});

describe('the kinds of exceptions', () => {
  it('are those that the table permits', async () => {
    const [row] = await money.rows<{ text: string }>(
      `select pg_get_constraintdef(oid) as text from pg_constraint
       where conname = 'exceptions_kind_check'`,
    );
    const permitted = [...(row?.text ?? '').matchAll(/'([a-z_]+)'::text/g)].map(([, kind]) => kind);
    assert.deepEqual([...exceptionKinds].toSorted(), permitted.toSorted());
  });
});
