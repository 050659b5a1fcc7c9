import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../../testing/setups/money.ts';
import { createGroupCommit } from '../../payouts/group-commit.ts';
import { migrate } from '../migrate.ts';
import { openMonths } from '../partitions.ts';
import { connectDatabase, type Database } from './pool.ts';
import { ensureTenantRole } from './tenant-role.ts';

/** A login that owns nothing: it is a member of the two roles in which the service works. */

let money: MoneyTest;
let db: Database;
const login = `login_${randomBytes(6).toString('hex')}`;

before(async () => {
  money = await createMoneyTest();
  await money.rows(`create role ${login} login password 'secret'`);
  await money.rows(`grant outlay_service, outlay_tenant to ${login}`);
  const url = new URL(money.url);
  url.username = login;
  url.password = 'secret';
  await migrate({ url: url.href });
  await ensureTenantRole({ url: url.href });
  db = connectDatabase({ url: url.href, connectionsMax: 4 });
});
after(async () => {
  await db.close();
  await money.rows(`drop owned by ${login}`);
  await money.rows(`drop role ${login}`);
  await money[Symbol.asyncDispose]();
});

const query = (text: string) => db.system.query({ name: '', text });

describe('a login that owns nothing', () => {
  it('serves: partitions, a funded account, a committed payout', async () => {
    await openMonths(db.system);
    await db.checkReady();
    const owner = await money.createOwner({ USD: 1_000_000n });
    const payout = await money.quote(owner);
    const group = createGroupCommit(db, money.keys);
    const committed = await group.submit({ ...owner, payoutId: payout.id, requestKey: undefined });
    assert.notEqual(committed, undefined);
  });

  const refused = {
    'switches no trigger off': 'alter table ledger_journals disable trigger all',
    'does not silence all triggers': 'set session_replication_role = replica',
    'drops no table': 'drop table ledger_journals',
    'adds no function': `create function public.f() returns int language sql as 'select 1'`,
    'changes no journal': 'update ledger_journals set fee = 0',
    'removes no event': 'delete from events',
    'changes no audit entry': `update audit_entries set actor = 'eve'`,
    'removes no audit entry': 'delete from audit_entries',
    'changes no checkpoint': 'update chain_checkpoints set ledger_number = 0',
    'removes no operator': 'delete from operators',
    'reads no other role': 'set role postgres',
  } as const;
  for (const [name, text] of Object.entries(refused)) {
    it(name, () =>
      assert.rejects(query(text), ({ code }: { code?: string }) =>
        // insufficient_privilege; no such role, or not this login's.
        ['42501', '22023'].includes(code ?? ''),
      ),
    );
  }

  it('cannot become the owner again, where it was given that role at first', async () => {
    const { rows } = await query(
      `select rolsuper or rolbypassrls or rolcreaterole as "isMighty" from pg_roles where rolname = current_user`,
    );
    assert.equal(rows[0]?.['isMighty'], false);
  });
});

it('every table of accounts is under row-level security, for its owner too', async () => {
  const open = await money.rows<{ name: string }>(`
    select c.relname as name from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
      and not c.relispartition and c.relrowsecurity and not c.relforcerowsecurity`);
  assert.deepEqual(open, []);
});

describe("functions with the owner's rights", () => {
  it('are those that clients may call, triggers, and upkeep that only an owner may do', async () => {
    const rows = await money.rows<{ name: string }>(`
      select proname as name from pg_proc
      where pronamespace = 'public'::regnamespace and prosecdef
        and prorettype <> 'trigger'::regtype
        and not has_function_privilege('outlay_tenant', oid, 'execute')
      order by proname`);
    assert.deepEqual(
      rows.map(({ name }) => name),
      [
        'analyze_new_tables',
        'analyze_screening',
        // This one and two more lock an append-only table, which takes the right to change it.
        'close_reconciliation',
        'drop_month',
        'end_hashes_of_user',
        'import_bank_file',
        'open_months',
        'record_matches',
        // The code, the ciphertext or the keyed hash of a row that is append-only otherwise.
        'renew_attribute_fingerprints',
        'renew_audit_entries',
        'renew_balance_bookings',
        'renew_clearance_subjects',
        'renew_observations',
        'renew_payout_decisions',
        'renew_payout_subjects',
        'renew_recovery_releases',
        'renew_screening_subjects',
        'renew_webhook_deliveries',
      ],
    );
  });

  // Their statements would be planned again whenever a lane goes from one role to the other.
  it('are not called by groups of commands', async () => {
    const rows = await money.rows<{ name: string }>(`
      select proname as name from pg_proc
      where pronamespace = 'public'::regnamespace and prosecdef and proname = any (array[
        'create_payouts', 'commit_payouts', 'commit_batch_rows', 'apply_observations',
        'claim_dispatches'])`);
    assert.deepEqual(rows, []);
  });
});
