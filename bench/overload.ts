import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRunningServer } from '../server/src/db/embedded/embedded.ts';
import { connectDatabase, type Database } from '../server/src/db/postgres/pool.ts';
import { verifyLedger } from '../server/src/ledger/ledger.ts';
import { readRows } from '../server/testing/setups/read-rows.ts';
import { formatRequest } from './load.ts';
import { serverOptions } from './node-options.ts';
import { type Request, runClosedLoad, runOpenLoad } from './open-load.ts';

/**
 * What happens when more is asked for than can be done: the capacity is measured with a closed
 * loop, then requests come in an open loop at 1, 2 and 4 times that, then the closed loop again. The
 * service, its database and this generator are three processes. Every commit that was acknowledged
 * is looked for in the database afterwards.
 *
 *     npm run bench -- --overload      (OVERLOAD_SECONDS=10 for each step)
 */

const seconds = Number(process.env['OVERLOAD_SECONDS'] ?? 10);
const factors = (process.env['OVERLOAD_FACTORS'] ?? '1,2,4').split(',').map(Number);
const connections = 64;
/** More than the service admits at once, so that it is never the generator that holds back. */
const openConnections = 4000;
const version = '/v0.1.4';

const folder = mkdtempSync(join(tmpdir(), 'outlay-overload-'));
const child = await startService();
try {
  await run();
} finally {
  await new Promise((resolve) => {
    child.once('exit', resolve);
    child.kill('SIGTERM');
  });
  rmSync(folder, { recursive: true, force: true });
}

async function startService(): Promise<ChildProcess> {
  const main = join(import.meta.dirname, '../server/src/main.ts');
  const words = ['--disable-warning=ExperimentalWarning', ...serverOptions, main, 'serve'];
  const started = spawn(process.execPath, words, {
    env: {
      ...process.env,
      PORT: '0',
      OUTLAY_DATA: folder,
      OUTLAY_RATE_LIMIT_CREDENTIAL: '1000000',
      OUTLAY_RATE_LIMIT_ADDRESS: '1000000',
      OUTLAY_QUOTE_SECONDS: '86400',
      OUTLAY_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => started.kill('SIGKILL'));
  await new Promise<void>((resolve, reject) => {
    started.once('exit', (code) => reject(new Error(`the service ended with ${code}`)));
    started.stdout?.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('Outlay is ready')) resolve();
      else process.stderr.write(text);
    });
  });
  started.removeAllListeners('exit');
  started.once('exit', (code) => {
    if (code !== 0) process.exit(1);
  });
  return started;
}

type Payouts = { pending: string[]; committed: string[] };

async function run(): Promise<void> {
  const staging = JSON.parse(readFileSync(join(folder, 'staging.json'), 'utf8')) as {
    base_url: string;
    api_key: string;
  };
  const port = Number(new URL(staging.base_url).port);
  const server = findRunningServer(folder);
  if (server === undefined) throw new Error('no database');
  const db = connectDatabase({ url: server.connectionUrl('outlay_staging'), connectionsMax: 2 });
  try {
    const subject = await prepare(port, staging.api_key);
    const payouts: Payouts = { pending: [], committed: [] };
    const create = (): Request => ({
      bytes: subject.create,
      onAnswer: (status, body) => {
        if (status === 200) payouts.pending.push(readToken(body));
      },
    });
    const commit = (): Request | undefined => {
      const token = payouts.pending.pop();
      if (token === undefined) return undefined;
      const path = `${version}/payout/${subject.user}/${token}`;
      return {
        bytes: formatRequest({ method: 'PUT', path, token: staging.api_key }),
        onAnswer: (status, body) => {
          if (status !== 200) payouts.pending.push(token);
          else if (body.includes('"status":"success"')) payouts.committed.push(token);
          else throw new Error(body);
        },
      };
    };
    await runClosed(port, create, seconds / 2);
    await measure('create', port, create);
    while (payouts.pending.length < seconds * 40_000) await runClosed(port, create, seconds);
    await measure('commit', port, commit);
    await assertNothingLost(db, payouts.committed);
  } finally {
    await db.close();
  }
}

async function measure(name: string, port: number, next: () => Request | undefined) {
  const before = await runClosed(port, next, seconds);
  process.stdout.write(`${name}: closed loop ${before.toFixed(0)}/s\n`);
  for (const factor of factors) {
    const perSecond = before * factor;
    const result = await runOpenLoad({
      port,
      perSecond,
      seconds,
      connections: openConnections,
      next,
    });
    const after = await runClosed(port, next, seconds / 4);
    const rate = (count: number): string => (count / result.seconds).toFixed(0);
    process.stdout.write(
      `${name} ${factor}x: asked ${perSecond.toFixed(0)}/s for ${result.seconds.toFixed(1)} s, ` +
        `accepted ${rate(result.accepted)}/s, ` +
        `shed ${rate(result.shed)}/s, failed ${result.failed}; ms of accepted: p50 ` +
        `${result.p50.toFixed(0)}, p99 ${result.p99.toFixed(0)}, highest ` +
        `${result.highest.toFixed(0)} (once sent ${result.sentP50.toFixed(0)} and ` +
        `${result.sentP99.toFixed(0)}); of shed: p99 ${result.shedP99.toFixed(0)}; ` +
        `right after ${(after / before).toFixed(2)} of before\n`,
    );
  }
}

function runClosed(port: number, next: () => Request | undefined, duration: number) {
  return runClosedLoad({ port, connections, seconds: duration, next });
}

/** Every commit that was answered with success is committed, once, and the books are right. */
async function assertNothingLost(db: Database, tokens: readonly string[]): Promise<void> {
  const ids = tokens.map((token) => token.slice('payout_'.length));
  const [found] = await readRows<{ payouts: number; journals: number }>(
    db.system,
    {
      name: '',
      text: `select count(distinct p.id)::integer as payouts,
               count(distinct t.journal_id)::integer as journals
             from unnest($1::uuid[]) as asked (id)
             join payouts p on p.id = asked.id and p.status <> 'PENDING'
             join ledger_transfers t on t.payout_id = p.id and t.account_id = p.account_id`,
    },
    [ids],
  );
  const { isSound } = await verifyLedger(db);
  process.stdout.write(
    `${ids.length} commits acknowledged, ${found?.payouts} found committed in ` +
      `${found?.journals} journals, ledger ${isSound ? 'sound' : 'NOT SOUND'}\n`,
  );
  const isWhole = found?.payouts === ids.length && found.journals === ids.length;
  if (!isWhole || !isSound) throw new Error('something acknowledged is lost, or paid twice');
}

function readToken(body: string): string {
  return /"payout_token":"([^"]+)"/.exec(body)?.[1] ?? '';
}

/** One account, one recipient in Mexico, one balance that never runs dry. */
async function prepare(port: number, token: string): Promise<{ user: string; create: string }> {
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text) as T;
  };
  for (let times = 0; times < 20; times += 1) {
    await call('POST', '/sandbox/fund', { currency_code: 'USD', amount: 9_000_000_000_000 });
  }
  const { user_token: user } = await call<{ user_token: string }>('POST', `${version}/user`, {
    internal_user_id: 'overload',
    country: 'MEX',
    first_name: 'Over',
    last_name: 'Load',
    email: 'overload@example.org',
  });
  type Service = { delivery_type: string; payers: { destination_token: string }[] };
  const { companies } = await call<{ companies: { services: Service[] }[] }>(
    'GET',
    `${version}/country/MEX/cheapest`,
  );
  const services = companies.flatMap((company) => company.services);
  const [payer] = services.find((one) => one.delivery_type === 'BANK_DEPOSIT')?.payers ?? [];
  const destination = payer?.destination_token ?? '';
  const attributes = `${version}/attribute/${user}/${destination}/MXN`;
  const [attribute] = await call<{ token: string }[]>('GET', attributes);
  await call('POST', attributes, {
    values: [{ token: attribute?.token, value: '002010077777777771' }],
  });
  const body = { destination_token: destination, destination_currency_code: 'MXN' };
  const request = { method: 'POST', path: `${version}/payout/${user}`, token };
  return { user, create: formatRequest({ ...request, body: { ...body, source_amount: 100.1 } }) };
}
