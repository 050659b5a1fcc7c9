import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import sharp from 'sharp';
import { runCommand } from './commands.ts';
import { createUser } from './recipients.ts';
import {
  type Account,
  type Api,
  createAccount,
  ok,
  type Service,
  startService,
} from './service.ts';

/** An approval by a person is final: no link of the recipient takes images afterwards. */

let service: Service;
let account: Account;
let api: Api;
let reviewer: Api;
let images: { type: string; content: string }[];
before(async () => {
  service = await startService({ takesCommands: true });
  account = await createAccount(service);
  api = account.api;
  const words = ['credential', 'create', '--account', account.credentials.account];
  const made = await runCommand(service, [...words, '--kind', 'api_key', '--scopes', 'kyc:decide']);
  reviewer = api.withToken(made['api_key'] ?? '');
  const plain = { width: 320, height: 200, channels: 3, background: '#8899aa' } as const;
  const content = (await sharp({ create: plain }).jpeg().toBuffer()).toString('base64');
  images = ['face', 'document-front', 'document-back'].map((type) => ({ type, content }));
});
after(() => service.stop());

type Pending = { user_token: string; session_id: string; submission: number };
type State = { status: string; takes_images: boolean };

async function decide(userToken: string, decision: string): Promise<void> {
  const pending = ok(await reviewer.get<Pending[]>('/identity/pending'));
  const { session_id, submission } =
    pending.find(({ user_token: token }) => token === userToken) ?? assert.fail('nothing waits');
  const body = { session_id, submission, decision, decided_by: 'Ada', reason: 'Seen' };
  ok(await reviewer.post(`/user/${userToken}/kyc/id/decision`, body));
}

async function createLink(userToken: string): Promise<string> {
  const made = ok(
    await api.post<{ url: string }>(`/user/${userToken}/link`, { purpose: 'verification' }),
  );
  return new URL(made.url).pathname;
}

async function send(path: string, body?: unknown): Promise<{ status: number; text: string }> {
  const reply = await fetch(service.baseUrl + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: reply.status, text: await reply.text() };
}

test('after an approval no link of the recipient takes images, whatever the client uploads', async () => {
  const userToken = await createUser(api);
  const link = await createLink(userToken);
  assert.equal((await send(`${link}/images`, images)).status, 200);
  await decide(userToken, 'approved');
  const check = async (): Promise<void> => {
    for (const path of [link, await createLink(userToken)]) {
      const { verification } = JSON.parse((await send(`${path}/state`)).text) as {
        verification: State;
      };
      assert.deepEqual([verification.status, verification.takes_images], ['Approved', false]);
      const refused = await send(`${path}/images`, images);
      assert.equal(refused.status, 409);
      assert.match(refused.text, /"code":"illegal_move"/);
    }
  };
  await check();
  // The client may: for a newer document, say. The approval stays.
  ok(await api.post(`/user/${userToken}/kyc/id`, images));
  await check();
  await decide(userToken, 'resubmission_requested');
  await check();
});
