import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runCommand } from './commands.ts';
import { createRecipient, deliveryCases, pay, payoutPath } from './recipients.ts';
import { type Api, createAccount, ok, type Service, startService } from './service.ts';
import { assertProblem } from './shapes.ts';

/** Proofs of payouts, and of the whole ledger, as a client and an auditor check them. */

let service: Service;
let api: Api;
let folder: string;

before(async () => {
  service = await startService({ takesCommands: true });
  api = (await createAccount(service, { USD: '10000' })).api;
  folder = mkdtempSync(join(tmpdir(), 'outlay-proof-'));
  const key = await fetch(`${service.baseUrl}/.well-known/receipt-key.pem`);
  writeFileSync(join(folder, 'key.pem'), await key.text());
});
after(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

const key = () => ['--key', join(folder, 'key.pem')];

test('the proof of a payout verifies offline, and a changed one does not', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const { payout_token: token } = await pay(api, recipient);
  const path = `${payoutPath(recipient, token)}/proof`;
  const { text } = await api.get(path);
  const file = join(folder, 'proof.json');
  writeFileSync(file, text);
  const verified = await runCommand(service, ['proof', 'verify', file, ...key()]);
  assert.equal(verified['result'], 'proved');
  assert.equal(JSON.stringify(verified['journals']).match(/"commit"/g)?.length, 1);
  const amount = /"source_amount":"(\d+)"/.exec(text)?.[1] ?? '';
  writeFileSync(file, text.replace(`"source_amount":"${amount}"`, `"source_amount":"${amount}0"`));
  await assert.rejects(
    runCommand(service, ['proof', 'verify', file, ...key()]),
    /a row was changed/,
  );
});

test('the proof of a payout of another account is not found', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const { payout_token: token } = await pay(api, recipient);
  const other = (await createAccount(service)).api;
  assertProblem(await other.get(`${payoutPath(recipient, token)}/proof`), 404, 'not_found');
  ok(await api.get(`${payoutPath(recipient, token)}/proof`));
});

test('an auditor verifies the ledger live and from an export', async () => {
  const live = await runCommand(service, ['ledger', 'verify']);
  assert.equal(String(live['isSound']), 'true', JSON.stringify(live));
  const { checkpoints = '' } = await runCommand(service, ['ledger', 'checkpoint']);
  assert.match(readFileSync(checkpoints, 'utf8'), /"signature"/);
  // The auditor's copy: what is signed after the export is not in it.
  const kept = join(folder, 'checkpoints.jsonl');
  copyFileSync(checkpoints, kept);
  const file = join(folder, 'export.jsonl');
  await runCommand(service, ['ledger', 'export', file]);
  const words = ['ledger', 'verify', '--export', file, '--checkpoints', kept, ...key()];
  const exported = await runCommand(service, words);
  assert.equal(String(exported['isSound']), 'true', JSON.stringify(exported));
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const last = lines.findLastIndex((line) => line.includes('"chain":"ledger"'));
  writeFileSync(
    file,
    `${lines.with(last, lines[last]?.replace('"fee":"', '"fee":"1') ?? '').join('\n')}\n`,
  );
  await assert.rejects(runCommand(service, words), { stdout: /rows_changed/ });
});
