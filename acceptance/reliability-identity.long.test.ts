import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type SimulatedProvider,
  startIdentityProvider,
} from '../server/testing/counterparties/identity-provider.ts';
import { photograph } from '../server/testing/documents/page.ts';
import { type Person, specimen, writeZone } from '../server/testing/documents/zone.ts';
import { runCommand } from './commands.ts';
import { createUser } from './recipients.ts';
import { type Account, createAccount, ok, type Service, startService } from './service.ts';

/** What is found out about uploaded documents, beside the decisions of persons. */

type Finding = {
  session_id: string;
  submission: number;
  document: {
    result: string;
    format: string;
    agreeing: number;
    checks: { name: string; holds: boolean }[];
    fields: Record<string, string | boolean> | null;
    comparisons: { field: string; result: string; document: string; user: string }[];
  };
  face: { result: string; similarity: string; score: string; reason: string; decides: boolean };
  provider: { state: string; opinion: Record<string, unknown> | null } | null;
  liveness: string;
};

let provider: SimulatedProvider;
let service: Service;
let account: Account;
let reviewer: Account['api'];

before(async () => {
  provider = await startIdentityProvider({ refusedName: 'Muster' });
  service = await startService({
    isOwn: true,
    settings: {
      OUTLAY_IDENTITY_PROVIDER: provider.setting,
      OUTLAY_IDENTITY_CLEAR: 'approves',
    },
  });
  account = await createAccount(service);
  const words = ['credential', 'create', '--kind', 'api_key', '--scopes', 'kyc:decide'];
  const { account: id } = account.credentials;
  const created = await runCommand(service, [...words, '--account', id]);
  reviewer = service.demo.withToken(created['api_key'] ?? '');
});
after(async () => {
  await service.stop();
  await provider[Symbol.asyncDispose]();
});

async function upload(userToken: string, person: Person, variant = 'as drawn'): Promise<void> {
  const zone = writeZone('TD3', person);
  const passport = await photograph({ format: 'TD3', zone, scale: 8 }, variant);
  const blank = await photograph({ format: 'TD1', zone: [], scale: 4 }, 'as drawn');
  const content = [blank, passport, blank].map((bytes) => bytes.toString('base64'));
  const types = ['face', 'document-front', 'document-back'];
  ok(
    await account.api.post(
      `/user/${userToken}/kyc/id`,
      types.map((type, index) => ({ type, content: content[index] })),
    ),
  );
}

async function awaitFinding(userToken: string): Promise<Finding> {
  for (let tries = 0; tries < 900; tries += 1) {
    const [newest] = ok(await reviewer.get<Finding[]>(`/user/${userToken}/kyc/id/findings`));
    if (newest?.provider?.state === 'done') return newest;
    await sleep(100);
  }
  throw new Error('no finding');
}

const readStatus = async (userToken: string): Promise<string | undefined> => {
  const sessions = ok(await account.api.get<{ status: string }[]>(`/user/${userToken}/kyc/id`));
  return sessions[0]?.status;
};

const eriksson = { first_name: 'Anna', middle_name: 'María', last_name: 'Eriksson' };

test('a document that agrees, and that the provider finds clear, is approved as the operator has set', async () => {
  const userToken = await createUser(account.api, { ...eriksson, date_of_birth: '1974-08-12' });
  await upload(userToken, specimen, 'tilted by 2 degrees');
  const { document, provider: opinion, liveness } = await awaitFinding(userToken);
  assert.deepEqual([document.result, document.format], ['read', 'TD3']);
  assert.ok(Number(String(document.agreeing)) >= 2 && document.checks.every(({ holds }) => holds));
  assert.equal(document.fields?.['number'], 'L898902C3');
  assert.equal(document.fields?.['is_expired'], false);
  const results = Object.fromEntries(document.comparisons.map((one) => [one.field, one.result]));
  assert.deepEqual(results, {
    surname: 'same',
    given_names: 'same',
    date_of_birth: 'same',
    document_number: 'unknown',
    issuing_state: 'different',
  });
  assert.equal(liveness, 'not_checked');
  assert.deepEqual(opinion?.opinion?.['outcome'], 'clear');
  assert.deepEqual(String(opinion?.opinion?.['face_similarity']), '0.93');
  assert.equal(await readStatus(userToken), 'Approved');
  const [name] = [...provider.cases.values()].map(({ user }) => user['last_name']);
  assert.equal(name, 'Eriksson');
});

test('a document that differs or has expired waits for a person, whom both findings are shown', async () => {
  const userToken = await createUser(account.api, { ...eriksson, date_of_birth: '1984-08-12' });
  await upload(userToken, { ...specimen, expiryDate: '200415' });
  const { document } = await awaitFinding(userToken);
  assert.equal(document.fields?.['is_expired'], true);
  const born = document.comparisons.find(({ field }) => field === 'date_of_birth');
  assert.deepEqual(born, {
    field: 'date_of_birth',
    result: 'different',
    document: '1974-08-12',
    user: '1984-08-12',
  });
  assert.equal(await readStatus(userToken), 'Submitted');

  const other = await createUser(account.api, { first_name: 'Jörg', last_name: 'Muster' });
  await upload(other, { ...specimen, surname: 'MUSTER', givenNames: 'JOERG' });
  const shown = await awaitFinding(other);
  assert.deepEqual(shown.provider?.opinion?.['reasons'], ['The portrait was replaced.']);
  assert.equal(await readStatus(other), 'Submitted');
  const printed = (await runCommand(service, ['identity', 'show', '--user', other])) as unknown as {
    findings: Finding[];
  };
  assert.deepEqual(printed.findings[0]?.document.fields, shown.document.fields);
  assert.equal((await account.api.get(`/user/${other}/kyc/id/findings`)).status, 403);

  await runCommand(service, ['user', 'erase', '--user', other, '--reason', 'asked for']);
  assert.deepEqual(ok(await reviewer.get(`/user/${other}/kyc/id/findings`)), []);
});
