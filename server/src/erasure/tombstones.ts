import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { nameSigningKey, type SigningKey } from '../core/environment-keys.ts';
import type { KeyRing } from '../core/sealing.ts';
import { isWholeLine } from '../core/signed-lines.ts';
import type { PublicKey } from '../core/verifying-keys.ts';
import { makeFolder } from '../db/make-folder.ts';

/**
 * The list of erased users, outside of the database: JSON lines, each signed by the environment, so
 * that write access to the file is not enough to have a user erased. It holds identifiers only.
 *
 * A new signing key is introduced by a line that the key before it signs, so that a database that was
 * restored from before the rotation trusts what was signed since. Before a key is destroyed, what it has
 * signed is signed again; from then on a line that only it has signed counts as forged.
 */

export type TombstonePlace = {
  file: string;
  environment: string;
  keys: Pick<KeyRing, 'signing' | 'signingKeys'>;
};

export type Tombstone = { accountId: string; userId: string; erasedAt: Date };

/** What a signing key says about the one after it. */
export type Succession = { statement: string; signature: Buffer; key_id: string };

const statementSchema = z.object({
  environment: z.string(),
  account_id: z.uuid(),
  user_id: z.uuid(),
  erased_at: z.coerce.date(),
});
const successionSchema = z.object({
  environment: z.string(),
  generation: z.int(),
  public_key: z.string(),
});
const lineSchema = z.object({
  kind: z.enum(['erasure', 'key']).default('erasure'),
  statement: z.string(),
  signature: z.base64(),
  key_id: z.string(),
});
type Line = z.output<typeof lineSchema> & { number: number };

export async function appendTombstones(
  { file, environment, keys }: TombstonePlace,
  tombstones: readonly Tombstone[],
): Promise<void> {
  const { signing } = keys;
  await appendLines(
    file,
    tombstones.map((tombstone) => signLine(signing, environment, tombstone)),
  );
}

function signLine(
  signing: SigningKey,
  environment: string,
  { accountId, userId, erasedAt }: Tombstone,
) {
  const statement = JSON.stringify({
    environment,
    account_id: accountId,
    user_id: userId,
    erased_at: erasedAt.toISOString(),
  });
  const signature = signing.sign(Buffer.from(statement)).toString('base64');
  return { statement, signature, key_id: signing.id };
}

async function appendLines(file: string, lines: readonly object[]): Promise<void> {
  if (lines.length === 0) return;
  const isCut = existsSync(file) && !readFileSync(file, 'utf8').endsWith('\n');
  makeFolder(dirname(file));
  const target = await open(file, 'a', 0o640);
  try {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    await target.writeFile(`${isCut ? '\n' : ''}${text}`);
    await target.sync();
  } finally {
    await target.close();
  }
}

/** Introduces the keys that the list does not name yet. */
export async function appendSuccessions(
  { file }: TombstonePlace,
  successions: readonly Succession[],
): Promise<void> {
  const named = new Set(readLines(file).map(({ kind, statement }) => `${kind} ${statement}`));
  await appendLines(
    file,
    successions
      .filter(({ statement }) => !named.has(`key ${statement}`))
      .map(({ signature, ...line }) => ({
        kind: 'key',
        ...line,
        signature: signature.toString('base64'),
      })),
  );
}

/** Signs with the present key what only former ones have signed. @throws TombstoneError. */
export async function renewTombstones(place: TombstonePlace): Promise<number> {
  const { id } = place.keys.signing;
  const list = openList(place);
  const renewed = new Set(list.filter((entry) => entry.keyId === id).map(nameUser));
  const missing = new Map(
    list.filter((entry) => !renewed.has(nameUser(entry))).map((entry) => [nameUser(entry), entry]),
  );
  await appendTombstones(place, [...missing.values()]);
  return missing.size;
}

/** @throws TombstoneError for a line that this environment did not sign. */
export function readTombstones(place: TombstonePlace): Tombstone[] {
  const byUser = new Map(openList(place).map((entry) => [nameUser(entry), entry]));
  return [...byUser.values()].map(({ keyId: _, ...tombstone }) => tombstone);
}

/** The keys by which this environment has signed, as far as its database or the list knows them. */
export function listTrustedKeys({ file, environment, keys }: TombstonePlace): PublicKey[] {
  const trusted = trustKeys(readLines(file), environment, keys);
  return [...trusted].map(([id, key]) => ({ id, key, untilMs: undefined }));
}

type Entry = Tombstone & { readonly keyId: string };

const nameUser = ({ accountId, userId }: Tombstone): string => `${accountId} ${userId}`;

function openList({ file, environment, keys }: TombstonePlace): Entry[] {
  const lines = readLines(file);
  const trusted = trustKeys(lines, environment, keys);
  const entries: Entry[] = [];
  const untrusted: { name: string; line: Line }[] = [];
  for (const line of lines) {
    if (line.kind === 'key') continue;
    const stated = parseStatement(file, line);
    const { account_id: accountId, user_id: userId, erased_at: erasedAt } = stated;
    const entry = { accountId, userId, erasedAt, keyId: line.key_id };
    if (stated.environment === environment && isSigned(line, trusted.get(line.key_id))) {
      entries.push(entry);
    } else {
      untrusted.push({ name: nameUser(entry), line });
    }
  }
  // Signed again with a later key.
  const known = new Set(entries.map(nameUser));
  const forged = untrusted.find(({ name }) => !known.has(name));
  if (forged !== undefined) throw refuseLine(file, forged.line.number);
  return entries;
}

/** Those that are not destroyed, and those that they introduce. */
function trustKeys(
  lines: readonly Line[],
  environment: string,
  keys: TombstonePlace['keys'],
): ReadonlyMap<string, KeyObject> {
  const own = keys.signingKeys.filter(({ isDestroyed }) => !isDestroyed);
  const trusted = new Map(own.map(({ id, publicPem }) => [id, createPublicKey(publicPem)]));
  const waiting = new Set(lines.filter(({ kind }) => kind === 'key'));
  for (let found = true; found; ) {
    found = false;
    for (const line of waiting) {
      if (!isSigned(line, trusted.get(line.key_id))) continue;
      waiting.delete(line);
      found = true;
      const stated = successionSchema.parse(JSON.parse(line.statement));
      if (stated.environment !== environment) continue;
      const key = createPublicKey(stated.public_key);
      trusted.set(nameSigningKey(key), key);
    }
  }
  return trusted;
}

function isSigned({ statement, signature }: Line, key: KeyObject | undefined): boolean {
  return (
    key !== undefined && verify(null, Buffer.from(statement), key, Buffer.from(signature, 'base64'))
  );
}

function readLines(file: string): Line[] {
  if (!existsSync(file)) return [];
  const texts = readFileSync(file, 'utf8').split('\n');
  return texts.flatMap((text, index) => {
    // A crash cut it while it was written, and the erasure was not committed.
    if (!isWholeLine(text)) return [];
    try {
      return [{ ...lineSchema.parse(JSON.parse(text)), number: index + 1 }];
    } catch (cause) {
      throw refuseLine(file, index + 1, cause);
    }
  });
}

function parseStatement(file: string, { statement, number }: Line) {
  try {
    return statementSchema.parse(JSON.parse(statement));
  } catch (cause) {
    throw refuseLine(file, number, cause);
  }
}

function refuseLine(file: string, number: number, cause?: unknown): TombstoneError {
  return new TombstoneError(`${file}, line ${number}: not a signed erasure`, { cause });
}

/** The list of erasures cannot be trusted. */
export class TombstoneError extends Error {}
