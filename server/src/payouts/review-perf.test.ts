import { test } from 'node:test';
import { readFileSync } from 'node:fs';
import { createMoneyTest } from './money-test-setup.ts';

test('plans', async () => {
  const money = await createMoneyTest();
  const owner = await money.createOwner({ USD: 1_000_000n });
  const n = 200_000;
  await money.rows(`insert into payout_states (account_id, payout_id, status, client_transfer_id, committed_at, updated_at)
    select $1, md5(i::text)::uuid, 'PROCESSING', i::text, environment_now(), environment_now() from generate_series(1, ${n}) i`, [owner.accountId]);
  await money.rows(`insert into velocity_entries select $1, md5(i::text)::uuid, $2, 'MEX BANK_DEPOSIT MXN', 1, environment_now() from generate_series(1, ${n}) i`, [owner.accountId, owner.userId]);
  await money.rows(`insert into exceptions (account_id, id, payout_id, kind, opened_at, closed_at, resolution)
    select $1, gen_random_uuid(), md5(i::text)::uuid, 'screening', environment_now(), environment_now(), 'x' from generate_series(1, ${n}) i`, [owner.accountId]);
  await money.rows(`insert into payout_dispatches (account_id, payout_id, rail, due_at)
    select $1, md5(i::text)::uuid, 'fake', environment_now() + interval '1 day' from generate_series(1, ${n}) i`, [owner.accountId]);
  for (const t of ['payout_states','velocity_entries','exceptions','payout_dispatches','accounts','users']) await money.rows(`analyze ${t}`);
  const limits = JSON.stringify([{ name: 'day', per: 'account', seconds: 86400, count: null, usd: '100000000000', corridor: null }]);
  const { id } = await money.quote(owner);
  for (let i = 0; i < 3; i += 1) {
    const t = performance.now();
    await money.rows('select count_velocity($1,$2,$3,$4,$5,$6)', [owner.accountId, id, owner.userId, 'MEX BANK_DEPOSIT MXN', 100n, limits]);
    console.log('count_velocity ms', Math.round(performance.now() - t));
  }
  const explain = async (name: string, text: string, values: unknown[]) => {
    const client = await money.db.systemTransaction(async (s) => {
      await s.rows({ name: '', text: 'set local enable_seqscan = off' });
      return s.rows<Record<string, string>>({ name: '', text: `explain analyze ${text}` }, values);
    });
    console.log(name); for (const row of client) console.log('   ', row['QUERY PLAN']);
  };
  await explain('exceptions of payout', 'select * from exceptions where account_id = $1 and payout_id = $2 order by opened_at', [owner.accountId, id]);
  await explain('exceptions list', 'select * from exceptions where ($1::uuid is null or account_id = $1) and ($2 or closed_at is null) order by opened_at desc limit $3', [null, false, 200]);
  await explain('account of payout', 'select account_id from payout_quotes where id = $1', [id]);
  await explain('missing', `select d.account_id from payout_dispatches d where d.rail <> all ($1) and d.due_at < environment_now() - interval '10 minutes' limit 1000`, [['fake']]);
  await explain('heard', `select p.account_id from attempts a join payouts p on p.account_id = a.account_id and p.id = a.payout_id join users u on u.account_id = p.account_id and u.id = p.user_id where a.payout_id = $1 limit 1`, [id]);
  await money[Symbol.asyncDispose]();
});
