import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { drawDocumentWith, takeFace } from '../server/testing/documents/faces.ts';
import { runCommand } from './commands.ts';
import { createUser } from './recipients.ts';
import { type Account, createAccount, ok, type Service, startService } from './service.ts';

/** How alike the faces of an upload are, for the person who decides. */

type Finding = {
  face: { result: string; similarity: string; score: string; reason: string; decides: boolean };
};

let service: Service;
let account: Account;
let reviewer: Account['api'];

before(async () => {
  service = await startService({ isOwn: true, settings: { OUTLAY_FACE_SIMILARITY: 'shown' } });
  account = await createAccount(service);
  const words = ['credential', 'create', '--kind', 'api_key', '--scopes', 'kyc:decide'];
  const { account: id } = account.credentials;
  const created = await runCommand(service, [...words, '--account', id]);
  reviewer = service.demo.withToken(created['api_key'] ?? '');
});
after(() => service.stop());

async function findFace(userToken: string, selfie: Buffer, front: Buffer): Promise<Finding> {
  const contents = { face: selfie, 'document-front': front, 'document-back': front };
  ok(
    await account.api.post(
      `/user/${userToken}/kyc/id`,
      Object.entries(contents).map(([type, bytes]) => ({
        type,
        content: bytes.toString('base64'),
      })),
    ),
  );
  for (let tries = 0; tries < 1_200; tries += 1) {
    const [newest] = ok(await reviewer.get<Finding[]>(`/user/${userToken}/kyc/id/findings`));
    if (newest !== undefined && newest.face.result !== 'waiting') return newest;
    await sleep(100);
  }
  throw new Error('no finding');
}

test('the reviewer sees how alike two faces are, and only a person decides, about the newest upload', async () => {
  const userToken = await createUser(account.api);
  const document = await drawDocumentWith('anna');
  const { face: same } = await findFace(userToken, await takeFace('anna'), document);
  assert.deepEqual(
    [same.result, same.similarity, same.reason, same.decides],
    ['compared', 'high', '', false],
  );
  type Session = { session_id: string; status: string };
  const [session] = ok(await account.api.get<Session[]>(`/user/${userToken}/kyc/id`));
  assert.equal(session?.status, 'Submitted', 'a high score approves nothing');
  const shown = JSON.stringify(
    await runCommand(service, ['identity', 'show', '--user', userToken]),
  );
  assert.ok(shown.includes(same.score), 'the command shows the score');
  const other = await findFace(userToken, await takeFace('berta'), document);
  assert.equal(other.face.similarity, 'low');
  const decide = (submission: number) =>
    reviewer.post<{ status?: string }>(`/user/${userToken}/kyc/id/decision`, {
      session_id: session?.session_id,
      submission,
      decision: 'declined',
      decided_by: 'Ada',
      reason: 'Another person.',
    });
  assert.equal((await decide(1)).status, 409, 'a later upload is not decided unseen');
  assert.equal(ok(await decide(2)).status, 'Declined');
});
