import type { Rail } from '../rails/contract/contract.ts';
import { chooseEncoding, type ReferenceEncoding } from '../rails/contract/references.ts';
import { createGate, type Gate } from './gate.ts';

/** A rail as it is used here: with its own limits, and how it calls payouts. */
export type RailRuntime = {
  rail: Rail;
  gate: Gate;
  encoding: ReferenceEncoding;
  sendsNotifications: boolean;
};

/** @throws Error where a rail cannot carry the references of payouts. */
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

/** How many may be taken of each rail: as many as its gate has room for, and `most` at most. */
export function findRoom(
  lines: ReadonlyMap<string, RailRuntime>,
  most: number,
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [name, { gate }] of lines) {
    const count = Math.min(most, gate.room());
    if (count > 0) counts.set(name, count);
  }
  return counts;
}
