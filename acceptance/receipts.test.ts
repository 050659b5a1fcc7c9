import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createRecipient, deliveryCases, pay, payoutPath } from './recipients.ts';
import { type Api, createAccount, ok, type Service, startService } from './service.ts';
import { serverMain } from './service-process.ts';
import { assertProblem } from './shapes.ts';

/** Receipts are verified with the file and the published key only. */

let service: Service;
let api: Api;
const folder = mkdtempSync(join(tmpdir(), 'outlay-receipts-'));

before(async () => {
  service = await startService();
  api = (await createAccount(service, { USD: '1000' })).api;
});
after(async () => {
  rmSync(folder, { recursive: true });
  await service.stop();
});

/** Without any setting: the command needs neither service nor database. */
function verify(...words: string[]) {
  return spawnSync(process.execPath, [serverMain, 'receipt', 'verify', ...words], {
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    },
    encoding: 'utf8',
  });
}

test('a receipt verifies offline with the published key, and a changed one does not', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const payout = await pay(api, recipient);
  const path = payoutPath(recipient, payout.payout_token);
  const { bytes } = await api.get(path, { accept: 'application/pdf' });
  const published = await api
    .withToken('')
    .get('/.well-known/receipt-key.pem', { accept: '*/*', authorization: [] });
  assert.equal(published.status, 200);
  assert.match(published.text, /^-----BEGIN PUBLIC KEY-----\n/);
  const file = join(folder, 'receipt.pdf');
  const key = join(folder, 'key.pem');
  writeFileSync(file, bytes);
  writeFileSync(key, published.text);
  const verified = verify(file, '--key', key);
  assert.equal(verified.status, 0, verified.stderr);
  const { result, receipt } = JSON.parse(verified.stdout) as {
    result: string;
    receipt: Record<string, string>;
  };
  assert.equal(result, 'genuine');
  assert.equal(receipt['payout_token'], payout.payout_token);
  assert.equal(receipt['status'], 'PROCESSING');
  assert.equal(receipt['destination_amount'], payout.destination_amount.text);
  const changed = Buffer.from(bytes);
  changed[changed.length >> 1] = (changed[changed.length >> 1] ?? 0) ^ 1;
  writeFileSync(file, changed);
  const refused = verify(file, '--key', key);
  assert.notEqual(refused.status, 0);
  assert.match(refused.stderr, /not verified/);
  assert.equal(refused.stdout, '');
});

test('the published key is read only', async () => {
  assertProblem(await api.post('/.well-known/receipt-key.pem', {}), 405, 'method_not_allowed');
  ok(await api.get('/.well-known/receipt-key.pem', { accept: '*/*' }));
});
