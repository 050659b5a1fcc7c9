import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, mock, test } from 'node:test';
import { createCommander } from '../../testing/setups/commands.ts';
import { createLiveSetup, type LiveSetup } from '../../testing/setups/live.ts';
import { ConfigError, RefusedCommand } from '../config.ts';
import { openVerifyingKeys } from '../core/verifying-keys.ts';
import { openChain } from '../environment/chain.ts';
import { verifyChains } from '../ledger/chain-source.ts';
import { readCheckpoints, signCheckpoints } from '../ledger/checkpoints.ts';
import { authenticateOperator, createOperator } from '../operators/operators.ts';
import { getPolicy } from '../operators/policies.ts';
import { type CommandContext, openContext } from './context.ts';
import { describeOrigin } from './operator-key.ts';
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
  await ada('account create', { name: 'One', reason: 'New' });
  ({ account } = (await bob('account create', { name: 'One', reason: 'New' })) as {
    account: string;
  });
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

  it('are needed where one operator reaches that value in parts within a day', async () => {
    const cara = await createCommander(context, { name: 'cara', role: 'operator' });
    const part = (reference: string, amount = '4000') =>
      cara('account fund', { account, currency: 'USD', amount, reference, reason: reference });
    // What needed two people does not count.
    isWaiting(await part('whole', '10000.01'));
    const whole = { account, currency: 'USD', amount: '10000.01', reference: 'whole' };
    await as(bob)('account fund', { ...whole, reason: 'Whole' });
    await part('part 1');
    await part('part 2');
    isWaiting(await part('part 3'));
    isWaiting(await part('part 4', '2000.01'));
    const last = (await part('part 5', '2000')) as { result: string };
    assert.equal(last.result, 'booked');
    isWaiting(await part('part 6', '0.01'));
    // A repeat moves nothing, so it needs nobody else.
    assert.equal(((await part('part 1')) as { result: string }).result, 'booked_before');
    // Bob could record it alone, and is the second person for it instead.
    const third = {
      account,
      currency: 'USD',
      amount: '4000',
      reference: 'part 3',
      reason: 'Third',
    };
    assert.equal(((await as(bob)('account fund', third)) as { result: string }).result, 'booked');
    const open = (await as(bob)('approval list')) as { options: { reference?: string } }[];
    assert.ok(open.every(({ options }) => options.reference !== 'part 3'));
  });

  it('are needed also where the parts are recorded at the same moment', async () => {
    const dan = await createCommander(context, { name: 'dan', role: 'operator' });
    const parts = await Promise.allSettled(
      Array.from({ length: 6 }, (_, number) =>
        dan('account fund', {
          account,
          currency: 'USD',
          amount: '4000',
          reference: `burst ${number}`,
          reason: 'Burst',
        }),
      ),
    );
    const booked = parts.filter(
      (part) =>
        part.status === 'fulfilled' && (part.value as { result: string }).result === 'booked',
    );
    assert.equal(booked.length, 2);
    for (const part of parts) {
      if (part.status === 'rejected') assert.match(String(part.reason), /repeat this one/);
    }
  });

  it('create accounts, credentials and operators, and change the policy itself', async () => {
    isWaiting(await as(ada)('credential create', { account, kind: 'api_key', reason: 'New' }));
    isWaiting(await as(ada)('account create', { name: 'Two', reason: 'New' }));
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
  it('whatever the role, replaces the own key, which is in the audit log', async () => {
    const viewer = await createCommander(context, { name: 'ren', role: 'viewer' });
    const renewed = (await viewer('operator renew-key')) as { key: string };
    const known = await authenticateOperator(services(), renewed.key);
    assert.equal(known?.name, 'ren');
    const entries = (await as(ada)('audit list', { limit: '2' })) as Entry[];
    assert.deepEqual(
      entries.map(({ action, outcome, actor }) => [action, outcome, actor]),
      [
        ['operator renew-key', 'done', 'ren'],
        ['operator renew-key', 'requested', 'ren'],
      ],
    );
  });

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
    const end = made.key.endsWith('AA') ? 'BB' : 'AA';
    const wrong = `${made.key.slice(0, -2)}${end}`;
    assert.equal(await authenticateOperator(services(), wrong), undefined);
    await as(ada)('operator revoke', { name: 'mal', reason: 'Left' });
    assert.equal(await authenticateOperator(services(), made.key), undefined);
    await assertLogged(made.key);
    await assert.rejects(
      createOperator(services(), { name: 'mal', role: 'viewer', createdBy: undefined }),
    );
  });

  /** A command with the key of an operator who was revoked is refused, and leaves an entry. */
  async function assertLogged(key: string): Promise<void> {
    const words = ['account', 'create', '--name', 'Two', '--reason', 'Mine'];
    const config = { ...setup.config(), OUTLAY_OPERATOR_KEY: key };
    const opened = { ...context, config, [Symbol.asyncDispose]: async () => undefined };
    const command = await readCommand([...words, '--environment', 'live']);
    await assert.rejects(
      Promise.resolve(
        command?.run({
          variables: {},
          realNowMs: Date.now,
          openContext: async () => opened,
          note: () => undefined,
          serve: () => assert.fail('not here'),
        }),
      ),
      /not, or no longer, that of an operator of live/,
    );
    const [last] = (await as(ada)('audit list', { limit: '1' })) as Entry[];
    assert.deepEqual(
      [last?.action, last?.outcome, last?.actor, last?.reason],
      ['account create', 'refused', 'mal', 'Mine'],
    );
  }

  it('is asked for in live, and created by staging at its first command', async () => {
    const alone = await readCommand(['account', 'list', '--environment', 'live']);
    const host = {
      variables: {},
      realNowMs: Date.now,
      openContext: async () => ({ ...context, [Symbol.asyncDispose]: async () => undefined }),
      note: () => undefined,
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
      await (await readCommand(['account', 'list']))?.run({
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

test('a command of a user without an entry in /etc/passwd, as in a container, says its number', () => {
  const error = Object.assign(new Error('no such user'), { code: 'ERR_SYSTEM_ERROR' });
  const lookUp = mock.method(os, 'userInfo', () => {
    throw error;
  });
  syncBuiltinESMExports();
  try {
    assert.equal(describeOrigin({}), `uid ${process.getuid?.()}@${os.hostname()}`);
  } finally {
    lookUp.mock.restore();
    syncBuiltinESMExports();
  }
});

describe('the audit log', () => {
  const trusted = () => ({
    keys: openVerifyingKeys(context.keys.signingKeys),
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
