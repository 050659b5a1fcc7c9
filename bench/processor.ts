import { readdirSync, readFileSync } from 'node:fs';

/** Processor time of other processes, from /proc. Linux only; elsewhere nothing is measured. */

/** In microseconds, over a measurement. */
export type ProcessorTime = {
  /** Undefined where the load generator runs in the same process. */
  serviceUs: number | undefined;
  databaseUs: number;
};

export type Meter = {
  /** Begins a measurement; the result ends it. */
  start(): () => ProcessorTime | undefined;
};

const ticksPerSecond = 100;
const tickUs = 1_000_000 / ticksPerSecond;

/** @param processes.database The process that starts the server's others. */
export function createMeter(processes: { service: number | undefined; database: number }): Meter {
  const { service, database } = processes;
  return {
    start: () => {
      const before = { service: readProcess(service), database: readServer(database) };
      return () => {
        const databaseTicks = subtract(readServer(database), before.database);
        const serviceUs = subtract(readProcess(service), before.service);
        if (databaseTicks === undefined) return undefined;
        return { serviceUs, databaseUs: databaseTicks * tickUs };
      };
    },
  };
}

function subtract(after: number | undefined, before: number | undefined): number | undefined {
  return after === undefined || before === undefined ? undefined : after - before;
}

/** By the scheduler's count of each thread, because ticks of 10 ms are too coarse for short rounds. */
function readProcess(id: number | undefined): number | undefined {
  if (id === undefined) return undefined;
  try {
    const threads = readdirSync(`/proc/${id}/task`);
    const runNs = threads.map((thread) => readRunNs(`/proc/${id}/task/${thread}/schedstat`));
    return runNs.reduce((sum, ns) => sum + ns, 0) / 1000;
  } catch (error) {
    return returnUndefinedIfGone(error);
  }
}

function readRunNs(file: string): number {
  const [runNs = ''] = readFileSync(file, 'utf8').split(' ');
  return Number(runNs);
}

/** Those of the server's processes that have ended count too. */
function readServer(id: number): number | undefined {
  const server = readStat(id);
  if (server === undefined) return undefined;
  let ticks = server.ticks + server.endedTicks;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat?.parent === id) ticks += stat.ticks;
  }
  return ticks;
}

type Stat = { parent: number; ticks: number; endedTicks: number };

function readStat(id: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${id}/stat`, 'utf8');
    // The name in parentheses may hold spaces.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [parent = 0] = fields.slice(1);
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11);
    return { parent, ticks: user + system, endedTicks: endedUser + endedSystem };
  } catch (error) {
    return returnUndefinedIfGone(error);
  }
}

/** The process has ended, or there is no /proc. */
function returnUndefinedIfGone(error: unknown): undefined {
  if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
  throw error;
}
