import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { createSender, describeRows, type Sender, writeCsv } from './batch-kit.ts';
import { createPayout } from './recipients.ts';
import { type Service, startService } from './service.ts';

/**
 * Clients that common generators make of `/openapi.json` compile, and do against a running service
 * what their types promise.
 */

const run = promisify(execFile);
const bin = join(import.meta.dirname, '../node_modules/.bin');

/** What both programs check with the compiler; `Body`, `Code` and `Event` differ between them. */
const typeChecks = `
const code: Code = 'below_minimum';
// @ts-expect-error a code that is not in the catalog
const unknownCode: Code = 'not_a_code';
const whole: Body = { destination_currency_code: 'MXN', destination_token: 'x', source_amount: 5 };
// @ts-expect-error neither an amount nor a destination
const bare: Body = { destination_currency_code: 'MXN' };
function describe(event: Event): string {
  switch (event.type) {
    case 'user.created':
    case 'user.updated':
      return event.data.user_token;
    case 'balance.funded':
      return event.data.currency_code;
    default:
      // @ts-expect-error the data of other types has no currency
      return event.data.currency_code;
  }
}
const [base = '', key = '', csv = '', user_token = '', payout_token = ''] = process.argv.slice(2);
const baseUrl = base + '/v0.1.4';
async function report(parts: { total: number; receipt: Blob; events: Event[]; refused: Code }) {
  const { total, receipt, events, refused } = parts;
  const start = (await receipt.text()).slice(0, 5);
  const first = events.find(({ type }) => type === 'balance.funded');
  console.log(JSON.stringify({ total, start, first: first && describe(first), refused }));
}
void [code, unknownCode, whole, bare];
`;

const programs = {
  'hey-api': `
import { client } from './hey/client.gen.js';
import { createBatchFromCsv, createPayout, getReceipt, listEvents } from './hey/index.js';
import type { Event, PayoutRequest as Body, ProblemCode as Code } from './hey/index.js';
${typeChecks}
client.setConfig({ baseUrl, auth: () => key });
const { data: batch } = await createBatchFromCsv({ body: csv, throwOnError: true });
const path = { user_token, payout_token };
const { data: receipt } = await getReceipt({ path, throwOnError: true });
const { data: events } = await listEvents({ throwOnError: true });
const { error } = await createPayout({ path, body: whole });
if (error === undefined) throw new Error('not refused');
await report({ total: batch.rows.total, receipt, events, refused: error.code });
`,
  'openapi-typescript': `
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';
type Event = components['schemas']['Event'];
type Body = components['schemas']['PayoutRequest'];
type Code = components['schemas']['ProblemCode'];
${typeChecks}
const client = createClient<paths>({ baseUrl, headers: { authorization: 'Bearer ' + key } });
const { data: batch } = await client.POST('/batches', {
  headers: { 'content-type': 'text/csv' },
  body: csv,
  bodySerializer: (body) => body as string,
});
const { data: receipt } = await client.GET('/payout/{user_token}/{payout_token}/receipt', {
  params: { path: { user_token, payout_token } },
  parseAs: 'blob',
});
const { data: events } = await client.GET('/events');
const { error } = await client.POST('/payout/{user_token}', {
  params: { path: { user_token } },
  body: whole,
});
if (!batch || !receipt || !events || !error) throw new Error('a call failed');
await report({ total: batch.rows.total, receipt, events, refused: error.code });
`,
};

const settings = {
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    skipLibCheck: true,
    outDir: 'out',
    rootDir: '.',
  },
};

let service: Service;
let sender: Sender;
let folder: string;

before(async () => {
  service = await startService();
  sender = await createSender(service, { funds: '1000' });
  folder = await mkdtemp(join(tmpdir(), 'outlay-clients-'));
  await symlink(join(import.meta.dirname, '../node_modules'), join(folder, 'node_modules'));
  const description = await fetch(`${service.baseUrl}/openapi.json`);
  await writeFile(join(folder, 'openapi.json'), await description.text());
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  await mkdir(join(folder, 'hey'));
  const options = { cwd: folder };
  await Promise.all([
    run(join(bin, 'openapi-ts'), ['-i', 'openapi.json', '-o', 'hey'], options),
    run(join(bin, 'openapi-typescript'), ['openapi.json', '-o', 'schema.ts'], options),
  ]);
  for (const [name, text] of Object.entries(programs)) {
    await writeFile(join(folder, `${name}.ts`), text);
  }
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

test('generated clients compile, and no type in them is unknown & unknown', async () => {
  const { stdout } = await run(join(bin, 'tsc'), [], { cwd: folder }).catch((error) => error);
  assert.equal(stdout, '');
  const files = ['schema.ts', join('hey', 'types.gen.ts')];
  const { stdout: found } = await run('grep', ['-lE', 'unknown &|& unknown', ...files], {
    cwd: folder,
  }).catch(() => ({ stdout: '' }));
  assert.equal(found, '');
});

for (const name of Object.keys(programs)) {
  test(`a client by ${name} uploads a CSV batch and takes a PDF receipt`, async () => {
    const [recipient] = sender.recipients;
    assert.ok(recipient);
    const { payout_token: payout } = await createPayout(sender.api, recipient);
    const file = writeCsv(describeRows(sender, 2));
    const words = [
      service.baseUrl,
      sender.credentials.api_key,
      file,
      recipient.userToken,
      payout ?? '',
    ];
    const program = join(folder, 'out', `${name}.js`);
    const { stdout } = await run(process.execPath, [program, ...words], { cwd: folder });
    const { first, ...said } = JSON.parse(stdout) as Record<string, unknown>;
    assert.equal(typeof first, 'string');
    assert.deepEqual(said, { total: 2, start: '%PDF-', refused: 'unknown_destination' });
  });
}
