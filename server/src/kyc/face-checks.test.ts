import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createKycTest, images } from '../../testing/setups/kyc.ts';
import { readAgain } from './checks.ts';
import { WorkerError } from './confined-worker.ts';
import { compareNextFaces, type FaceWorker } from './face-checks.ts';
import { submitImages } from './kyc.ts';

let kyc: Awaited<ReturnType<typeof createKycTest>>;
before(async () => {
  kyc = await createKycTest();
});
after(() => kyc[Symbol.asyncDispose]());

const never = new AbortController().signal;

async function submit() {
  const accountId = await kyc.createAccount();
  const userId = await kyc.createUser(accountId);
  const user = { accountId, userId };
  await kyc.db.tenantTransaction(accountId, (sql) =>
    submitImages({ sql, keys: kyc.keys }, { ...user, images }),
  );
  const row = async () => {
    const columns = 'state, tries_left, sealed';
    const text = `select ${columns} from verification_checks where account_id = $1 and kind = 'face'`;
    type Row = { state: string; tries_left: number; sealed: Buffer | null };
    return (await kyc.rows<Row>(text, [accountId]))[0];
  };
  return { user, row };
}

const open = (isShown: boolean, compare?: FaceWorker['compare']): FaceWorker => ({
  db: kyc.db,
  keys: kyc.keys,
  onError: (error) => assert.fail(String(error)),
  isShown,
  ...(compare && { compare }),
});

test('while the comparison is switched off, an upload ends as not compared', async () => {
  const { user, row } = await submit();
  const off = open(false, () => assert.fail('compared'));
  assert.equal(await compareNextFaces(off, never), true);
  assert.equal((await row())?.state, 'done');
  assert.equal(await compareNextFaces(off, never), false, 'nothing waits');
  await readAgain(kyc.db.system, user);
  assert.equal((await row())?.state, 'waiting', 'after it was switched on');
  const on = open(true, async ({ selfie, document }) => {
    assert.equal(String(selfie), 'pixels of face');
    assert.deepEqual(document.map(String), ['pixels of document-front', 'pixels of document-back']);
    return { distance: 0.31 };
  });
  assert.equal(await compareNextFaces(on, never), true);
  const done = await row();
  assert.equal(done?.state, 'done');
  assert.ok(!done?.sealed?.includes('0.31'), 'the result is sealed');
});

test('a comparison that fails is tried five times, and reported to the reviewer', async () => {
  const { row, user } = await submit();
  const failing = open(true, async () => {
    throw new WorkerError('killed');
  });
  for (let tries = 0; tries < 5; tries += 1) {
    assert.equal((await row())?.state, 'waiting');
    await compareNextFaces(failing, never);
    await kyc.rows(
      `update verification_checks set due_at = now() - interval '1 second' where account_id = $1 and kind = 'face'`,
      [user.accountId],
    );
  }
  assert.equal((await row())?.state, 'failed');
});
