import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createCommander } from '../../testing/setups/commands.ts';
import { createLiveSetup, type LiveSetup } from '../../testing/setups/live.ts';
import { formatToken } from '../core/ids.ts';
import { createOperator, findGenuineOperator } from '../operators/operators.ts';
import { type CommandContext, openContext } from './context.ts';

/** Two persons are two operators who exist now and have asked for the same, whatever the database says. */

type Run = Awaited<ReturnType<typeof createCommander>>;

let setup: LiveSetup;
let context: CommandContext;
let [ada, bob, eve]: Run[] = [];
let account: string;

before(async () => {
  setup = await createLiveSetup();
  context = await openContext(setup.config(), { name: 'live', realNowMs: Date.now });
  ada = await createCommander(context, { name: 'ada' });
  bob = await createCommander(context, { name: 'bob', role: 'approver' });
  eve = await createCommander(context, { name: 'eve', role: 'approver' });
  await ada('account create', { name: 'One', reason: 'New' });
  ({ account } = (await bob('account create', { name: 'One', reason: 'New' })) as {
    account: string;
  });
});
after(async () => {
  await context[Symbol.asyncDispose]();
  await setup.close();
});

const as = (run: Run | undefined): Run => run ?? assert.fail('created before the tests');
const idOfNothing = '00000000-0000-7000-8000-000000000002';
const resultOf = (answer: unknown): string => (answer as { result?: string }).result ?? 'none';
const funding = (reference: string) => ({
  account,
  currency: 'USD',
  amount: '10000.01',
  reference,
  reason: 'Wire',
});
const openRequests = async () =>
  ((await as(ada)('approval list')) as { options: { reference?: string } }[]).map(
    ({ options }) => options.reference,
  );
const idOf = async (name: string): Promise<string> =>
  (await findGenuineOperator({ session: context.db.system, keys: context.keys }, name))?.id ??
  assert.fail(`there is no ${name}`);

/** As the owner of the database, past the triggers. */
async function tamper(text: string, values: unknown[] = []): Promise<void> {
  await context.db.systemTransaction(async (session) => {
    for (const step of ['set local role none', 'set local session_replication_role = replica']) {
      await session.query({ name: '', text: step }, []);
    }
    await session.query({ name: '', text }, values);
  });
}

test('a request of an operator who was revoked since lapses', async () => {
  const mal = await createCommander(context, { name: 'mal', role: 'approver' });
  assert.equal(resultOf(await mal('account fund', funding('wire 1'))), 'waiting');
  await as(ada)('operator revoke', { name: 'mal', reason: 'Left' });
  assert.deepEqual(await openRequests(), []);
  assert.equal(resultOf(await as(bob)('account fund', funding('wire 1'))), 'waiting');
  assert.equal(resultOf(await as(ada)('account fund', funding('wire 1'))), 'booked');
});

test('a revoked operator whose row is revived approves nothing', async () => {
  const rex = await createCommander(context, { name: 'rex', role: 'approver' });
  assert.equal(resultOf(await rex('account fund', funding('wire 2'))), 'waiting');
  await as(ada)('operator revoke', { name: 'rex', reason: 'Left' });
  await assert.rejects(
    context.db.system.query(
      { name: '', text: `update operators set revoked_at = null where name = 'rex'` },
      [],
    ),
    /stays revoked/,
  );
  await tamper(`update operators set revoked_at = null where name = 'rex'`);
  await tamper(
    `update approvals set ended_at = null, result = ''
     where requested_by = (select id from operators where name = 'rex')`,
  );
  assert.deepEqual(await openRequests(), []);
  assert.equal(resultOf(await as(ada)('account fund', funding('wire 2'))), 'waiting');
});

test('a request that was written or changed past the service counts for nothing', async () => {
  const parameters = (reference: string) => {
    const { reason: _, ...given } = funding(reference);
    return JSON.stringify(
      Object.fromEntries(Object.entries(given).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    );
  };
  const by = await idOf('ada');
  await tamper(
    `insert into approvals (id, action, parameters, requested_by, reason, requested_at, expires_at,
       mac)
     values (gen_random_uuid(), 'account fund', $1, $2, 'Wire', now(), now() + interval '1 day', $3)`,
    [parameters('wire 3'), by, Buffer.alloc(36)],
  );
  assert.deepEqual(await openRequests(), ['wire 2']);
  assert.equal(resultOf(await as(bob)('account fund', funding('wire 3'))), 'waiting');
  // A genuine row of other parameters.
  assert.equal(resultOf(await as(bob)('account fund', funding('wire 4'))), 'waiting');
  await tamper('update approvals set parameters = $1 where parameters = $2 and ended_at is null', [
    parameters('wire 5'),
    parameters('wire 4'),
  ]);
  assert.equal(resultOf(await as(ada)('account fund', funding('wire 5'))), 'waiting');
});

test('when two operators approve at the same moment, one approval counts, and no request is left', async () => {
  const wanted = { account, kind: 'api_key', reason: 'Reports' };
  assert.equal(resultOf(await as(ada)('credential create', wanted)), 'waiting');
  const both = await Promise.allSettled([
    as(bob)('credential create', wanted),
    as(eve)('credential create', wanted),
  ]);
  const [refused, ...more] = both.filter((one) => one.status === 'rejected');
  assert.equal(more.length, 0);
  assert.match(String(refused?.reason), /approved a moment ago/);
  const waiting = (await as(ada)('approval list')) as { action: string }[];
  assert.ok(waiting.every(({ action }) => action !== 'credential create'));
});

test('an owner who revoked the other one creates no owner alone', async () => {
  const solo = await createLiveSetup();
  const other = await openContext(solo.config(), { name: 'live', realNowMs: Date.now });
  try {
    const first = await createCommander(other, { name: 'ann' });
    const create = (name: string, role = 'owner') =>
      first('operator create', { name, role, reason: 'Hired' });
    assert.equal(resultOf(await create('ben')), 'none');
    await first('operator revoke', { name: 'ben', reason: 'Left' });
    assert.equal(resultOf(await create('cat')), 'waiting');
  } finally {
    await other[Symbol.asyncDispose]();
    await solo.close();
  }
});

test('a name that differs only in punctuation from one given before is refused', async () => {
  const services = { session: context.db.system, keys: context.keys };
  const create = (name: string) =>
    createOperator(services, { name, role: 'viewer', createdBy: undefined });
  await assert.rejects(create('a.da'), /too similar to ada/);
  await assert.rejects(create('a-d_a'), /too similar to ada/);
  await create('lee.ann');
  await as(ada)('operator revoke', { name: 'lee.ann', reason: 'Left' });
  await assert.rejects(create('leeann'), /too similar to lee\.ann/);
  await assert.rejects(
    context.db.system.query(
      {
        name: '',
        text: `insert into operators (id, name, role, secret_hash, mac, created_at, key_created_at)
          select gen_random_uuid(), 'b_ob', role, secret_hash, mac, now(), now()
          from operators where name = 'bob'`,
      },
      [],
    ),
    /operators_similar_name/,
  );
  for (const name of ['Ada', 'ad\u200ba', '\u0430da']) {
    const values = { name, role: 'viewer', reason: 'Hired' };
    await assert.rejects(as(ada)('operator create', values), /must be 2 to 40 of a to z/);
  }
});

test('what can only fail is refused at once, and waits for no second person', async () => {
  const before = await openRequests();
  const reason = 'Test';
  const user = formatToken('user', idOfNothing);
  const until = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
  const cases: [string, Record<string, string>, RegExp][] = [
    ['limit remove', { account, name: 'daily', reason }, /no limit of this name/],
    ['operator create', { name: 'ad.a', role: 'viewer', reason }, /too similar to ada/],
    ['operator invite', { name: 'nobody', reason }, /no operator nobody/],
    ['user erase', { user, reason }, /user not found/],
    ['user release-hold', { hold: idOfNothing, reason }, /No legal hold/],
    ['screening clear', { user, result: '1', until, reason }, /user not found/],
    ['screening decide', { user, result: '1', decision: 'cleared', reason }, /user not found/],
    ['rule set', { account: idOfNothing, policy: '{"rules":[]}', reason }, /account not found/],
  ];
  for (const [command, values, refusal] of cases) {
    await assert.rejects(as(ada)(command, values), refusal, command);
  }
  assert.deepEqual(await openRequests(), before);
});

test('a request does not outlive that its requester could do it alone', async () => {
  const zoe = await createCommander(context, { name: 'zoe' });
  const setLimit = async (above: string) => {
    const policy = { action: 'funding', persons: '2', 'above-usd': above, reason: 'Audit' };
    await as(ada)('policy set', policy);
    await zoe('policy set', policy);
  };
  assert.equal(resultOf(await as(ada)('account fund', funding('wire 7'))), 'waiting');
  await setLimit('1000000');
  assert.equal(resultOf(await as(ada)('account fund', funding('wire 7'))), 'booked');
  assert.ok(!(await openRequests()).includes('wire 7'));
  await setLimit('10000');
});
