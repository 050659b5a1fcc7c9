import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createKycTest, images } from '../../testing/setups/kyc.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { openBytes } from '../core/sealing.ts';
import { insertSession } from './kyc.sql.ts';
import {
  type Decision,
  decideVerification,
  getLinkedSession,
  getOrCreateVerificationLink,
  getSessions,
  imageContext,
  statusAt,
  submitImages,
} from './kyc.ts';

type KycTest = Awaited<ReturnType<typeof createKycTest>>;
let kyc: KycTest;
before(async () => {
  kyc = await createKycTest();
});
after(async () => {
  await kyc[Symbol.asyncDispose]();
});

async function createPerson() {
  const accountId = await kyc.createAccount();
  const userId = await kyc.createUser(accountId);
  const services = () => ({ db: kyc.db, keys: kyc.keys, nowMs: kyc.clock.nowMs() });
  const getLink = () =>
    getOrCreateVerificationLink(services(), { accountId, userId, baseUrl: 'https://pay.test' });
  const submit = (through: { link?: { sessionId: string | undefined } }) =>
    kyc.db.tenantTransaction(accountId, (sql) =>
      submitImages({ sql, keys: kyc.keys }, { accountId, userId, images, ...through }),
    );
  return {
    accountId,
    userId,
    submit: (linkSessionId?: string) =>
      submit(linkSessionId === undefined ? {} : { link: { sessionId: linkSessionId } }),
    /** Through a link that is of the user and not of a session, where no session was open. */
    submitByUserLink: () => submit({ link: { sessionId: undefined } }),
    decide: (decision: Decision) =>
      kyc.db.tenantTransaction(accountId, (sql) =>
        decideVerification({ sql }, { accountId, userId, decision }),
      ),
    getLink,
    readLink: async () =>
      getLinkedSession(services(), (await getLink()).split('/verify/')[1] ?? ''),
    readToken: (link: string) => getLinkedSession(services(), link.split('/verify/')[1] ?? ''),
    statuses: async () => {
      const page = { accountId, userId, before: undefined, rowsMax: 100 };
      const now = new Date(kyc.clock.nowMs());
      return (await getSessions(kyc, page)).map((session) => statusAt(session, now));
    },
    kycStatus: () => kyc.kycStatus({ accountId, userId }),
    events: () => kyc.eventTypes(accountId),
  };
}

const hasCode = (code: string) => (error: unknown) =>
  error instanceof AppError && error.code === code;

test('an upload creates a submitted session and sets the user to pending', async () => {
  const person = await createPerson();
  assert.equal(await person.kycStatus(), 'none');
  const session = await person.submit();
  assert.equal(session.status, 'Submitted');
  assert.equal(await person.kycStatus(), 'pending');
  assert.deepEqual(await person.events(), ['verification.submitted']);
});

test("images are sealed under the user's key and bound to their session and type", async () => {
  const person = await createPerson();
  const { accountId, userId } = person;
  const session = await person.submit();
  const rows = await kyc.rows<{ type: string; sealed: Buffer; data_key: Buffer }>(
    `select type, i.sealed, data_key from verification_images i join users u using (account_id)
      where account_id = $1 order by type`,
    [accountId],
  );
  assert.deepEqual(
    rows.map((row) => row.type),
    ['document-back', 'document-front', 'face'],
  );
  for (const row of rows) {
    assert.ok(!row.sealed.includes('pixels'));
    const key = kyc.keys.unwrap(row.data_key, { accountId, userId });
    const context = imageContext(accountId, session, row.type);
    assert.equal(openBytes(key, row.sealed, context).toString(), `pixels of ${row.type}`);
    const other = imageContext(accountId, { id: newId(), submission: 1 }, row.type);
    assert.throws(() => openBytes(key, row.sealed, other));
  }
});

test('an upload completes the session that the link started', async () => {
  const person = await createPerson();
  await person.getLink();
  assert.deepEqual(await person.statuses(), ['Started']);
  await person.submit();
  assert.deepEqual(await person.statuses(), ['Submitted']);
  await person.submit();
  assert.deepEqual(await person.statuses(), ['Submitted']);
  assert.deepEqual(await person.events(), [
    'verification.started',
    'verification.submitted',
    'verification.submitted',
  ]);
});

test('an upload after a decline is a resubmission, and all submissions are kept', async () => {
  const person = await createPerson();
  await person.submit();
  await person.decide('declined');
  assert.equal(await person.kycStatus(), 'declined');
  await person.submit();
  assert.deepEqual(await person.statuses(), ['Resubmitted']);
  assert.equal(await person.kycStatus(), 'pending');
  await person.decide('approved');
  assert.deepEqual(await person.statuses(), ['Approved']);
  assert.equal(await person.kycStatus(), 'approved');
  const [row] = await kyc.rows<{ count: bigint }>(
    'select count(*) from verification_images where account_id = $1',
    [person.accountId],
  );
  assert.equal(row?.count, 6n);
});

test('a decision without an upload creates a decided session', async () => {
  const person = await createPerson();
  await person.decide('declined');
  assert.equal(await person.kycStatus(), 'declined');
  await person.decide('approved');
  assert.equal(await person.kycStatus(), 'approved');
  assert.deepEqual(await person.statuses(), ['Approved']);
  await person.decide('approved');
  assert.deepEqual(await person.events(), ['verification.declined', 'verification.approved']);
});

test('an approved identity stays approved', async () => {
  const person = await createPerson();
  await person.submit();
  await person.decide('approved');
  await assert.rejects(person.decide('declined'), hasCode('illegal_move'));
  await person.submit();
  assert.deepEqual(await person.statuses(), ['Submitted', 'Approved']);
  assert.equal(await person.kycStatus(), 'approved');
  await person.decide('declined');
  assert.equal(await person.kycStatus(), 'approved');
  await assert.rejects(
    kyc.rows(`update users set kyc_status = 'none' where account_id = $1`, [person.accountId]),
    /must remain approved/,
  );
});

test('an unknown user, or one of another account, is not found', async () => {
  const person = await createPerson();
  const other = await createPerson();
  const mixed = { accountId: other.accountId, userId: person.userId };
  await assert.rejects(
    kyc.db.tenantTransaction(mixed.accountId, (sql) =>
      decideVerification({ sql }, { ...mixed, decision: 'approved' }),
    ),
    hasCode('not_found'),
  );
  await assert.rejects(
    getSessions(kyc, { ...mixed, before: undefined, rowsMax: 1 }),
    hasCode('not_found'),
  );
});

test('the link stays the same, also for concurrent requests', async () => {
  const person = await createPerson();
  const links = await Promise.all(Array.from({ length: 8 }, () => person.getLink()));
  const [link] = links;
  assert.match(link ?? '', /^https:\/\/pay\.test\/verify\/[A-Za-z0-9_-]{91}$/);
  assert.equal(new Set(links).size, 1);
  assert.deepEqual(await person.statuses(), ['Started']);
  await person.submit();
  assert.equal(await person.getLink(), link);
  await person.decide('declined');
  assert.equal(await person.getLink(), link);
  await person.decide('approved');
  assert.equal(await person.getLink(), link);
});

test('a forged link is not found', async () => {
  const person = await createPerson();
  const link = await person.getLink();
  assert.equal((await person.readToken(link)).userId, person.userId);
  const token = link.split('/verify/')[1] ?? '';
  for (let place = 0; place < token.length; place += 7) {
    const letter = token[place] === 'A' ? 'Q' : 'A';
    const forged = `/verify/${token.slice(0, place)}${letter}${token.slice(place + 1)}`;
    await assert.rejects(person.readToken(forged), hasCode('not_found'));
  }
  for (const wrong of ['', 'x', `${token}A`, token.slice(1), '../etc', 'A'.repeat(86)]) {
    await assert.rejects(person.readToken(`/verify/${wrong}`), hasCode('not_found'));
  }
});

test('a link accepts images until they are submitted, and again after a decline', async () => {
  const person = await createPerson();
  const { sessionId, takesImages } = await person.readLink();
  assert.equal(takesImages, true);
  await person.submit(sessionId);
  assert.deepEqual(
    [(await person.readLink()).status, (await person.readLink()).takesImages],
    ['Submitted', false],
  );
  await assert.rejects(person.submit(sessionId), hasCode('illegal_move'));
  await person.decide('declined');
  assert.equal((await person.readLink()).takesImages, true);
  await person.submit(sessionId);
  assert.equal((await person.readLink()).status, 'Resubmitted');
  await person.decide('approved');
  assert.equal((await person.readLink()).status, 'Approved');
  await assert.rejects(person.submit(sessionId), hasCode('illegal_move'));
});

test('no link takes images of an approved user, also one that had begun to send them', async () => {
  const person = await createPerson();
  await person.decide('approved');
  // The page had read that there is no session yet.
  await assert.rejects(person.submitByUserLink(), hasCode('illegal_move'));
  assert.deepEqual(await person.statuses(), ['Approved']);
  // What the client uploads is reviewed, and its link stays closed.
  const { id } = await person.submit();
  await person.decide('declined');
  assert.deepEqual(await person.statuses(), ['Declined', 'Approved']);
  const linked = await person.readLink();
  assert.deepEqual([linked.sessionId, linked.status, linked.takesImages], [id, 'Approved', false]);
  await assert.rejects(person.submit(id), hasCode('illegal_move'));
  await kyc.advanceDays(31);
  await person.getLink();
  assert.deepEqual(await person.statuses(), ['Declined', 'Approved'], 'no session is started');
});

test('of two uploads through one link of the user the second is refused', async () => {
  const person = await createPerson();
  await person.submitByUserLink();
  await assert.rejects(person.submitByUserLink(), hasCode('illegal_move'));
  assert.deepEqual(await person.statuses(), ['Submitted']);
});

test("a link expires after thirty days of the environment's clock", async () => {
  const person = await createPerson();
  const first = await person.getLink();
  const { sessionId } = await person.readToken(first);
  await kyc.advanceDays(29);
  assert.equal(await person.getLink(), first);
  await kyc.advanceDays(1);
  const linked = await person.readToken(first);
  assert.deepEqual([linked.status, linked.takesImages], ['Expired', false]);
  assert.deepEqual(await person.statuses(), ['Expired']);
  await assert.rejects(person.submit(sessionId), hasCode('illegal_move'));
  const second = await person.getLink();
  assert.notEqual(second, first);
  assert.deepEqual(await person.statuses(), ['Started', 'Expired']);
  await assert.rejects(person.submit(sessionId), hasCode('illegal_move'));
  await person.submit();
  assert.deepEqual(await person.statuses(), ['Submitted', 'Expired']);
});

test('concurrent uploads and decisions leave one open session', async () => {
  const person = await createPerson();
  await Promise.allSettled([
    person.submit(),
    person.getLink(),
    person.submit(),
    person.decide('declined'),
    person.submit(),
    person.getLink(),
  ]);
  const moving = new Set(['Started', 'Submitted', 'Resubmitted']);
  const statuses = await person.statuses();
  assert.ok(statuses.filter((status) => moving.has(status)).length <= 1, statuses.join());
});

test('the table rejects illegal status transitions', async () => {
  const person = await createPerson();
  const { id } = await person.submit();
  const where = 'where account_id = $1 and id = $2';
  const values = [person.accountId, id];
  for (const change of [
    `status = 'Started'`,
    `status = 'Expired'`,
    `status = 'Whatever'`,
    `submission = 5`,
    `submission = 0`,
    `created_at = now() - interval '1 day'`,
  ]) {
    await assert.rejects(
      kyc.rows(`update verification_sessions set ${change} ${where}`, values),
      change,
    );
  }
  await person.decide('approved');
  for (const status of ['Submitted', 'Declined', 'Started', 'Review']) {
    const change = `update verification_sessions set status = '${status}' ${where}`;
    await assert.rejects(kyc.rows(change, values), /illegal move/);
  }
});

test('a tenant sees its own sessions and images only', async () => {
  const person = await createPerson();
  const other = await createPerson();
  await person.submit();
  for (const table of ['verification_sessions', 'verification_images']) {
    const count = { name: `test_count_${table}`, text: `select count(*) as count from ${table}` };
    const [own] = await readRows<{ count: bigint }>(kyc.db.tenant(person.accountId), count);
    const [foreign] = await readRows<{ count: bigint }>(kyc.db.tenant(other.accountId), count);
    assert.ok(own !== undefined && own.count > 0n);
    assert.equal(foreign?.count, 0n);
  }
});

test('a new session is the newest, whichever process has the faster clock', async () => {
  const person = await createPerson();
  const { accountId, userId } = person;
  const now = new Date(kyc.clock.nowMs());
  await insertSession(kyc.db.system, {
    accountId,
    userId,
    id: `f${newId().slice(1)}`,
    status: 'Abandoned',
    submission: 0,
    expiresAt: new Date(now.getTime() + 1),
    now,
  });
  const link = await person.getLink();
  assert.equal(await person.getLink(), link);
  const { sessionId } = await person.readToken(link);
  assert.equal((await person.submit(sessionId)).status, 'Submitted');
});
