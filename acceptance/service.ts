import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ExactNumber, type Json, parseExact } from './exact.ts';
import { runServiceApart } from './service-process.ts';
import { createDatabase } from './test-database.ts';
import { webhookSettings } from './webhook-receiver.ts';

/**
 * The service as a client sees it. Tests run against the service that the environment names
 * (`OUTLAY_URL` with `OUTLAY_TOKEN`, or `OUTLAY_STAGING_FILE`); otherwise each file starts its own.
 */

export type Credentials = {
  account: string;
  client_id: string;
  client_secret: string;
  api_key: string;
};

export type Service = {
  readonly baseUrl: string;
  /** Calls with the Demo account's API key. */
  readonly demo: Api;
  readonly credentials: Credentials;
  /** Undefined for a service that runs in the test's process, or that the tests did not start. */
  readonly process: ChildProcess | undefined;
  readonly dataDirectory: string | undefined;
  /** What it was started with, in addition to those that tests need; of another service nothing. */
  readonly settings: Readonly<Record<string, string>>;
  /** What the service that the tests started has printed and logged. */
  readonly output: () => string;
  stop(): Promise<void>;
};

export const versions = ['v0.1.0', 'v0.1.1', 'v0.1.2', 'v0.1.3', 'v0.1.4'];

export type StartOptions = {
  /** Settings in addition to those that tests need. */
  settings?: Readonly<Record<string, string>>;
  /** An existing folder to start in; `stop` does not remove it. */
  dataDirectory?: string;
  /** Starts one even where the environment names a running one. */
  isOwn?: boolean;
  /** Starts one in a process of its own, which a test can end or inspect. */
  isProcess?: boolean;
  /** For commands of operators: one that the tests started, which files may share. */
  takesCommands?: boolean;
  /** Requests only; the default is `all`. */
  role?: 'serve';
  /** Starts one on an embedded database of its own. */
  isEmbedded?: boolean;
  /** Begins a recovery, as after a restore. */
  recovers?: boolean;
};

/** The settings of a started service: rate limits that no test reaches by accident. */
export function testSettings(dataDirectory: string): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined &&
      !/^(OUTLAY_|DATABASE_URL$|PORT$|HOST$|NODE_(?!COMPILE_CACHE$))/.test(entry[0]),
  );
  return {
    ...Object.fromEntries(inherited),
    OUTLAY_DATA: dataDirectory,
    PORT: '0',
    OUTLAY_WORK_PORT: '0',
    OUTLAY_RATE_LIMIT_CREDENTIAL: '1000000',
    OUTLAY_RATE_LIMIT_ADDRESS: '1000000',
    OUTLAY_RATE_LIMIT_EXPENSIVE: '1000000',
    OUTLAY_DRAIN_SECONDS: '2',
    // Tests move the clock much further than clients of a shared sandbox may.
    OUTLAY_SANDBOX_CLOCK_DAYS: '36500',
  };
}

/** By settings; undefined where each test file starts its own. */
let shared: Map<string, Promise<Service>> | undefined;

/** From now on test files that run in this process, one after the other, share services. */
export function shareServices(): void {
  shared = new Map();
}

/** A file that asks for a service later starts its own. */
export async function stopSharedServices(): Promise<void> {
  const services = [...(shared?.values() ?? [])];
  shared = undefined;
  for (const started of services) {
    // One that did not start has failed the test that asked for it.
    await started.then(
      (service) => service.stop(),
      () => undefined,
    );
  }
}

/** @throws Error with the output of a process that does not start. */
export async function startService(options: StartOptions = {}): Promise<Service> {
  const { isOwn, isProcess, isEmbedded, takesCommands = false, dataDirectory } = options;
  if (isOwn || isProcess || isEmbedded || dataDirectory) return startOwnService(options);
  const running = takesCommands ? undefined : await findRunning();
  return running ?? (await findShared(options)) ?? startOwnService(options);
}

async function findShared({ settings = {} }: StartOptions): Promise<Service | undefined> {
  if (shared === undefined) return undefined;
  // Each further service would ask the database while it waits for the next file.
  const all = { ...webhookSettings, ...settings };
  const key = JSON.stringify(all);
  const started = shared.get(key) ?? startOwnService({ settings: all });
  shared.set(key, started);
  const service = await started;
  const demo = service.demo.withVersion(service.demo.version);
  return { ...service, demo, stop: async () => demo.close() };
}

async function startOwnService(options: StartOptions): Promise<Service> {
  const { isEmbedded = false, isProcess = false } = options;
  const dataDirectory =
    options.dataDirectory ?? (await mkdtemp(join(tmpdir(), 'outlay-acceptance-')));
  const isGiven = isEmbedded || options.settings?.['DATABASE_URL'] !== undefined;
  const database = isGiven ? undefined : await createDatabase();
  const settings = { ...database?.settings, ...options.settings };
  const removeData = async (): Promise<void> => {
    await database?.drop();
    if (options.dataDirectory === undefined) {
      await rm(dataDirectory, { recursive: true, force: true, maxRetries: 5 });
    }
  };
  const start = isProcess ? runServiceApart : (await import('./service-here.ts')).runServiceHere;
  const { role = 'all', recovers = false } = options;
  const variables = { ...testSettings(dataDirectory), ...settings };
  const running: RunningService = await start(variables, { role, recovers }).catch(
    async (error: unknown) => {
      await removeData();
      throw error;
    },
  );
  const file = await readFile(join(dataDirectory, 'staging.json'), 'utf8');
  const service = describeService(JSON.parse(file) as StagingFile);
  return {
    ...service,
    process: running.process,
    dataDirectory,
    settings,
    output: () => running.output(),
    stop: async () => {
      service.demo.close();
      await running.stop();
      await removeData();
    },
  };
}

type RunningService = {
  readonly process?: ChildProcess;
  output(): string;
  stop(): Promise<void>;
};

type StagingFile = Credentials & { base_url: string };

async function findRunning(): Promise<Service | undefined> {
  const { OUTLAY_URL: url, OUTLAY_TOKEN: token, OUTLAY_STAGING_FILE: path } = process.env;
  if (path !== undefined) return describeService(JSON.parse(await readFile(path, 'utf8')));
  if (url === undefined || token === undefined) return undefined;
  const unknown = { account: '', client_id: '', client_secret: '' };
  return describeService({ ...unknown, base_url: url, api_key: token });
}

function describeService({ base_url: baseUrl, ...credentials }: StagingFile): Service {
  const demo = new Api(baseUrl, credentials.api_key);
  return {
    baseUrl,
    demo,
    credentials,
    process: undefined,
    dataDirectory: undefined,
    settings: {},
    output: () => '',
    stop: async () => demo.close(),
  };
}

export type Reply<T = Json> = {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  bytes: Buffer;
  /** The JSON of the answer, with exact numbers; undefined for other content. */
  body: T;
};

export type Headers = Readonly<Record<string, string | string[]>>;

const unversioned =
  /^\/(?:v\d|sandbox\/|oauth2\/|\.well-known\/|health\/|metrics|openapi|docs|verify\/)/;

/** A client of the service with a credential and a version. */
export class Api {
  readonly baseUrl: string;
  readonly token: string;
  readonly version: string;
  readonly #agent: Agent;

  constructor(baseUrl: string, token: string, version = 'v0.1.4') {
    this.baseUrl = baseUrl;
    this.token = token;
    this.version = version;
    this.#agent = new Agent({ keepAlive: true });
    // An idle connection must not keep the test's process alive.
    this.#agent.on('free', (socket) => socket.unref());
  }

  withToken(token: string): Api {
    return new Api(this.baseUrl, token, this.version);
  }

  withVersion(version: string): Api {
    return new Api(this.baseUrl, this.token, version);
  }

  close(): void {
    this.#agent.destroy();
  }

  get<T = Json>(path: string, headers: Headers = {}): Promise<Reply<T>> {
    return this.call<T>('GET', path, { headers });
  }

  post<T = Json>(path: string, body: unknown, headers: Headers = {}): Promise<Reply<T>> {
    return this.call<T>('POST', path, { body, headers });
  }

  put<T = Json>(path: string, body?: unknown, headers: Headers = {}): Promise<Reply<T>> {
    return this.call<T>('PUT', path, { body, headers });
  }

  patch<T = Json>(path: string, headers: Headers = {}): Promise<Reply<T>> {
    return this.call<T>('PATCH', path, { headers });
  }

  /**
   * Adds this client's version to a path without one. Text and bytes are sent as they are, anything
   * else as JSON. A header whose value is an empty array is left out.
   */
  call<T = Json>(
    method: string,
    path: string,
    options: { body?: unknown; headers?: Headers } = {},
  ): Promise<Reply<T>> {
    const { body } = options;
    const isSentAsIs = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const sent = isSentAsIs ? body : JSON.stringify(body);
    const headers: Record<string, string | string[]> = {
      accept: 'application/json',
      authorization: `Bearer ${this.token}`,
      ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    };
    if (sent !== undefined) headers['content-length'] ??= String(Buffer.byteLength(sent));
    for (const [name, value] of Object.entries(headers)) {
      if (value.length === 0 && Array.isArray(value)) delete headers[name];
    }
    const { hostname, port } = new URL(this.baseUrl);
    const target = unversioned.test(path) ? path : `/${this.version}${path}`;
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        { hostname, port, method, path: target, headers, agent: this.#agent },
        (response) => {
          // A refusal may arrive while the body is still being sent: errors after it do not matter.
          request.off('error', reject).on('error', () => undefined);
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.once('error', reject);
          response.once('end', () => {
            const { statusCode = 0, headers: answered } = response;
            resolve(readReply<T>(statusCode, answered, Buffer.concat(chunks)));
          });
        },
      );
      request.on('error', reject);
      request.end(sent);
    });
  }
}

function readReply<T>(status: number, headers: IncomingHttpHeaders, bytes: Buffer): Reply<T> {
  const text = bytes.toString('utf8');
  const isJson = /json/.test(headers['content-type'] ?? '') && text !== '';
  return { status, headers, text, bytes, body: (isJson ? parseExact(text) : undefined) as T };
}

/** @throws Error with the answer unless its status is 200. */
export function ok<T>(reply: Reply<T>): T {
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text.slice(0, 2000)}`);
  return reply.body;
}

export type Account = { api: Api; credentials: Credentials };

/** Creates an account for one test, with these funds (`{ USD: '100' }`). */
export async function createAccount(
  service: Pick<Service, 'demo'>,
  funds: Readonly<Record<string, string>> = {},
): Promise<Account> {
  const name = `Test ${randomUUID()}`;
  const credentials = ok(await service.demo.post<Credentials>('/sandbox/accounts', { name }));
  const api = service.demo.withToken(credentials.api_key);
  for (const [currency, amount] of Object.entries(funds)) await fund(api, currency, amount);
  return { api, credentials };
}

export async function fund(api: Api, currency: string, amount: string): Promise<Balance> {
  const body = `{"currency_code":"${currency}","amount":${amount}}`;
  return ok(await api.post<Balance>('/sandbox/fund', body));
}

export type Balance = { token: string; balance: ExactNumber; currency_code: string };

/** The balance in a currency, as decimal text. */
export async function readBalance(api: Api, currency = 'USD'): Promise<string> {
  const balances = ok(await api.get<Balance[]>('/account/balance'));
  const found = balances.find((entry) => entry.currency_code === currency);
  if (found === undefined) throw new Error(`no balance in ${currency}`);
  return found.balance.text;
}

/** Moves the environment's clock forward, and returns when everything due by then is done. */
export async function advance(api: Api, seconds: number): Promise<string> {
  return ok(await api.post<{ now: string }>('/sandbox/clock', { advance_s: seconds })).now;
}

export const daySeconds = 86_400;

/** The path of the next page, from the Link header. */
function findNextPage(reply: Reply<unknown>, baseUrl: string): string | undefined {
  const { link } = reply.headers;
  if (link === undefined) return undefined;
  const address = /^<([^>]+)>; rel="next"$/.exec(String(link))?.[1];
  if (address?.startsWith(baseUrl) !== true)
    throw new Error(`unexpected Link header: ${String(link)}`);
  return address.slice(baseUrl.length);
}

/** All pages of a list from this one on. */
export async function readPages<T>(api: Api, first: string): Promise<T[][]> {
  const pages: T[][] = [];
  let path: string | undefined = first;
  while (path !== undefined) {
    const reply: Reply<T[]> = await api.get<T[]>(path);
    pages.push(ok(reply));
    path = findNextPage(reply, api.baseUrl);
    if (pages.length > 100) throw new Error('the pages do not end');
  }
  return pages;
}
