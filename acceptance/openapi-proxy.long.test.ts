import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  type Description,
  type ExampleRecord,
  examplesFile,
  expandPaths,
  recordExamples,
  recordedSettings,
} from './openapi/run-steps.ts';
import { type Service, startService } from './service.ts';
import { stopProcess } from './service-process.ts';

/**
 * Compares service and description: the flow runs through a proxy (Prism) that validates every
 * request and answer against `/openapi.json`, and the answers are compared with the examples.
 */

const root = join(import.meta.dirname, '..');

let service: Service;
let folder: string;
let proxy: { url: string; process: ChildProcess };

before(async () => {
  // Its first events and balances are examples, so that it must be unused.
  service = await startService({ isEmbedded: true, settings: recordedSettings });
  folder = await mkdtemp(join(tmpdir(), 'outlay-proxy-'));
  const file = join(folder, 'openapi.json');
  const response = await fetch(`${service.baseUrl}/openapi.json`);
  const document = (await response.json()) as Description;
  await writeFile(file, JSON.stringify(expandPaths(document)));
  proxy = await startProxy(file, service.baseUrl);
});
after(async () => {
  await stopProcess(proxy.process);
  await service.stop();
  await rm(folder, { recursive: true });
});

async function startProxy(file: string, upstream: string): Promise<typeof proxy> {
  const prism = join(root, 'node_modules/@stoplight/prism-cli/dist/index.js');
  const parameters = ['proxy', file, upstream, '--errors', '--port', '0', '--host', '127.0.0.1'];
  const child = spawn(process.execPath, [prism, ...parameters, '--multiprocess', 'false'], {
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  const url = await new Promise<string>((resolve, reject) => {
    const read = (text: string): void => {
      printed += text;
      const address = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(printed)?.[1];
      if (address !== undefined) resolve(address);
    };
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read);
    child.once('exit', (code) => reject(new Error(`the proxy ended with ${code}\n${printed}`)));
  });
  return { url, process: child };
}

test('the proxy accepts everything, and the answers equal the examples', async () => {
  const fresh = await recordExamples({ ...service, proxyUrl: proxy.url });
  const committed = JSON.parse(await readFile(examplesFile, 'utf8')) as ExampleRecord[];
  for (const [index, example] of committed.entries()) {
    const name = `${example.operationId}: ${example.summary}`;
    assert.deepEqual(fresh[index], example, `${name} (npm run record)`);
  }
  assert.equal(fresh.length, committed.length);
});

test('the proxy refuses a request that the description does not allow', async () => {
  const response = await fetch(`${proxy.url}/v0.1.4/user`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.credentials.api_key}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ internal_user_id: 7 }),
  });
  assert.equal(response.status, 422);
  assert.match(await response.text(), /UNPROCESSABLE_ENTITY/);
});

test('the proxy refuses an answer that the description does not allow', async () => {
  const file = join(folder, 'changed.json');
  const text = await readFile(join(folder, 'openapi.json'), 'utf8');
  const document = JSON.parse(text);
  document.components.schemas.Balance.properties.balance.type = 'string';
  // One path is enough, and read sooner.
  document.paths = Object.fromEntries(
    Object.entries(document.paths).filter(([path]) => path.endsWith('/account/balance')),
  );
  await writeFile(file, JSON.stringify(document));
  const other = await startProxy(file, service.baseUrl);
  try {
    const response = await fetch(`${other.url}/v0.1.4/account/balance`, {
      headers: { authorization: `Bearer ${service.credentials.api_key}` },
    });
    assert.equal(response.status, 500);
    assert.match(await response.text(), /VIOLATIONS/);
  } finally {
    await stopProcess(other.process);
  }
});
