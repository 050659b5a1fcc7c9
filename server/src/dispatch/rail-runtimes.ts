import type { Rail } from '../rails/contract/contract.ts';
import { chooseEncoding, type ReferenceEncoding } from '../rails/contract/references.ts';
import { createGate, type Gate } from './gate.ts';

/** A rail with its gate and its form of references. */
export type RailRuntime = {
  rail: Rail;
  gate: Gate;
  encoding: ReferenceEncoding;
  sendsNotifications: boolean;
};

/** @throws Error when a rail cannot carry references of payouts. */
export function openRailRuntimes(
  rails: ReadonlyMap<string, Rail>,
  steadyMs: () => number,
): ReadonlyMap<string, RailRuntime> {
  return new Map(
    [...rails].map(([name, rail]) => [
      name,
      {
        rail,
        gate: createGate(rail, steadyMs),
        encoding: chooseEncoding(name, rail.reference),
        sendsNotifications: rail.readCallback !== undefined || rail.work !== undefined,
      },
    ]),
  );
}

/** How many payouts of each rail may be claimed: what its gate has room for, at most `most`. */
export function findRoom(
  runtimes: ReadonlyMap<string, RailRuntime>,
  most: number,
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [name, { gate }] of runtimes) {
    const count = Math.min(most, gate.room());
    if (count > 0) counts.set(name, count);
  }
  return counts;
}
