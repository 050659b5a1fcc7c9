import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import type {
  CallbackReading,
  Instruction,
  RailCalls,
  RailHost,
} from '../../src/rails/contract/contract.ts';
import type { PayerDeclaration } from '../../src/rails/contract/declarations.ts';
import { configSchema } from '../../src/rails/partner/config.ts';
import { railModule } from '../../src/rails/partner/rail.ts';
import type { KeyDeclaration } from '../../src/rails/partner/signatures.ts';
import { listRecords, type PartnerRecords } from '../counterparties/partner/control.ts';
import {
  type OpeningOptions,
  openPartnerSimulator,
  type PartnerSimulator,
} from '../counterparties/partner/partner-simulator.ts';
import type { simulatorOptionsSchema } from '../counterparties/partner/simulator-options.ts';
import { findFreePort } from './free-port.ts';
import { payerBase } from './payer.ts';
import { openTestHost, type TestHost } from './rail.ts';

/** The partner simulator as a process, and a rail that is set up against it. */

export type PartnerKeys = {
  readonly outlay: KeyDeclaration;
  readonly partner: KeyDeclaration;
};

export function newKeys(): PartnerKeys {
  const newKey = (id: string): KeyDeclaration => ({
    id,
    algorithm: 'hmac-sha256',
    key: randomBytes(32).toString('base64'),
  });
  return { outlay: newKey('outlay-1'), partner: newKey('partner-1') };
}

export type PartnerOptions = z.input<typeof simulatorOptionsSchema>;

export type PartnerProcess = {
  readonly keys: PartnerKeys;
  /** The same after a restart. */
  readonly port: number;
  readonly url: string;
  readonly folder: string;
  readRecords(): Promise<PartnerRecords>;
  setOptions(options: PartnerOptions): Promise<void>;
  control(path: string, body: object): Promise<void>;
  kill(): Promise<void>;
  restart(): Promise<void>;
  close(): Promise<void>;
};

const program = fileURLToPath(
  new URL('../counterparties/partner/partner-simulator.ts', import.meta.url),
);

export async function startPartner(
  simulatorOptions: PartnerOptions = {},
  keys: PartnerKeys = newKeys(),
): Promise<PartnerProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-partner-'));
  const secretFile = join(folder, 'keys.json');
  const secrets = { outlayKeys: [keys.outlay], partnerKey: keys.partner };
  writeFileSync(secretFile, JSON.stringify(secrets), { mode: 0o600 });
  let child: ChildProcess;
  // The same after a restart.
  const port = await findFreePort();
  const run = async (): Promise<void> => {
    const values = { port: String(port), folder, 'secret-file': secretFile };
    const options = Object.entries({ ...values, options: JSON.stringify(simulatorOptions) });
    child = spawn(
      process.execPath,
      [program, '--attached', ...options.flatMap(([name, value]) => [`--${name}`, value])],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    if (child.stdout === null) throw new Error('the partner has no output');
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    assert.equal((JSON.parse(line) as { port: number }).port, port);
  };
  await run();
  const url = `http://127.0.0.1:${port}`;
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  const control = async (path: string, body: object): Promise<void> => {
    const response = await fetch(url + path, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  };
  return {
    keys,
    port,
    url,
    folder,
    readRecords: () => readRecords(url),
    setOptions: (changes) => control('/control/options', changes),
    control,
    kill,
    restart: run,
    close: async () => {
      // It ends with its input, and leaves what it compiled for the next one.
      const hasEnded = child.exitCode !== null || child.signalCode !== null;
      const ended = hasEnded ? undefined : once(child, 'exit');
      child.stdin?.end();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const readRecords = async (url: string): Promise<PartnerRecords> =>
  (await (await fetch(`${url}/records`)).json()) as PartnerRecords;

/** The same in this process, for tests that need many of them and kill none. */
export async function openPartner(
  options: PartnerOptions,
  keys = newKeys(),
): Promise<Pick<PartnerProcess, 'keys'> & Awaited<ReturnType<typeof openWithSecrets>>> {
  const secrets = { outlayKeys: [keys.outlay], partnerKey: keys.partner };
  return { keys, ...(await openWithSecrets(options, secrets)) };
}

type Secrets = OpeningOptions['secrets'];

/** A simulator in this process, at the level of its secrets. */
export async function openWithSecrets(
  options: PartnerOptions,
  secrets: Secrets,
): Promise<
  Pick<PartnerProcess, 'port' | 'readRecords' | 'close'> & Pick<PartnerSimulator, 'state'>
> {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-partner-'));
  const simulator = await openPartnerSimulator({ port: 0, folder, secrets, options });
  const { port, close, state } = simulator;
  return {
    port,
    state,
    readRecords: async () => listRecords(state),
    close: async () => {
      await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type PartnerRail = {
  readonly rail: RailCalls;
  readonly host: TestHost;
  readonly readings: CallbackReading[];
  close(): Promise<void>;
};

export type PartnerRailOptions = {
  /** Of the signed level; `config` has those of the light one. */
  keys?: PartnerKeys;
  /** Of the partner, or of what stands before it. */
  url: string;
  config?: Partial<z.input<typeof configSchema>>;
  nowMs?: () => number;
  realNowMs?: () => number;
  payers?: readonly PayerDeclaration[];
  listAttributes?: RailHost['listAttributes'];
  fetch?: typeof fetch;
};

/** A rail with a server for its callbacks, which hears what the rail makes of them. */
export async function openPartnerRail(options: PartnerRailOptions): Promise<PartnerRail> {
  const readings: CallbackReading[] = [];
  let opened: RailCalls | undefined;
  const server = createServer((request, response) => {
    const answer = async (): Promise<number> => {
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      );
      const { pathname } = new URL(request.url ?? '', 'http://localhost');
      const message = { method: request.method ?? '', query: {}, headers };
      const path = pathname.replace(/^\/rails\/partner/, '');
      const reading = await opened?.readCallback?.({
        ...message,
        path,
        body: await readBody(request),
      });
      if (reading === undefined) return 500;
      readings.push(reading);
      if (reading.kind !== 'accepted') return reading.kind === 'refused' ? 401 : 400;
      await host.receive(reading.message);
      return 200;
    };
    answer().then(
      (status) => response.writeHead(status).end(),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const host = await openTestHost({
    name: 'partner',
    callbackUrl: `http://127.0.0.1:${port}/rails/partner`,
    ...(options.nowMs === undefined ? {} : { nowMs: options.nowMs }),
    ...(options.realNowMs === undefined ? {} : { realNowMs: options.realNowMs }),
    ...(options.payers === undefined ? {} : { payers: options.payers }),
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
    ...(options.listAttributes === undefined ? {} : { listAttributes: options.listAttributes }),
  });
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await host.close();
  };
  try {
    const rail = await railModule.create(describeConfig(options), host);
    opened = rail;
    return { rail, host, readings, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export function describeConfig({ keys, url, config }: PartnerRailOptions) {
  return configSchema.parse({
    baseUrl: url,
    ...(keys === undefined ? {} : { signingKey: keys.outlay, partnerKeys: [keys.partner] }),
    orderSeconds: 600,
    eventsSeconds: 1,
    bookingSeconds: 0,
    ...config,
  });
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts);
}

/** A payment of 100.10 EUR to a bank account in Spain, under a reference of its own. */
export function newInstruction(changes: Partial<Instruction> = {}): Instruction {
  return {
    reference: randomUUID().replaceAll('-', ''),
    payerKey: 'bank',
    countryCode: 'ESP',
    deliveryType: 'BANK_DEPOSIT',
    currency: 'EUR',
    amountMinor: 10_010n,
    attributes: { bank_account_number: 'ES9121000418450200051332' },
    beneficiary: {
      firstName: 'Ana',
      middleName: '',
      lastName: 'Núñez',
      businessName: '',
      address1: '',
      address2: '',
      city: 'Sevilla',
      stateProvince: '',
      postalCode: '',
      countryCode: 'ESP',
      email: '',
      mobileNumber: '',
      dateOfBirth: '',
    },
    originator: { accountId: 'acct_1', name: 'Example Ltd' },
    pickupCode: '',
    committedAtMs: Date.now(),
    availableAtMs: Date.now() + 60_000,
    ...changes,
  };
}

/** The payer of `newInstruction`. */
export function declarePartnerPayer(changes: Partial<PayerDeclaration> = {}): PayerDeclaration {
  return {
    ...payerBase,
    key: 'bank',
    companyKey: 'partner',
    payerName: 'A partner',
    countryCode: 'ESP',
    deliveryType: 'BANK_DEPOSIT',
    currencies: ['EUR'],
    ...changes,
  };
}

/** Waits for a condition, however slow the machine is. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  const endMs = Date.now() + 60_000;
  while (!(await condition())) {
    if (Date.now() > endMs) throw new Error(`it did not happen in time: ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
}

export const context = { signal: new AbortController().signal };
