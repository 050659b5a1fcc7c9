import { rename, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../service.ts';

/**
 * The environment's clock, which counterparts with expiry times share. It is moved for them first:
 * so nothing that the service takes for expired can still be carried out.
 */
export type TrialClock = {
  /** Tries until a process has done it, for so long at most. */
  advance(seconds: number, patienceMs: number): Promise<boolean>;
};

export async function openClock(file: string, findApi: () => Api | undefined): Promise<TrialClock> {
  let aheadMs = 0;
  const write = async (): Promise<void> => {
    await writeFile(`${file}.part`, String(aheadMs));
    await rename(`${file}.part`, file);
  };
  await write();
  return {
    advance: async (seconds, patienceMs) => {
      aheadMs += seconds * 1000;
      await write();
      const to = new Date(Date.now() + aheadMs).toISOString();
      const untilMs = performance.now() + patienceMs;
      while (performance.now() < untilMs) {
        const status = await move(findApi(), to);
        if (status === 200) return true;
        await sleep(100);
      }
      return false;
    },
  };
}

async function move(api: Api | undefined, to: string): Promise<number> {
  try {
    return (await api?.post('/sandbox/clock', { to }))?.status ?? 0;
  } catch {
    // The process died over it; another one ends what it began.
    return 0;
  }
}
