import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  asFile,
  createScreeningTest,
  person,
  type ScreeningTest,
  sdnLine,
  sdnLines,
} from '../../testing/setups/screening.ts';
import { AppError } from '../core/errors.ts';
import { type Clearance, clearEntries, endClearance, listClearances } from './clearances.ts';
import { recordDecision, screenUsers, type UserKey } from './records.ts';

/** The list of clearances: what it covers, and what ends it. */

let screening: ScreeningTest;
before(async () => {
  screening = await createScreeningTest();
  await load();
});
after(async () => screening[Symbol.asyncDispose]());

const listed = person('Timofey', 'Zverovsky');
const dayMs = 86_400_000;
const inDays = (days: number): Date => new Date(Date.now() + days * dayMs);

async function load(lines: readonly string[] = sdnLines): Promise<void> {
  const reports = await screening.load({ sdn: asFile(lines) }, { acceptWarnings: true });
  assert.ok(reports.every(({ ok }) => ok));
}

async function screen(user: UserKey, subject = listed) {
  const services = { session: screening.db.system, keys: screening.keys };
  const [result] = await screenUsers(services, [{ ...user, person: subject }]);
  assert.ok(result !== undefined);
  return result;
}

type Given = Partial<Parameters<typeof clearEntries>[1]>;

const clear = (user: UserKey, sequence: number, more: Given = {}) =>
  clearEntries(screening, {
    ...user,
    sequence,
    entries: undefined,
    until: inDays(30),
    clearedBy: 'officer 7',
    reason: 'Born in 1990.',
    ...more,
  });

async function createCleared(): Promise<UserKey> {
  const user = await screening.newUser();
  const { sequence } = await screen(user);
  assert.deepEqual(await clear(user, sequence), { cleared: 1, isCovered: true });
  return user;
}

const list = async (user: UserKey, includesEnded = false) =>
  (await listClearances(screening, { user, includesEnded }, { count: 10 })).rows;

const everyone = { user: undefined, includesEnded: true };

const refused = (text: RegExp) => (error: unknown) =>
  error instanceof AppError && text.test(error.message);

test('a cleared entry no longer blocks, also after other entries of the list have changed', async () => {
  const user = await createCleared();
  const result = await screen(user);
  assert.deepEqual(
    [result.state, result.isBlocked, result.decidedBy],
    ['cleared_by_person', false, 'officer 7'],
  );
  assert.ok(result.clearedUntilMs !== undefined && result.clearedUntilMs > Date.now());
  await load([...sdnLines, sdnLine({ id: 300, name: 'PRZYBYLOWSKY, Jan' })]);
  const again = await screen(user);
  assert.deepEqual([again.state, again.sequence], ['cleared_by_person', result.sequence + 1]);
  const [row] = await list(user);
  assert.deepEqual([row?.reason, row?.entryId, row?.state], ['Born in 1990.', '101', 'in_force']);
  await load();
});

test('another content of the entry ends a clearance, and a decision too', async () => {
  const user = await createCleared();
  const decided = await screening.newUser();
  const { sequence } = await screen(decided);
  const services = { session: screening.db.system, keys: screening.keys };
  const about = { ...decided, sequence, decidedBy: 'officer 7', reason: 'Another person.' };
  await recordDecision(services, { ...about, decision: 'cleared' });
  assert.equal((await screen(decided)).isBlocked, false);
  const [first = '', ...others] = sdnLines;
  await load([first.replace('12 Aug 1965', '12 Aug 1966'), ...others]);
  for (const one of [user, decided]) {
    const result = await screen(one);
    assert.deepEqual([result.state, result.decidedBy], ['hit', undefined]);
  }
  assert.equal((await list(user))[0]?.state, 'changed');
  await load();
});

test('other data of the recipient end a clearance until they are as before', async () => {
  const user = await createCleared();
  assert.equal((await screen(user, person('Timofei', 'Zverovsky'))).state, 'hit');
  const born = person('Timofey', 'Zverovsky', { dateOfBirth: '1965-08-12' });
  assert.equal((await screen(user, born)).state, 'hit');
  assert.equal((await screen(user)).state, 'cleared_by_person');
});

test('a second entry that matches holds the recipient in spite of a clearance', async () => {
  const user = await createCleared();
  const more = sdnLine({ id: 302, name: 'ZVEROVSKY, Timofey', type: 'individual' });
  await load([...sdnLines, more]);
  const result = await screen(user);
  assert.deepEqual([result.state, result.hits.length], ['hit', 2]);
  const entries = [{ list: 'ofac_sdn', entryId: '302' }];
  assert.deepEqual(await clear(user, result.sequence, { entries }), {
    cleared: 1,
    isCovered: true,
  });
  assert.equal((await screen(user)).isBlocked, false);
  await load();
});

test('clearances are listed page by page, also where several were given at once', async () => {
  const whole = await listClearances(screening, everyone, { count: 1000 });
  assert.ok(whole.rows.length > 2 && whole.next === undefined);
  const rows: Clearance[] = [];
  let cursor: string | undefined;
  do {
    const page = await listClearances(screening, everyone, { cursor, count: 1 });
    rows.push(...page.rows);
    cursor = page.next;
  } while (cursor !== undefined);
  assert.deepEqual(rows, whole.rows);
});

test('a clearance ends at its date, and when a person ends it', async () => {
  const user = await screening.newUser();
  const { sequence } = await screen(user);
  await clear(user, sequence, { until: inDays(1 / 24) });
  assert.equal((await screen(user)).isBlocked, false);
  const hourUs = BigInt(dayMs / 24) * 1000n;
  await screening.rows(
    'update environment set clock_offset_us = clock_offset_us + $1, clock_target_us = clock_target_us + $1',
    [hourUs],
  );
  assert.deepEqual(await list(user), []);
  assert.equal((await screen(user)).state, 'hit');
  assert.equal((await list(user, true))[0]?.state, 'expired');
  const other = await createCleared();
  const [row] = await list(other);
  await endClearance(screening, { id: row?.id ?? '', endedBy: 'officer 8' });
  assert.equal((await screen(other)).state, 'hit');
  assert.equal((await list(other, true))[0]?.endedBy, 'officer 8');
  await assert.rejects(
    endClearance(screening, { id: row?.id ?? '', endedBy: 'officer 8' }),
    refused(/in force/),
  );
});

test('a confirmed hit ends all clearances of the recipient', async () => {
  const user = await createCleared();
  const { sequence } = await screen(user);
  const services = { session: screening.db.system, keys: screening.keys };
  const about = { ...user, sequence, decidedBy: 'officer 8', reason: 'It is him.' };
  await recordDecision(services, { ...about, decision: 'confirmed' });
  assert.equal((await screen(user)).state, 'confirmed_by_person');
  assert.equal((await list(user)).length, 0);
  await assert.rejects(clear(user, sequence + 1), refused(/confirmed/));
});

test('only hits of the newest result are cleared, for a year at most', async () => {
  const user = await screening.newUser();
  await assert.rejects(clear(user, 1), refused(/never screened/));
  const { sequence } = await screen(user);
  await assert.rejects(clear(user, sequence + 1), refused(/newest result/));
  await assert.rejects(clear(user, sequence, { until: inDays(-1) }), refused(/in the future/));
  await assert.rejects(clear(user, sequence, { until: inDays(367) }), refused(/within 366 days/));
  const entries = [{ list: 'ofac_sdn', entryId: '102' }];
  await assert.rejects(clear(user, sequence, { entries }), refused(/not among the hits/));
  const clean = await screening.newUser();
  const result = await screen(clean, person('Anna', 'Schmidt'));
  await assert.rejects(clear(clean, result.sequence), refused(/no hits/));
});

test('a clearance can only be ended, and its reason is sealed', async () => {
  const user = await createCleared();
  const [row] = await screening.rows<{ text: string }>(
    `select string_agg(c::text, ' ') as text from screening_clearances c where user_id = $1`,
    [user.userId],
  );
  assert.ok(row !== undefined && row.text.includes('ofac_sdn'));
  assert.ok(!row.text.includes(Buffer.from('Born in').toString('hex')));
  for (const statement of [
    `update screening_clearances set until = until + interval '1 day'`,
    'delete from screening_clearances',
  ]) {
    await assert.rejects(screening.rows(statement), /clearance/);
  }
});
