import { z } from 'zod';
import { newId } from '../server/src/core/ids.ts';
import { countPayouts } from '../server/src/monitoring/payout-days.ts';
import { createOperator } from '../server/src/operators/operators.ts';
import { listRoutes } from '../server/src/routes.ts';
import { createUser, prepareUser } from '../server/src/users/users.ts';
import { writeSection } from './document.ts';
import { median } from './drive.ts';
import { fillPayouts } from './fill.ts';
import { describeMachine } from './machine.ts';
import { openPlace } from './place.ts';
import { runSteps } from './subjects/durable-steps.ts';
import { type OurEnvironment, openOurEnvironment } from './subjects/environment.ts';
import { startService } from './subjects/service.ts';

/**
 * npm run bench -- --console: how long the lists and charts of the console take beside a million payouts
 * and a hundred thousand recipients, each asked for by an operator, one at a time.
 */

const payouts = Number(process.env['BENCH_PAYOUTS'] ?? 1_000_000);
const recipients = Number(process.env['BENCH_RECIPIENTS'] ?? 100_000);
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 7);
const usersAtOnce = 16;

/** Lists by each of their filters, besides the ones without parameters. */
const filtered = [
  '/operator/overview?days=366',
  '/operator/overview?days=30&account={account}',
  '/operator/tariffs?country=MEX',
  '/payout?status=COMPLETED',
  '/payout?status=CANCELLED',
  '/payout?status=HOLD',
  '/payout?country=BRA',
  '/payout?delivery_type=CASH_PICKUP',
  '/payout?client_transfer_id=unknown',
  '/payout?metadata[order]=unknown',
  '/payout?from={month}-01',
  '/payout?user_token={user}',
  '/payout/{user}/{payout}',
  '/payout/{user}/{payout}/decision',
  '/account/balance/{balance}/entries',
  '/events?object={payout}',
  '/user?name=ana%20g',
  '/user?name=nobody',
  '/user?email=nobody@example.org',
  '/user?country=BRA',
  '/operator/exceptions?closed=true',
  '/operator/exceptions?account={account}&all=true',
  '/operator/audit?name=nobody',
  '/operator/audit?action=nothing',
] as const;

/** Not of a page: streams, look-ups by a required value, and what operators may not or belongs to a session. */
const leftOut = [
  '/identity/pending',
  '/events/stream',
  '/user/lookup',
  '/console/session',
  '/operator/screenings',
];

/** Asked for with what it requires, above; and the report of a month, which is no list. */
const needsMore = ['/operator/reports/month', '/operator/tariffs'];

/** Every list of clients and operators, from the description of the API. */
function listRequests(): string[] {
  const all = listRoutes()
    .filter(
      ({ method, access, isVersioned }) => method === 'GET' && access !== 'public' && isVersioned,
    )
    .map(({ path }) => path)
    .filter((path) => !path.includes('{') && !leftOut.includes(path));
  return [...new Set([...all, ...filtered])].filter((path) => !needsMore.includes(path));
}

type Values = Readonly<Record<string, string>>;

function writeRequest(path: string, values: Values): string {
  return path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${path}: nothing is known for ${name}`);
    return value;
  });
}

const newestPayout = z.tuple([z.object({ payout_token: z.string(), user_token: z.string() })]);
const balances = z.array(z.object({ token: z.string() })).min(1);

/** What the paths name: this month, the newest payout with its recipient, and a balance. */
async function findValues(ask: (request: string) => Promise<string>): Promise<Values> {
  const [newest] = newestPayout.parse(JSON.parse(await ask('/payout?number_of_records=1')));
  const [balance] = balances.parse(JSON.parse(await ask('/account/balance')));
  return {
    month: new Date().toISOString().slice(0, 7),
    payout: newest.payout_token,
    user: newest.user_token,
    balance: balance?.token ?? '',
  };
}

export async function runConsole(): Promise<void> {
  const place = await openPlace();
  const opened: { close(): Promise<void> }[] = [place];
  try {
    const ours = await openOurEnvironment(place, 'ours_console');
    opened.push(ours);
    await makeRecipients(ours);
    await fill(ours);
    const service = await startService(place, { name: 'ours_console', role: 'serve', of: ours });
    opened.push(service);
    const services = { session: ours.env.db.system, keys: ours.env.keys };
    const operator = { name: 'bench', role: 'owner', createdBy: undefined } as const;
    const { key } = await createOperator(services, operator);
    const { accountId } = ours.fixture.hot;
    const rows: string[] = [];
    const countingMs = await measureCounting(ours);
    const ask = async (request: string): Promise<string> => {
      const url = `http://127.0.0.1:${service.port}/v0.1.4${request}`;
      const headers = { authorization: `Bearer ${key}`, 'outlay-account': accountId };
      const response = await fetch(url, { headers });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${request}: ${response.status} ${text}`);
      return text;
    };
    const values = { account: accountId, ...(await findValues(ask)) };
    for (const path of listRequests()) {
      const timesMs: number[] = [];
      for (let round = 0; round <= rounds; round += 1) {
        const startMs = performance.now();
        await ask(writeRequest(path, values));
        // The first one compiles code and plans.
        if (round > 0) timesMs.push(performance.now() - startMs);
      }
      const [middle, longest] = [median(timesMs), Math.max(...timesMs)].map((ms) => ms.toFixed(0));
      process.stderr.write(`${path} ${middle} ms\n`);
      rows.push(`| \`${path}\` | ${middle} | ${longest} |`);
    }
    const text = [
      `## The console beside ${payouts.toLocaleString('en')} payouts`,
      '',
      `Each list and chart ${rounds} times, one at a time, over HTTP, by an operator for the account that has all`,
      `payouts and ${recipients.toLocaleString('en')} recipients. Counting all payouts by day anew took ${(countingMs / 1000).toFixed(1)} s.`,
      `${await place.describe()}. ${describeMachine()}.`,
      '',
      '| request | median ms | longest ms |',
      '|---|---|---|',
      ...rows,
      '',
    ].join('\n');
    process.stdout.write(text);
    writeSection('console', text);
  } finally {
    for (const one of opened.toReversed()) await one.close();
  }
}

async function measureCounting({ env }: OurEnvironment): Promise<number> {
  const startMs = performance.now();
  while (await countPayouts(env.db)) continue;
  return performance.now() - startMs;
}

async function makeRecipients({ env, fixture }: OurEnvironment): Promise<void> {
  const { accountId } = fixture.hot;
  for (let done = 0; done < recipients; done += usersAtOnce) {
    const size = Math.min(usersAtOnce, recipients - done);
    await Promise.all(Array.from({ length: size }, () => makeRecipient(env, accountId)));
  }
}

async function makeRecipient(env: OurEnvironment['env'], accountId: string): Promise<void> {
  const name = newId();
  const user = prepareUser(
    { keys: env.keys, accountId },
    {
      internal_user_id: name,
      country: 'MEX',
      first_name: 'Ana',
      last_name: 'Gómez',
      email: `${name}@example.org`,
      metadata: undefined,
    },
  );
  await createUser(env.db.tenant(accountId), user);
}

async function fill(ours: OurEnvironment): Promise<void> {
  const ready = await ours.fixture.prepareWorkload('hot', 1);
  const [first] = ready;
  if (first === undefined) throw new Error('nothing to complete');
  await runSteps(ours, ready, { seconds: 3600, inFlight: 1, workload: 'hot' });
  await fillPayouts({
    url: ours.url,
    accountId: ours.fixture.hot.accountId,
    payoutId: first.payoutId,
    count: payouts,
    users: Math.min(1_000, recipients),
    isReadable: true,
    onProgress: (done) => process.stderr.write(`${done} of ${payouts} payouts\n`),
  });
}
