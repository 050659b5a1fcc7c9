import type { Rail } from '../contract/contract.ts';

/** Checks the setup of every rail with its counterparty, for operators. */

export type RailReport = { rail: string; kind: string; faults: readonly string[] };

const checkMsMax = 30_000;

export async function checkRails(rails: readonly Rail[]): Promise<RailReport[]> {
  return Promise.all(
    rails.map(async (rail) => ({
      rail: rail.name,
      kind: rail.kind,
      faults: await checkRail(rail),
    })),
  );
}

async function checkRail(rail: Rail): Promise<readonly string[]> {
  if (rail.check === undefined) return [];
  try {
    return await rail.check({ signal: AbortSignal.timeout(checkMsMax) });
  } catch (error) {
    return [error instanceof Error ? error.message : 'the check failed'];
  }
}
