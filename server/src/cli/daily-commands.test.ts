import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { createCommander } from '../../testing/setups/commands.ts';
import {
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { createAuthenticator } from '../accounts/authentication.ts';
import { ConfigError } from '../config.ts';
import { formatToken } from '../core/ids.ts';
import type { CommandContext } from './context.ts';

type Row = Record<string, string>;
type Run = Awaited<ReturnType<typeof createCommander>>;

let setupFolder: string;
let money: MoneyTest;
let owner: Owner;
let run: Run;
let runAsBob: Run;
before(async () => {
  money = await createMoneyTest({ environmentName: 'live' });
  owner = await money.createOwner({ USD: 100_000_000n });
  setupFolder = await mkdtemp(join(tmpdir(), 'outlay-daily-'));
  const railsFile = join(setupFolder, 'rails.json');
  await writeFile(railsFile, JSON.stringify({ rails: [{ name: 'fake' }] }));
  const config = { OUTLAY_LIVE_RAILS: railsFile } as unknown as CommandContext['config'];
  const { db, keys, clock } = money;
  const context = { db, keys, clock, config, name: 'live' } as const;
  run = await createCommander(context, { name: 'ada' });
  runAsBob = await createCommander(context, { name: 'bob', role: 'approver' });
});
afterEach(async () => {
  await money.assertSound();
});
after(async () => {
  await money[Symbol.asyncDispose]();
  await rm(setupFolder, { recursive: true });
});

const why = { reason: 'a test' };

type Listed = {
  matching: number;
  next_cursor: string | null;
  payouts: { payout_token: string; waits_for: string; is_stuck: boolean; amount: string }[];
};
const listPayouts = async (values: Record<string, string | true> = {}) =>
  (await run('payout list', values)) as Listed;

test('sending stops at once, and two people resume it in live', async () => {
  const payout = await money.quoteAndCommit(owner);
  const stopped = (await run('sending stop', why)) as { result: string; rails: unknown };
  assert.equal(stopped.result, 'stopped');
  assert.deepEqual(stopped.rails, [{ rail: 'fake', being_sent: 0, handed_over: 0, waiting: 1 }]);
  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.drain();
  assert.equal(rail.sends(), 0);
  const [listed] = (await listPayouts({ stuck: true })).payouts;
  assert.equal(listed?.payout_token, formatToken('payout', payout.payoutId));
  assert.equal(listed?.waits_for, 'the end of a freeze: sending');
  const screen = (await run('status')) as string;
  assert.match(screen, /sending: STOPPED {2}commits: yes/);
  assert.match(screen, /sending for .* by ada, 1 wait\n {4}[0-9a-f-]{36} a test/);
  assert.match(screen, /STUCK: 1\n {2}payout_/);

  for (const _ of ['first', 'again']) {
    const asked = (await run('sending resume', why)) as { result: string };
    assert.equal(asked.result, 'waiting');
  }
  assert.deepEqual(await runAsBob('sending resume', why), { result: 'resumed', released: 1 });
  await dispatcher.drain();
  assert.equal(rail.sends(), 1);
  await assert.rejects(
    runAsBob('sending resume', why),
    (error) => error instanceof ConfigError && /sending is not stopped/.test(error.message),
  );
  assert.match((await run('status')) as string, /sending: yes/);
});

test('a client, a recipient, a corridor and a rail are frozen by command', async () => {
  const ids: string[] = [];
  for (const [command, values] of [
    ['freeze account', { account: owner.accountId }],
    ['freeze recipient', { user: formatToken('user', owner.userId) }],
    ['freeze corridor', { country: 'MEX', 'delivery-type': 'BANK_DEPOSIT', currency: 'MXN' }],
    ['freeze rail', { rail: 'fake' }],
  ] as const) {
    const { freeze } = (await run(command, { ...values, ...why })) as { freeze: { id: string } };
    ids.push(freeze.id);
  }
  assert.equal(((await run('freeze list')) as unknown[]).length, 4);
  for (const freeze of ids) {
    await run('freeze lift', { freeze, ...why });
    await runAsBob('freeze lift', { freeze, ...why });
  }
  assert.deepEqual(await run('freeze list'), []);
  const all = (await run('freeze list', { all: true })) as { lifted_by: string }[];
  assert.equal(all.filter((row) => row.lifted_by === 'bob').length, 5);
});

test('a rail that does not exist cannot be frozen, as nothing would be stopped', async () => {
  await assert.rejects(
    run('freeze rail', { rail: 'fkae', ...why }),
    (error) =>
      error instanceof ConfigError && /no rail fkae in live: it has fake/.test(error.message),
  );
  assert.deepEqual(await run('freeze list'), []);
});

test('payout list filters by rail, age and status', async () => {
  const payout = await money.quoteAndCommit(owner, {
    estimatedAvailability: new Date(Date.now() - 60_000),
  });
  const fresh = await money.quoteAndCommit(owner);
  assert.equal((await listPayouts()).matching, 2);
  const first = await listPayouts({ limit: '1' });
  const second = await listPayouts({ limit: '1', cursor: first.next_cursor ?? '' });
  assert.deepEqual([first.matching, second.matching, second.next_cursor], [2, 2, null]);
  // Their age goes on.
  const tokensOf = ({ payouts }: Pick<typeof first, 'payouts'>) =>
    payouts.map(({ payout_token: token }) => token);
  assert.deepEqual([first, second].flatMap(tokensOf), tokensOf(await listPayouts()));
  assert.equal((await listPayouts({ 'older-than': '0s' })).matching, 2);
  assert.equal((await listPayouts({ 'older-than': '2h' })).matching, 0);
  const [old, ...others] = (await listPayouts({ stuck: true })).payouts;
  assert.deepEqual(
    [old?.payout_token, old?.is_stuck, others],
    [formatToken('payout', payout.payoutId), true, []],
  );
  assert.equal((await listPayouts({ stuck: true })).matching, 1);
  assert.equal((await listPayouts({ rail: 'other' })).matching, 0);
  assert.equal((await listPayouts({ rail: 'fake', status: 'PROCESSING' })).matching, 2);
  assert.equal((await listPayouts({ status: 'HOLD' })).matching, 0);
  assert.equal((await listPayouts({ account: fresh.accountId })).matching, 2);
});

test('a limit is set and lowered by one person, and raised or removed by two', async () => {
  const limit = { account: owner.accountId, name: 'a day', per: 'account', ...why };
  const resultOf = (answer: unknown) => (answer as { result: string }).result;
  assert.equal(resultOf(await run('limit set', { ...limit, usd: '5000' })), 'done');
  assert.equal(resultOf(await run('limit set', { ...limit, usd: '4000.50' })), 'done');
  assert.equal(resultOf(await run('limit set', { ...limit, usd: '9000' })), 'waiting');
  assert.equal(resultOf(await runAsBob('limit set', { ...limit, usd: '9000' })), 'done');
  const list = async () =>
    (await run('limit list', { account: owner.accountId })) as Record<string, unknown>[];
  const [listed] = await list();
  assert.deepEqual(
    [listed?.['name'], listed?.['usd_max'], listed?.['hours'], listed?.['set_by']],
    ['a day', '9000.00', 24, 'bob'],
  );
  await assert.rejects(run('limit set', limit), /--usd or --count is missing/);
  const removed = { account: owner.accountId, name: 'a day', ...why };
  assert.equal(resultOf(await run('limit remove', removed)), 'waiting');
  assert.equal(resultOf(await runAsBob('limit remove', removed)), 'done');
  assert.deepEqual(await list(), []);
});

test('the report of a month prints JSON and CSV', async () => {
  // That of a commit: a month may end while the tests run.
  const [{ month } = { month: '' }] = await money.rows<{ month: string }>(
    `select to_char(min(created_at) at time zone 'utc', 'YYYY-MM') as month
     from ledger_journals where kind = 'commit'`,
  );
  const report = (await run('report month', { month })) as { adds_up: boolean };
  assert.equal(report.adds_up, true);
  const csv = (await run('report month', { month, format: 'csv' })) as string;
  assert.match(csv, /^account_id,.*\r\n.*,commit,fake,MEX,/);
  await assert.rejects(run('report month', { month: '2026-13' }), /must be a month/);
});

type AuditEntry = {
  actor: string;
  outcome: string;
  object: Record<string, string>;
  after: Record<string, string> | null;
};

test('a credential is rotated in one step, with its scopes, and the old one expires', async () => {
  const { accountId: account } = await money.createOwner({});
  const list = async () =>
    (await run('credential list', { account })) as { id: string; kind: string }[];
  const before = await list();
  for (const { id: credential, kind } of before) {
    const values = { account, credential, overlap: '1h', ...why };
    assert.equal(
      ((await run('credential rotate', values)) as { result: string }).result,
      'waiting',
    );
    const rotated = (await runAsBob('credential rotate', values)) as Record<string, string>;
    assert.equal(rotated['replaces'], credential);
    const token = rotated['api_key'];
    assert.equal(token === undefined, kind === 'client');
    const entries = (await run('audit list', { limit: '4' })) as AuditEntry[];
    const [done, , waiting] = entries;
    assert.deepEqual(
      [done?.outcome, done?.after?.['credential_id'], done?.after?.['replaces']],
      ['done', rotated['credential_id'], credential],
    );
    // Who asked and who approved, and saw the secret, are found by the request.
    assert.deepEqual([waiting?.outcome, waiting?.actor === done?.actor], ['waiting', false]);
    assert.ok(done?.object['approval'] !== undefined);
    assert.equal(waiting?.object['approval'], done.object['approval']);
    assert.ok(!JSON.stringify(entries).includes(rotated['client_secret'] ?? token ?? ''));
    if (token !== undefined) {
      const authenticator = createAuthenticator(money);
      const found = await authenticator.authenticate(token, '127.0.0.1');
      assert.equal(found?.accountId, account);
    }
  }
  const rows = await money.rows<{ id: string; scopes: string[]; left: number | null }>(
    `select id, scopes, extract(epoch from expires_at - now())::float8 as left from credentials
     where account_id = $1 order by created_at`,
    [account],
  );
  assert.equal(rows.length, 4);
  const old = rows.filter(({ left }) => left !== null && left <= 3600);
  assert.deepEqual(old.map(({ id }) => id).toSorted(), before.map(({ id }) => id).toSorted());
  assert.ok(old.every(({ left }) => left !== null && left > 3500));
  assert.ok(rows.every(({ scopes }) => scopes.length === rows[0]?.scopes.length));
});

test('an export of the ledger overwrites nothing, and says where it can be written', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'outlay-export-'));
  try {
    const kept = join(folder, 'kept.jsonl');
    await writeFile(kept, 'evidence');
    const refused = (file: string, message: RegExp) =>
      assert.rejects(
        run('ledger export', { file }),
        (error) => error instanceof ConfigError && message.test(error.message),
      );
    await refused(kept, /--file names a file that exists: give the path of a new one/);
    assert.equal(await readFile(kept, 'utf8'), 'evidence');
    await refused(join(folder, 'no', 'new.jsonl'), /--file must be in a folder that exists/);
    const { links } = (await run('ledger export', { file: join(folder, 'new.jsonl') })) as {
      links: number;
    };
    assert.equal(typeof links, 'number');
    // The month that a minute from now is in: the present one does not end before the command.
    const month = new Date(money.clock.nowMs() + 60_000).toISOString().slice(0, 7);
    await assert.rejects(
      run('report journal', { month, file: join(folder, 'open.csv') }),
      (error) => error instanceof ConfigError && /has not ended/.test(error.message),
    );
    assert.deepEqual(
      await run('report journal', { month: '2001-01', file: join(folder, '1.csv') }),
      {
        entries: 0,
        totals: [],
      },
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('two people clear what a payout left in suspense', async () => {
  const payout = await money.quoteAndCommit(owner, { destinationMinor: 180_000n });
  await money.observe(payout, 'paid');
  await money.observe(payout, 'returned', { details: { amount: '180500' } });
  const list = () => run('suspense list', { account: owner.accountId });
  const token = formatToken('payout', payout.payoutId);
  const [listed] = ((await list()) as { suspense: Row[] }).suspense;
  assert.deepEqual(
    [listed?.['user_token'], listed?.['payout_token'], listed?.['currency'], listed?.['amount']],
    [formatToken('user', payout.userId), token, 'MXN', '5'],
  );
  const clearing = { payout: token, currency: 'MXN', amount: '-5', reference: 'repaid', ...why };
  await assert.rejects(
    run('suspense clear', { ...clearing, amount: '-5.001' }),
    (error) => error instanceof ConfigError && /2 fraction digits of MXN/.test(error.message),
  );
  await assert.rejects(
    run('suspense clear', { ...clearing, currency: 'USD' }),
    /the payout is in MXN, not in USD/,
  );
  assert.equal(((await run('suspense clear', clearing)) as { result: string }).result, 'waiting');
  const cleared = { currency: 'MXN', balance: '0' };
  assert.deepEqual(await runAsBob('suspense clear', clearing), { result: 'booked', ...cleared });
  assert.deepEqual(await run('suspense clear', clearing), { result: 'booked_before', ...cleared });
  assert.deepEqual(await list(), { matching: 0, shown: 0, suspense: [] });
  const [booking] = (await run('account bookings', { account: owner.accountId })) as Row[];
  assert.deepEqual(
    [booking?.['kind'], booking?.['payout_token'], booking?.['amount']],
    ['suspense', token, '-5'],
  );
});
