import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { createChainedAccount } from '../../testing/setups/chains.ts';
import { stepBack } from '../../testing/setups/clock-step.ts';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { createKeyRing, newDataKey } from '../core/sealing.ts';
import { openVerifyingKeys } from '../core/verifying-keys.ts';
import type { Database } from '../db/postgres/pool.ts';
import { isSigned, readStatement } from './chain.ts';
import { exportChains, verifyExport } from './chain-export.ts';
import { verifyChains } from './chain-source.ts';
import { listHeadsOf } from './checkpoints.sql.ts';
import {
  type CheckpointServices,
  measureUnsigned,
  readCheckpoints,
  signAccount,
  signAllHeads,
  signCheckpoints,
} from './checkpoints.ts';
import { provePayout, readPayoutProof, verifyPayoutProof } from './payout-proof.ts';

/** Changes that the owner of the database makes past the service. */

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

/** As the database's owner, with every trigger out of the way. */
async function tamper(...statements: readonly string[]): Promise<void> {
  await money.db.systemTransaction(async (session) => {
    const asOwner = ['set local role none', 'set local session_replication_role = replica'];
    for (const text of [...asOwner, ...statements]) {
      await session.query({ name: '', text }, []);
    }
  });
}

const trusted = () => ({
  keys: openVerifyingKeys(money.keys.signingKeys),
  outside: readCheckpoints(services.file),
});

/** The findings about the account of the test. */
async function findFaults(): Promise<string[]> {
  const { findings } = await verifyChains(money.db, trusted());
  return findings
    .filter(({ account_id: id }) => id === owner.accountId)
    .map(({ chain, code, place }) => `${chain} ${place}: ${code}`);
}

/** The link whose journals include that of the payout's commit. */
async function linkOf(payoutId: string): Promise<string> {
  const [link] = await money.rows<{ number: bigint }>(
    `select l.number from ledger_links l
    join ledger_journals j on j.account_id = l.account_id and j.id between l.first_id and l.last_id
    where j.payout_id = $1 and j.kind = 'commit'`,
    [payoutId],
  );
  return String(link?.number);
}

const journal = (index: number): string =>
  `account_id = '${owner.accountId}' and payout_id = '${payouts[index]}' and kind = 'commit'`;

describe('the chain of journals and events', () => {
  it('is sound after commits, and signed', async () => {
    await signCheckpoints(services);
    assert.deepEqual(await findFaults(), []);
    assert.ok(readCheckpoints(services.file).length > 0);
  });

  it('locates a journal with one changed digit', async () => {
    await tamper(`update ledger_journals set fee = fee + 1 where ${journal(1)}`);
    assert.deepEqual(await findFaults(), [
      `ledger ${await linkOf(payouts[1] ?? '')}: rows_changed`,
    ]);
  });

  it('locates two journals that exchanged their payouts', async () => {
    await tamper(`update ledger_journals set payout_id =
      case payout_id when '${payouts[0]}' then '${payouts[1]}'::uuid else '${payouts[0]}'::uuid end
      where account_id = '${owner.accountId}' and payout_id in ('${payouts[0]}', '${payouts[1]}')`);
    const links = await Promise.all(payouts.slice(0, 2).map(linkOf));
    const expected = links.toSorted().map((link) => `ledger ${link}: rows_changed`);
    assert.deepEqual((await findFaults()).toSorted(), expected);
  });

  it('locates a removed journal, and an event removed from the middle', async () => {
    const link = await linkOf(payouts[1] ?? '');
    const [event] = await money.rows<{ sequence: bigint }>(
      `select sequence from events where subject_id = $1 and type = 'payout.processing'`,
      [payouts[1]],
    );
    await tamper(
      `delete from ledger_journals where ${journal(1)}`,
      `delete from events where account_id = '${owner.accountId}' and sequence = ${event?.sequence}`,
    );
    assert.deepEqual(await findFaults(), [
      `ledger ${link}: rows_missing`,
      `events ${event?.sequence}: rows_missing`,
    ]);
  });

  it('finds the last journal gone with its link, once that was signed', async () => {
    const link = await linkOf(payouts[2] ?? '');
    await signCheckpoints(services);
    await tamper(
      `delete from ledger_journals where ${journal(2)}`,
      `delete from ledger_links where account_id = '${owner.accountId}' and number = ${link}`,
      `delete from chain_checkpoints where account_id = '${owner.accountId}'`,
    );
    assert.deepEqual(await findFaults(), [`ledger ${link}: end_missing`]);
  });

  it('finds the last event gone, with its link', async () => {
    const of = `account_id = '${owner.accountId}'`;
    const [last] = await money.rows<{ sequence: bigint }>(
      `select max(sequence) as sequence from events where ${of}`,
    );
    await tamper(
      `delete from events where ${of} and sequence = ${last?.sequence}`,
      `delete from event_links where ${of} and last_sequence = ${last?.sequence}`,
    );
    assert.deepEqual(await findFaults(), [`events ${last?.sequence}: end_missing`]);
  });

  it('finds a journal that was inserted past the service', async () => {
    await tamper(`insert into ledger_journals (account_id, id, kind, source_currency, source_amount,
        wallet_balance, created_at)
      select account_id, 'ffffffff-0000-7000-8000-000000000000', kind, source_currency,
        99999900, wallet_balance, created_at
      from ledger_journals where account_id = '${owner.accountId}' and kind = 'fund'`);
    assert.deepEqual(await findFaults(), ['ledger : not_linked']);
  });

  it('finds a chain that was written anew, with its hashes', async () => {
    await signCheckpoints(services);
    const link = await linkOf(payouts[2] ?? '');
    const of = `account_id = '${owner.accountId}'`;
    await tamper(`update ledger_journals set fee = fee + 1 where ${journal(2)}`);
    // The attacker knows the algorithm, but not the key.
    await tamper(
      `create temporary table copied on commit drop as select * from ledger_journals where ${journal(2)}`,
      `delete from ledger_links where ${of} and number = ${link}`,
      `delete from ledger_journals where ${journal(2)}`,
      'set local session_replication_role = origin',
      'alter table ledger_journals disable trigger update_balances',
      'insert into ledger_journals select * from copied',
      'alter table ledger_journals enable trigger update_balances',
    );
    assert.deepEqual(await findFaults(), [`ledger ${link}: checkpoint_differs`]);
  });
});

describe('a pass that signs heads', () => {
  const countUnsigned = async (accountId: string) =>
    (await listHeadsOf(money.db.system, [accountId], money.keys.signing.id)).length;

  it('signs those of an account although another one was signed on demand much later', async () => {
    await signCheckpoints(services);
    await money.quoteAndCommit(owner);
    await money.advance(3_600_000);
    const other = await money.createOwner({ USD: 1_000_000n });
    await signAccount(services, other.accountId);
    assert.equal(await countUnsigned(owner.accountId), 1);
    assert.ok((await measureUnsigned(money.db.system)) >= 3600);
    await signCheckpoints(services);
    assert.equal(await countUnsigned(owner.accountId), 0);
  });

  it('signs those that move after a step back of the clock', async () => {
    await signCheckpoints(services);
    await money.advance(7_200_000);
    await money.createOwner({ USD: 1n });
    await signCheckpoints(services);
    await stepBack(money, 1, async () => {
      await money.quoteAndCommit(owner);
      await signCheckpoints(services);
      assert.equal(await countUnsigned(owner.accountId), 0);
    });
  });
});

describe('an export of the chains', () => {
  it('verifies without the database, and shows one flipped byte and a cut', async () => {
    await signCheckpoints(services);
    const path = join(folder, 'export.jsonl');
    await exportChains(money.db, path);
    const trust = { keys: money.keys.signing.publicPem, outside: [] };
    const of = async (file: string) =>
      (await verifyExport(file, trust)).findings.filter(
        ({ account_id: id }) => id === owner.accountId,
      );
    assert.deepEqual(await of(path), []);
    const text = readFileSync(path, 'utf8');
    const changed = join(folder, 'changed.jsonl');
    writeFileSync(
      changed,
      text.replace(`"payout_id":"${payouts[0]}"`, `"payout_id":"${payouts[1]}"`),
    );
    assert.deepEqual(
      (await of(changed)).map(({ place, code }) => [place, code]),
      [[await linkOf(payouts[0] ?? ''), 'rows_changed']],
    );
    writeFileSync(changed, text.split('\n').slice(0, -3).join('\n'));
    await assert.rejects(verifyExport(changed, trust), /cut off/);
  });

  it('leaves no file behind when it fails half-way', async () => {
    const path = join(folder, 'export.jsonl');
    const failing: Database = {
      ...money.db,
      systemTransaction: (work) =>
        money.db.systemTransaction((session) =>
          work({
            query: (statement, values) =>
              statement.text.includes('ledger_links')
                ? Promise.reject(new Error('the connection is gone'))
                : session.query(statement, values),
          }),
        ),
    };
    await assert.rejects(exportChains(failing, path), /the connection is gone/);
    assert.equal(existsSync(path), false);
    await exportChains(money.db, path);
    await assert.rejects(exportChains(money.db, path), { code: 'EEXIST' });
    assert.ok(existsSync(path), 'an earlier export is kept');
  });
});

describe('the proof of a payout', () => {
  it('leads from its journals and events to a signed checkpoint', async () => {
    const { accountId } = owner;
    const payoutId = payouts[0] ?? '';
    const session = money.db.tenant(accountId);
    const proof = await provePayout(services, session, { accountId, payoutId });
    const pem = money.keys.signing.publicPem;
    assert.match(proof.links[0]?.checkpoint.signature ?? '', /^[A-Za-z0-9+/]{86}==$/);
    const { journals, events } = verifyPayoutProof(proof, pem);
    assert.deepEqual(
      journals.map(({ kind }) => kind),
      ['commit'],
    );
    assert.deepEqual(
      events.map(({ type }) => type),
      ['payout.pending', 'payout.processing'],
    );
    const forged = structuredClone(proof);
    const row = forged.links[0]?.rows.find((one) => one.row !== undefined)?.row;
    assert.ok(row !== undefined && 'fee' in row);
    row.fee = '0';
    assert.throws(() => verifyPayoutProof(forged, pem), /a row was changed/);
    const moved = structuredClone(proof);
    moved.links[0]?.path.pop();
    assert.throws(() => verifyPayoutProof(moved, pem), /does not lead to its checkpoint/);
  });

  it('does not show what no hash covers', async () => {
    const { accountId } = owner;
    const payoutId = payouts[0] ?? '';
    const proof = await provePayout(services, money.db.tenant(accountId), { accountId, payoutId });
    const added = JSON.stringify(proof).replace(
      '"kind":"commit"',
      '"kind":"commit","note":"paid twice"',
    );
    assert.match(added, /paid twice/);
    const { journals } = verifyPayoutProof(readPayoutProof(added), money.keys.signing.publicPem);
    assert.doesNotMatch(JSON.stringify(journals), /paid twice/);
  });

  it('in another form is refused, and the message names the place', () => {
    const nil = '00000000-0000-0000-0000-000000000000';
    const links = [{ chain: 'ledger', place: 'first' }];
    const text = JSON.stringify({ account_id: nil, payout_id: nil, links });
    assert.throws(
      () => readPayoutProof(text),
      /^Error: the proof .* at links\.0\.place: must be a decimal/,
    );
    assert.throws(() => readPayoutProof('nothing'), /the proof must be JSON/);
    writeFileSync(services.file, '{"statement":""}\n');
    assert.throws(() => readCheckpoints(services.file), /the checkpoint in line 1 .* at signature/);
  });
});

describe('the file of checkpoints', () => {
  const countFile = async () => {
    const readFile = () => readCheckpoints(services.file);
    const { file } = await verifyChains(money.db, { ...trusted(), readFile });
    return file ?? { checkpoints: 0, missing: 0 };
  };

  it('that was rolled back or removed lacks checkpoints that the database has', async () => {
    await signCheckpoints(services);
    // Those of other tests have files of their own.
    const { checkpoints, missing } = await countFile();
    assert.ok(checkpoints > 1);
    const [first = ''] = readFileSync(services.file, 'utf8').split('\n');
    writeFileSync(services.file, `${first}\n`);
    assert.equal((await countFile()).missing, missing + checkpoints - 1);
    rmSync(services.file);
    assert.deepEqual(await countFile(), { checkpoints: 0, missing: missing + checkpoints });
  });

  it('whose last line was cut is continued, and the cut line is left out', async () => {
    await signCheckpoints(services);
    const text = readFileSync(services.file, 'utf8');
    const lines = text.trimEnd().split('\n').length;
    writeFileSync(services.file, text.slice(0, -40));
    assert.equal(readCheckpoints(services.file).length, lines - 1);
    // The brace ends the statement, or a part of it, and not the line.
    for (let end = text.lastIndexOf('}', text.length - 3); end > text.lastIndexOf('{"st'); ) {
      writeFileSync(services.file, text.slice(0, end + 1));
      assert.equal(readCheckpoints(services.file).length, lines - 1);
      end = text.lastIndexOf('}', end - 1);
    }
    await money.quoteAndCommit(owner);
    await signCheckpoints(services);
    assert.equal(readCheckpoints(services.file).length, lines);
  });
});

it('a new key signs every head again, and both of its checkpoints verify', async () => {
  await signCheckpoints(services);
  const successor = createKeyRing(newDataKey());
  const later = { ...services, keys: successor };
  await signAllHeads(later);
  await signAllHeads(later);
  const checkpoints = readCheckpoints(services.file).filter(
    (checkpoint) => readStatement(checkpoint).account_id === owner.accountId,
  );
  assert.deepEqual(
    checkpoints.map(({ key_id: id }) => id),
    [money.keys.signing.id, successor.signing.id],
  );
  const keys = openVerifyingKeys([...successor.signingKeys, ...money.keys.signingKeys]);
  const { findings } = await verifyChains(money.db, { keys, outside: checkpoints });
  assert.deepEqual(
    findings.filter(({ account_id: id }) => id === owner.accountId),
    [],
  );
  const { findings: forged } = await verifyChains(money.db, {
    keys: openVerifyingKeys(money.keys.signingKeys),
    outside: [],
  });
  assert.ok(forged.some(({ code }) => code === 'checkpoint_forged'));
});

it('a former key counts for checkpoints of its time only', () => {
  const { signing } = money.keys;
  const stateAt = (signedAt: string) => {
    const none = { place: '0', hash: '' };
    const heads = { account_id: owner.accountId, ledger: none, events: none };
    const content = { environment: 'staging', signed_at: signedAt, ...heads };
    const statement = JSON.stringify(content);
    const signature = signing.sign(Buffer.from(statement)).toString('base64');
    return { statement, signature, key_id: signing.id };
  };
  const [key] = openVerifyingKeys(money.keys.signingKeys);
  assert.ok(key !== undefined);
  const former = [{ ...key, untilMs: Date.parse('2026-01-02T00:00:00Z') }];
  assert.equal(isSigned(stateAt('2026-01-01T23:00:00Z'), former), true);
  assert.equal(isSigned(stateAt('2026-01-02T01:00:00Z'), former), false);
  assert.equal(isSigned(stateAt('2026-01-02T01:00:00Z'), [key]), true);
});
