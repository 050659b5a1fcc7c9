import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  asFile,
  createScreeningTest,
  type ScreeningTest,
  sdnLine,
  sdnLines,
} from '../../testing/setups/screening.ts';
import { findScreening, type UserKey } from '../screening/records.ts';
import { createScreeningCache } from '../screening/screening.ts';
import {
  createRecipientRescreening,
  findRescreeningProgress,
  listWaitingRecipients,
} from './recipient-rescreening.ts';

/** The pass over all stored recipients after a change of the lists. */

let kit: ScreeningTest;
let users: UserKey[];
const errors: unknown[] = [];
before(async () => {
  kit = await createScreeningTest();
  await load(sdnLines);
  // A few at a time, because a request waits two seconds at most for one of the six connections.
  users = [];
  while (users.length < 120) {
    users.push(...(await Promise.all(Array.from({ length: 12 }, () => kit.newUser()))));
  }
});
after(async () => kit[Symbol.asyncDispose]());

async function load(lines: readonly string[]): Promise<void> {
  const reports = await kit.load({ sdn: asFile(lines) }, { acceptWarnings: true });
  assert.ok(reports.every(({ ok }) => ok));
}

/** Of a process of its own. */
function open(thresholdPermille = 870): () => Promise<boolean> {
  const lists = ['ofac_sdn', 'un_consolidated'];
  const pass = createRecipientRescreening({
    ...kit,
    screening: { lists, thresholdPermille, ageMsMax: Number.MAX_SAFE_INTEGER },
    cache: createScreeningCache(),
    realNowMs: Date.now,
    onError: (error) => errors.push(error),
  });
  assert.ok(pass !== undefined);
  return pass;
}

async function drain(pass: () => Promise<boolean>): Promise<void> {
  while (await pass()) continue;
}

const countScreened = async (): Promise<number> => {
  const found = await Promise.all(users.map((user) => findScreening(kit.db.system, user)));
  return found.filter((one) => one !== undefined).length;
};

test('every recipient is screened once after a change, and one who is listed now waits', async () => {
  const pass = open();
  await drain(pass);
  assert.equal(await countScreened(), 120);
  assert.deepEqual(await listWaitingRecipients(kit.db.system, 10), []);
  const progress = await findRescreeningProgress(kit.db.system);
  assert.deepEqual([progress?.screened, progress?.remaining], [120n, 0n]);
  assert.ok(progress?.finishedAt instanceof Date);
  assert.equal(await pass(), false);
  await load([...sdnLines, sdnLine({ id: 400, name: 'BODY, Any', type: 'individual' })]);
  await drain(pass);
  const waiting = await listWaitingRecipients(kit.db.system, 1000);
  assert.deepEqual([waiting.length, waiting[0]?.entries], [120, 'ofac_sdn/400']);
  const [first] = users;
  assert.ok(first !== undefined);
  assert.equal((await findScreening(kit.db.system, first))?.isBlocked, true);
  await load(sdnLines);
  await drain(pass);
  assert.deepEqual(await listWaitingRecipients(kit.db.system, 10), []);
});

test('a pass that was killed continues at its cursor, and an old claim moves nothing', async () => {
  await load([...sdnLines, sdnLine({ id: 401, name: 'PRZYBYLOWSKY, Jan' })]);
  assert.equal(await open()(), true);
  const before = await findRescreeningProgress(kit.db.system);
  assert.deepEqual([before?.screened, before?.finishedAt], [50n, null]);
  // Killed inside the second portion: its lease is still running.
  await kit.rows(
    `update screening_rounds set fence = fence + 1, lease_until = now() + interval '1 hour'`,
  );
  assert.equal(await open()(), false);
  await kit.rows(`update screening_rounds set lease_until = now() - interval '1 second'`);
  await drain(open());
  const progress = await findRescreeningProgress(kit.db.system);
  assert.deepEqual([progress?.screened, progress?.remaining], [120n, 0n]);
});

test('several processes share a pass, without screening anyone twice', async () => {
  await load([...sdnLines, sdnLine({ id: 402, name: 'PRZYBYLOWSKY, Jan' })]);
  const rowsOf = async () =>
    (await kit.rows<{ count: string }>('select count(*) from screenings'))[0]?.count;
  const before = Number(await rowsOf());
  const passes = [open(), open(), open()];
  const isUnfinished = async () =>
    (await findRescreeningProgress(kit.db.system))?.screened !== 120n ||
    (await findRescreeningProgress(kit.db.system))?.finishedAt === null;
  do await Promise.all(passes.map((pass) => pass()));
  while (await isUnfinished());
  assert.equal(Number(await rowsOf()), before + 120);
});

test('another threshold is a new pass, and unreadable data leaves out one recipient only', async () => {
  const [first] = users;
  assert.ok(first !== undefined);
  await kit.rows('update users set sealed = $2, version = version + 1 where id = $1', [
    first.userId,
    Buffer.alloc(64),
  ]);
  await drain(open(900));
  assert.equal(errors.length, 1);
  assert.equal((await findRescreeningProgress(kit.db.system))?.screened, 119n);
});
