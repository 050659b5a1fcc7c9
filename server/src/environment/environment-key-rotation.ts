import { createPublicKey } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../config.ts';
import { formatSecondsZ } from '../core/clock.ts';
import { nameSigningKey, readGeneration } from '../core/environment-keys.ts';
import type { KeyRing, MasterKeys } from '../core/sealing.ts';
import {
  destroyKeys,
  insertKeys,
  type KeyRow,
  lockKeys,
  noteRenewed,
  readKeyClock,
  selectKeys,
} from '../db/environment-key-rows.ts';
import { appendSuccessions, renewTombstones } from '../erasure/tombstones.ts';
import { signAllHeads } from '../ledger/checkpoints.ts';
import { readRailFile } from '../rails/host/rail-config.ts';
import { openChain } from './chain.ts';
import {
  announceKeysMs,
  authenticateWith,
  createSecrets,
  describeKeyRow,
  describeNewKeys,
  describeSuccession,
  readKeys,
  trustKeysMs,
} from './environment-keys.ts';
import { openErasures } from './erasures.ts';
import type { Foundation } from './foundation.ts';
import { readKeyRing } from './key.ts';
import { decodeKeys, placeMasterKey, readEncodedKeys } from './master-keys.ts';
import { protectedTables } from './protected-tables.ts';

/**
 * Replaces the keys of the environment while the service runs. A new generation is announced, every
 * process reads it, and it begins to write. Then every row is verified under its old keys and protected
 * under the new ones, a portion at a time. A rotation that was interrupted is completed by the next one.
 */

type Base = Pick<Foundation, 'config' | 'name' | 'db' | 'realNowMs'>;

/** What tests shorten. */
export type RotationTimes = { announceMs: number; trustMs: number; settleMs: number };

const defaultTimes: RotationTimes = {
  announceMs: announceKeysMs,
  trustMs: trustKeysMs,
  // Of a transaction that began just before the new keys, or of a process that was paused.
  settleMs: 600_000,
};

/** The longest life of a link whose token follows from the keys: of receipts, see `receipt-link.ts`. */
const linkMs = 30 * 86_400_000;

export type RowName = { table: string; key: string };

const rejectedMax = 100;

export async function rotateEnvironmentKeys(base: Base, times = defaultTimes) {
  const { db } = base;
  const masters = openMasters(base);
  const { generation, activeAt, isResumed } = await announceKeys(base, masters, times.announceMs);
  await noteSuccessions(base, masters);
  await waitUntil(base, activeAt.getTime());
  const keys = await readKeyRing(db.system, masters);
  const first = await renewAll(base, keys);
  // What processes wrote that read the new keys last.
  await waitUntil(base, activeAt.getTime() + times.trustMs);
  const second = await renewAll(base, keys);
  const own = { ...base, keys };
  const erasures = await renewTombstones(openErasures(own).tombstones);
  await signAllHeads(openChain(own));
  await noteRenewed(db.system, generation);
  return {
    result: second.rejected.length === 0 ? 'done' : 'done, but for rows that do not verify',
    generation,
    is_resumed: isResumed,
    signing_key: keys.signing.id,
    renewed: addCounts(first.renewed, second.renewed),
    erasures_signed: erasures,
    rejected_count: second.rejectedCount,
    rejected: second.rejected,
    files_to_seal_again: findSealedFiles(base, keys).files,
  };
}

export function openMasters({ config, name }: Pick<Base, 'config' | 'name'>): MasterKeys {
  const masters = decodeKeys(readEncodedKeys(placeMasterKey(config, name)));
  return { list: () => masters };
}

/** The generation that a rotation before this one began, or a new one. */
function announceKeys({ db, name }: Base, masters: MasterKeys, announceMs: number) {
  return db.systemTransaction(async (session) => {
    await lockKeys(session);
    const { rows, generations } = await readKeys(session, masters);
    const [last] = rows;
    if (last === undefined) throw new Error('impossible: there are keys');
    if (last.generation > 1 && last.renewed_at === null) {
      return { generation: last.generation, activeAt: last.active_at, isResumed: true };
    }
    const now = await readKeyClock(session);
    const activeAt = new Date(now.getTime() + announceMs);
    const generation = last.generation + 1;
    const dates = { generation, announced_at: now, active_at: activeAt };
    const by = { environment: name, predecessor: generations.get(last.generation) };
    const made = describeNewKeys(masters, createSecrets(), { ...dates, ...by });
    if (!(await insertKeys(session, made))) {
      throw new ConfigError(
        `the database has a generation ${generation} that this environment did not create: find out who wrote it, and remove the row as the owner of the database`,
      );
    }
    return { generation, activeAt, isResumed: false };
  });
}

/** Before anything is signed with them. */
async function noteSuccessions(base: Base, masters: MasterKeys): Promise<void> {
  const { db, name } = base;
  const { rows, generations } = await readKeys(db.system, masters);
  const successions = rows.toReversed().flatMap((row) => {
    const before = generations.get(row.generation - 1);
    if (before === undefined || row.endorsement.length === 0) return [];
    const statement = describeSuccession(name, row.generation, row.public_key);
    return [{ statement, signature: row.endorsement, key_id: before.signing.id }];
  });
  const keys = await readKeyRing(db.system, masters);
  await appendSuccessions(openErasures({ ...base, keys }).tombstones, successions);
}

/** By the time of the database. */
async function waitUntil({ db }: Base, atMs: number): Promise<void> {
  for (;;) {
    const leftMs = atMs - (await readKeyClock(db.system)).getTime();
    if (leftMs < 0) return;
    await sleep(leftMs + 1);
  }
}

type Counts = Record<string, number>;

/** Renews what is under older keys; what does not verify stays as it is, and is reported. */
async function renewAll({ db }: Base, keys: KeyRing, isInspection = false) {
  const renewed: Counts = {};
  const rejected: RowName[] = [];
  const verified: RowName[] = [];
  for (const table of protectedTables) {
    let after: readonly string[] | undefined;
    do {
      const portion = await table.renew(db.system, keys, { after, isInspection });
      after = portion.next;
      if (portion.renewed > 0) {
        renewed[table.table] = (renewed[table.table] ?? 0) + portion.renewed;
      }
      rejected.push(...portion.rejected.map((key) => ({ table: table.table, key })));
      verified.push(...portion.verified.map((key) => ({ table: table.table, key })));
    } while (after !== undefined);
  }
  const rejectedCount = rejected.length;
  return { renewed, verified, rejected: rejected.slice(0, rejectedMax), rejectedCount };
}

function addCounts(first: Counts, second: Counts): Counts {
  const names = [...new Set([...Object.keys(first), ...Object.keys(second)])];
  return Object.fromEntries(names.map((name) => [name, (first[name] ?? 0) + (second[name] ?? 0)]));
}

/** Sealed secrets of the rails file that are under older keys, and what keeps others from being found. */
function findSealedFiles({ config, name }: Pick<Base, 'config' | 'name'>, keys: KeyRing) {
  const path = config[name === 'live' ? 'OUTLAY_LIVE_RAILS' : 'OUTLAY_RAILS'];
  if (path === undefined) return { files: [], faults: [] };
  const files = new Set<string>();
  const { faults } = readRailFile(path, {
    // Neither values of variables nor contents of files matter here.
    readVariable: () => 'present',
    openSealed: (sealed, file) => {
      if (readGeneration(sealed) !== keys.generation) files.add(file);
      return Buffer.from('sealed');
    },
  });
  return { files: [...files], faults: faults.map(({ text }) => text) };
}

export type GenerationUse = {
  generation: number;
  state: 'announced' | 'writes' | 'reads' | 'destroyed';
  signing_key: string;
  since: Date;
  until: Date | null;
  /** By table: the rows that it protects. */
  rows: Counts;
};

/** The generations of the environment's keys, the newest first, and what each of them protects. */
export async function listEnvironmentKeys(base: Base): Promise<GenerationUse[]> {
  const { db } = base;
  const rows = await selectKeys(db.system);
  const newest = rows.find(({ is_active: isActive }) => isActive)?.generation;
  const uses = await countUses(base);
  return rows.map((row, index) => ({
    generation: row.generation,
    state: describeState(row, newest),
    signing_key: nameSigningKey(createPublicKey(row.public_key)),
    since: row.active_at,
    until: rows[index - 1]?.active_at ?? null,
    rows: uses.get(row.generation) ?? {},
  }));
}

function describeState(row: KeyRow, newest: number | undefined): GenerationUse['state'] {
  if (row.destroyed_at !== null) return 'destroyed';
  if (row.generation === newest) return 'writes';
  return row.is_active ? 'reads' : 'announced';
}

async function countUses({ db }: Base): Promise<Map<number, Counts>> {
  const uses = new Map<number, Counts>();
  for (const { table, count } of protectedTables) {
    for (const { generation, rows } of await count(db.system)) {
      const counts = uses.get(generation) ?? {};
      counts[table] = rows;
      uses.set(generation, counts);
    }
  }
  return uses;
}

export type Destruction = {
  /** Destroys them although links that were given out end with them. */
  endsLinks: boolean;
  /** Destroys them although rows are left that do not verify. */
  leavesRejected: boolean;
  /** Protects rows anew that were written under them after the rotation. */
  renewsLate: boolean;
};

/**
 * Destroys all generations but the newest: what is still under them, in backups too, does not open or
 * verify afterwards.
 *
 * @throws ConfigError while something needs them.
 */
export async function destroyOldEnvironmentKeys(
  base: Base,
  destruction: Destruction,
  times = defaultTimes,
) {
  const { db } = base;
  const masters = openMasters(base);
  const old = await findOldKeys(base, times);
  const keys = await readKeyRing(db.system, masters);
  refuseSealedFiles(base, keys);
  refuseLinks(old.activeAt, await readKeyClock(db.system), destruction);
  refuseRows(await renewAll(base, keys, true), destruction);
  const { renewed, rejected, rejectedCount } = await renewAll(base, keys);
  await renewTombstones(openErasures({ ...base, keys }).tombstones);
  await db.systemTransaction(async (session) => {
    await lockKeys(session);
    const { rows, newest } = await readKeys(session, masters);
    if (newest.number !== old.newest) throw new ConfigError('another rotation began: try again');
    const at = await readKeyClock(session);
    for (const row of rows) {
      if (!old.generations.includes(row.generation)) continue;
      const covered = describeKeyRow({ ...row, destroyed_at: at });
      const mac = authenticateWith(newest, covered);
      await destroyKeys(session, { generation: row.generation, at, mac });
    }
  });
  return {
    result: 'done',
    destroyed: old.generations,
    renewed,
    rejected_count: rejectedCount,
    rejected,
  };
}

/** @throws ConfigError unless all rows were renewed, and long enough ago. */
async function findOldKeys({ db }: Base, times: RotationTimes) {
  const rows = await selectKeys(db.system);
  const newest = rows.find(({ is_active: isActive }) => isActive);
  if (newest === undefined) throw new Error('impossible: there are keys');
  const generations = rows
    .filter((row) => row.destroyed_at === null && row.generation < newest.generation)
    .map(({ generation }) => generation);
  if (generations.length === 0) throw new ConfigError('there are no older keys to destroy');
  if (newest.renewed_at === null || rows[0] !== newest) {
    throw new ConfigError('a rotation has not ended: run environment-key rotate to its end first');
  }
  const settledAt = newest.active_at.getTime() + times.settleMs;
  if ((await readKeyClock(db.system)).getTime() < settledAt) {
    const until = formatSecondsZ(new Date(settledAt));
    throw new ConfigError(`processes may still write with the older keys: wait until ${until}`);
  }
  return { newest: newest.generation, activeAt: newest.active_at, generations };
}

function refuseSealedFiles(base: Base, keys: KeyRing): void {
  const { files, faults } = findSealedFiles(base, keys);
  if (faults.length > 0) {
    throw new ConfigError(
      `the rails file has faults, so that its sealed files are not known: ${faults.join('; ')}`,
    );
  }
  if (files.length === 0) return;
  throw new ConfigError(
    `secret files are sealed under older keys: ${files.join(', ')}; ` +
      'seal each one again with secret seal, and restart every process',
  );
}

/** Rows that appeared under the older keys since the rotation may be those of who has stolen the keys. */
function refuseRows(
  { verified, rejected, rejectedCount }: Awaited<ReturnType<typeof renewAll>>,
  { leavesRejected, renewsLate }: Destruction,
): void {
  if (rejectedCount > 0 && !leavesRejected) {
    throw new ConfigError(
      `rows do not verify under the keys that they name (${rejectedCount}): ${nameRows(rejected)}; ` +
        'find out who wrote them, then pass --leave-rejected',
    );
  }
  if (verified.length > 0 && !renewsLate) {
    throw new ConfigError(
      `rows were written under the older keys after the rotation (${verified.length}): ` +
        `${nameRows(verified)}; see whether they are yours, then pass --renew-late`,
    );
  }
}

const nameRows = (rows: readonly RowName[]): string =>
  rows
    .slice(0, 5)
    .map(({ table, key }) => `${table} ${key}`)
    .join(', ');

function refuseLinks(activeAt: Date, now: Date, { endsLinks }: Destruction): void {
  const lastEnds = new Date(activeAt.getTime() + linkMs);
  if (endsLinks || now >= lastEnds) return;
  throw new ConfigError(
    `links to receipts, confirmations and verifications that were given out before the rotation end ` +
      `with the older keys: wait until ${formatSecondsZ(lastEnds)}, or pass --end-links`,
  );
}
