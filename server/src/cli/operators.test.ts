import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createCommander } from '../../testing/setups/commands.ts';
import { createLiveSetup, type LiveSetup } from '../../testing/setups/live.ts';
import { ConfigError, RefusedCommand } from '../config.ts';
import { openChain } from '../environment/chain.ts';
import { readPublicKey } from '../ledger/chain.ts';
import { verifyChains } from '../ledger/chain-source.ts';
import { readCheckpoints, signCheckpoints } from '../ledger/checkpoints.ts';
import { authenticateOperator, createOperator } from '../operators/operators.ts';
import { getPolicy } from '../operators/policies.ts';
import { type CommandContext, openContext } from './context.ts';
import { readCommand } from './program.ts';

type Entry = { action: string; outcome: string; actor: string; reason: string; address: string };
type Run = Awaited<ReturnType<typeof createCommander>>;

let setup: LiveSetup;
let context: CommandContext;
let [ada, bob]: Run[] = [];
let account: string;

before(async () => {
  setup = await createLiveSetup();
  context = await openContext(setup.config(), { name: 'live', realNowMs: Date.now });
  ada = await createCommander(context, { name: 'ada' });
  bob = await createCommander(context, { name: 'bob', role: 'approver' });
  ({ account } = (await ada('account create', { name: 'One' })) as { account: string });
});
after(async () => {
  await context[Symbol.asyncDispose]();
  await setup.close();
});

const services = () => ({ session: context.db.system, keys: context.keys });
const as = (run: Run | undefined): Run => run ?? assert.fail('created before the tests');
const isWaiting = (result: unknown) =>
  assert.equal((result as Entry & { result: string }).result, 'waiting');

/** As the owner of the database, past the triggers. */
async function tamper(...statements: readonly string[]): Promise<void> {
  await context.db.systemTransaction(async (session) => {
    const asOwner = ['set local role none', 'set local session_replication_role = replica'];
    for (const text of [...asOwner, ...statements]) {
      await session.query({ name: '', text }, []);
    }
  });
}

describe('two people', () => {
  it('fund an account above the value of the policy: never one person twice', async () => {
    const booking = { account, currency: 'USD', amount: '10000.01', reference: 'wire 7' };
    const values = { ...booking, reason: 'Wire 7' };
    const balance = async () => JSON.stringify(await as(ada)('account list'));
    const { reason: _, ...unexplained } = values;
    await assert.rejects(as(ada)('account fund', unexplained), /--reason is missing/);
    const before = await balance();
    isWaiting(await as(ada)('account fund', values));
    isWaiting(await as(ada)('account fund', { ...values, reason: 'Again' }));
    assert.equal(await balance(), before);
    const waiting = (await as(bob)('approval list')) as { requested_by: string; action: string }[];
    assert.deepEqual(
      waiting.map(({ action, requested_by: by }) => [action, by]),
      [['account fund', 'ada']],
    );
    // Another amount is another request.
    isWaiting(await as(bob)('account fund', { ...values, amount: '10000.02' }));
    const done = await as(bob)('account fund', values);
    assert.equal((done as { balance: string }).balance, '10000.01');
    isWaiting(await as(bob)('account fund', { ...values, reference: 'wire 8' }));
  });

  it('are not needed up to that value', async () => {
    const booking = { account, currency: 'USD', reference: 'wire 9', reason: 'Wire 9' };
    const done = await as(ada)('account fund', { ...booking, amount: '10000' });
    assert.equal((done as { balance: string }).balance, '20000.01');
  });

  it('create credentials and operators, and change the policy itself', async () => {
    isWaiting(await as(ada)('credential create', { account, kind: 'api_key', reason: 'New' }));
    isWaiting(await as(ada)('operator create', { name: 'eve', role: 'viewer', reason: 'Hired' }));
    const policy = { action: 'funding', persons: '1', reason: 'Trust' };
    isWaiting(await as(ada)('policy set', policy));
    await assert.rejects(as(bob)('policy set', policy), RefusedCommand);
    assert.equal((await getPolicy(services(), 'funding')).persons, 2);
  });

  it('are needed everywhere once a policy was changed past the service', async () => {
    await tamper(`update policies set above_usd = 999999999 where action = 'funding'`);
    const { persons, aboveUsd } = await getPolicy(services(), 'funding');
    assert.deepEqual([persons, aboveUsd], [2, 0n]);
  });
});

describe('an operator', () => {
  it('does what the role permits', async () => {
    const viewer = await createCommander(context, { name: 'vic', role: 'viewer' });
    assert.equal(((await viewer('account list')) as unknown[]).length, 1);
    await assert.rejects(
      viewer('account create', { name: 'Two' }),
      (error: Error) =>
        error instanceof RefusedCommand && /needs one of the roles/.test(error.message),
    );
    const [last] = (await as(ada)('audit list', { limit: '1' })) as Entry[];
    assert.deepEqual(
      [last?.action, last?.outcome, last?.actor],
      ['account create', 'refused', 'vic'],
    );
  });

  it('is known by a key alone, which a written or changed row does not have', async () => {
    const made = await createOperator(services(), {
      name: 'mal',
      role: 'viewer',
      createdBy: undefined,
    });
    assert.equal((await authenticateOperator(services(), made.key))?.name, 'mal');
    await tamper(`update operators set role = 'owner' where name = 'mal'`);
    assert.equal(await authenticateOperator(services(), made.key), undefined);
    await tamper(`update operators set role = 'viewer' where name = 'mal'`);
    assert.equal(await authenticateOperator(services(), `${made.key.slice(0, -2)}AA`), undefined);
    await as(ada)('operator revoke', { name: 'mal', reason: 'Left' });
    assert.equal(await authenticateOperator(services(), made.key), undefined);
    await assert.rejects(
      createOperator(services(), { name: 'mal', role: 'viewer', createdBy: undefined }),
    );
  });

  it('is asked for in live, and created by staging at its first command', async () => {
    const alone = readCommand(['account', 'list', '--environment', 'live']);
    const host = {
      variables: {},
      realNowMs: Date.now,
      openContext: async () => ({ ...context, [Symbol.asyncDispose]: async () => undefined }),
      serve: () => assert.fail('not here'),
    };
    await assert.rejects(
      Promise.resolve(alone?.run(host)),
      (error: Error) =>
        error instanceof ConfigError && /set OUTLAY_OPERATOR_KEY/.test(error.message),
    );
    const staging = await createLiveSetup();
    try {
      const config = { ...setup.config(), OUTLAY_DATA: setup.folder };
      const file = join(setup.folder, 'staging.operator');
      writeFileSync(file, 'op_of_another_database\n');
      const named = { ...context, name: 'staging', config } as const;
      // No operator is left of this environment's own.
      await tamper('create table kept as table operators', 'delete from operators');
      await readCommand(['account', 'list'])?.run({
        ...host,
        openContext: async () => ({ ...named, [Symbol.asyncDispose]: async () => undefined }),
      });
      const key = readFileSync(file, 'utf8').trim();
      assert.equal((await authenticateOperator(services(), key))?.role, 'owner');
      assert.equal(statSync(file).mode & 0o777, 0o600);
      await tamper('delete from operators', 'insert into operators table kept', 'drop table kept');
    } finally {
      await staging.close();
    }
  });
});

describe('the audit log', () => {
  const trusted = () => ({
    key: readPublicKey(context.keys.signing.publicPem),
    outside: readCheckpoints(openChain(context).file),
  });
  const findFaults = async () =>
    (await verifyChains(context.db, trusted())).findings
      .filter(({ chain }) => chain === 'audit')
      .map(({ code, place }) => `${place}: ${code}`);

  it('has who, what, why, from where, and what changed', async () => {
    await as(ada)('policy set', { action: 'erasure', persons: '2', reason: 'Review' });
    const second = await createCommander(context, { name: 'olga' });
    await second('policy set', { action: 'erasure', persons: '2', reason: 'Review' });
    const entries = (await as(ada)('audit list', { action: 'policy set' })) as (Entry & {
      before: unknown;
      after: unknown;
    })[];
    const [done, requested] = entries;
    assert.deepEqual([done?.outcome, done?.actor, done?.reason], ['done', 'olga', 'Review']);
    assert.equal(requested?.outcome, 'requested');
    assert.match(done?.address ?? '', /^.+@.+/);
    assert.deepEqual(done?.before, { action: 'erasure', persons: 2, above_usd: '0' });
  });

  it('is append-only, and a changed, removed or truncated entry is found', async () => {
    await assert.rejects(
      context.db.system.query({ name: '', text: `update audit_entries set actor = 'eve'` }),
      /permission denied/,
    );
    await signCheckpoints(openChain(context));
    assert.deepEqual(await findFaults(), []);
    await tamper(`update audit_entries set reason = 'Other' where sequence = 3`);
    assert.deepEqual(await findFaults(), ['3: rows_changed']);
    await tamper(`delete from audit_entries where sequence = 3`);
    assert.deepEqual(await findFaults(), ['4: link_missing']);
    await tamper('delete from audit_entries', 'update audit_head set sequence = 0, hash = default');
    const [fault = ''] = await findFaults();
    assert.match(fault, /^\d+: end_missing$/);
  });
});
