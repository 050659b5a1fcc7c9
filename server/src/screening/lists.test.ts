import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  altLine,
  altLines,
  asFile,
  createScreeningTest,
  person,
  screenPerson,
  sdnLine,
  sdnLines,
  unText,
} from '../../testing/setups/screening.ts';
import { countTurns } from '../../testing/setups/turns.ts';
import { openListedWords } from './listed-words.ts';
import { parseOfac } from './ofac.ts';
import { findListedWallets } from './payout-screenings.sql.ts';
import { createScreeningCache, findListFaults, readListsInForce } from './screening.ts';
import { normalizeWallet } from './wallets.ts';

test('an import puts a list in force; importing the same content again changes nothing', async () => {
  await using screening = await createScreeningTest();
  const first = await screening.load();
  assert.deepEqual(
    first.map((report) => report.ok && [report.list, report.isNew, report.entries, report.added]),
    [
      ['ofac_sdn', true, 4, 4],
      ['un_consolidated', true, 2, 2],
    ],
  );
  const before = await readListsInForce(screening.db.system);
  const again = await screening.load();
  assert.deepEqual(
    again.map((report) => report.ok && report.isNew),
    [false, false],
  );
  const after = await readListsInForce(screening.db.system);
  assert.ok(after.fingerprint.equals(before.fingerprint));
  assert.equal(after.versions[1]?.version, '2026-02-27T00:00:09.554Z');
  assert.match(after.versions[0]?.version ?? '', /^sha256:[0-9a-f]{16}$/);
});

test('requests have their turn while a list is read and its words are indexed', async () => {
  await using screening = await createScreeningTest();
  const count = 2_000;
  const lines = Array.from({ length: count }, (_, index) =>
    sdnLine({ id: index + 1, name: `QUARTZ${index} BRIDGE${index}`, type: 'individual' }),
  );
  const alt = asFile([altLine(1, 1, 'Z')]);
  const files = { sdn: asFile(lines), alt };
  const [parsed, turns] = await countTurns(() => parseOfac(files));
  assert.ok(parsed.ok && parsed.entries.length === count);
  assert.ok(turns >= count / 50, `${turns} turns`);
  await screening.load(files);
  const lists = await readListsInForce(screening.db.system);
  const cache = createScreeningCache();
  const [both, turnsOfIndex] = await countTurns(() =>
    Promise.all([1, 2].map(() => openListedWords(screening.db.system, cache, lists))),
  );
  assert.ok(turnsOfIndex >= (2 * count) / 500, `${turnsOfIndex} turns`);
  assert.equal(both[0], both[1], 'those who come meanwhile share the index');
});

test('a new version replaces the old one, which is kept as evidence', async () => {
  await using screening = await createScreeningTest();
  await screening.load();
  const before = await readListsInForce(screening.db.system);
  const sdn = asFile([
    ...sdnLines.slice(0, 2),
    sdnLine({ id: 103, name: 'QUARTZBRIDGE HOLDING' }),
    sdnLine({ id: 106, name: 'NOWAKOWSKY, Petrela', type: 'individual' }),
    ...sdnLines.slice(3),
  ]);
  const [report] = await screening.load({ sdn });
  assert.ok(report?.ok);
  assert.deepEqual([report.isNew, report.added, report.removed], [true, 2, 1]);
  const after = await readListsInForce(screening.db.system);
  assert.ok(!after.fingerprint.equals(before.fingerprint));
  const found = await screenPerson(screening.db.system, person('Petrela', 'Nowakowsky'));
  assert.equal(found.hits[0]?.entryId, '106');
  const gone = person('A', 'B', { businessName: 'Quartzbridge Maritime Trading' });
  assert.equal((await screenPerson(screening.db.system, gone)).isHit, false);
  const entries = await screening.rows<{ name: string; span: string }>(
    `select name, from_sequence || '-' || coalesce(until_sequence::text, '') as span
     from screening_entries where list = 'ofac_sdn' and entry_id = '103' order by from_sequence`,
  );
  assert.deepEqual(
    entries.map(({ name, span }) => `${span} ${name}`),
    ['1-2 QUARTZBRIDGE MARITIME TRADING CO., L.L.C. (QMT)', '2- QUARTZBRIDGE HOLDING'],
  );
});

test('a list that lost a tenth of its entries is rejected until a person accepts the warning', async () => {
  await using screening = await createScreeningTest();
  await screening.load();
  const shrunken = { sdn: asFile(sdnLines.slice(0, 3)) };
  const [refused, other] = await screening.load(shrunken);
  assert.ok(refused !== undefined && !refused.ok);
  assert.match(refused.fault, /3 entries, the version in force 4/);
  assert.ok(other?.ok);
  const found = await screenPerson(screening.db.system, person('Evaristo Obregoso', 'Palmadillo'));
  assert.equal(found.isHit, true, 'the list in force is still the old one');
  const [accepted] = await screening.load(shrunken, { acceptWarnings: true });
  assert.ok(accepted?.ok && accepted.isNew && accepted.removed === 1);
  const later = await screenPerson(screening.db.system, person('Evaristo Obregoso', 'Palmadillo'));
  assert.equal(later.isHit, false);
});

test('lists with an older or a future date are rejected', async () => {
  await using screening = await createScreeningTest();
  await screening.load();
  const [, older] = await screening.load({ un: unText({ generated: '2026-02-20T00:00:00Z' }) });
  assert.ok(older !== undefined && !older.ok);
  assert.match(older.fault, /before the version in force/);
  const [, future] = await screening.load({ un: unText({ generated: '2027-02-20T00:00:00Z' }) });
  assert.ok(future !== undefined && !future.ok);
  assert.match(future.fault, /in the future/);
});

test('an unreadable source reports its fault and leaves the lists in force', async () => {
  await using screening = await createScreeningTest();
  await screening.load();
  const before = await readListsInForce(screening.db.system);
  const [ofac, un] = await screening.load({ alt: '', un: unText().slice(0, 900) });
  assert.ok(ofac !== undefined && !ofac.ok && un !== undefined && !un.ok);
  assert.match(ofac.fault, /alt is empty/);
  assert.match(un.fault, /not a usable consolidated list/);
  const after = await readListsInForce(screening.db.system);
  assert.ok(after.fingerprint.equals(before.fingerprint));
});

test('a failed import changes nothing', async () => {
  await using screening = await createScreeningTest();
  await screening.load();
  await screening.rows(`create function fail() returns trigger language plpgsql as
    'begin raise exception ''no room''; end'`);
  await screening.rows(`create trigger fail before insert on screening_words
    for each statement execute function fail()`);
  const sdn = asFile([...sdnLines, sdnLine({ id: 106, name: 'NOWAKOWSKY, Petrela' })]);
  await assert.rejects(screening.load({ sdn }), /no room/);
  const entries = await screening.rows(`select from screening_entries where entry_id = '106'`);
  assert.equal(entries.length, 0);
  const [list] = (await readListsInForce(screening.db.system)).versions;
  assert.equal(list?.sequence, 1);
});

test('concurrent imports of one list run one after the other', async () => {
  await using screening = await createScreeningTest();
  await screening.load();
  const versions = ['NOWAKOWSKY', 'PRZYBYLOWSKY', 'ZIELINSKOWY'].map((name, index) =>
    asFile([...sdnLines, sdnLine({ id: 200 + index, name, type: 'individual' })]),
  );
  const reports = await Promise.all(versions.map((sdn) => screening.load({ sdn })));
  assert.ok(reports.every(([report]) => report?.ok));
  const [list] = (await readListsInForce(screening.db.system)).versions;
  assert.equal(list?.sequence, 4);
  const open = await screening.rows<{ entry_id: string }>(
    `select entry_id from screening_entries where list = 'ofac_sdn' and until_sequence is null`,
  );
  assert.equal(open.length, 5);
});

test('missing and outdated lists are reported', async () => {
  await using screening = await createScreeningTest();
  const wanted = { lists: ['ofac_sdn', 'un_consolidated'], ageMsMax: 86_400_000 };
  const none = await readListsInForce(screening.db.system);
  assert.equal(findListFaults(none, wanted, 0).length, 2);
  await screening.load({ alt: asFile(altLines) });
  const lists = await readListsInForce(screening.db.system);
  const checkedAtMs = lists.versions[0]?.checkedAtMs ?? 0;
  assert.deepEqual(findListFaults(lists, wanted, checkedAtMs + 1000), []);
  const late = findListFaults(lists, wanted, checkedAtMs + 90_000_000);
  assert.match(late.join(), /the list ofac_sdn was last read at 2/);
});

test('wallets come into force and retire with their entry', async () => {
  await using screening = await createScreeningTest();
  const wallet = '0x7F367cC41522cE07553e823bf3be79A889DEbe1B';
  const sdn = asFile([
    ...sdnLines,
    sdnLine({
      id: 200,
      name: 'NOWAKOWSKY, Petrela',
      remarks: `Digital Currency Address - ETH ${wallet}.`,
    }),
  ]);
  const [report] = await screening.load({ sdn });
  assert.ok(report?.ok);
  assert.equal(report.wallets, 1);
  const find = () =>
    findListedWallets(screening.db.system, [normalizeWallet(wallet.toLowerCase())]);
  assert.deepEqual(
    (await find()).map((row) => [row.list, row.entry_id, row.text]),
    [['ofac_sdn', '200', `ETH ${wallet}`]],
  );
  await screening.load({}, { acceptWarnings: true });
  assert.deepEqual(await find(), []);
});

test('a list that an earlier release imported blocks payouts until it is imported again', async () => {
  await using screening = await createScreeningTest();
  await screening.load();
  await screening.rows(
    'update screening_versions set reader = 1, content_hash = sha256(content_hash)',
  );
  const wanted = { lists: ['ofac_sdn', 'un_consolidated'], ageMsMax: 1e15 };
  const findFaults = async () =>
    findListFaults(await readListsInForce(screening.db.system), wanted, Date.now());
  assert.match((await findFaults()).join(), /ofac_sdn was imported by an earlier release/);
  const reports = await screening.load();
  assert.ok(reports.every((report) => report.ok && report.isNew));
  assert.deepEqual(await findFaults(), []);
});
