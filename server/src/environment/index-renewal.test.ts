import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sandboxCatalog } from '../../testing/setups/destinations.ts';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { asFile, loadLists, person, sdnLine, sdnLines } from '../../testing/setups/screening.ts';
import { corridorOf, formatAttributeToken, storeAttributes } from '../attributes/attributes.ts';
import { getProfile } from '../attributes/requirements.ts';
import { createKeyRing, type KeyRing, newDataKey } from '../core/sealing.ts';
import type { IndexCounts } from '../db/indexed-tables.ts';
import { eraseUser } from '../erasure/erasure.ts';
import { clearEntries } from '../screening/clearances.ts';
import { type PayoutToScreen, screenPayouts } from '../screening/payout-screenings.ts';
import { recordDecision, screenUsers } from '../screening/records.ts';
import { decideSeenResults, readSeenResults } from '../screening/seen-results.ts';
import { askService, type PayoutToAsk, requestOpinions } from '../screening/service/opinions.ts';
import { indexedTables } from './indexed-tables.ts';

/** What persons and services decided about recipients and payouts is known by a new index key too. */

let money: MoneyTest;
let folder: string;
let file: string;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'outlay-index-'));
  file = join(folder, 'erasures.jsonl');
  money = await createMoneyTest();
  const sdn = asFile([...sdnLines, sdnLine({ id: 301, name: 'GOMEZ, Ana' })]);
  const reports = await loadLists(money.db, { sdn }, { acceptWarnings: true });
  assert.ok(reports.every(({ ok }) => ok));
});
after(async () => {
  await money[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const ana = person('Ana', 'Gómez', { countryCode: 'MEX' });
const holder = 'Timofey Zverovsky';

const services = (keys: KeyRing) => ({ session: money.db.system, keys, db: money.db });

/** Opens what the ring of the test sealed; finds nothing that it wrote, until a renewal. */
const otherRing = (): KeyRing => ({
  ...money.keys,
  blindIndex: createKeyRing(newDataKey()).blindIndex,
});

async function renew(fresh: KeyRing): Promise<Record<string, IndexCounts>> {
  const counts: Record<string, IndexCounts> = {};
  await money.db.systemTransaction(async (session) => {
    for (const table of indexedTables) {
      counts[table.table] = await table.renew({ session, old: money.keys, fresh });
    }
  });
  return counts;
}

async function stateOf(keys: KeyRing, owner: Owner, subject = ana) {
  const [result] = await screenUsers(services(keys), [{ ...owner, person: subject }]);
  return result ?? assert.fail();
}

async function clearByDecision(owner: Owner, subject = ana): Promise<void> {
  const { sequence } = await stateOf(money.keys, owner, subject);
  const decision = { decision: 'cleared', decidedBy: 'ada', reason: 'born later' } as const;
  const { kind } = await recordDecision(services(money.keys), { ...owner, sequence, ...decision });
  assert.equal(kind, 'recorded');
}

/** A payout to an account whose holder is listed. */
async function payListed(owner: Owner): Promise<PayoutToAsk> {
  const payer = sandboxCatalog
    .payersIn('CHN')
    .find(
      ({ deliveryType, currencies }) =>
        deliveryType === 'BANK_DEPOSIT' && currencies.includes('CNY'),
    );
  assert.ok(payer !== undefined);
  const destination = { payer, currency: 'CNY' };
  const profile = getProfile(corridorOf(destination));
  const attributes = { BankAccountNumber: '6212345678901232', BankAccountName: holder };
  const { accountId, userId } = owner;
  const { setId: attrSetId } = await money.db.tenantTransaction(accountId, (session) =>
    storeAttributes(
      { session, keys: money.keys, accountId },
      {
        userId,
        destination,
        values: Object.entries(attributes).map(([type, value]) => ({
          token: formatAttributeToken(profile, type as keyof typeof attributes),
          value,
        })),
        attrSetToken: undefined,
        today: '2026-03-01',
      },
    ),
  );
  const { payoutId } = await money.quoteAndCommit(owner, {
    attrSetId,
    countryCode: 'CHN',
    destinationToken: payer.destinationToken,
    destinationCurrency: 'CNY',
  });
  const shared = { person: ana, attributes, destinationCountry: 'CHN', isToWallet: false };
  return { ...owner, payoutId, ...shared };
}

async function isPassed(keys: KeyRing, payout: PayoutToScreen): Promise<boolean> {
  const [result] = await screenPayouts(services(keys), [payout]);
  return result?.hits.length === 1 && result.isPassed;
}

test('decisions, clearances and opinions hold under the new key, and nothing else does', async () => {
  const [decided, listed, changed] = [
    await money.createOwner({ USD: 1_000_000n }),
    await money.createOwner(),
    await money.createOwner(),
  ];
  await clearByDecision(decided);
  const { sequence } = await stateOf(money.keys, listed);
  const until = new Date(Date.now() + 86_400_000);
  const clearance = { entries: undefined, until, clearedBy: 'ada', reason: 'born later' };
  await clearEntries(services(money.keys), { ...listed, sequence, ...clearance });
  // Of data that the recipient no longer has.
  const before = person('Evaristo', 'Obregoso Palmadillo');
  await clearByDecision(changed, before);

  const first = await payListed(decided);
  assert.equal(await isPassed(money.keys, first), false);
  await decideSeenResults(services(money.keys), await readSeenResults(money.db.system, first), {
    decision: 'cleared',
    decidedBy: 'ada',
    reason: 'born later',
  });
  const second = await payListed(decided);
  assert.equal(await isPassed(money.keys, second), true);
  const company = { name: 'company' };
  await requestOpinions(services(money.keys), company, [first]);
  const answer = { result: 'clear' as const, reference: '', matches: [] };
  await askService(
    {
      ...services(money.keys),
      service: { ...company, ask: async () => answer },
      onError: assert.ifError,
    },
    new AbortController().signal,
  );

  const fresh = otherRing();
  const counts = await renew(fresh);
  for (const owner of [decided, listed]) {
    assert.equal((await stateOf(fresh, owner)).state, 'cleared_by_person');
  }
  assert.equal((await stateOf(fresh, changed, before)).state, 'hit', 'a person is asked again');
  assert.equal(await isPassed(fresh, await payListed(decided)), true);
  assert.deepEqual(await requestOpinions(services(fresh), company, [first]), ['clear']);
  const unlike = { ...first, attributes: { ...first.attributes, BankAccountName: 'A. Gomez' } };
  assert.deepEqual(await requestOpinions(services(fresh), company, [unlike]), ['asked']);
  assert.deepEqual(counts['screening_clearances'], { renewed: 1, ended: 0 });
  assert.deepEqual(counts['screenings']?.ended, 2);
  assert.ok((counts['payout_screenings']?.renewed ?? 0) >= 3);
  // Without the renewal, all of this would be asked again.
  const unknown = otherRing();
  assert.equal((await stateOf(unknown, decided)).state, 'hit');
  assert.equal(await isPassed(unknown, await payListed(decided)), false);
});

test('of an erased recipient nothing is left that either key finds', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const payout = await payListed(owner);
  await clearByDecision(owner);
  assert.equal(await isPassed(money.keys, payout), false);
  await money.observe(payout, 'paid');
  const hashes = () =>
    money.rows<{ hash: string }>(
      `select encode(email_index, 'hex') as hash from users where id = $1
       union all select encode(v.fingerprint, 'hex') from attribute_set_versions v
         join attribute_sets s on s.account_id = v.account_id and s.id = v.set_id where s.user_id = $1
       union all select encode(subject_index, 'hex') from screenings where user_id = $1
       union all select encode(subject_index, 'hex') from payout_screenings where user_id = $1
       union all select encode(subject_index, 'hex') from screening_opinions where user_id = $1`,
      [owner.userId],
    );
  await requestOpinions(services(money.keys), { name: 'company' }, [payout]);
  const before = new Set((await hashes()).map(({ hash }) => hash));
  await eraseUser(
    { ...services(money.keys), tombstones: { file, environment: 'staging', keys: money.keys } },
    { ...owner, actor: 'ada', reason: 'asked' },
  );
  const erased = (await hashes()).map(({ hash }) => hash);
  assert.deepEqual(
    erased.filter((hash) => before.has(hash)),
    [],
  );
  assert.ok(before.size >= 5);
  await renew(otherRing());
  assert.equal((await hashes()).length, erased.length);
});
