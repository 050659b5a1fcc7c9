import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../../src/core/ids.ts';
import type { RailHost, ReferenceRule } from '../../src/rails/contract/contract.ts';
import { type FaultProxy, openFaultProxy } from '../fault-proxy/fault-proxy.ts';
import { type HostGround, openHostGround, openTestHost, type TestHost } from '../setups/rail.ts';
import { type Checks, watchHost } from './checks.ts';
import { type CallbackServer, createFileCourier, type FileCourier } from './delivery.ts';
import { type Caller, createDriver, type Driver, type Payment } from './driver.ts';
import { createInterleaving, type Interleaving } from './interleaving.ts';
import { type CrashPoint, createProcessRun, runOn } from './process-run.ts';
import {
  drive,
  handleCallback,
  minuteMs,
  type RunContext,
  runExtraRounds,
  runRound,
  settle,
  type Time,
} from './round.ts';
import type { ConformanceSubject, Counterparty, Draft, ExpectedOutcome } from './subject.ts';

/** The run of a case: an empty store, a counterparty, a clock, and instances of the rail. */

export const railName = 'conformance';
/** How long aborted calls may take to end; only calls that hang wait so long. */
const settleMs = 15_000;

/** An instance of the rail, with the process that it runs in. */
export type Actor = Caller & {
  /** Between this instance and the counterparty; undefined where they do not use TCP. */
  readonly proxy: FaultProxy | undefined;
  /** False where calls have not ended in time. */
  settle(timeMs: number): Promise<boolean>;
  close(): Promise<void>;
};

export type TestRun = {
  readonly counterparty: Counterparty;
  readonly driver: Driver;
  readonly callbackServer: CallbackServer;
  readonly fileCourier: FileCourier | undefined;
  readonly host: TestHost;
  /** Whether exceptions about inbound messages are closed as they are opened. */
  readonly operator: { isPresent: boolean };
  readonly interleaving: Interleaving;
  nowMs(): number;
  /** Moves the suite's clock on, past every pause between queries; without effect on a `real` one. */
  passTime(): void;
  /** Adds a payment, without sending it. */
  instruct(expectedOutcome?: ExpectedOutcome): Promise<Payment>;
  /** A new instance on the same store; undefined where it was killed while starting. */
  open(crashPoint?: CrashPoint): Promise<Actor | undefined>;
  /** A new instance without a crash point. */
  openActor(): Promise<Actor>;
  /** Sets the instance that receives callbacks. */
  listen(actor: Actor | undefined): void;
  /** One round; false where the instance is gone. */
  runRound(actor: Actor, payments: readonly Payment[]): Promise<boolean>;
  /** Rounds until the payments have their expected or another final outcome. */
  drive(actor: Actor, payments: readonly Payment[]): Promise<'ended' | 'gone'>;
  /** A few more rounds, in which a second payment would show. */
  runExtraRounds(actor: Actor): Promise<void>;
  close(): Promise<void>;
};

export type TestRunOptions<Config> = {
  readonly subject: ConformanceSubject<Config>;
  readonly checks: Checks;
  readonly callbackServer: CallbackServer;
};

export async function openTestRun<Config>(options: TestRunOptions<Config>): Promise<TestRun> {
  const { subject, callbackServer } = options;
  const world = await openWorld(options);
  const { driver, counterparty, host, operator, fileCourier, nowMs } = world.runContext;
  const actors = new Set<Actor>();
  let listener: Actor | undefined;
  callbackServer.open((message) =>
    handleCallback(listener, message, { base: world.base, checks: options.checks }),
  );
  const open: TestRun['open'] = (crashPoint) =>
    openInstance(options, world, { crashPoint, actors });
  return {
    counterparty,
    driver,
    callbackServer,
    fileCourier,
    host,
    operator,
    interleaving: world.interleaving,
    nowMs,
    passTime: () => {
      if (subject.clock === 'steered') world.runContext.time.aheadMs += 10 * minuteMs;
    },
    open,
    openActor: async () => {
      const actor = await open();
      if (actor === undefined) throw new Error('an instance without a crash point was killed');
      return actor;
    },
    listen: (actor) => {
      listener = actor;
    },
    instruct: async (expectedOutcome = 'paid') => {
      const draft = draftInstruction(subject.module.reference, nowMs());
      return driver.add(await counterparty.instruct(draft, expectedOutcome), expectedOutcome);
    },
    runRound: (actor, payments) => runRound(world.runContext, actor, payments),
    drive: (actor, payments) => drive(world.runContext, actor, payments),
    runExtraRounds: (actor) => runExtraRounds(world.runContext, actor),
    close: async () => {
      listener = undefined;
      for (const actor of actors) await actor.close();
      await counterparty.close();
      await host.close();
      await rm(world.folder, { recursive: true, force: true });
    },
  };
}

/** One database for all runs of a suite, each of which is a rail with a name of its own. */
let ground: Promise<HostGround> | undefined;
let runs = 0;

/** Four cases at once send single statements, and each connection makes the server load its catalogs again. */
const connectionsMax = process.env['OUTLAY_TEST_LONG'] === '1' ? 16 : 4;

const openGround = (): Promise<HostGround> => (ground ??= openHostGround(connectionsMax));

/** For the end of a suite. */
export async function closeGround(): Promise<void> {
  const opened = await ground;
  ground = undefined;
  await opened?.close();
}

type World<Config> = {
  readonly runContext: RunContext<Config> & Pick<TestRun, 'host' | 'operator'>;
  /** The host of an instance without a crash point. */
  readonly base: RailHost;
  readonly interleaving: Interleaving;
  readonly folder: string;
};

async function openWorld<Config>(options: TestRunOptions<Config>): Promise<World<Config>> {
  const { subject, checks, callbackServer } = options;
  const { callbackUrl } = callbackServer;
  const time: Time = { aheadMs: 0, workDueMs: 0, heldCount: 0 };
  const nowMs = (): number => Math.floor(performance.timeOrigin + performance.now()) + time.aheadMs;
  const counterparty = await subject.openCounterparty({ callbackUrl, nowMs });
  const { payers = [], files } = counterparty;
  runs += 1;
  const name = `${railName}_${runs}`;
  const host = await openTestHost({ name, payers, nowMs, callbackUrl }, await openGround());
  const driver = createDriver({
    checks,
    callMsMax: subject.callMsMax ?? 1500,
    nowMs,
    payments: (instruction) => counterparty.payments(instruction),
  });
  const operator = { isPresent: false };
  const watched = watchHost(host, checks);
  const interleaving = createInterleaving();
  const base: RailHost = {
    ...watched,
    store: interleaving.watch(watched.store),
    receive: async (message) => {
      const answer = await watched.receive(message);
      if (answer === 'new') driver.observe(message.observations);
      if (operator.isPresent) await host.closeExceptions();
      return answer;
    },
    wake: () => {
      time.workDueMs = 0;
    },
  };
  const folder = await mkdtemp(join(tmpdir(), 'outlay-conformance-'));
  const fileCourier =
    files === undefined ? undefined : createFileCourier({ ...files, kept: folder });
  const runContext = {
    subject,
    driver,
    counterparty,
    callbackServer,
    fileCourier,
    time,
    nowMs,
    host,
    operator,
  };
  return { runContext, base, interleaving, folder };
}

async function openInstance<Config>(
  { subject, checks }: TestRunOptions<Config>,
  { runContext, base }: World<Config>,
  { crashPoint, actors }: { crashPoint: CrashPoint | undefined; actors: Set<Actor> },
): Promise<Actor | undefined> {
  const processRun = createProcessRun(crashPoint, subject.booking);
  const { address } = runContext.counterparty;
  const proxy = address === undefined ? undefined : await openFaultProxy(address);
  proxy?.decide(processRun.decide);
  const config = subject.module.configSchema.parse(runContext.counterparty.config(proxy?.address));
  const made = subject.module.create(config, runOn(base, processRun, proxy !== undefined));
  // The error of a process that is killed while starting is not observed.
  made.catch(() => undefined);
  const rail = await Promise.race([made, processRun.gone]);
  if (rail === 'gone') {
    processRun.kill();
    await proxy?.close();
    return undefined;
  }
  const pending = new Set<Promise<unknown>>();
  const actor: Actor = {
    rail,
    processRun,
    proxy,
    pending,
    settle: (timeMs) => settle(pending, timeMs),
    close: async () => {
      const isSettled = processRun.isGone || (await settle(pending, settleMs));
      if (!isSettled) checks.addForm('an aborted call must end soon');
      actors.delete(actor);
      await closeActor(actor);
    },
  };
  actors.add(actor);
  return actor;
}

async function closeActor({ rail, processRun, proxy }: Actor): Promise<void> {
  const isGone = processRun.isGone;
  const closed = rail.close?.().catch(() => undefined);
  // A killed instance, or one that waits for a killed one, must not delay the others.
  await Promise.race([closed, sleep(isGone ? 5 : 5_000, undefined, { ref: false })]);
  processRun.kill();
  await proxy?.close();
}

/** Texts that occur nowhere else, not even in an id by chance, so that finding one shows a leak. */
export function draftInstruction(rule: ReferenceRule, nowMs: number): Draft {
  return {
    reference: makeReference(rule),
    beneficiary: {
      firstName: 'Zephyrine',
      middleName: '',
      lastName: 'Quillfeather',
      businessName: '',
      address1: '17 Marrowbone Crescent',
      address2: '',
      city: 'Thistledown',
      stateProvince: '',
      postalCode: 'QW9-0417-ZX',
      countryCode: 'USA',
      email: 'zephyrine.quillfeather@example.org',
      mobileNumber: '4915550417263',
      dateOfBirth: '1979-03-14',
    },
    originator: { accountId: newId(), name: 'Hollowbrook Trading' },
    pickupCode: 'QW7-3051-ZX',
    committedAtMs: nowMs,
    availableAtMs: nowMs + 10 * minuteMs,
  };
}

/** A payout's id in the first encoding that the rail can carry. */
function makeReference({ lengthMax, charset }: ReferenceRule): string {
  const id = newId();
  for (const reference of [id.replaceAll('-', ''), id]) {
    if (reference.length <= lengthMax && charset.test(reference)) return reference;
  }
  throw new Error('no encoding of a payout id satisfies the rule for references');
}
