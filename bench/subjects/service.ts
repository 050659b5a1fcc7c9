import { randomBytes } from 'node:crypto';
import type { Profiler } from 'node:inspector';
import { join } from 'node:path';
import { formatToken } from '../../server/src/core/ids.ts';
import { readMasterKey } from '../../server/src/core/sealing.ts';
import { connectDatabase } from '../../server/src/db/postgres/pool.ts';
import { readKeyRing } from '../../server/src/environment/key.ts';
import { type Child, startChild } from '../child.ts';
import { createFixture, type Fixture, type Owner } from '../fixture.ts';
import { serverOptions } from '../node-options.ts';
import type { Place } from '../subject.ts';
import { describeSettings } from './environment.ts';

/** Our service in a process of its own, and the accounts and payouts it is asked about. */
export type Service = {
  port: number;
  processId: number;
  url: string;
  fixture: Fixture;
  /** Calls as the given account; throws unless the answer is 200. */
  call(owner: Owner, request: Request): Promise<string>;
  /** The same for what may be refused. */
  tryCall(owner: Owner, request: Request): Promise<{ status: number; body: string }>;
  /** The destination that the hot account's user is paid through, its attributes stored. */
  prepareDestination(): Promise<string>;
  /** Profiles the service's thread while `work` runs. */
  profile(work: () => Promise<void>): Promise<ServiceProfile>;
  close(): Promise<void>;
};

export type ServiceProfile = { profile: Profiler.Profile; cpuUs: number };

type Request = {
  method: string;
  path: string;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
};

export const version = '/v0.1.4';

export async function startService(
  place: Place,
  options: {
    name: string;
    role?: 'all' | 'serve';
    /** Where the database already has its accounts and key. */
    of?: { fixture: Fixture; masterKey: Buffer };
    settings?: Readonly<Record<string, string>>;
    /** Instead of those for a server. */
    nodeOptions?: readonly string[];
  },
): Promise<Service> {
  const url = await place.database(options.name);
  const masterKey = options.of?.masterKey ?? randomBytes(32);
  const settings = describeSettings({
    url,
    folder: join(place.folder, `${options.name}_service`),
    masterKey,
  });
  const child: Child = await startChild('subjects/service-process.ts', {
    env: {
      ...settings,
      ...options.settings,
      MALLOC_ARENA_MAX: '2',
      BENCH_ROLE: options.role ?? 'serve',
    },
    execArgv: options.nodeOptions ?? serverOptions,
  });
  const db = connectDatabase({ url, connectionsMax: 8 });
  const masters = { list: () => [readMasterKey(masterKey)] };
  const keys = await readKeyRing(db.system, masters);
  const fixture = options.of?.fixture ?? (await createFixture({ db, keys }));
  const port = Number(child.ready['port']);
  const tryCall: Service['tryCall'] = async (owner, { method, path, body, headers }) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${owner.apiKey}`,
        'content-type': 'application/json',
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.text() };
  };
  const call: Service['call'] = async (owner, request) => {
    const { status, body } = await tryCall(owner, request);
    if (status !== 200) throw new Error(`${request.method} ${request.path}: ${body}`);
    return body;
  };
  return {
    port,
    processId: child.processId,
    url,
    fixture,
    call,
    tryCall,
    prepareDestination: () => prepareDestination(call, fixture.hot),
    profile: async (work) => {
      await child.ask('profile');
      await work();
      return (await child.ask('end')) as ServiceProfile;
    },
    close: async () => {
      await child.stop();
      await db.close();
    },
  };
}

async function prepareDestination(call: Service['call'], owner: Owner): Promise<string> {
  const found = JSON.parse(
    await call(owner, { method: 'GET', path: `${version}/country/MEX/cheapest` }),
  ) as {
    companies: {
      services: { delivery_type: string; payers: { destination_token: string }[] }[];
    }[];
  };
  const destination = found.companies
    .flatMap((company) => company.services)
    .find((service) => service.delivery_type === 'BANK_DEPOSIT')?.payers[0]?.destination_token;
  if (destination === undefined) throw new Error('no bank deposit in Mexico');
  const user = formatToken('user', owner.userId);
  const path = `${version}/attribute/${user}/${destination}/MXN`;
  const [attribute] = JSON.parse(await call(owner, { method: 'GET', path })) as { token: string }[];
  const values = [{ token: attribute?.token, value: '002010077777777771' }];
  await call(owner, { method: 'POST', path, body: { values } });
  return destination;
}
