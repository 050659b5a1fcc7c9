import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Api, type Credentials, testSettings } from '../service.ts';
import { serverMain } from '../service-process.ts';
import { findFreePort, type RunningProcess, startProcess } from './processes.ts';

/** The service as processes that are killed and come back at the same address. */

export type Slot = {
  readonly name: string;
  readonly baseUrl: string;
  /** Resolves when the present process takes requests; starts one where there is none. */
  start(): Promise<void>;
  isUp(): boolean;
  kill(): Promise<void>;
  /** Ends in order. */
  stop(): Promise<void>;
  readonly logFile: string;
  /** How long each start took that was not broken off. */
  readonly startsMs: readonly number[];
};

export type SlotOptions = {
  readonly name: string;
  readonly port: number;
  readonly folder: string;
  readonly settings: Readonly<Record<string, string>>;
  /** What it does; both without it. */
  readonly role?: 'serve' | 'work';
  /** The entry point of another release than this one. */
  readonly program?: string;
  /** Further arguments, such as `--recover`. */
  readonly args?: readonly string[];
};

/** So often in a row a start may fail until it is no accident. */
const failuresMax = 5;

export function createSlot(options: SlotOptions): Slot {
  const { name, port, folder, settings, role = 'all', program = serverMain, args = [] } = options;
  const dataDirectory = join(folder, name);
  mkdirSync(dataDirectory, { recursive: true });
  const logFile = join(folder, `${name}.log`);
  let running: RunningProcess | undefined;
  let isReady = false;
  let isWanted = false;
  const startsMs: number[] = [];
  const launch = (): RunningProcess => {
    isReady = false;
    const beganMs = performance.now();
    const launched = startProcess({
      args: [program, role, ...args],
      logFile,
      isReady: (printed) => printed.includes('Outlay is ready'),
      env: {
        ...testSettings(dataDirectory),
        ...settings,
        [role === 'work' ? 'OUTLAY_WORK_PORT' : 'PORT']: String(port),
      },
    });
    void launched.ready.then(
      () => {
        isReady = launched === running;
        startsMs.push(performance.now() - beganMs);
      },
      () => undefined,
    );
    running = launched;
    return launched;
  };
  const start = async (): Promise<void> => {
    isWanted = true;
    for (let failures = 0; ; failures += 1) {
      const present = running === undefined || running.hasEnded() ? launch() : running;
      try {
        await present.ready;
        return;
      } catch (error) {
        if (!isWanted) return;
        const isKilled = present.child.signalCode === 'SIGKILL';
        if (!isKilled && failures >= failuresMax) throw error;
      }
    }
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    isReady = false;
    const present = running;
    if (present === undefined || present.hasEnded()) return;
    present.child.kill(signal);
    await present.ended;
  };
  return {
    name,
    baseUrl: `http://127.0.0.1:${port}`,
    start,
    isUp: () => isReady && running?.hasEnded() === false,
    kill: () => end('SIGKILL'),
    stop: () => {
      isWanted = false;
      return end('SIGTERM');
    },
    logFile,
    startsMs,
  };
}

export type ServicePlan = {
  readonly folder: string;
  readonly databaseUrl: string;
  readonly masterKey: string;
  readonly railsFile: string;
  readonly port: number;
};

/** Two places for processes of one service; callbacks go to the first one's address. */
export async function createSlots(plan: ServicePlan): Promise<readonly [Slot, Slot]> {
  const settings = {
    DATABASE_URL: plan.databaseUrl,
    OUTLAY_MASTER_KEY: plan.masterKey,
    OUTLAY_RAILS: plan.railsFile,
    OUTLAY_PUBLIC_URL: `http://127.0.0.1:${plan.port}`,
    // The trial moves the clock, and not every quote is committed at once.
    OUTLAY_QUOTE_SECONDS: '86400',
    OUTLAY_CRYPTO_QUOTE_SECONDS: '86400',
    OUTLAY_DATABASE_CONNECTIONS: '8',
    OUTLAY_LOG_LEVEL: 'warn',
    NODE_COMPILE_CACHE: join(plan.folder, 'compiled'),
  };
  const { folder } = plan;
  return [
    createSlot({ name: 'first', port: plan.port, folder, settings }),
    createSlot({ name: 'second', port: await findFreePort(), folder, settings }),
  ];
}

/** What the first start has written down about its Demo account. */
export async function openDemo(folder: string, slot: Slot): Promise<Api> {
  const text = await readFile(join(folder, slot.name, 'staging.json'), 'utf8');
  return new Api(slot.baseUrl, (JSON.parse(text) as Credentials).api_key);
}
