import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createCommander } from '../../testing/setups/commands.ts';
import { createLiveSetup, type LiveSetup } from '../../testing/setups/live.ts';
import { formatToken } from '../core/ids.ts';
import { createUser, prepareUser } from '../users/users.ts';
import { type CommandContext, openContext } from './context.ts';

type Run = Awaited<ReturnType<typeof createCommander>>;
let setup: LiveSetup;
let context: CommandContext;
let [ada, bob, eve]: Run[] = [];
let user: string;
const as = (run: Run | undefined): Run => run ?? assert.fail('created before the tests');

before(async () => {
  setup = await createLiveSetup();
  context = await openContext(setup.config(), { name: 'live', realNowMs: Date.now });
  ada = await createCommander(context, { name: 'ada' });
  bob = await createCommander(context, { name: 'bob', role: 'compliance' });
  eve = await createCommander(context, { name: 'eve', role: 'operator' });
  await ada('account create', { name: 'One', reason: 'New' });
  const created = await eve('account create', { name: 'One', reason: 'New' });
  const { account } = created as { account: string };
  const prepared = prepareUser(
    { keys: context.keys, accountId: account },
    {
      internal_user_id: 'one',
      country: 'MEX',
      first_name: 'Ana',
      last_name: 'Gómez',
      email: 'ana@example.org',
      metadata: undefined,
    },
  );
  user = formatToken('user', (await createUser(context.db.tenant(account), prepared)).id);
});
after(async () => {
  await context[Symbol.asyncDispose]();
  await setup.close();
});

test('in live two operators with the right role erase a recipient, and a hold keeps the data', async () => {
  const held = { user, until: '2999-01-01', reason: 'court order 17' };
  const { hold } = (await as(bob)('user hold', held)) as { hold: string };
  const erasure = { user, reason: 'letter 4' };
  await assert.rejects(as(eve)('user erase', erasure), /needs one of the roles/);
  const result = async (run: Run | undefined) =>
    ((await as(run)('user erase', erasure)) as { result: string }).result;
  assert.equal(await result(ada), 'waiting');
  assert.equal(await result(ada), 'waiting');
  await assert.rejects(result(bob), /legal hold keeps the data of this user until 2999-01-01/);
  const release = { hold, reason: 'order lifted' };
  await as(ada)('user release-hold', release);
  await as(bob)('user release-hold', release);
  assert.deepEqual(await as(ada)('user holds'), []);
  assert.equal(await result(ada), 'waiting');
  assert.equal(await result(bob), 'erased');
  // It needs no second person to see when that was.
  assert.equal(await result(ada), 'erased');
  const entries = await context.db.system.query(
    {
      name: '',
      text: `select outcome from audit_entries where action = 'user erase' order by 1`,
    },
    [],
  );
  assert.ok(entries.rows.length >= 6);
});
