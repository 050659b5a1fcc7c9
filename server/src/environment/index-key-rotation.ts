import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../config.ts';
import { createKeyRing, type MasterKeys, newDataKey, wrapKey } from '../core/sealing.ts';
import { lockKeys } from '../db/environment-key-rows.ts';
import {
  findEnvironment,
  type IndexKeyHolder,
  listIndexKeyHolders,
  replaceIndexKey,
  tryLockIndexKey,
} from '../db/environment-record.ts';
import { type IndexRotation, UnreadableRow } from '../db/indexed-tables.ts';
import { findConstraint, type Session } from '../db/postgres/pool.ts';
import { openMasters } from './environment-key-rotation.ts';
import { holdKeys, indexContext, openIndexKey, readKeys } from './environment-keys.ts';
import type { Foundation } from './foundation.ts';
import { indexedTables } from './indexed-tables.ts';

/**
 * Replaces the index key in a pause of the service. All keyed hashes are computed again in the transaction
 * that stores the new key: killed at any moment, nothing has happened. Every other process holds the key
 * while it is connected (`db/postgres/index-key-hold.ts`), and so keeps the rotation from beginning.
 */

type Base = Pick<Foundation, 'config' | 'name' | 'db'>;

/** What tests shorten: how long processes that are about to end are waited for. */
export type PauseTimes = { waitMs: number; tryEveryMs: number };

const defaultTimes: PauseTimes = { waitMs: 5_000, tryEveryMs: 250 };

/** @throws ConfigError while other processes use the database, and where data do not open. */
export async function rotateIndexKey(base: Base, times = defaultTimes) {
  const masters = openMasters(base);
  const startedAtMs = performance.now();
  const report = await base.db.systemTransaction(async (session) => {
    await waitForPause(session, times);
    // A rotation of the master key wraps this one too.
    await lockKeys(session);
    const { generation, rotation, wrapped } = await createIndexKey(session, masters);
    const counts = await renewAll(rotation);
    await replaceIndexKey(session, { index_key: wrapped, index_generation: generation });
    return { index_generation: generation + 1, ...counts };
  });
  const seconds = Math.ceil((performance.now() - startedAtMs) / 1000);
  return { result: 'done', ...report, seconds };
}

async function waitForPause(session: Session, times: PauseTimes): Promise<void> {
  for (let leftMs = times.waitMs; !(await tryLockIndexKey(session)); leftMs -= times.tryEveryMs) {
    const holders = await listIndexKeyHolders(session);
    if (leftMs <= 0 && holders.length > 0) throw refuseRunning(holders);
    await sleep(times.tryEveryMs);
  }
}

function refuseRunning(holders: readonly IndexKeyHolder[]): ConfigError {
  const names = holders.map(({ name, address }) =>
    address === '' ? name : `${name} from ${address}`,
  );
  return new ConfigError(
    `processes use this database: ${names.join(', ')}; stop them, and run this again`,
  );
}

async function createIndexKey(session: Session, masters: MasterKeys) {
  const stored = await findEnvironment(session);
  if (stored === undefined) throw new Error('impossible: the environment is open');
  const reading = await readKeys(session, masters);
  const wrapped = wrapKey(masters, newDataKey(), indexContext);
  const openRing = (index: Buffer) =>
    createKeyRing(masters, holdKeys(reading, openIndexKey(masters, index)));
  const rotation = { session, old: openRing(stored.index_key), fresh: openRing(wrapped) };
  return { generation: stored.index_generation, rotation, wrapped };
}

type Counts = Record<string, number>;

async function renewAll(rotation: IndexRotation): Promise<{ renewed: Counts; ended: Counts }> {
  const renewed: Counts = {};
  const ended: Counts = {};
  for (const table of indexedTables) {
    const counts = await explain(table.table, () => table.renew(rotation));
    if (counts.renewed > 0) renewed[table.table] = counts.renewed;
    if (counts.ended > 0) ended[table.table] = counts.ended;
  }
  return { renewed, ended };
}

/** What an operator has to put right before the rotation can be made. */
async function explain<T>(table: string, renew: () => Promise<T>): Promise<T> {
  try {
    return await renew();
  } catch (cause) {
    if (cause instanceof UnreadableRow) {
      throw new ConfigError(
        `nothing was changed: ${table} ${cause.message} does not open: find out who changed it, and restore it or erase the recipient`,
        { cause },
      );
    }
    const constraint = findConstraint(cause);
    if (constraint === 'users_internal_user_id' || constraint === 'users_email') {
      const name = constraint === 'users_email' ? 'email' : 'internal_user_id';
      throw new ConfigError(
        `nothing was changed: two recipients of one account have the same ${name}, which the service prevents: find out who changed their rows`,
        { cause },
      );
    }
    throw cause;
  }
}
