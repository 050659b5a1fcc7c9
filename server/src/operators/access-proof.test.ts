import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createCommander } from '../../testing/setups/commands.ts';
import { createLiveSetup, type LiveSetup } from '../../testing/setups/live.ts';
import { type CommandContext, openContext } from '../cli/context.ts';
import { findRevivedAccess } from './access-proof.ts';
import { findGenuineOperator } from './operators.ts';
import { getPolicy } from './policies.ts';

/** Rows from before their end, put back by the owner of the database with their genuine codes. */

let setup: LiveSetup;
let context: CommandContext;
before(async () => {
  setup = await createLiveSetup();
  context = await openContext(setup.config(), { name: 'live', realNowMs: Date.now });
});
after(async () => {
  await context[Symbol.asyncDispose]();
  await setup.close();
});

async function asOwner(...statements: readonly string[]): Promise<void> {
  await context.db.systemTransaction(async (session) => {
    const past = ['set local role none', 'set local session_replication_role = replica'];
    for (const text of [...past, ...statements]) await session.query({ name: '', text }, []);
  });
}
const put = (table: string, key: string) => [
  `delete from ${table} where ${key}`,
  `insert into ${table} select * from kept_${table} where ${key}`,
];

test('an operator, a credential and a policy that come back are found by the audit log', async () => {
  const ada = await createCommander(context, { name: 'ada' });
  const bob = await createCommander(context, { name: 'bob' });
  await createCommander(context, { name: 'eve' });
  const both = async (name: string, values: Record<string, string>) => {
    await ada(name, values);
    return (await bob(name, values)) as Record<string, string>;
  };
  const reason = 'a test';
  const { account = '' } = await both('account create', { name: 'One', reason });
  const kind = { account, kind: 'api_key', reason };
  const { credential_id: credential = '' } = await both('credential create', kind);
  await both('policy set', { action: 'limit', persons: '1', reason });
  await asOwner(
    ...['operators', 'credentials', 'policies'].map(
      (table) => `create table kept_${table} as select * from ${table}`,
    ),
  );
  await both('policy set', { action: 'limit', persons: '2', reason });
  await ada('operator revoke', { name: 'eve', reason });
  await ada('credential revoke', { account, credential, reason });
  assert.deepEqual(await findRevivedAccess(context.db), []);

  await asOwner(
    ...put('operators', `name = 'eve'`),
    ...put('credentials', `id = '${credential}'`),
    ...put('policies', `action = 'limit'`),
  );
  const services = { session: context.db.system, keys: context.keys };
  assert.ok(await findGenuineOperator(services, 'eve'), 'their codes fit');
  assert.equal((await getPolicy(services, 'limit')).persons, 1);
  assert.deepEqual(await findRevivedAccess(context.db), [
    { kind: 'credential', name: credential },
    { kind: 'operator', name: 'eve' },
    { kind: 'policy', name: 'limit' },
  ]);
});
