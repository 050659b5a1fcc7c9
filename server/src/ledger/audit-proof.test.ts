import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { appendAudit, appendClientAudit } from '../audit/audit.ts';
import { newId } from '../core/ids.ts';
import { verifyChains } from './chain-source.ts';

/** What the owner of the database writes into the audit log, with the trigger that links its entries. */

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest({ environmentName: 'live' });
  owner = await money.createOwner();
});
after(() => money[Symbol.asyncDispose]());

async function findFaults(): Promise<string[]> {
  const trusted = { keys: [], outside: [], vouching: money.keys };
  const { findings } = await verifyChains(money.db, trusted);
  return findings
    .filter(({ chain }) => chain === 'audit')
    .map(({ code, place }) => `${place}: ${code}`);
}

const ada = { kind: 'operator', id: newId(), name: 'ada', role: 'owner', address: 'host' } as const;

/** The sequence of the new entry. */
async function append(reason = 'Test'): Promise<string> {
  const { db, keys } = money;
  const id = await appendAudit(
    { session: db.system, keys },
    { actor: ada, action: 'account fund', object: { amount: '5' }, reason, outcome: 'done' },
  );
  const [row] = await money.rows<{ sequence: bigint }>(
    'select sequence from audit_entries where id = $1',
    [id],
  );
  return String(row?.sequence);
}

const copied = `actor_kind, actor_id, actor, role, credential, address, action, object, account_id,
  reason, request_id, outcome, state_before, state_after, mac`;

test('entries of operators and clients are sound', async () => {
  await append();
  const { db, keys } = money;
  const client = { ...owner, credentialId: newId(), address: '127.0.0.1', requestId: 'r' };
  await db.tenantTransaction(owner.accountId, (session) =>
    appendClientAudit({ session, keys }, client, { action: 'webhook create', after: { a: '1' } }),
  );
  assert.deepEqual(await findFaults(), []);
});

test('an entry that was written past the service is found, although the chain links it', async () => {
  const sequence = await append();
  const [entry] = await money.rows<{ sequence: bigint }>(
    `insert into audit_entries (id, created_at, ${copied})
     select gen_random_uuid(), clock_timestamp(), ${copied} from audit_entries where sequence = $1
     returning sequence`,
    [sequence],
  );
  assert.deepEqual(await findFaults(), [`${entry?.sequence}: not_vouched`]);
});

test('an entry that was changed together with its link, before it was signed, is found', async () => {
  const faults = await findFaults();
  const sequence = await append('Wire of the 3rd');
  await money.ownerTransaction(async (session) => {
    const run = (text: string) => session.query({ name: '', text }, []);
    await run('create temporary table copied on commit drop as select * from audit_entries');
    await run('set local session_replication_role = replica');
    await run(`delete from audit_entries where sequence = ${sequence}`);
    await run(`update audit_head set sequence = sequence - 1,
      hash = (select hash from audit_entries order by sequence desc limit 1)`);
    await run('set local session_replication_role = origin');
    await run(`insert into audit_entries (id, created_at, ${copied})
      select id, created_at, ${copied.replace(' actor,', ` 'bob',`)}
      from copied where sequence = ${sequence}`);
  });
  assert.deepEqual(await findFaults(), [...faults, `${sequence}: not_vouched`]);
});
