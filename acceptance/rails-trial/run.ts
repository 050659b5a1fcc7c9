import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase } from '../../server/testing/setups/database.ts';
import { type Books, createRandom, openBooks } from '../reliability-kit.ts';
import { Api, createAccount, fund } from '../service.ts';
import { openAdyen } from './adyen.ts';
import { openAch, openBank } from './bank-files.ts';
import { endPassLeases, explainViolations } from './books.ts';
import { isLitecoindInstalled, openEthereum, openLitecoin } from './chains.ts';
import { createCounts, createTargets, type Load, type LoadCounts, runClient } from './client.ts';
import { openClock } from './clock.ts';
import type { Counterpart, CounterpartPlaces } from './counterpart.ts';
import { checkBooks, gatherEvidence } from './evidence.ts';
import { openJournal } from './journal.ts';
import { judge } from './judge.ts';
import { type KillCounts, killAtRandom } from './killer.ts';
import { folderPrefix, readOptions, type TrialOptions } from './options.ts';
import { openPartner, partnerNames } from './partners.ts';
import { openPaypal } from './paypal.ts';
import { findFreePort } from './processes.ts';
import { formatReport } from './report.ts';
import { createSlots, openDemo, type Slot } from './service-slots.ts';
import { settle } from './settle.ts';
import { openSimulated } from './simulated.ts';
import { openHub } from './wallets.ts';
import { openWiseCounterpart, wiseName } from './wise.ts';

/** The trial itself. `main.ts` runs it in a process group of its own, and removes its folder. */

const clientsCount = 8;
const fundsUsd = '500000000';
/** Under load the clock moves so far, so that what is not clear is asked again meanwhile. */
const clockStepSeconds = 61;
const clockPauseMs = 20_000;

const startMs = performance.now();

function say(text: string): void {
  const seconds = ((performance.now() - startMs) / 1000).toFixed(0).padStart(5);
  process.stdout.write(`${seconds} s  ${text}\n`);
}

const openers: Readonly<Record<string, (places: CounterpartPlaces) => Promise<Counterpart>>> = {
  sandbox: () => Promise.resolve(openSimulated()),
  bank_eu: openBank,
  bank_us: openAch,
  wallets: openHub,
  [wiseName]: openWiseCounterpart,
  paypal: openPaypal,
  adyen: openAdyen,
  ethereum: openEthereum,
  litecoin: openLitecoin,
  ...Object.fromEntries(
    partnerNames.map((name) => [name, (places: CounterpartPlaces) => openPartner(name, places)]),
  ),
};

type Scene = {
  readonly counterparts: readonly Counterpart[];
  readonly leftOut: readonly string[];
};

async function openCounterparts(
  { only }: TrialOptions,
  places: { folder: string; baseUrl: string; clockFile: string },
): Promise<Scene> {
  const unknown = only?.find((name) => openers[name] === undefined);
  if (unknown !== undefined) {
    throw new Error(`no rail ${unknown}; there are ${Object.keys(openers).join(', ')}`);
  }
  const leftOut: string[] = [];
  const counterparts: Counterpart[] = [];
  for (const [name, open] of Object.entries(openers)) {
    if (only !== undefined && !only.includes(name)) continue;
    if (name === 'litecoin' && !isLitecoindInstalled()) {
      leftOut.push('litecoin, since litecoind is not installed (LITECOIND names it)');
      continue;
    }
    const folder = join(places.folder, name);
    mkdirSync(folder, { recursive: true });
    const callbackUrl = `${places.baseUrl}/rails/${name}`;
    counterparts.push(await open({ folder, callbackUrl, clockFile: places.clockFile }));
    say(`${name} is open`);
  }
  return { counterparts, leftOut };
}

/** Blocks and the like, once a second; a counterpart that is just being killed misses one. */
async function turnAll(scene: Scene, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await Promise.allSettled(scene.counterparts.map(async (one) => one.turn?.()));
    await sleep(1000);
  }
}

type Setup = {
  readonly options: TrialOptions;
  readonly folder: string;
  readonly slots: readonly [Slot, Slot];
  readonly scene: Scene;
  readonly books: Books;
  readonly clockFile: string;
};

async function run(setup: Setup): Promise<boolean> {
  const { options, folder, slots, scene, books } = setup;
  const { counterparts, leftOut } = scene;
  const [first] = slots;
  await first.start();
  const account = await createAccount({ demo: await openDemo(folder, first) });
  await fund(account.api, 'USD', fundsUsd);
  const targets = await createTargets(account.api, counterparts);
  say(`${targets.length} recipients are ready`);
  const journal = openJournal(join(folder, 'journal.jsonl'));
  const over = new AbortController();
  const clients = new Map(slots.map((slot) => [slot, new Api(slot.baseUrl, account.api.token)]));
  const apis = (): Api[] => slots.flatMap((slot) => (slot.isUp() ? (clients.get(slot) ?? []) : []));
  const clock = await openClock(setup.clockFile, () => apis()[0]);
  const turning = turnAll(scene, over.signal);
  const counts = createCounts();
  const loadOver = new AbortController();
  const load: Load = {
    apis,
    targets,
    journal,
    random: createRandom(options.seed),
    isOver: () => loadOver.signal.aborted,
    counts,
  };
  const working = Promise.all(Array.from({ length: clientsCount }, () => runClient(load)));
  const moving = moveClock(clock, loadOver.signal);
  // A client that is refused or gets no answer ends the trial.
  const kills = await Promise.race([
    killAll(setup, { counts, signal: loadOver.signal }),
    working.then(() => never()),
  ]);
  loadOver.abort();
  await Promise.all([working, moving]);
  say(`settling: ${counts.acknowledged} acknowledged`);
  const accountId = account.credentials.account;
  await settle({ books, accountId, clock, counterparts, say });
  const evidence = await gatherEvidence({
    accountId,
    entries: journal.entries,
    counterparts,
    books,
    funded: fundsUsd,
  });
  const judged = judge(evidence);
  const others = await checkBooks({ books, evidence, api: account.api });
  const verdict = { ...judged, violations: [...judged.violations, ...others] };
  over.abort();
  await turning;
  const seconds = Math.round((performance.now() - startMs) / 1000);
  const startsMs = slots.flatMap((slot) => slot.startsMs);
  const { seed } = options;
  const report = { verdict, kills, load: counts, seed, leftOut, seconds, startsMs };
  process.stdout.write(`\n${formatReport(report)}`);
  printLogs(slots);
  process.stdout.write(await explainViolations(books, verdict.violations));
  return verdict.violations.length === 0;
}

function never(): never {
  throw new Error('the clients stopped by themselves');
}

async function moveClock(
  clock: Awaited<ReturnType<typeof openClock>>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(clockPauseMs);
    await clock.advance(clockStepSeconds, clockPauseMs);
  }
}

function killAll(
  { options, slots, scene, books }: Setup,
  { counts, signal }: { counts: LoadCounts; signal: AbortSignal },
): Promise<KillCounts> {
  return killAtRandom({
    options,
    slots,
    counterparts: scene.counterparts,
    random: createRandom(options.seed + 1),
    signal,
    endClaims: () => endPassLeases(books),
    onKill: ({ service }) => {
      if (service % 10 === 0) say(`${service} kills, ${counts.acknowledged} acknowledged`);
    },
  });
}

/** What the service complained about, by message. */
function printLogs(slots: readonly Slot[]): void {
  const counts = new Map<string, number>();
  for (const { logFile } of slots) {
    for (const line of readFileSync(logFile, { encoding: 'utf8', flag: 'a+' }).split('\n')) {
      const complaint = readComplaint(line);
      if (complaint !== undefined) counts.set(complaint, (counts.get(complaint) ?? 0) + 1);
    }
  }
  if (counts.size === 0) return;
  process.stdout.write('\nwhat the service logged:\n');
  for (const [complaint, count] of [...counts].toSorted(([, a], [, b]) => b - a).slice(0, 40)) {
    process.stdout.write(`  ${count} x ${complaint}\n`);
  }
}

function readComplaint(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const { level, msg, error, detail, fault } = JSON.parse(line) as Record<string, unknown>;
    const what = [error, detail, fault].find((one) => one !== undefined);
    const text = what === undefined ? '' : ` ${JSON.stringify(what).slice(0, 300)}`;
    return `[${String(level)}] ${String(msg)}${text}`;
  } catch {
    // A process was killed in the middle of a line.
    return undefined;
  }
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const folder = tmpdir();
  if (!basename(folder).startsWith(folderPrefix)) throw new Error('main.ts starts this program');
  // The parent of the trial has ended, so all processes of the trial end too.
  process.stdin.resume().once('close', () => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    process.kill(-process.pid, 'SIGKILL');
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  say(`seed ${options.seed}, ${options.kills} kills`);
  const database = await createTestDatabase();
  const port = await findFreePort();
  const clockFile = join(folder, 'ahead-ms');
  writeFileSync(clockFile, '0');
  const baseUrl = `http://127.0.0.1:${port}`;
  const scene = await openCounterparts(options, { folder, baseUrl, clockFile });
  const railsFile = join(folder, 'rails.json');
  const rails = scene.counterparts.flatMap(({ config }) => (config === undefined ? [] : [config]));
  writeFileSync(railsFile, JSON.stringify({ rails }, undefined, 2));
  const masterKey = randomBytes(32).toString('base64');
  const slots = await createSlots({
    folder,
    databaseUrl: database.url,
    masterKey,
    railsFile,
    port,
  });
  const books = openBooks(database.url);
  const isSound = await run({ options, folder, slots, scene, books, clockFile });
  await books.close();
  for (const slot of slots) await slot.stop();
  for (const counterpart of scene.counterparts) await counterpart.close();
  await database.drop();
  process.exit(isSound ? 0 : 1);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`trial: ${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(2);
}
