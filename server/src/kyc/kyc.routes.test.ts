import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { createKycServer, createKycTest, drawUpload } from '../../testing/setups/kyc.ts';
import { formatToken } from '../core/ids.ts';
import { decideVerification, getOrCreateVerificationLink } from './kyc.ts';

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

async function createPerson() {
  const accountId = await kyc.createAccount();
  const userId = await kyc.createUser(accountId);
  const url = `/v0.1.4/user/${formatToken('user', userId)}/kyc/id`;
  const authorization = `Bearer account.${accountId}`;
  return {
    accountId,
    userId,
    url,
    post: (body: unknown, headers: Record<string, string> = {}) =>
      app.inject({
        method: 'POST',
        url,
        headers: { authorization, 'content-type': 'application/json', ...headers },
        payload: JSON.stringify(body),
      }),
    list: async (query = '') => app.inject({ url: url + query, headers: { authorization } }),
    getLink: () =>
      getOrCreateVerificationLink(
        { ...kyc, nowMs: kyc.clock.nowMs() },
        { accountId, userId, baseUrl: '' },
      ),
  };
}

async function countImages(accountId: string): Promise<bigint | undefined> {
  const text = 'select count(*) from verification_images where account_id = $1';
  const [row] = await kyc.rows<{ count: bigint }>(text, [accountId]);
  return row?.count;
}

test('an upload returns 200 with an empty body', async () => {
  const person = await createPerson();
  const answer = await person.post(await drawUpload());
  assert.equal(answer.statusCode, 200, answer.body);
  assert.equal(answer.body, '');
  assert.equal(answer.headers['content-type'], undefined);
  assert.equal(answer.headers['content-length'], '0');
  const [session, ...others] = (await person.list()).json();
  assert.deepEqual(others, []);
  assert.equal(session.provider, 'outlay');
  assert.equal(session.status, 'Submitted');
  assert.match(session.session_id, /^[0-9a-f-]{36}$/);
  assert.match(session.session_time, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/);
});

test('a rejected upload names the faulty items and stores nothing', async () => {
  const person = await createPerson();
  const items = await drawUpload();
  const [first, second] = items;
  assert.ok(first && second);
  second.content = second.content.slice(0, 200);
  const answer = await person.post(items);
  assert.equal(answer.statusCode, 400);
  assert.equal(answer.json().errors[0].pointer, '/1/content');
  assert.equal((await person.post([first])).statusCode, 400);
  assert.equal((await person.post({})).json().errors[0].pointer, '');
  first.content = 'A'.repeat(10_485_764);
  const large = await person.post(items);
  assert.equal(large.statusCode, 413);
  assert.equal(large.json().errors[0].pointer, '/0/content');
  assert.equal(await countImages(person.accountId), 0n);
  assert.deepEqual((await person.list()).json(), []);
});

test('the same Idempotency-Key stores one submission', async () => {
  const person = await createPerson();
  const items = await drawUpload();
  const headers = { 'idempotency-key': 'once' };
  assert.equal((await person.post(items, headers)).statusCode, 200);
  const again = await person.post(items, headers);
  assert.deepEqual([again.statusCode, again.body], [200, '']);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.equal(await countImages(person.accountId), 3n);
});

test('a user of another account is not found, whatever the body', async () => {
  const person = await createPerson();
  const authorization = `Bearer account.${await kyc.createAccount()}`;
  for (const url of [person.url, '/v0.1.4/user/nobody/kyc/id']) {
    assert.equal((await app.inject({ url, headers: { authorization } })).statusCode, 404);
    const headers = { authorization, 'content-type': 'application/json' };
    const answer = await app.inject({ method: 'POST', url, headers, payload: '[]' });
    assert.equal(answer.statusCode, 404);
  }
});

test('the list of sessions is newest first, a page at a time', async () => {
  const person = await createPerson();
  const items = await drawUpload();
  for (let round = 0; round < 3; round += 1) {
    await person.post(items);
    await kyc.db.tenantTransaction(person.accountId, (sql) =>
      decideVerification({ sql }, { ...person, decision: 'approved' }),
    );
  }
  const all = (await person.list()).json();
  assert.equal(all.length, 3);
  const page = await person.list('?number_of_records=2');
  assert.deepEqual(page.json(), all.slice(0, 2));
  const [, next] = /^<[^?]+(\?[^>]+)>; rel="next"$/.exec(String(page.headers['link'])) ?? [];
  const rest = await person.list(next);
  assert.deepEqual(rest.json(), all.slice(2));
  assert.equal(rest.headers['link'], undefined);
  assert.equal((await person.list('?cursor=x')).statusCode, 400);
});

test('the state of a link has no data of the user, and says why images were not accepted', async () => {
  const person = await createPerson();
  const link = await person.getLink();
  const read = async () => (await app.inject({ url: `${link}/status` })).json();
  const begun = { status: 'Started', takes_images: true, recipient_reason: '', review_seconds: 0 };
  assert.deepEqual(await read(), begun);
  await person.post(await drawUpload());
  const [session] = await kyc.rows<{ id: string }>(
    'select id from verification_sessions where user_id = $1',
    [person.userId],
  );
  const decided = await app.inject({
    method: 'POST',
    url: `${person.url}/decision`,
    headers: {
      authorization: `Bearer reviewer.${person.accountId}`,
      'content-type': 'application/json',
    },
    payload: JSON.stringify({
      decision: 'declined',
      decided_by: 'Ada',
      reason: 'the name is another one',
      recipient_reason: 'glare',
      session_id: session?.id,
      submission: 1,
    }),
  });
  assert.equal(decided.statusCode, 200, decided.body);
  const declined = { ...begun, status: 'Declined', recipient_reason: 'glare' };
  assert.deepEqual(await read(), declined);
});

test('a link accepts one upload, which is stored as through the API', async () => {
  const person = await createPerson();
  const link = await person.getLink();
  const items = await drawUpload();
  const post = (payload: string) =>
    app.inject({
      method: 'POST',
      url: link,
      headers: { 'content-type': 'application/json' },
      payload,
    });
  assert.equal((await post('[]')).statusCode, 400);
  const first = await post(JSON.stringify(items));
  assert.deepEqual(
    [first.statusCode, first.json()],
    [200, { status: 'Submitted', takes_images: false, recipient_reason: '', review_seconds: 0 }],
  );
  assert.equal((await post(JSON.stringify(items))).statusCode, 409);
  assert.equal(await countImages(person.accountId), 3n);
  assert.equal((await person.list()).json()[0].status, 'Submitted');
});

test('an unknown link is 404', async () => {
  const url = `/verify/${'A'.repeat(86)}`;
  assert.equal((await app.inject({ url: `${url}/status` })).statusCode, 404);
  const headers = { 'content-type': 'application/json' };
  assert.equal((await app.inject({ method: 'POST', url, headers, payload: '[]' })).statusCode, 404);
});
