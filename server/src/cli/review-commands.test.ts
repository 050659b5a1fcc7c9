import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createCommander, runCommand } from '../../testing/setups/commands.ts';
import { createScreeningTest, person, type ScreeningTest } from '../../testing/setups/screening.ts';
import { ConfigError, RefusedCommand } from '../config.ts';
import { formatToken } from '../core/ids.ts';
import { imageTypes, type PreparedImage } from '../kyc/intake.ts';
import { submitImages } from '../kyc/kyc.ts';
import { changePolicy } from '../operators/policies.ts';
import { screenUsers } from '../screening/records.ts';
import type { CommandContext } from './context.ts';

let screening: ScreeningTest;
let folder: string;
before(async () => {
  screening = await createScreeningTest();
  await screening.load();
  folder = mkdtempSync(join(tmpdir(), 'outlay-test-'));
});
after(async () => {
  rmSync(folder, { recursive: true });
  await screening[Symbol.asyncDispose]();
});

function run(command: string, values: Record<string, string>): Promise<unknown> {
  const { db, keys } = screening;
  const clock = { nowMs: Date.now } as CommandContext['clock'];
  return runCommand({ db, keys, clock }, command, values);
}

const images: PreparedImage[] = imageTypes.map((type) => ({
  type,
  bytes: Buffer.from(`pixels of ${type}`),
  width: 1,
  height: 1,
}));

async function createUser() {
  const user = await screening.newUser();
  const { db, keys } = screening;
  return {
    ...user,
    token: formatToken('user', user.userId),
    submit: () =>
      db.tenantTransaction(user.accountId, (sql) =>
        submitImages({ sql, keys }, { ...user, images }),
      ),
    screen: (firstName: string, lastName: string) =>
      screenUsers({ session: db.system, keys }, [{ ...user, person: person(firstName, lastName) }]),
  };
}

const isRefused = (text: RegExp) => (error: unknown) =>
  error instanceof RefusedCommand && error.exitCode === 2 && text.test(error.message);
const isWrong = (text: RegExp) => (error: unknown) =>
  error instanceof ConfigError && error.exitCode === 1 && text.test(error.message);

test('screening decide refuses a decision about a user without a hit', async () => {
  const user = await createUser();
  const decision = { user: user.token, result: '1', decision: 'confirmed', reason: 'Seen.' };
  await assert.rejects(run('screening decide', decision), isRefused(/never screened/));
  await user.screen('Anna', 'Schmidt');
  await assert.rejects(run('screening decide', decision), isRefused(/has no hits/));
  await assert.rejects(
    run('screening decide', { ...decision, decision: 'perhaps' }),
    isWrong(/must be one of cleared, confirmed/),
  );
  await user.screen('Timofey', 'Zverovsky');
  await assert.rejects(run('screening decide', decision), isRefused(/newest result .* is 2/));
  const { result: _, ...unseen } = decision;
  await assert.rejects(run('screening decide', unseen), isWrong(/--result is missing/));
  const recorded = await run('screening decide', { ...decision, result: '2' });
  assert.equal((recorded as { kind: string }).kind, 'recorded');
  const [shown] = (await run('screening show', { user: user.token })) as { state: string }[];
  assert.equal(shown?.state, 'confirmed_by_person');
});

test('an identity is listed, exported, decided and shown with its history', async () => {
  const user = await createUser();
  await user.submit();
  const pending = (await run('identity list', { account: user.accountId })) as object[];
  assert.deepEqual(
    pending.map((row) => 'user_token' in row && row.user_token),
    [user.token],
  );
  const at = join(folder, 'images');
  const { files } = (await run('identity export', { user: user.token, folder: at })) as {
    files: string[];
  };
  assert.equal(files.length, 3);
  for (const file of files) {
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.match(readFileSync(file, 'utf8'), /^pixels of /);
  }
  assert.equal(statSync(at).mode & 0o777, 0o700);
  await assert.rejects(
    run('identity export', { user: user.token, folder: at }),
    isWrong(/cannot be written.*EEXIST/),
  );
  const [row] = pending as { session_id: string }[];
  const session = row?.session_id ?? '';
  const decision = { user: user.token, session, submission: '1', reason: 'The same face.' };
  await user.submit();
  await assert.rejects(
    run('identity decide', { ...decision, decision: 'approved' }),
    isWrong(/number 2, not 1/),
  );
  decision.submission = '2';
  await assert.rejects(
    run('identity decide', { ...decision, decision: 'maybe' }),
    isWrong(/one of/),
  );
  const decided = await run('identity decide', { ...decision, decision: 'approved' });
  assert.equal((decided as { result: string }).result, 'done');
  await assert.rejects(
    run('identity decide', { ...decision, decision: 'approved' }),
    isWrong(/is Approved/),
  );
  const shown = (await run('identity show', { user: user.token })) as {
    decisions: { decided_by: string; reason: string }[];
    sessions: { status: string }[];
  };
  assert.deepEqual(
    shown.decisions.map(({ decided_by: by, reason }) => [by, reason]),
    [['test-owner', 'The same face.']],
  );
  assert.deepEqual(
    shown.sessions.map(({ status }) => status),
    ['Approved'],
  );
});

test('a clearance needs two people where the policy says so, who have seen the same result', async () => {
  const { db, keys } = screening;
  const services = { session: db.system, keys };
  await changePolicy(services, { action: 'screening', persons: 2, aboveUsd: 0n });
  const clock = { nowMs: Date.now } as CommandContext['clock'];
  const ada = await createCommander({ db, keys, clock }, { name: 'ada', role: 'compliance' });
  const bob = await createCommander({ db, keys, clock }, { name: 'bob', role: 'compliance' });
  const user = await createUser();
  const [hit] = await user.screen('Timofey', 'Zverovsky');
  assert.equal(hit?.isBlocked, true);
  const until = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
  const given = { user: user.token, result: '1', until, reason: 'Born in another year.' };
  const clear = 'screening clear';
  const waiting = (await ada(clear, given)) as { result: string };
  assert.equal(waiting.result, 'waiting');
  assert.equal((await user.screen('Timofey', 'Zverovsky'))[0]?.isBlocked, true);
  assert.deepEqual(await bob(clear, given), { cleared: 1, covered: true });
  assert.equal((await user.screen('Timofey', 'Zverovsky'))[0]?.isBlocked, false);
  const [row] = (await bob('screening clearances', { user: user.token })) as object[];
  assert.ok(row !== undefined && 'clearance' in row && 'entry' in row && 'cleared_by' in row);
  assert.deepEqual([row.entry, row.cleared_by], ['ofac_sdn/101', 'bob']);
  await assert.rejects(ada(clear, { ...given, entries: '101' }), isWrong(/LIST\/NUMBER/));
  const clearance = String(row.clearance);
  await ada('screening end-clearance', { clearance, reason: 'The passport was false.' });
  assert.equal((await user.screen('Timofey', 'Zverovsky'))[0]?.isBlocked, true);
  await changePolicy(services, { action: 'screening', persons: 1, aboveUsd: 0n });
  const actions = await readAuditActions();
  for (const action of [clear, 'screening end-clearance']) assert.ok(actions.includes(action));
});

async function readAuditActions(): Promise<string[]> {
  const rows = await screening.rows<{ action: string }>('select action from audit_entries');
  return rows.map(({ action }) => action);
}
