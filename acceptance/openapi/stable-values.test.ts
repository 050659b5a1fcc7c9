import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { test } from 'node:test';
import { atMinute, stabilize } from './stable-values.ts';

/** Two recordings of the same answers are the same bytes, and a changed answer changes its own lines. */

const hourMs = 3_600_000;

function makeUuid(): string {
  const text = randomBytes(16).toString('hex');
  return text.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-7$3-a$4-$5');
}

/** What a service answers that makes everything at random, on whatever day. */
function makeAnswers({ beganMs = Date.UTC(2026, 10, 28), further = {} } = {}) {
  const [payoutId, userId, accountId] = [makeUuid(), makeUuid(), makeUuid()];
  const hash = randomBytes(32).toString('hex');
  const createdMs = Date.parse(atMinute(3)) + randomInt(40_000);
  const later = (ms: number): string => new Date(createdMs + ms).toISOString();
  const payout = {
    payout_token: `payout_${payoutId}`,
    created_at: `${later(0).slice(0, 19)}Z`,
    expiration: later(15 * 60_000).slice(0, 19),
    day: later(0).slice(0, 10),
    created_us: `${createdMs}${randomInt(100, 1000)}`,
    next: `${createdMs}${randomInt(100, 1000)}.${payoutId}`,
    rail_reference: `SBX${randomBytes(6).toString('hex').toUpperCase()}`,
    ...further,
  };
  const proof = {
    payout_id: payoutId,
    previous: hash,
    statement: JSON.stringify({ account_id: accountId, hash, signed_at: new Date(beganMs) }),
    signature: randomBytes(64).toString('base64'),
    key_id: randomBytes(8).toString('hex'),
    statement_id: makeUuid().replace('-7', '-5'),
    expires_at: new Date(beganMs + 24 * hourMs + randomInt(5000)).toISOString(),
    account_id: accountId,
    client_id: `client_${randomBytes(32).toString('base64url')}`,
    request_id: `req_${randomBytes(15).toString('hex')}`,
    key: `key_${randomBytes(6).toString('hex')}`,
    x: randomBytes(32).toString('base64url'),
    reference: randomBytes(16).toString('hex'),
    duration_ms: randomInt(5, 40),
    oldest_seconds: 120 + randomInt(20),
    // A little more or less than two minutes.
    age: randomInt(2) === 0 ? `2m ${randomInt(30)}s` : `1m ${30 + randomInt(30)}s`,
    reported_at: later(randomInt(5000)),
  };
  const records = [
    { operationId: 'createPayout', summary: 'One', request: { user: userId }, answer: payout },
    {
      operationId: 'getPayoutProof',
      summary: 'Of it',
      request: { path: `/payout/usr_${userId}/payout_${payoutId}?after=${hash}` },
      answer: [proof, { ...payout, ...further }],
    },
  ];
  return { records, beganMs };
}

type Recording = ReturnType<typeof makeAnswers>;
const write = ({ records, beganMs }: Recording): string =>
  JSON.stringify(stabilize<Recording['records'][number]>(records, beganMs), null, 2);

type Texts = Record<string, string>;
type Stable<A> = { request: Texts; answer: A };
const readStable = () =>
  JSON.parse(write(makeAnswers())) as [Stable<Texts>, Stable<[Texts, Texts]>];

test('recordings of two services on two days are the same bytes', () => {
  const earlier = makeAnswers();
  const later = makeAnswers({ beganMs: Date.UTC(2029, 1, 3) + 13 * hourMs });
  assert.equal(write(earlier), write(later));
  assert.notDeepEqual(earlier.records, later.records);
});

test('a new member changes only its own lines', () => {
  const before = write(makeAnswers()).split('\n');
  const further = { batch_token: `batch_${makeUuid()}`, ready_at: atMinute(4) };
  const after = write(makeAnswers({ further })).split('\n');
  const isNew = (line: string): boolean => /"batch_token"|"ready_at"/.test(line);
  assert.equal(after.filter(isNew).length, 4);
  // The member before them gets a comma.
  const withoutCommas = (lines: readonly string[]) => lines.map((line) => line.replace(/,$/, ''));
  assert.deepEqual(withoutCommas(after.filter((line) => !isNew(line))), withoutCommas(before));
});

test('a new step changes only its own lines', () => {
  const { records, beganMs } = makeAnswers();
  const [first, second] = records;
  assert.ok(first !== undefined && second !== undefined);
  const step = { ...second, operationId: 'getUser', request: {}, answer: [makeUuid()] };
  const stable = stabilize<typeof first | typeof step>([first, step, second], beganMs);
  const others = [stable[0], stable[2]];
  assert.equal(JSON.stringify(others, null, 2), write({ records, beganMs }));
});

test('values keep their forms, and equal values stay equal', () => {
  const [created, proof] = readStable();
  const [shown, payout] = proof.answer;
  assert.deepEqual(payout, created.answer);
  const id = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/;
  assert.match(shown['payout_id'] ?? '', id);
  assert.equal(payout['payout_token'], `payout_${shown['payout_id']}`);
  assert.equal(
    proof.request['path'],
    `/payout/usr_${created.request['user']}/${payout['payout_token']}?after=${shown['previous']}`,
  );
  const statement = JSON.parse(shown['statement'] ?? '') as Record<string, string>;
  assert.equal(statement['account_id'], shown['account_id']);
  assert.equal(statement['hash'], shown['previous']);
  const signature = Buffer.from(shown['signature'] ?? '', 'base64');
  assert.equal(signature.length, 64);
  assert.equal(signature.toString('base64'), shown['signature']);
});

test('times keep their form and their distance, to the minute', () => {
  const [created, proof] = readStable();
  const payout = created.answer;
  assert.equal(payout['created_at'], '2026-11-10T10:03:00Z');
  assert.equal(payout['expiration'], '2026-11-10T10:18:00');
  assert.equal(payout['day'], '2026-11-10');
  assert.equal(payout['created_us'], `${Date.parse('2026-11-10T10:03:00Z')}000`);
  const [shown] = proof.answer;
  assert.equal(shown['expires_at'], '2026-11-11T10:00:00.000Z');
  assert.match(shown['statement'] ?? '', /"signed_at":"2026-11-10T10:00:00.000Z"/);
});

test('what a service does not make at random stays', () => {
  const answer = {
    account: '032180000118359719',
    destination_token: '80ef88c5-267f-5f31-8509-cae95aa857a9',
    date_of_birth: '1990-02-01',
    as_of: '2026-10-30T14:00:00.000Z',
    month: '2026-01',
    access_token: 'x'.repeat(64),
    expires_in: 3600,
    age: '10d 20h',
    reference: 'B-2041',
  };
  const records = [{ operationId: 'getPayout', summary: 'One', answer }];
  assert.deepEqual(stabilize(records, Date.UTC(2026, 10, 28)), records);
});
