import { createHmac, createPublicKey, createSecretKey, type KeyObject, verify } from 'node:crypto';
import {
  type EnvironmentKeys,
  type Generation,
  type GenerationSecrets,
  markGeneration,
  nameSigningKey,
  openGeneration,
  readGeneration,
  refuseStaleKeys,
  type VerifyingKey,
} from '../core/environment-keys.ts';
import { type MasterKeys, newDataKey, rowContext, unwrapKey, wrapKey } from '../core/sealing.ts';
import { insertKeys, type KeyRow, type NewKeyRow, selectKeys } from '../db/environment-key-rows.ts';
import type { Session } from '../db/postgres/pool.ts';

/** Reads the generations of an environment's keys from its database, at the start and from then on. */

/** How often a process reads them. */
export const readKeysMs = 5_000;
/** How long it trusts a reading. */
export const trustKeysMs = 30_000;
/** How long a generation is announced before it writes: more than any process trusts a reading. */
export const announceKeysMs = 40_000;

export const indexContext = rowContext('environment.index_key');

const secretNames = ['sealing', 'authentication', 'signing'] as const;
const contextOf = (generation: number, name: keyof GenerationSecrets): string =>
  rowContext('environment_keys', generation, name);

export type WrappedSecrets = Pick<
  KeyRow,
  'generation' | 'sealing_key' | 'authentication_key' | 'signing_key'
>;

export function wrapSecrets(
  masters: MasterKeys,
  generation: number,
  secrets: GenerationSecrets,
): WrappedSecrets {
  const wrap = (name: keyof GenerationSecrets): Buffer =>
    wrapKey(masters, secrets[name], contextOf(generation, name));
  const [sealing_key, authentication_key, signing_key] = [
    wrap('sealing'),
    wrap('authentication'),
    wrap('signing'),
  ];
  return { generation, sealing_key, authentication_key, signing_key };
}

/** @throws MissingMasterKey. */
export function unwrapSecrets(masters: MasterKeys, row: WrappedSecrets): GenerationSecrets {
  const [sealing, authentication, signing] = secretNames.map((name) =>
    unwrapKey(masters, row[`${name}_key`], contextOf(row.generation, name)),
  );
  if (sealing === undefined || authentication === undefined || signing === undefined) {
    throw new Error('impossible: there are three keys');
  }
  return { sealing, authentication, signing };
}

export function createSecrets(): GenerationSecrets {
  return { sealing: newDataKey(), authentication: newDataKey(), signing: newDataKey() };
}

type Dated = Pick<
  KeyRow,
  'generation' | 'public_key' | 'endorsement' | 'announced_at' | 'active_at' | 'destroyed_at'
>;

/** What the code of a generation's row covers. */
export function describeKeyRow(row: Dated): string {
  const times = [row.announced_at, row.active_at, row.destroyed_at].map(
    (time) => time?.toISOString() ?? '',
  );
  const endorsement = row.endorsement.toString('hex');
  return rowContext('environment_keys', row.generation, row.public_key, endorsement, ...times);
}

/** What a generation signs about the next one. */
export function describeSuccession(environment: string, generation: number, publicPem: string) {
  return JSON.stringify({ environment, generation, public_key: publicPem });
}

export function authenticateWith({ number, authentication }: Generation, text: string): Buffer {
  const code = createHmac('sha256', authentication).update(text).digest();
  return markGeneration({ number }, code);
}

/** The row of a generation, which `by` vouches for (itself, where it is the first one). */
export function describeNewKeys(
  masters: MasterKeys,
  secrets: GenerationSecrets,
  terms: Pick<KeyRow, 'generation' | 'announced_at' | 'active_at'> & {
    environment: string;
    predecessor: Generation | undefined;
  },
): NewKeyRow {
  const { generation, announced_at, active_at, environment, predecessor } = terms;
  const opened = openGeneration(generation, secrets);
  const public_key = opened.signing.publicPem;
  const succession = describeSuccession(environment, generation, public_key);
  const endorsement = predecessor?.signing.sign(Buffer.from(succession)) ?? Buffer.alloc(0);
  const dated = { generation, public_key, endorsement, announced_at, active_at };
  const covered = describeKeyRow({ ...dated, destroyed_at: null });
  const mac = authenticateWith(predecessor ?? opened, covered);
  return { ...wrapSecrets(masters, generation, secrets), ...dated, mac };
}

/** The first generation, of a new environment. Of several processes, the first one's counts. */
export async function storeFirstKeys(
  session: Session,
  masters: MasterKeys,
  { environment, now }: { environment: string; now: Date },
): Promise<void> {
  const dates = { generation: 1, announced_at: now, active_at: now };
  const first = { ...dates, environment, predecessor: undefined };
  await insertKeys(session, describeNewKeys(masters, createSecrets(), first));
}

export type KeyReading = {
  /** Those that open and verify, by number. */
  readonly generations: ReadonlyMap<number, Generation>;
  /** The newest one that may write. */
  readonly newest: Generation;
  readonly signingKeys: readonly VerifyingKey[];
  readonly rows: readonly KeyRow[];
  /** Numbers of rows that the generation before them did not create: they count for nothing. */
  readonly foreign: readonly number[];
};

/**
 * All generations of the database. `known` are not unwrapped again.
 *
 * @throws MissingMasterKey; Error where there are none.
 */
export async function readKeys(
  session: Session,
  masters: MasterKeys,
  known?: KeyReading,
): Promise<KeyReading> {
  return openKeyRows(await selectKeys(session), masters, known);
}

/** @throws as `readKeys`. */
export function openKeyRows(
  stored: readonly KeyRow[],
  masters: MasterKeys,
  known?: KeyReading,
): KeyReading {
  const rows = keepOwn(stored);
  const foreign = stored.slice(0, stored.length - rows.length).map((row) => row.generation);
  const generations = new Map<number, Generation>();
  for (const row of rows) {
    if (row.destroyed_at !== null) continue;
    const { generation: number } = row;
    const opened =
      known?.generations.get(number) ?? openGeneration(number, unwrapSecrets(masters, row));
    generations.set(number, opened);
  }
  const newest = rows
    .filter(({ is_active: isActive }) => isActive)
    .map(({ generation }) => generations.get(generation))
    .find((generation) => generation !== undefined);
  if (newest === undefined) throw new Error('the database has no keys of the environment');
  return { generations, newest, rows, foreign, signingKeys: listSigningKeys(rows, generations) };
}

/**
 * Without those that the generation before them did not endorse, and all that follow: an old master key
 * and write access to the database are not enough to add a generation.
 */
function keepOwn(rows: readonly KeyRow[]): readonly KeyRow[] {
  const first = rows.findLastIndex((row, index) => {
    const before = rows[index + 1];
    return before !== undefined && !isEndorsed(row, before);
  });
  return rows.slice(first + 1);
}

function isEndorsed(row: KeyRow, before: KeyRow): boolean {
  if (row.generation !== before.generation + 1) return false;
  const text = describeSuccession(row.environment, row.generation, row.public_key);
  const key = createPublicKey(before.public_key);
  return verify(null, Buffer.from(text), key, row.endorsement);
}

/**
 * The public keys since the first one that is active. That of a generation that is not destroyed follows
 * from its private key; that of a destroyed one counts only as its row was authenticated.
 */
function listSigningKeys(
  rows: readonly KeyRow[],
  generations: ReadonlyMap<number, Generation>,
): VerifyingKey[] {
  const published = rows.filter(({ is_active: isActive }) => isActive);
  return published.flatMap((row, index) => {
    const own = generations.get(row.generation);
    if (own === undefined && !isGenuine(row, generations)) return [];
    const publicPem = own?.signing.publicPem ?? row.public_key;
    const id = own?.signing.id ?? nameSigningKey(createPublicKey(publicPem));
    const until = published[index - 1]?.active_at;
    const { generation, active_at: since, destroyed_at: destroyedAt } = row;
    return [{ generation, id, publicPem, since, until, isDestroyed: destroyedAt !== null }];
  });
}

/** Whether one of the keys that are not destroyed vouches for a row. */
export function isGenuine(
  row: Dated & Pick<KeyRow, 'mac'>,
  generations: ReadonlyMap<number, Generation>,
): boolean {
  const by = generations.get(readGeneration(row.mac));
  return by !== undefined && authenticateWith(by, describeKeyRow(row)).equals(row.mac);
}

export type KeyFollower = EnvironmentKeys & {
  /** Reads them again. @throws what the database throws. */
  read(): Promise<void>;
  close(): void;
};

/** Follows the generations of the database, so that a rotation needs no restart. */
export async function followKeys(
  session: Session,
  masters: MasterKeys,
  {
    index,
    nowMs,
    onUnread,
  }: { index: KeyObject; nowMs: () => number; onUnread: (error: unknown) => void },
): Promise<KeyFollower> {
  let startedAtMs = nowMs();
  let reading = await readKeys(session, masters);
  let pending: Promise<void> | undefined;
  const readAgain = async (): Promise<void> => {
    // A generation that is announced after this moment may be missing in the answer.
    const startsAtMs = nowMs();
    reading = await readKeys(session, masters, reading);
    startedAtMs = startsAtMs;
  };
  const read = (): Promise<void> => {
    pending ??= readAgain().finally(() => {
      pending = undefined;
    });
    return pending;
  };
  // What was read before stays in force; it is trusted for a while.
  const refresh = (): void => void read().catch(onUnread);
  const isCurrent = (): boolean => nowMs() - startedAtMs < trustKeysMs;
  const timer = setInterval(refresh, readKeysMs);
  timer.unref();
  return {
    index,
    newest: () => {
      if (isCurrent()) return reading.newest;
      refresh();
      throw refuseStaleKeys();
    },
    find: (number) => reading.generations.get(number),
    isCurrent,
    refresh,
    signingKeys: () => reading.signingKeys,
    read,
    close: () => clearInterval(timer),
  };
}

/** The keys as they were read, for a command that replaces them itself. */
export function holdKeys(reading: KeyReading, index: KeyObject): EnvironmentKeys {
  return {
    index,
    newest: () => reading.newest,
    find: (number) => reading.generations.get(number),
    isCurrent: () => true,
    refresh: () => undefined,
    signingKeys: () => reading.signingKeys,
  };
}

/** @throws MissingMasterKey. */
export function openIndexKey(masters: MasterKeys, wrapped: Buffer): KeyObject {
  return createSecretKey(unwrapKey(masters, wrapped, indexContext));
}
