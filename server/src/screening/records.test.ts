import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readRows } from '../../testing/setups/read-rows.ts';
import {
  altLine,
  altLines,
  asFile,
  createScreeningTest,
  type ListTexts,
  person,
  type ScreeningTest,
  sdnLine,
  sdnLines,
} from '../../testing/setups/screening.ts';
import { openBytes, rowContext } from '../core/sealing.ts';
import { findSqlState } from '../db/postgres/pool.ts';
import { listEvidence } from './evidence.ts';
import { findDataKey, findNewest } from './records.sql.ts';
import {
  findScreening,
  recordDecision,
  screenUsers,
  type UserKey,
  type UserScreening,
} from './records.ts';
import type { ScreenedPerson, ScreeningOptions } from './screening.ts';

let screening: ScreeningTest;
before(async () => {
  screening = await createScreeningTest();
});
after(async () => screening[Symbol.asyncDispose]());

const listed = person('Timofey', 'Zverovsky');
const ordinary = person('Anna', 'Schmidt');

async function screen(
  user: UserKey,
  subject: ScreenedPerson,
  options?: ScreeningOptions,
): Promise<UserScreening> {
  const services = { session: screening.db.system, keys: screening.keys };
  const [result] = await screenUsers(services, [{ ...user, person: subject }], options);
  assert.ok(result !== undefined);
  return result;
}

async function load(texts: ListTexts = {}): Promise<void> {
  const reports = await screening.load(texts, { acceptWarnings: true });
  assert.ok(reports.every(({ ok }) => ok));
}

async function decide(user: UserKey, sequence: number, decision: 'cleared' | 'confirmed') {
  const services = { session: screening.db.system, keys: screening.keys };
  const given = { ...user, sequence, decision, decidedBy: 'officer 7', reason: 'Born in 1990.' };
  return recordDecision(services, given);
}

test("a result holds until a list, the threshold or the person's data changes", async () => {
  await load();
  const user = await screening.newUser();
  const first = await screen(user, ordinary);
  assert.deepEqual([first.state, first.sequence, first.isBlocked], ['clear', 1, false]);
  assert.equal((await screen(user, ordinary)).sequence, 1);
  assert.equal((await screen(user, ordinary, { thresholdPermille: 900 })).sequence, 2);
  assert.equal(
    (await screen(user, person('Anna', 'Meier'), { thresholdPermille: 900 })).sequence,
    3,
  );
  const sdn = asFile([...sdnLines, sdnLine({ id: 300, name: 'PRZYBYLOWSKY, Jan' })]);
  await load({ sdn });
  const last = await screen(user, person('Anna', 'Meier'), { thresholdPermille: 900 });
  assert.equal(last.sequence, 4);
  assert.equal((await findNewest(screening.db.system, user))?.sequence, 4);
  await load();
});

test('a hit blocks until a person clears it, and the clearance holds for the same entries', async () => {
  const user = await screening.newUser();
  const hit = await screen(user, listed);
  assert.deepEqual([hit.state, hit.isBlocked, hit.hits.length], ['hit', true, 1]);
  const decided = await decide(user, hit.sequence, 'cleared');
  assert.ok(decided.kind === 'recorded');
  assert.deepEqual(
    [decided.screening.state, decided.screening.isBlocked, decided.screening.decidedBy],
    ['cleared_by_person', false, 'officer 7'],
  );
  // Another entry of the list changes; the same entry is found again.
  const sdn = asFile([...sdnLines, sdnLine({ id: 301, name: 'PRZYBYLOWSKY, Jan' })]);
  await load({ sdn });
  const again = await screen(user, listed);
  assert.deepEqual(
    [again.state, again.sequence, again.decidedBy],
    ['cleared_by_person', 3, 'officer 7'],
  );
  const last = await findNewest(screening.db.system, user);
  const dataKey = await findDataKey(screening.db.system, user);
  assert.ok(last?.decision_reason && dataKey);
  const context = rowContext('screenings.decision_reason', user.accountId, user.userId);
  const reason = openBytes(screening.keys.unwrap(dataKey, user), last.decision_reason, context);
  assert.equal(reason.toString(), 'Born in 1990.');
  // Another entry of the same name appears, which needs a new decision.
  const more = sdnLine({ id: 302, name: 'ZVEROVSKY, Timofey', type: 'individual' });
  await load({ sdn: asFile([...sdnLines, more]) });
  const blocked = await screen(user, listed);
  assert.deepEqual([blocked.state, blocked.hits.length], ['hit', 2]);
  assert.equal(blocked.decidedBy, undefined);
  await load();
});

test('a cleared entry that gets a closer name is a hit again', async () => {
  const user = await screening.newUser();
  const subject = person('Timofej', 'Zverowskij');
  const hit = await screen(user, subject);
  assert.equal(hit.state, 'hit');
  await decide(user, hit.sequence, 'cleared');
  await load({ alt: asFile([...altLines, altLine(101, 9, 'ZVEROWSKIJ, Timofej')]) });
  assert.equal((await screen(user, subject)).state, 'hit');
  await load();
});

test('another name voids a clearance, but not a confirmed hit', async () => {
  const cleared = await screening.newUser();
  await decide(cleared, (await screen(cleared, listed)).sequence, 'cleared');
  const renamed = person('Timofei', 'Zverovsky');
  assert.equal((await screen(cleared, renamed)).state, 'hit');
  const confirmed = await screening.newUser();
  await decide(confirmed, (await screen(confirmed, listed)).sequence, 'confirmed');
  const last = await screen(confirmed, ordinary);
  assert.deepEqual(
    [last.state, last.isBlocked, last.hits.length],
    ['confirmed_by_person', true, 0],
  );
  const freed = await decide(confirmed, last.sequence, 'cleared');
  assert.ok(freed.kind === 'recorded' && !freed.screening.isBlocked);
});

test('a decision about an outdated result is rejected as stale', async () => {
  const user = await screening.newUser();
  const hit = await screen(user, listed);
  await decide(user, hit.sequence, 'confirmed');
  assert.equal((await decide(user, hit.sequence, 'cleared')).kind, 'stale');
  assert.equal((await findScreening(screening.db.system, user))?.state, 'confirmed_by_person');
  const unscreened = await screening.newUser();
  assert.equal((await decide(unscreened, 1, 'cleared')).kind, 'nothing_to_decide');
  const clear = await screen(unscreened, ordinary);
  assert.equal((await decide(unscreened, clear.sequence, 'cleared')).kind, 'nothing_to_decide');
});

test('a decision without a reason is rejected', async () => {
  const user = await screening.newUser();
  const { sequence } = await screen(user, listed);
  const services = { session: screening.db.system, keys: screening.keys };
  const given = { ...user, sequence, decision: 'cleared', decidedBy: 'officer 7' } as const;
  await assert.rejects(recordDecision(services, { ...given, reason: ' ' }), /reason must have/);
  await assert.rejects(
    recordDecision(services, { ...given, reason: 'So.', decidedBy: '' }),
    /decided_by must have/,
  );
});

test('many users of several accounts are screened together', async () => {
  const users = await Promise.all(Array.from({ length: 6 }, () => screening.newUser()));
  const subjects = users.map((user, index) => ({
    ...user,
    person: index % 2 === 0 ? listed : ordinary,
  }));
  const services = { session: screening.db.system, keys: screening.keys };
  const results = await screenUsers(services, [...subjects, ...subjects.slice(0, 1)]);
  assert.deepEqual(
    results.map(({ state }) => state),
    ['hit', 'clear', 'hit', 'clear', 'hit', 'clear', 'hit'],
  );
  assert.deepEqual(
    results.map(({ userId }) => userId).slice(0, 6),
    users.map(({ userId }) => userId),
  );
});

test('concurrent screenings of one user store one result', async () => {
  const user = await screening.newUser();
  const results = await Promise.all(Array.from({ length: 8 }, () => screen(user, listed)));
  assert.deepEqual([...new Set(results.map(({ sequence }) => sequence))], [1]);
  assert.equal((await findNewest(screening.db.system, user))?.sequence, 1);
});

test('recipient data is not stored in plain text', async () => {
  const user = await screening.newUser();
  const subject = person('Timofej', 'Zverovskijx', { dateOfBirth: '1965-08-13' });
  await decide(user, (await screen(user, subject)).sequence, 'cleared');
  const [row] = await screening.rows<{ text: string }>(
    `select string_agg(s::text, ' ') as text from screenings s where user_id = $1`,
    [user.userId],
  );
  assert.ok(row !== undefined && row.text.includes('ofac_sdn'));
  for (const secret of [
    'Zverovskijx',
    '1965-08-13',
    'Born in 1990',
    Buffer.from('Born in').toString('hex'),
  ]) {
    assert.ok(!row.text.includes(secret), secret);
  }
});

test('results and decisions are immutable and hidden from tenants', async () => {
  const user = await screening.newUser();
  await screen(user, listed);
  for (const statement of [
    `update screenings set state = 'clear', hits = '[]'`,
    'delete from screenings',
    'truncate screenings',
  ]) {
    await assert.rejects(screening.rows(statement), (error) => findSqlState(error) === '23001');
  }
  const tenant = screening.db.tenant(user.accountId);
  for (const table of ['screenings', 'screening_entries', 'screening_versions']) {
    const reading = readRows(tenant, { name: '', text: `select from ${table}` });
    await assert.rejects(reading, (error) => findSqlState(error) === '42501');
  }
});

test('the compared texts of a hit are stored sealed, and readable for an operator', async () => {
  const user = await screening.newUser();
  const result = await screen(user, listed);
  const services = { session: screening.db.system, keys: screening.keys };
  const [shown] = await listEvidence(services, user);
  assert.equal(shown?.sequence, result.sequence);
  const [compared] = shown?.evidence ?? [];
  assert.equal(compared?.entryId, result.hits[0]?.entryId);
  assert.match(compared?.text ?? '', /Zverov/i);
  assert.ok((compared?.words.length ?? 0) > 1);
  assert.equal(result.hits[0]?.version, result.listVersions[0]?.version);
});
