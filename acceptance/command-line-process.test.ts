import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createDatabase } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openShell, type Shell } from './command-line-kit.ts';
import { mexicanBank, quote } from './proposal-kit.ts';
import { createRecipient } from './recipients.ts';
import { type Account, createAccount, type Service, startService } from './service.ts';

/** The command line as a process: its streams can break, and signals reach it. A commit still has its outcome. */

let service: Service;
let account: Account;
let shell: Shell;

before(async () => {
  service = await startService();
  account = await createAccount(service, { USD: '1000' });
  shell = openShell(service, account);
});
after(async () => {
  shell[Symbol.dispose]();
  await service.stop();
});

const createQuote = async (): Promise<string> =>
  quote(account.api, await createRecipient(account.api, mexicanBank));

async function readStatus(token: string): Promise<unknown> {
  return (await shell.run(['payout', 'show', token, '--json'])).json()['status'];
}

test('a closed stderr does not turn a payment into a refusal', async () => {
  const { userToken } = await createRecipient(account.api, mexicanBank);
  const words = `pay --to ${userToken} --by BANK_DEPOSIT --currency MXN --amount 10
    --reference unread --yes --wait 0s`.split(/\s+/);
  const child = shell.start(words, ['ignore', 'pipe', 'pipe']);
  child.stderr?.destroy();
  child.stdout?.resume();
  const [exitCode] = (await once(child, 'close')) as [number | null];
  assert.equal(exitCode, 0);
  assert.equal(await readStatus('unread'), 'PROCESSING');
});

test('a commit whose result cannot be written is no refused one', async () => {
  const token = await createQuote();
  const full = openSync('/dev/full', 'w');
  const child = shell.start(['payout', 'commit', token, '--json'], ['ignore', full, 'pipe']);
  closeSync(full);
  const [text] = (await once(child.stderr?.setEncoding('utf8') ?? child, 'data')) as [string];
  const [exitCode] = (await once(child, 'close')) as [number | null];
  assert.equal(exitCode, 3, text);
  assert.match(text, /^outlay: The output cannot be written: ENOSPC.* may have taken effect\.\n$/);
  assert.equal(await readStatus(token), 'PROCESSING');
});

test('Ctrl-C, which npm passes on a second time, ends a commit with its unknown outcome', async () => {
  const token = 'payout_1';
  const arrived = Promise.withResolvers<void>();
  const server = createServer((incoming, outgoing) => {
    if (incoming.method === 'PUT') return arrived.resolve();
    outgoing.setHeader('content-type', 'application/json');
    outgoing.end(JSON.stringify([{ token, user_token: 'usr_1', status: 'PENDING' }]));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { OUTLAY_URL: `http://127.0.0.1:${port}` };
  const child = shell.start(['payout', 'commit', token], ['ignore', 'ignore', 'pipe'], env);
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (part: string) => (text += part));
  await arrived.promise;
  child.kill('SIGINT');
  await pause(2);
  child.kill('SIGINT');
  await once(child, 'close');
  server.closeAllConnections();
  server.close();
  assert.match(text, /outcome unknown: the commit was sent and may have paid/);
});

test('Ctrl-C ends a command of operators whose database does not answer', async () => {
  const database = createDatabase((socket) => void socket.unref())
    .listen(0, '127.0.0.1')
    .unref();
  await once(database, 'listening');
  const { port } = database.address() as AddressInfo;
  const env = { DATABASE_URL: `postgresql://outlay@127.0.0.1:${port}/outlay_staging` };
  const child = shell.start(['status'], 'ignore', env);
  await once(database, 'connection');
  child.kill('SIGINT');
  assert.deepEqual(await once(child, 'close'), [null, 'SIGINT']);
});
