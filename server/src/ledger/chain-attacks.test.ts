import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { createChainedAccount } from '../../testing/setups/chains.ts';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { openVerifyingKeys } from '../core/verifying-keys.ts';
import { digestRows, hashLink, hashRow, type LinkRecord } from './chain.ts';
import { exportChains, verifyExport } from './chain-export.ts';
import { verifyChains } from './chain-source.ts';
import { type CheckpointServices, readCheckpoints, signCheckpoints } from './checkpoints.ts';
import { provePayout, verifyPayoutProof } from './payout-proof.ts';

/** Changes by the owner of the database who knows how the chains are computed and verified. */

let money: MoneyTest;
let folder: string;
let services: CheckpointServices;
let owner: Owner;
let payouts: string[];

before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

let remove: () => void;
beforeEach(async () => {
  ({ folder, services, owner, payouts, remove } = await createChainedAccount(money));
});
afterEach(() => remove());

/** With every trigger out of the way, but for statements after `set local session_replication_role = origin`. */
async function tamper(...statements: readonly string[]): Promise<void> {
  await money.ownerTransaction(async (session) => {
    for (const text of ['set local session_replication_role = replica', ...statements]) {
      await session.query({ name: '', text }, []);
    }
  });
}
const withTriggers = 'set local session_replication_role = origin';

async function findFaults(): Promise<string[]> {
  const { findings } = await verifyChains(money.db, {
    keys: openVerifyingKeys(money.keys.signingKeys),
    outside: readCheckpoints(services.file),
  });
  return findings
    .filter(({ account_id: id }) => id === owner.accountId)
    .map(({ chain, code, place }) => `${chain} ${place}: ${code}`);
}

async function findSequence(payoutId: string | undefined, type: string): Promise<bigint> {
  const [event] = await money.rows<{ sequence: bigint }>(
    'select sequence from events where subject_id = $1 and type = $2',
    [payoutId, type],
  );
  return event?.sequence ?? 0n;
}

test('events that were removed as if their month had been dropped are missing', async () => {
  const sequence = await findSequence(payouts[1], 'payout.processing');
  const of = `account_id = '${owner.accountId}'`;
  await tamper(
    `delete from events where ${of} and sequence = ${sequence}`,
    `update event_links set created_at = '2020-01-01' where ${of} and last_sequence = ${sequence}`,
  );
  assert.deepEqual(await findFaults(), [
    `events ${sequence}: link_changed`,
    `events ${sequence}: rows_missing`,
  ]);
});

test('an event with the sequence of another month is found', async () => {
  const [month] = await money.rows<{ month: string; next: string }>(
    `select month_of(environment_now())::text as month,
       month_of(environment_now() + interval '1 month')::text as next`,
  );
  await tamper(
    withTriggers,
    `update accounts set event_sequence = event_sequence + 2 where id = '${owner.accountId}'`,
    `insert into events (account_id, sequence, month, type, subject_id, created_at)
     select id, event_sequence, m::date, 'payout.hold', '${payouts[0]}', environment_now()
     from accounts, unnest(array['${month?.month}', '${month?.next}']) m
     where id = '${owner.accountId}'`,
  );
  const faults = await findFaults();
  assert.equal(faults.length, 1);
  assert.match(faults[0] ?? '', /^events \d+: rows_changed$/);
});

test('a reason that was moved from the detail of an event to its payload is found', async () => {
  await money.observe({ ...owner, payoutId: payouts[0] ?? '' }, 'hold', {
    details: { exception: 'unknown_outcome' },
  });
  const sequence = await findSequence(payouts[0], 'payout.hold');
  const of = `account_id = '${owner.accountId}' and sequence = ${sequence}`;
  await tamper(
    `update events set detail = 'a|b' where ${of}`,
    `delete from event_links where account_id = '${owner.accountId}' and last_sequence >= ${sequence}`,
    `create temporary table copied on commit drop as select * from events where ${of}`,
    `delete from events where ${of}`,
    withTriggers,
    'insert into events select * from copied',
  );
  assert.deepEqual(await findFaults(), [], 'a chain that was not signed yet can be written anew');
  await tamper(`update events set detail = 'a', payload = 'b' where ${of}`);
  assert.deepEqual(await findFaults(), [`events ${sequence}: rows_changed`]);
});

test('a head that the service has signed twice, before and after a change, is found', async () => {
  await signCheckpoints(services);
  const of = `account_id = '${owner.accountId}'`;
  const last = `number = (select max(number) from ledger_links where ${of})`;
  const [link] = await money.rows<{ number: bigint }>(
    `select number from ledger_links where ${of} and ${last}`,
  );
  const commit = `${of} and payout_id = '${payouts[2]}'`;
  await tamper(
    `update ledger_journals set fee = fee + 1 where ${commit}`,
    `create temporary table copied on commit drop as select * from ledger_journals where ${commit}`,
    `delete from chain_checkpoints where ${of}`,
    `delete from ledger_links where ${of} and ${last}`,
    `delete from ledger_journals where ${commit}`,
    withTriggers,
    'alter table ledger_journals disable trigger update_balances',
    'insert into ledger_journals select * from copied',
    'alter table ledger_journals enable trigger update_balances',
  );
  await signCheckpoints(services);
  assert.deepEqual(await findFaults(), [`ledger ${link?.number}: checkpoint_differs`]);
});

test('a journal among those of a link, in a currency that no balance has, is found', async () => {
  await tamper(`insert into ledger_journals (account_id, id, kind, source_currency, source_amount,
      wallet_balance, created_at)
    select account_id, last_id, 'fund', 'CHF', 5, 5, created_at from ledger_links
    where account_id = '${owner.accountId}' and number = 1`);
  assert.deepEqual(await findFaults(), ['ledger : not_linked']);
});

test('a proof says when it was signed, and shows no link twice', async () => {
  const { accountId } = owner;
  const payoutId = payouts[0] ?? '';
  const begin = new Date().toISOString();
  const proof = await provePayout(services, money.db.tenant(accountId), { accountId, payoutId });
  const pem = money.keys.signing.publicPem;
  const proved = verifyPayoutProof(proof, pem);
  assert.equal(proved.environment, 'staging');
  assert.deepEqual([proved.account_id, proved.payout_id], [accountId, payoutId]);
  assert.ok(proved.signed_at >= begin && proved.signed_at <= new Date().toISOString());
  const twice = { ...proof, links: [...proof.links, ...proof.links.slice(0, 1)] };
  assert.throws(() => verifyPayoutProof(twice, pem), /link \d+ of the ledger is there twice/);
  assert.throws(() => verifyPayoutProof({ ...proof, links: [] }, pem), /the proof has no links/);
});

describe('an export', () => {
  type Line =
    | { type: 'link'; link: LinkRecord }
    | { type: 'checkpoint' }
    | { type: 'end'; links: number };

  /** What an export says that was changed by someone without a key. */
  async function verify(change: (lines: Line[]) => Line[] = (lines) => lines) {
    const path = join(folder, 'export.jsonl');
    const exported = await exportChains(money.db, path);
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const changed = change(lines.map((line) => JSON.parse(line) as Line));
    writeFileSync(path, changed.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const trust = { keys: money.keys.signing.publicPem, outside: [] };
    const { findings, ...proof } = await verifyExport(path, trust);
    const own = findings.filter(({ account_id: id }) => id === owner.accountId);
    return { exported, ...proof, codes: own.map(({ code }) => code) };
  }

  test('ends with what is signed, and says when that was', async () => {
    await signCheckpoints(services);
    const signedAt = new Date().toISOString();
    await money.quoteAndCommit(owner);
    const { exported, codes, ...proof } = await verify();
    assert.equal(exported.unsigned_links, 3, 'a journal and two events');
    assert.deepEqual(codes, []);
    assert.equal(proof.environment, 'staging');
    assert.ok(proof.signed_at !== '' && proof.signed_at <= signedAt);
  });

  test('that was continued by someone without a key is found', async () => {
    await signCheckpoints(services);
    const isOwn = (line: Line) =>
      line.type === 'link' &&
      line.link.account_id === owner.accountId &&
      line.link.chain === 'ledger';
    const { codes } = await verify((lines) => {
      const at = lines.findLastIndex(isOwn);
      const line = lines[at];
      assert.ok(line?.type === 'link');
      const { link } = line;
      const rows = (link.rows ?? []).map((row) => ({ ...row, source_amount: '5' }));
      const place = String(BigInt(link.place) + 1n);
      const next = { ...link, place, rows, digest: digestRows(rows.map(hashRow)) } as LinkRecord;
      const added: Line = { type: 'link', link: { ...next, hash: hashLink(link.hash, next) } };
      const end = lines.at(-1);
      assert.ok(end?.type === 'end');
      return [
        ...lines.slice(0, at + 1),
        added,
        ...lines.slice(at + 1, -1),
        { ...end, links: end.links + 1 },
      ];
    });
    assert.deepEqual(codes, ['not_signed']);
  });

  test('without its checkpoints shows nothing', async () => {
    await signCheckpoints(services);
    await assert.rejects(
      verify((lines) => lines.filter(({ type }) => type !== 'checkpoint')),
      /has no checkpoint/,
    );
  });
});

test('checkpoints are compared some at a time, and each one is', async () => {
  await signCheckpoints(services);
  const count = 2100;
  // The places beside the statement are for look-ups only.
  await money.rows(
    `insert into chain_checkpoints (account_id, ledger_number, event_sequence, statement, signature,
       key_id, created_at)
     select account_id, 1000000 + n, event_sequence, statement, signature, key_id, created_at
     from chain_checkpoints, generate_series(1, ${count}) n where account_id = $1`,
    [owner.accountId],
  );
  const [stored] = await money.rows<{ count: bigint }>(
    'select count(*) as count from chain_checkpoints',
  );
  const proof = await verifyChains(money.db, {
    keys: openVerifyingKeys(money.keys.signingKeys),
    outside: [],
  });
  assert.equal(BigInt(proof.checkpoints), stored?.count, 'none twice, and none left out');
  assert.ok(proof.checkpoints > count);
});
