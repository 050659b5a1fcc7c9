import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { createKycServer, createKycTest, images } from '../../testing/setups/kyc.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { createApiKey } from '../accounts/accounts.ts';
import { AppError } from '../core/errors.ts';
import { formatToken, newId } from '../core/ids.ts';
import type { Session } from '../db/postgres/pool.ts';
import { createOperator, getOperator, revokeOperator } from '../operators/operators.ts';
import { insertDecision } from './decisions.sql.ts';
import {
  decideIdentity,
  type GivenDecision,
  type IdentityDecision,
  listDecisions,
  listPending,
  openImages,
} from './decisions.ts';
import { findIdentityState } from './identity-state.ts';
import { imageTypes } from './intake.ts';
import { decideVerification, submitImages } from './kyc.ts';

let kyc: Awaited<ReturnType<typeof createKycTest>>;
let app: FastifyInstance;
before(async () => {
  kyc = await createKycTest();
  app = await createKycServer(kyc);
});
after(async () => {
  await app.close();
  await kyc[Symbol.asyncDispose]();
});

async function createPerson(options: { twoPersons?: boolean } = {}) {
  const accountId = await kyc.createAccount();
  const userId = await kyc.createUser(accountId);
  await kyc.rows('update accounts set identity_two_persons = $2 where id = $1', [
    accountId,
    options.twoPersons === true,
  ]);
  const inAccount = <T>(work: (sql: Session) => Promise<T>): Promise<T> =>
    kyc.db.tenantTransaction(accountId, work);
  return {
    accountId,
    userId,
    submit: () =>
      inAccount((sql) => submitImages({ sql, keys: kyc.keys }, { accountId, userId, images })),
    /** About the newest upload, unless another one is named. */
    decide: async (decision: IdentityDecision, more: Partial<GivenDecision> = {}) => {
      const [newest] = await kyc.rows<{ id: string; submission: number }>(
        'select id, submission from verification_sessions where user_id = $1 order by id desc',
        [userId],
      );
      return inAccount((sql) =>
        decideIdentity(
          { sql, keys: kyc.keys },
          {
            accountId,
            userId,
            sessionId: newest?.id ?? newId(),
            submission: newest?.submission ?? 1,
            decision,
            decidedBy: 'Ada',
            reason: 'The face is the one on the document.',
            credentialId: undefined,
            ...more,
          },
        ),
      );
    },
    history: () => listDecisions({ sql: kyc.db.system, keys: kyc.keys }, { accountId, userId }),
    kycStatus: () => kyc.kycStatus({ accountId, userId }),
    events: () => kyc.eventTypes(accountId),
    pending: async () => listPending(kyc.db.system, { accountId, before: undefined, rowsMax: 10 }),
  };
}

const hasCode = (code: string, detail?: RegExp) => (error: unknown) =>
  error instanceof AppError &&
  error.code === code &&
  (detail === undefined || detail.test(error.message));

test("an approval is stored with the reviewer's name and reason", async () => {
  const person = await createPerson();
  await person.submit();
  assert.equal((await person.pending()).length, 1);
  const { result, session } = await person.decide('approved');
  assert.deepEqual([result, session.status], ['done', 'Approved']);
  assert.equal(await person.kycStatus(), 'approved');
  assert.deepEqual(await person.events(), ['verification.submitted', 'verification.approved']);
  assert.deepEqual(await person.pending(), []);
  const [decision, ...others] = await person.history();
  assert.deepEqual(others, []);
  assert.deepEqual(
    [decision?.decision, decision?.decidedBy, decision?.reason, decision?.isEffective],
    ['approved', 'Ada', 'The face is the one on the document.', true],
  );
  const [row] = await kyc.rows<{ reason: Buffer }>(
    'select reason from verification_decisions where account_id = $1',
    [person.accountId],
  );
  assert.ok(row !== undefined && !row.reason.includes('document'));
});

test('after a decline and a request for new images, the user uploads again and is approved', async () => {
  const person = await createPerson();
  await person.submit();
  await person.decide('resubmission_requested', { reason: 'The document is blurred.' });
  assert.equal(await person.kycStatus(), 'pending');
  await person.submit();
  await person.decide('declined');
  assert.equal(await person.kycStatus(), 'declined');
  await person.submit();
  await person.decide('approved');
  assert.equal(await person.kycStatus(), 'approved');
  assert.deepEqual(await person.events(), [
    'verification.submitted',
    'verification.resubmission_requested',
    'verification.resubmitted',
    'verification.declined',
    'verification.resubmitted',
    'verification.approved',
  ]);
  const history = await person.history();
  assert.deepEqual(
    history.map(({ decision, submission }) => `${submission} ${decision}`),
    ['3 approved', '2 declined', '1 resubmission_requested'],
  );
});

test('the vote of an operator, or through a credential, that was revoked since does not count', async () => {
  const person = await createPerson({ twoPersons: true });
  await person.submit();
  const services = { session: kyc.db.system, keys: kyc.keys };
  for (const name of ['ava', 'ben']) {
    await createOperator(services, { name, role: 'owner', createdBy: undefined });
  }
  assert.equal((await person.decide('approved', { decidedBy: 'ava' })).result, 'waiting');
  await kyc.db.systemTransaction(async (sql) => revokeOperator(sql, await getOperator(sql, 'ava')));
  assert.equal((await person.decide('approved', { decidedBy: 'ben' })).result, 'waiting');

  const { credential_id: credentialId } = await createApiKey(kyc.db.system, {
    keys: kyc.keys,
    accountId: person.accountId,
    scopes: ['kyc:decide'],
    allowedAddresses: [],
    expiresDays: undefined,
    environmentName: 'staging',
  });
  const through = { decidedBy: 'Ada', credentialId };
  assert.equal((await person.decide('declined', through)).result, 'waiting');
  await kyc.rows('update credentials set revoked_at = now() where id = $1', [credentialId]);
  assert.equal((await person.decide('declined', { decidedBy: 'ben' })).result, 'waiting');
  assert.equal((await person.decide('approved', { decidedBy: 'Bob' })).result, 'waiting');
  assert.equal((await person.decide('approved', { decidedBy: 'ben' })).result, 'done');
});

test('if two people are required, one name in any spelling counts as one person', async () => {
  const person = await createPerson({ twoPersons: true });
  await person.submit();
  for (const decidedBy of ['Ada', ' ada ', 'A\u200Bda', 'ＡＤＡ', '\u00ADAda']) {
    const { result, session } = await person.decide('approved', { decidedBy });
    assert.deepEqual([result, session.status], ['waiting', 'Review'], decidedBy);
  }
  assert.equal(await person.kycStatus(), 'pending');
  assert.equal((await person.pending())[0]?.decisions.length, 5);
  const { result } = await person.decide('approved', { decidedBy: 'Bob' });
  assert.equal(result, 'done');
  assert.equal(await person.kycStatus(), 'approved');
  assert.deepEqual(await person.events(), [
    'verification.submitted',
    'verification.review',
    'verification.approved',
  ]);
});

test('two people must decide the same about the same images', async () => {
  const person = await createPerson({ twoPersons: true });
  await person.submit();
  const resultOf = async (decision: IdentityDecision, decidedBy: string) =>
    (await person.decide(decision, { decidedBy })).result;
  assert.equal(await resultOf('approved', 'Ada'), 'waiting');
  assert.equal(await resultOf('declined', 'Bob'), 'waiting');
  // New images void earlier decisions.
  await person.submit();
  assert.equal(await resultOf('approved', 'Bob'), 'waiting');
  // The last decision of a person counts.
  assert.equal(await resultOf('declined', 'Bob'), 'waiting');
  assert.equal(await resultOf('approved', 'Ada'), 'waiting');
  assert.equal(await resultOf('declined', 'Ada'), 'done');
  assert.equal(await person.kycStatus(), 'declined');
});

test('the last decision of a person counts, whichever process has the faster clock', async () => {
  const person = await createPerson({ twoPersons: true });
  const { accountId, userId } = person;
  const { id: sessionId, submission } = await person.submit();
  await insertDecision(kyc.db.system, {
    accountId,
    userId,
    sessionId,
    submission,
    id: `f${newId().slice(1)}`,
    decision: 'approved',
    decidedBy: 'Ada',
    person: 'ada',
    reason: Buffer.alloc(0),
    recipientReason: '',
    credentialId: undefined,
    isEffective: false,
    now: new Date(kyc.clock.nowMs()),
  });
  assert.equal((await person.decide('declined')).result, 'waiting');
  assert.equal((await person.decide('approved', { decidedBy: 'Bob' })).result, 'waiting');
  assert.equal((await person.decide('declined', { decidedBy: 'Bob' })).result, 'done');
});

test('an illegal decision is rejected with its reason', async () => {
  const person = await createPerson();
  await assert.rejects(person.decide('approved'), hasCode('illegal_move', /no verification/));
  const session = await person.submit();
  await assert.rejects(
    person.decide('approved', { sessionId: newId() }),
    hasCode('illegal_move', /the newest verification session of the user is/),
  );
  await person.submit();
  await assert.rejects(
    person.decide('approved', { sessionId: session.id, submission: 1 }),
    hasCode('illegal_move', /number 2, not 1: look at it/),
  );
  await person.decide('approved', { sessionId: session.id, submission: 2 });
  for (const decision of ['approved', 'declined', 'resubmission_requested'] as const) {
    await assert.rejects(person.decide(decision), hasCode('illegal_move', /is Approved/));
  }
  for (const fault of [{ decidedBy: ' \u200B ' }, { reason: ' ' }, { reason: 'x'.repeat(2001) }]) {
    await assert.rejects(person.decide('approved', fault), hasCode('invalid_request'));
  }
  const other = await createPerson();
  await assert.rejects(person.decide('approved', { userId: other.userId }), hasCode('not_found'));
  assert.equal((await person.history()).length, 1);
});

test('decisions are immutable and visible to their account only', async () => {
  const person = await createPerson();
  await person.submit();
  await person.decide('declined');
  await assert.rejects(kyc.rows(`update verification_decisions set decided_by = 'Bob'`));
  await assert.rejects(kyc.rows('delete from verification_decisions'));
  const other = await createPerson();
  const text = 'select count(*)::integer as count from verification_decisions';
  const [row] = await readRows<{ count: number }>(kyc.db.tenant(other.accountId), {
    name: '',
    text,
  });
  assert.equal(row?.count, 0);
});

test('the reviewer gets the images of the last upload', async () => {
  const person = await createPerson();
  const services = { sql: kyc.db.system, keys: kyc.keys };
  await assert.rejects(openImages(services, person), hasCode('not_found'));
  await person.submit();
  await person.submit();
  const opened = await openImages(services, person);
  assert.equal(opened.session.submission, 2);
  assert.deepEqual(
    opened.images.map(({ type, bytes }) => [type, bytes.toString()]),
    imageTypes.toSorted().map((type) => [type, `pixels of ${type}`]),
  );
});

test('a reviewer lists and decides over HTTP; without the scope it is 403', async () => {
  const person = await createPerson({ twoPersons: true });
  const session = await person.submit();
  const userToken = formatToken('user', person.userId);
  const call = (role: string, body?: object) =>
    app.inject({
      method: body === undefined ? 'GET' : 'POST',
      url:
        body === undefined
          ? '/v0.1.4/identity/pending'
          : `/v0.1.4/user/${userToken}/kyc/id/decision`,
      headers: {
        authorization: `Bearer ${role}.${person.accountId}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { payload: JSON.stringify(body) }),
    });
  const seen = { session_id: session.id, submission: 1 };
  const body = { ...seen, decision: 'approved', decided_by: 'Ada', reason: 'Seen.' };
  assert.equal((await call('account')).statusCode, 403);
  assert.equal((await call('account', body)).statusCode, 403);
  const [row, ...others] = (await call('reviewer')).json();
  assert.deepEqual(others, []);
  assert.deepEqual(
    [row.user_token, row.session_id, row.status, row.submission, row.decisions],
    [userToken, session.id, 'Submitted', 1, []],
  );
  const wrong = await call('reviewer', {
    ...seen,
    decision: 'maybe',
    decided_by: '',
    reason: 'Seen.',
  });
  const unseen = await call('reviewer', { decision: 'approved', decided_by: 'Ada', reason: 'x' });
  assert.deepEqual(
    unseen.json().errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/session_id', '/submission'],
  );
  assert.equal(wrong.statusCode, 400);
  assert.deepEqual(
    wrong.json().errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/decision', '/decided_by'],
  );
  assert.equal((await call('reviewer', { ...body, submission: 2 })).statusCode, 409);
  assert.equal((await call('reviewer', { ...body, session_id: 'x' })).statusCode, 400);
  const first = await call('reviewer', body);
  assert.deepEqual([first.statusCode, first.json().result], [200, 'waiting']);
  const [waiting] = (await call('reviewer')).json();
  assert.deepEqual(waiting.decisions, [{ decision: 'approved', decided_by: 'Ada' }]);
  const second = await call('reviewer', { ...body, decided_by: 'Bob' });
  assert.deepEqual(second.json(), {
    result: 'done',
    session_id: session.id,
    status: 'Approved',
  });
  assert.equal(await person.kycStatus(), 'approved');
  assert.deepEqual((await call('reviewer')).json(), []);
});

test('the client learns how far a verification is, and the reason of the reviewer', async () => {
  const person = await createPerson();
  const { accountId, userId } = person;
  const find = () =>
    findIdentityState({ session: kyc.db.tenant(accountId), keys: kyc.keys }, { accountId, userId });
  assert.deepEqual(await find(), { code: 'identity_not_started', reason: '' });
  await person.submit();
  assert.deepEqual(await find(), { code: 'identity_in_review', reason: '' });
  await person.decide('resubmission_requested', { reason: 'The document is blurred.' });
  const code = 'identity_resubmission_requested';
  assert.deepEqual(await find(), { code, reason: 'The document is blurred.' });
  await person.submit();
  assert.deepEqual(await find(), { code: 'identity_in_review', reason: '' });
  await person.decide('declined', { reason: 'Another person.' });
  assert.deepEqual(await find(), { code: 'identity_declined', reason: 'Another person.' });
});

test('in live a reviewer approves through the API, and a client still cannot', async () => {
  await using live = await createKycTest('live');
  const server = await createKycServer(live);
  const accountId = await live.createAccount();
  const userId = await live.createUser(accountId);
  const user = { accountId, userId };
  const session = await live.db.tenantTransaction(accountId, (sql) =>
    submitImages({ sql, keys: live.keys }, { ...user, images }),
  );
  await assert.rejects(
    live.db.tenantTransaction(accountId, (sql) =>
      decideVerification({ sql }, { ...user, decision: 'approved' }),
    ),
    /in the sandbox only/,
  );
  const { statusCode } = await server.inject({
    method: 'POST',
    url: `/v0.1.4/user/${formatToken('user', userId)}/kyc/id/decision`,
    headers: { authorization: `Bearer reviewer.${accountId}`, 'content-type': 'application/json' },
    payload: JSON.stringify({
      session_id: session.id,
      submission: 1,
      decision: 'approved',
      decided_by: 'Ada',
      reason: 'Seen.',
    }),
  });
  await server.close();
  assert.deepEqual([statusCode, await live.kycStatus(user)], [200, 'approved']);
});
