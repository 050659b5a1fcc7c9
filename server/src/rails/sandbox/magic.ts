import {
  type MagicOutcome,
  type MagicRow,
  type MagicType,
  magicTypes,
  outcomeNames,
  parseMagicRow,
} from './magic-rows.ts';
import data from './magic-values.json' with { type: 'json' };

export type { MagicOutcome, MagicRow } from './magic-rows.ts';

/**
 * Account numbers, telephone numbers, document numbers and wallet addresses that make the simulated
 * network behave in a documented way. The values are data: `checks/sandbox-values.ts`
 * computes them from the very formats and check digits that clients' values must satisfy.
 */

const rows: readonly MagicRow[] = (data as readonly string[]).map(parseMagicRow);

/** Spaces, hyphens and case do not matter: the form stored may differ from the form given. */
function toKey(type: MagicType, value: string): string {
  return `${type} ${value.replace(/[\s-]/g, '').toUpperCase()}`;
}

const outcomes = new Map<string, MagicOutcome>();
for (const row of rows) {
  for (const outcome of outcomeNames) {
    const value = row.values[outcome];
    if (value !== undefined) outcomes.set(toKey(row.type, value), outcome);
  }
}

/** What a payout with these attributes (type to value) is to do; undefined for an ordinary one. */
export function findMagicOutcome(
  attributes: Readonly<Record<string, string>>,
): MagicOutcome | undefined {
  for (const type of magicTypes) {
    const value = attributes[type];
    const outcome = value === undefined ? undefined : outcomes.get(toKey(type, value));
    if (outcome !== undefined) return outcome;
  }
  return undefined;
}

/** Every magic value, by destination and attribute. */
export function listMagicValues(): readonly MagicRow[] {
  return rows;
}
