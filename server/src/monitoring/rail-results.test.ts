import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createMoneyTest } from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { currencyScales } from '../core/currency.ts';
import { countPayouts } from './payout-days.ts';
import { listRailResults, railResultsQuery } from './rail-results.sql.ts';
import { listRailStates } from './rail-states.sql.ts';

const money = await createMoneyTest();
after(() => money[Symbol.asyncDispose]());

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

async function results(hours: number, rail = 'fake') {
  await countPayouts(money.db);
  return (await listRailResults(money.db.system, hours)).find(({ key }) => key === rail);
}

test('results are those of exactly the last hours, however the hours begin', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  await money.quoteAndCommit(owner);
  // So that the beginning of the period moves through a broken hour in either direction.
  for (const [minutes, expected] of [
    [0, 1],
    [23 * 60, 1],
    [59, 1],
    [1, 0],
    [30, 0],
  ] as const) {
    await money.advance(minutes * minuteMs);
    assert.equal((await results(24))?.committed ?? 0, expected, `after another ${minutes} minutes`);
    assert.equal((await results(720))?.committed, 1);
  }
  await money.advance(29 * 24 * hourMs);
  assert.equal(await results(720), undefined);
});

test('time and cost are compared with what was quoted', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const price = {
    source: 'USD',
    destination: 'MXN',
    rate: '18',
    steps: [
      { upTo: '50', fixed: '9', basisPoints: 0 },
      { upTo: null, fixed: '0.5', basisPoints: 60 },
    ],
    asOf: 0,
  };
  const nowMs = money.clock.nowMs();
  // 100.00 USD at the provider: 0.50 and 0.60.
  const quoted = { rail: 'priced', providerPrice: JSON.stringify(price) };
  const [prompt, late, other] = await Promise.all([
    money.quoteAndCommit(owner, { ...quoted, estimatedAvailability: new Date(nowMs + hourMs) }),
    money.quoteAndCommit(owner, { ...quoted, estimatedAvailability: new Date(nowMs - 60_000) }),
    money.quoteAndCommit(owner, { rail: 'priced' }),
  ]);
  await money.rows(
    `insert into payout_charges (account_id, payout_id, rail, id, kind, currency, amount, created_at)
     values ($1, $2, 'priced', 'fee', 'partner', 'USD', 110, now()),
       ($1, $2, 'priced', 'rate', 'partner', 'USD', 20, now()),
       ($1, $2, 'priced', 'elsewhere', 'bank', 'EUR', 900, now()),
       ($1, $3, 'priced', 'fee', 'partner', 'USD', 110, now()),
       ($1, $4, 'priced', 'fee', 'partner', 'USD', 500, now())`,
    [owner.accountId, prompt.payoutId, late.payoutId, other.payoutId],
  );
  await money.observe(prompt, 'paid');
  await money.observe(late, 'paid');
  await money.observe(other, 'rejected');
  const check = async (): Promise<void> => {
    const row = await results(24, 'priced');
    assert.deepEqual(
      [row?.committed, row?.completed, row?.canceled, row?.on_time, row?.charged],
      [3, 2, 1, 1, 2],
    );
    assert.equal(row?.quoted_cost_bps, 110);
    assert.equal(row.cost_bps, 120);
  };
  await check();
  // From the broken hour, and from the counted one: the figures are the same.
  await money.advance(24 * hourMs - 2 * minuteMs);
  await check();
});

test('a payout that came back is not among those that were on time', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const estimatedAvailability = new Date(money.clock.nowMs() + hourMs);
  const [kept, returned] = await Promise.all([
    money.quoteAndCommit(owner, { rail: 'returning', estimatedAvailability }),
    money.quoteAndCommit(owner, { rail: 'returning', estimatedAvailability }),
  ]);
  await money.observe(kept, 'paid');
  await money.observe(returned, 'paid');
  await money.observe(returned, 'returned');
  for (const ms of [0, 24 * hourMs - 2 * minuteMs]) {
    await money.advance(ms);
    const row = await results(24, 'returning');
    assert.deepEqual([row?.completed, row?.canceled, row?.on_time], [1, 1, 1]);
  }
});

test('a look reads counted hours and one broken hour, whatever the number of payouts', async () => {
  await money.rows(
    `insert into rail_hours
     select '00000000-0000-0000-0000-000000000000', h, 'rail ' || r, 'COMPLETED', 1000, 0, 0, 0, 0, 0,
       0
     from generate_series(date_trunc('hour', environment_now()) - interval '60 days',
       environment_now(), interval '1 hour') h, generate_series(1, 20) r`,
  );
  // Ten thousand quotes of 28 hours, of which the broken hour has at most 360.
  await money.rows(
    `insert into payout_quotes select (jsonb_populate_record(q, jsonb_build_object(
       'id', gen_random_uuid(), 'client_transfer_id', 'many ' || i,
       'created_at', q.created_at - i * interval '10 seconds'))).*
     from payout_quotes q, generate_series(1, 10000) i
     where q.id = (select id from payout_quotes limit 1)`,
  );
  await money.rows('alter table payout_states disable trigger user');
  await money.rows(
    `insert into payout_states select (jsonb_populate_record(s, jsonb_build_object(
       'payout_id', q.id, 'client_transfer_id', q.client_transfer_id))).*
     from payout_states s join payout_quotes q on q.client_transfer_id like 'many %'
     where s.payout_id = (select payout_id from payout_states limit 1)`,
  );
  await money.rows('alter table payout_states enable trigger user');
  await money.rows('analyze');
  const { plan, read } = await money.db.systemTransaction(async (session) => {
    const run = (text: string) => readRows<Record<string, string>>(session, { name: '', text });
    await run(`prepare explained as ${railResultsQuery.text}`);
    const explained = await run(
      `explain (analyze, costs off, timing off) execute explained(24, '${currencyScales}')`,
    );
    const counts = await run(
      `select relname, seq_tup_read::text, idx_tup_fetch::text from pg_stat_xact_user_tables
       where relname in ('payout_quotes', 'payout_states') order by relname`,
    );
    return { plan: explained.map((row) => row['QUERY PLAN']).join('\n'), read: counts };
  });
  const [, hours = ''] = /on rail_hours[^\n]*\(actual rows=(\d+)/.exec(plan) ?? [];
  // Of 28,820 rows.
  assert.ok(Number(hours) > 0 && Number(hours) <= 24 * 20 + 50, plan);
  assert.doesNotMatch(plan, /Seq Scan on rail_hours\b/);
  // Of 10,003 payouts: those of the broken hour.
  assert.deepEqual(
    read.map((row) => [row['relname'], row['seq_tup_read']]),
    [
      ['payout_quotes', '0'],
      ['payout_states', '0'],
    ],
  );
  for (const row of read) assert.ok(Number(row['idx_tup_fetch']) <= 400, JSON.stringify(row));
});

test('unmatched inputs and the refused callbacks of a day are counted', async () => {
  await money.rows(
    `insert into rail_refusals (rail, hour, count)
     select 'noisy', date_trunc('hour', clock_timestamp()) - h * interval '1 hour', 2
     from generate_series(0, 30) h`,
  );
  await money.rows(
    `insert into exceptions (account_id, id, rail, kind, detail, opened_at)
     select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'noisy', kind, '', now()
     from unnest(array['unmatched', 'unmatched', 'unreadable']) kind`,
  );
  const row = (await listRailStates(money.db.system)).find(({ rail }) => rail === 'noisy');
  assert.deepEqual([row?.unresolved_inbound, row?.unmatched_inbound], [3, 2]);
  assert.equal(row?.refused_callbacks, 48);
});

test('a payout is on time in the second of its estimate', async () => {
  const [found] = await money.rows<Record<'same' | 'next' | 'never', boolean>>(
    `select was_on_time('2026-11-27 00:00:00.9Z', '2026-11-27 00:00:00Z') as same,
       was_on_time('2026-11-27 00:00:01Z', '2026-11-27 00:00:00Z') as next,
       was_on_time(null, '2026-11-27 00:00:00Z') as never`,
  );
  assert.deepEqual(found, { same: true, next: false, never: false });
});
