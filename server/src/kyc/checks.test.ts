import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { specimen, writeZone } from '../../testing/documents/zone.ts';
import { createKycTest, images } from '../../testing/setups/kyc.ts';
import { createUser, prepareUser } from '../users/users.ts';
import { type CheckKind, claimCheck } from './checks.sql.ts';
import { type CheckWorker, readNextDocument } from './checks.ts';
import { WorkerError } from './confined-worker.ts';
import { submitImages } from './kyc.ts';
import type { IdentityProvider, Opinion } from './provider/provider.ts';
import { askProvider, requestOpinion } from './provider-checks.ts';
import { readDocument } from './reading/reader.ts';
import { parseZone } from './reading/zone.ts';

let kyc: Awaited<ReturnType<typeof createKycTest>>;
before(async () => {
  kyc = await createKycTest();
});
after(() => kyc[Symbol.asyncDispose]());

const never = new AbortController().signal;

async function submit(create = kyc.createUser) {
  const accountId = await kyc.createAccount();
  const userId = await create(accountId);
  await kyc.db.tenantTransaction(accountId, (sql) =>
    submitImages({ sql, keys: kyc.keys }, { accountId, userId, images }),
  );
  const where = 'where account_id = $1';
  return {
    userId,
    change: (assignments: string) =>
      kyc.rows(`update verification_checks set ${assignments} ${where}`, [accountId]),
    row: async (kind: CheckKind = 'document') => {
      const columns = 'state, tries, tries_left, sealed';
      const text = `select ${columns} from verification_checks ${where} and kind = $2`;
      type Row = { state: string; tries: number; tries_left: number; sealed: Buffer | null };
      return (await kyc.rows<Row>(text, [accountId, kind]))[0];
    },
    forget: () =>
      kyc.rows(`update users set data_key = '', sealed = '', erased_at = now() ${where}`, [
        accountId,
      ]),
  };
}

const opinion: Opinion = {
  outcome: 'consider',
  provider: 'tests',
  reasons: [],
  face_similarity: null,
  liveness: 'not_checked',
};

const zone = parseZone(writeZone('TD3', specimen));
assert.ok(zone !== undefined);
const reading = { result: 'read', zone, agreeing: 2 } as const;

function worker(read: typeof readDocument): CheckWorker {
  return { db: kyc.db, keys: kyc.keys, onError: (error) => assert.fail(String(error)), read };
}

test('a reader that fails is tried again five times, then a person decides without it', async () => {
  const submitted = await submit();
  const failing = worker(async () => {
    throw new WorkerError('killed');
  });
  for (let tries = 0; tries < 5; tries += 1) {
    assert.equal((await submitted.row())?.state, 'waiting');
    assert.equal(await readNextDocument(failing, never), true);
    assert.equal(await readNextDocument(failing, never), false, 'it is not due again at once');
    await submitted.change("due_at = now() - interval '1 second'");
  }
  assert.equal((await submitted.row())?.state, 'failed');
});

test('work that a killed process had claimed is claimed again, and a late answer changes nothing', async () => {
  const submitted = await submit();
  let release: (() => void) | undefined;
  const slow = worker(async () => {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    return { result: 'not_read' };
  });
  const late = readNextDocument(slow, never);
  while (release === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
  const next = worker(async () => reading);
  assert.equal(await readNextDocument(next, never), false, 'the lease holds');
  await submitted.change("lease_until = now() - interval '1 second'");
  assert.equal(await readNextDocument(next, never), true);
  const done = await submitted.row();
  assert.equal(done?.state, 'done');
  release();
  await late;
  assert.deepEqual(await submitted.row(), done);
  assert.ok(!done.sealed?.includes('ERIKSSON'), 'the result is sealed');
});

test('a picture that kills five processes fails, and delays no other one', async () => {
  const deadly = await submit();
  await deadly.change("due_at = now() - interval '1 minute'");
  for (let tries = 0; tries < 5; tries += 1) {
    // The process dies before it stores what became of its claim.
    assert.notEqual(await claimCheck(kyc.db.system, 'document', 90_000), undefined);
    await deadly.change("lease_until = now() - interval '1 second'");
  }
  const harmless = await submit();
  assert.equal(
    await readNextDocument(
      worker(async () => reading),
      never,
    ),
    true,
  );
  assert.equal((await harmless.row())?.state, 'done');
  assert.equal((await deadly.row())?.state, 'failed');
});

test('a process that stops gives back the try of its document', async () => {
  const submitted = await submit();
  for (let stops = 0; stops < 7; stops += 1) {
    const stopping = new AbortController();
    const stopped = worker(async () => {
      stopping.abort();
      throw new WorkerError('the process stops');
    });
    assert.equal(await readNextDocument(stopped, stopping.signal), false);
  }
  const waiting = await submitted.row();
  assert.deepEqual([waiting?.state, waiting?.tries_left], ['waiting', 5]);
  assert.equal(
    await readNextDocument(
      worker(async () => reading),
      never,
    ),
    true,
  );
  assert.equal((await submitted.row())?.state, 'done');
});

test('the documents of an erased user are not read', async () => {
  const submitted = await submit();
  await submitted.forget();
  await readNextDocument(
    worker(async () => assert.fail('read')),
    never,
  );
  assert.deepEqual((await submitted.row())?.state, 'skipped');
});

test('a process that stops leaves the document to the next one', async () => {
  await assert.rejects(readDocument([Buffer.from('no picture')]), WorkerError);
  await assert.rejects(readDocument([Buffer.alloc(0)], AbortSignal.timeout(1)), WorkerError);
});

test('a case is opened once, and looked at again until the provider has an opinion', async () => {
  const submitted = await submit(async (accountId) => {
    const names = { first_name: 'Anna', last_name: 'Eriksson', email: 'anna@example.org' };
    const data = { ...names, internal_user_id: 'anna', country: 'MEX', metadata: undefined };
    const user = prepareUser({ keys: kyc.keys, accountId }, data);
    await kyc.db.systemTransaction((session) => createUser(session, user));
    return user.stored.id;
  });
  await readNextDocument({ ...worker(async () => reading), afterReading: requestOpinion }, never);
  const calls: string[] = [];
  const opinions = [undefined, new Error('no answer'), opinion];
  const errors: unknown[] = [];
  const provider: IdentityProvider = {
    name: 'tests',
    open: async ({ images: sent }) => {
      calls.push(`open with ${sent.length} images`);
      return 'case-1';
    },
    findOpinion: async (reference) => {
      calls.push(reference);
      const next = opinions.shift();
      if (next instanceof Error) throw next;
      return next;
    },
  };
  const ask = (): Promise<boolean> =>
    askProvider(
      {
        db: kyc.db,
        keys: kyc.keys,
        provider,
        approvesClear: true,
        now: () => new Date(),
        onError: (error) => errors.push(error),
      },
      never,
    );
  for (let step = 0; step < 4; step += 1) {
    assert.equal((await submitted.row('provider'))?.state, 'waiting');
    assert.equal(await ask(), true);
    assert.equal(await ask(), false, 'it is not due again at once');
    await submitted.change("due_at = now() - interval '1 second'");
  }
  assert.deepEqual(errors.map(String), ['Error: no answer']);
  assert.deepEqual(calls, ['open with 3 images', 'case-1', 'case-1', 'case-1']);

  const done = await submitted.row('provider');
  assert.equal(done?.state, 'done');
  assert.ok(done.sealed !== null && !done.sealed.includes('consider'), 'the opinion is sealed');
});
