import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../server/testing/setups/database.ts';
import { printCommand, runCommand } from './commands.ts';
import { createRecipient, deliveryCases, pay } from './recipients.ts';
import { type Api, createAccount, type Service, startService } from './service.ts';

/**
 * What the owner of the database inserts while the service runs, with every trigger in place: balances
 * and chains stay sound, and `ledger verify` finds each row.
 */

let service: Service;
let database: TestDatabase;
let owner: pg.Client;
let api: Api;

before(async () => {
  database = await createTestDatabase();
  service = await startService({ isOwn: true, settings: { DATABASE_URL: database.url } });
  api = (await createAccount(service, { USD: '10000' })).api;
  owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
});
after(async () => {
  await owner.end();
  await service.stop();
  await database.drop();
});

type Found = Readonly<Record<string, unknown>>;
type Verified = Readonly<Record<string, readonly Found[]>> & { chain: { findings: Found[] } };

const verify = async () =>
  JSON.parse(await printCommand(service, ['ledger', 'verify'])) as Verified & { isSound: boolean };

async function payOne(): Promise<string> {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const { payout_token: token } = await pay(api, recipient);
  return token.replace('payout_', '');
}

test('an entry, an event and a refund that the service did not write are found', async () => {
  const sound = await runCommand(service, ['ledger', 'verify']);
  assert.equal(String(sound['isSound']), 'true', JSON.stringify(sound));
  const [event, refund] = [await payOne(), await payOne()];
  await owner.query(
    `insert into audit_entries (id, created_at, actor_kind, action, outcome, mac)
     values (gen_random_uuid(), now(), 'system', 'account fund', 'done', sha256('') || '\\x00000001')`,
  );
  await owner.query(
    `select write_event(account_id, 'payout.error', id, null, environment_now()) from payouts
     where id = $1`,
    [event],
  );
  await owner.query(
    `insert into observations (account_id, payout_id, id, source, outcome, is_applied, observed_at, mac)
     select account_id, id, gen_random_uuid(), 'query', 'rejected', true, now(),
       sha256('') || '\\x00000001'
     from payouts where id = $1`,
    [refund],
  );
  const { isSound, wrongBalances, wrongEvents, wrongMoves, chain } = await verify();
  assert.deepEqual([isSound, wrongBalances], [false, []]);
  assert.deepEqual(
    chain.findings.map(({ chain: name, code }) => [name, code]),
    [['audit', 'not_vouched']],
  );
  assert.ok(
    wrongEvents?.every((found) => found['subject_id'] === event) && wrongEvents.length > 0,
    JSON.stringify(wrongEvents),
  );
  assert.deepEqual(
    wrongMoves?.map(({ payout_id: id, code, move }) => [id, code, move]),
    [[refund, 'forged', 'rejected']],
  );
});
