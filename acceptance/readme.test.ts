import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { cliMain } from './command-line-kit.ts';
import { type Service, startService, testSettings } from './service.ts';

/** Runs the commands of the README in their order, and then those of the guide of proofs. */

const readDocument = (path: string): string =>
  readFileSync(join(import.meta.dirname, '..', path), 'utf8');
const readme = readDocument('README.md');
const proofs = readDocument('docs/guides/proofs.md');

let service: Service;
let folder: string;

before(async () => {
  service = await startService({ isOwn: true });
  folder = mkdtempSync(join(tmpdir(), 'outlay-readme-'));
});
after(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

function findBlocks(document: string, language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return [...document.matchAll(pattern)].map(([, text = '']) => text);
}

test('the commands of the README pay by command line, then by curl to a bank account and a wallet', async () => {
  const { dataDirectory = '' } = service;
  mkdirSync(join(folder, '.outlay'));
  copyFileSync(join(dataDirectory, 'staging.json'), join(folder, '.outlay/staging.json'));
  // npm would run in another folder; the command is the same.
  const npm = `npm() { node --disable-warning=ExperimentalWarning ${cliMain} "\${@:5}"; }\n`;
  const script = join(folder, 'pasted.sh');
  const blocks = findBlocks(readme, 'bash');
  assert.equal(blocks.length, 6);
  // The third needs a copy of the checkpoints.
  const proving = findBlocks(proofs, 'sh').slice(0, 2);
  assert.equal(proving.length, 2);
  writeFileSync(script, npm + [...blocks, ...proving].join('\necho\n'));
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', script], {
    cwd: folder,
    // A command that waits forever must fail the test.
    timeout: 120_000,
    env: {
      ...testSettings(dataDirectory),
      ...service.settings,
      PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
    },
  });
  assert.equal(stdout.match(/"status":"success"/g)?.length, 3, stdout);
  assert.match(stdout, /"status":"COMPLETED"/);
  assert.match(stdout, /^COMPLETED$/m);
  assert.equal(stdout.match(/"isSound": true/g)?.length, 2, stdout);
  assert.match(stdout, /"result": "proved"/);
  assert.match(stdout, /^payout_\S+ is processing, expected by /m);
  for (const file of ['committed.pdf', 'completed.pdf', 'receipt.pdf']) {
    const bytes = readFileSync(join(folder, '.outlay', file));
    assert.equal(bytes.subarray(0, 5).toString(), '%PDF-', file);
  }
});

test('the README shows the start screen', () => {
  const { dataDirectory = '', baseUrl } = service;
  const file = join(dataDirectory, 'staging.json');
  const near = relative(process.cwd(), file);
  const printed = service
    .output()
    .replaceAll(baseUrl, 'http://127.0.0.1:8080')
    .replaceAll(/#link=[\w-]{43}/g, '#link=ONE_TIME_TOKEN')
    .replaceAll(near.startsWith('..') ? file : near, '.outlay/staging.json')
    // Tests do not use the default folder.
    .replaceAll(/OUTLAY_DATA=\S+ /g, '');
  const [screen = ''] = findBlocks(readme, 'text');
  assert.ok(printed.includes(screen), printed);
});
