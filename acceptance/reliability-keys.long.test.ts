import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ended, runOutlay } from './outlay-process.ts';
import {
  createPayout,
  createRecipient,
  deliveryCases,
  pay,
  payoutPath,
  type Recipient,
} from './recipients.ts';
import { findKeyHolder, type Pair, runThrough, startPair } from './reliability-kit.ts';
import { type Account, type Api, createAccount, testSettings } from './service.ts';
import { serverMain } from './service-process.ts';

/** The keys of the environment are replaced while two processes serve clients. */

let pair: Pair;
const folder = mkdtempSync(join(tmpdir(), 'outlay-rotation-'));
before(async () => {
  pair = await startPair({ isProcess: true });
});
after(async () => {
  await pair.books.assertSound();
  await pair.stop();
  rmSync(folder, { recursive: true });
});

type Load = { counts: Record<string, number>; failures: string[]; stop(): Promise<void> };

/** Clients that authenticate anew, quote, pay and read, through both processes in turn. */
function startLoad(account: Account, recipient: Recipient): Load {
  const counts: Record<string, number> = {};
  const failures: string[] = [];
  let isOver = false;
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: account.credentials.client_id,
    client_secret: account.credentials.client_secret,
  });
  const runClient = async (apis: readonly Api[]): Promise<void> => {
    for (let turn = 0; !isOver; turn += 1) {
      // What one process wrote, the other one reads.
      const [api, other] = [apis[turn % 2] as Api, apis[(turn + 1) % 2] as Api];
      try {
        const issued = await api.post<{ access_token: string }>('/oauth2/token', String(form), {
          'content-type': 'application/x-www-form-urlencoded',
          authorization: [],
        });
        assert.equal(issued.status, 200, issued.text);
        const { access_token: token } = issued.body;
        const payout = await createPayout(other.withToken(token), recipient);
        const path = payoutPath(recipient, payout['payout_token'] ?? '');
        const committed = await api.withToken(token).put<{ status: string }>(path);
        assert.equal(committed.status, 200, committed.text);
        assert.equal(committed.body.status, 'success', committed.text);
        counts['paid'] = (counts['paid'] ?? 0) + 1;
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
    }
  };
  const apis = [account.api, runThrough(pair.second, account)];
  const clients = Promise.all([runClient(apis), runClient(apis.toReversed())]);
  return {
    counts,
    failures,
    stop: async () => {
      isOver = true;
      await clients;
    },
  };
}

type Generation = { generation: number; state: string; rows: Record<string, number> };

const run = (words: readonly string[]): Promise<Ended> => {
  const { dataDirectory = '', settings } = findKeyHolder(pair);
  return runOutlay({ dataDirectory, settings }, words);
};

const command = async <T>(...words: string[]): Promise<T> => {
  const { exitCode, printed, complaint } = await run(words);
  assert.equal(exitCode, 0, complaint);
  return JSON.parse(printed) as T;
};

/** Kills a rotation as soon as it has renewed something. */
async function killRotation(): Promise<void> {
  const { dataDirectory = '', settings } = findKeyHolder(pair);
  const rotating = spawn(process.execPath, [serverMain, 'environment-key', 'rotate'], {
    env: { ...testSettings(dataDirectory), ...settings },
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => rotating.once('exit', resolve));
  for (;;) {
    const renewed = await pair.books.rows(
      `select from credentials where substr(mac, 1, 4) = '\\x00000002' limit 1`,
    );
    assert.equal(rotating.exitCode, null, 'the rotation still runs');
    if (renewed.length > 0) break;
    await sleep(20);
  }
  rotating.kill('SIGKILL');
  await ended;
}

test('no call fails during a rotation that is killed and completed, and old receipts verify', async () => {
  const account = await createAccount(pair.first, { USD: '1000000' });
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  const old = await pay(account.api, recipient);
  const path = payoutPath(recipient, old.payout_token);
  const receipt = join(folder, 'receipt.pdf');
  writeFileSync(receipt, (await account.api.get(path, { accept: 'application/pdf' })).bytes);
  const load = startLoad(account, recipient);
  await killRotation();
  const [present] = await command<Generation[]>('environment-key', 'list');
  assert.deepEqual([present?.generation, present?.state], [2, 'writes']);
  const report = await command<{ result: string; is_resumed: boolean; generation: number }>(
    'environment-key',
    'rotate',
  );
  assert.deepEqual([report.result, report.is_resumed, report.generation], ['done', true, 2]);
  await load.stop();
  assert.deepEqual(load.failures, []);
  assert.ok((load.counts['paid'] ?? 0) > 20);
  const [writing, former] = await command<Generation[]>('environment-key', 'list');
  assert.equal(former?.state, 'reads');
  assert.deepEqual(former?.rows, {});
  assert.ok((writing?.rows['access_tokens'] ?? 0) > 20);
  for (const { baseUrl } of [pair.first, pair.second]) {
    const keys = await (await fetch(`${baseUrl}/.well-known/receipt-keys.json`)).text();
    const file = join(folder, 'keys.json');
    writeFileSync(file, keys);
    const words = ['receipt', 'verify', receipt, '--key', file];
    assert.equal((await command<{ result: string }>(...words)).result, 'genuine');
  }
  const newest = await fetch(`${pair.first.baseUrl}/.well-known/receipt-key.pem`);
  const pem = join(folder, 'key.pem');
  writeFileSync(pem, await newest.text());
  const refused = await run(['receipt', 'verify', receipt, '--key', pem]);
  assert.match(refused.complaint, /not verified/);
  await command('ledger', 'verify');
});
