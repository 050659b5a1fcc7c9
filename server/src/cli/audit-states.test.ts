import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createCommander } from '../../testing/setups/commands.ts';
import { createLiveSetup, type LiveSetup } from '../../testing/setups/live.ts';
import { listAuditEntries } from '../audit/audit.ts';
import { type CommandContext, openContext } from './context.ts';
import { readCommand } from './program.ts';

/** What the audit log says of an effect, and which settings of an account one person changes alone. */

type Run = Awaited<ReturnType<typeof createCommander>>;

let setup: LiveSetup;
let context: CommandContext;
let [ada, bob]: Run[] = [];
let account: string;
let firstOwner: { operator: string };

before(async () => {
  setup = await createLiveSetup();
  context = await openContext(setup.config(), { name: 'live', realNowMs: Date.now });
  const first = await readCommand(['operator', 'create', '--name', 'zoe', '--role', 'owner']);
  firstOwner = (await first?.run({
    variables: { SSH_CONNECTION: '192.0.2.7 50000 192.0.2.1 22' },
    realNowMs: Date.now,
    openContext: async () => ({ ...context, [Symbol.asyncDispose]: async () => undefined }),
    note: () => undefined,
    serve: () => assert.fail('not a service'),
  })) as typeof firstOwner;
  ada = await createCommander(context, { name: 'ada' });
  bob = await createCommander(context, { name: 'bob', role: 'operator' });
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
const resultOf = (answer: unknown): string => (answer as { result?: string }).result ?? 'none';

/** Of the newest entry of a command that took effect. */
async function findStates(action: string): Promise<[unknown, unknown]> {
  const query = { actor: undefined, action, from: undefined, to: undefined, before: undefined };
  const entries = await listAuditEntries(context.db.system, { ...query, count: 20 });
  const done = entries.find(({ outcome }) => outcome === 'done');
  const parse = (text = ''): unknown => (text === '' ? undefined : JSON.parse(text));
  return [parse(done?.state_before), parse(done?.state_after)];
}

describe('the audit log', () => {
  it('names the first owner as the one who created it, and where from', async () => {
    const query = { actor: 'zoe', from: undefined, to: undefined, before: undefined };
    const [entry] = await listAuditEntries(context.db.system, {
      ...query,
      action: 'operator create',
      count: 1,
    });
    assert.deepEqual(
      [entry?.actor_kind, entry?.actor_id, entry?.role, entry?.outcome],
      ['operator', firstOwner.operator, 'owner', 'done'],
    );
    assert.match(entry?.address ?? '', /@.* from 192\.0\.2\.7$/);
  });

  it('has the balance before and after a deposit and a correction', async () => {
    const deposit = { account, currency: 'USD', amount: '12.50', reference: 'w', reason: 'Wire' };
    await as(bob)('account fund', deposit);
    const [empty, funded] = [
      { currency: 'USD', balance: '0' },
      { currency: 'USD', balance: '12.5' },
    ];
    assert.deepEqual(await findStates('account fund'), [empty, funded]);
    const correction = { ...deposit, amount: '-12.50', reference: 'c' };
    await as(bob)('account adjust', correction);
    await as(ada)('account adjust', correction);
    assert.deepEqual(await findStates('account adjust'), [funded, empty]);
  });

  it('has limits, stops and operators as they were and as they are', async () => {
    const limit = { account, name: 'day', per: 'account', reason: 'r' };
    await as(bob)('limit set', { ...limit, usd: '500' });
    await as(bob)('limit set', { ...limit, usd: '400' });
    const [before, changed] = (await findStates('limit set')) as { usd_max: string }[];
    assert.deepEqual([before?.usd_max, changed?.usd_max], ['50000', '40000']);

    await as(bob)('sending stop', { reason: 'r' });
    const [, stopped] = (await findStates('sending stop')) as { freeze?: { scope: string } }[];
    assert.equal(stopped?.freeze?.scope, 'sending');
    for (const run of [bob, ada]) await as(run)('sending resume', { reason: 'r' });
    const [, resumed] = await findStates('sending resume');
    assert.deepEqual(resumed, { result: 'resumed', released: 0 });

    await createCommander(context, { name: 'leaver', role: 'operator' });
    await as(ada)('operator revoke', { name: 'leaver', reason: 'r' });
    const [was, is] = (await findStates('operator revoke')) as { revoked_at: string | null }[];
    assert.equal(was?.revoked_at, null);
    assert.notEqual(is?.revoked_at, null);
  });
});

describe('the settings of an account', () => {
  const set = (run: Run | undefined, values: Record<string, string>) =>
    as(run)('account set', { account, reason: 'r', ...values });

  it('are made stricter by one person, and looser by two', async () => {
    assert.equal(resultOf(await set(bob, { 'identity-two-persons': 'true' })), 'done');
    assert.equal(resultOf(await set(bob, { 'identity-two-persons': 'false' })), 'waiting');
    assert.equal(resultOf(await set(bob, { 'identity-two-persons': 'false' })), 'waiting');
    assert.equal(resultOf(await set(ada, { 'identity-two-persons': 'false' })), 'done');
    const [before, changed] = (await findStates('account set')) as Record<string, unknown>[];
    assert.deepEqual(
      [before?.['identity_two_persons'], changed?.['identity_two_persons']],
      [true, false],
    );
    assert.equal(resultOf(await set(bob, { 'open-quotes': '9999' })), 'done');
    for (const raised of [{ 'open-quotes': '10000' }, { 'open-quotes-usd': '25000001' }]) {
      assert.equal(resultOf(await set(bob, raised)), 'waiting');
      assert.equal(resultOf(await set(ada, raised)), 'done');
    }
    assert.equal(resultOf(await set(bob, { color: '#0b6b4f' })), 'done');
  });
});
