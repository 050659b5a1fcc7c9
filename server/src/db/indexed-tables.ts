import type { KeyRing } from '../core/sealing.ts';
import type { Session } from './postgres/pool.ts';

/**
 * Tables with keyed hashes of the index key (`blindIndex`). Each module declares how its own are computed
 * again with another key; `environment/indexed-tables.ts` lists them. A rotation of that key computes all of
 * them in one transaction, while no other process uses the database.
 */

export type IndexRotation = {
  /** Of the one transaction. */
  readonly session: Session;
  /** Both open and seal the same; their index keys differ. */
  readonly old: KeyRing;
  readonly fresh: KeyRing;
};

export type IndexCounts = {
  /** Rows that are found by the new key as they were by the old one. */
  renewed: number;
  /** Rows of which nothing can be computed: their hash was removed, or replaced by random bytes. */
  ended: number;
};

export type IndexedTable = {
  /** Whose rows are counted. */
  readonly table: string;
  /** The columns with keyed hashes, each after its table. */
  readonly columns: readonly string[];
  renew(rotation: IndexRotation): Promise<IndexCounts>;
};

/** So many rows are in memory at a time. */
export const indexPortion = 1_000;

/** Before every identifier. */
export const firstId = '00000000-0000-0000-0000-000000000000';

/** What is found by a hash cannot be read. The message is the row's key. */
export class UnreadableRow extends Error {}

/** @throws UnreadableRow where the data of the row do not open. */
export function computeOf<T>(key: readonly (string | number)[], compute: () => T): T {
  try {
    return compute();
  } catch (cause) {
    throw new UnreadableRow(key.join(' '), { cause });
  }
}

/** Reads a table in the order of its primary key, and renews a portion at a time. */
export async function renewPortions<Row>(
  session: Session,
  read: (session: Session, after: Row | undefined) => Promise<readonly Row[]>,
  renew: (rows: readonly Row[]) => Promise<IndexCounts>,
): Promise<IndexCounts> {
  const sum = { renewed: 0, ended: 0 };
  let rows = await read(session, undefined);
  while (rows.length > 0) {
    const { renewed, ended } = await renew(rows);
    sum.renewed += renewed;
    sum.ended += ended;
    rows = await read(session, rows.at(-1));
  }
  return sum;
}

/** Hashes as a parameter: the driver's own arrays of bytes are slow. SQL decodes them from hexadecimal digits. */
export function hexArray(hashes: readonly (Buffer | undefined)[]): string {
  return `{${hashes.map((hash) => hash?.toString('hex') ?? 'NULL').join()}}`;
}
