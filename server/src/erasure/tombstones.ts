import { createPublicKey, verify } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { SigningKey } from '../core/sealing.ts';

/**
 * The list of erased users, outside of the database: JSON lines, each signed by the environment, so
 * that write access to the file is not enough to have a user erased. It holds identifiers only.
 */

export type TombstonePlace = { file: string; environment: string; signing: SigningKey };

export type Tombstone = { accountId: string; userId: string; erasedAt: Date };

const statementSchema = z.object({
  environment: z.string(),
  account_id: z.uuid(),
  user_id: z.uuid(),
  erased_at: z.coerce.date(),
});
const lineSchema = z.object({ statement: z.string(), signature: z.base64(), key_id: z.string() });

export async function appendTombstones(
  { file, environment, signing }: TombstonePlace,
  tombstones: readonly Tombstone[],
): Promise<void> {
  if (tombstones.length === 0) return;
  const isCut = existsSync(file) && !readFileSync(file, 'utf8').endsWith('\n');
  const lines = tombstones.map(({ accountId, userId, erasedAt }) => {
    const statement = JSON.stringify({
      environment,
      account_id: accountId,
      user_id: userId,
      erased_at: erasedAt.toISOString(),
    });
    const signature = signing.sign(Buffer.from(statement)).toString('base64');
    return `${JSON.stringify({ statement, signature, key_id: signing.id })}\n`;
  });
  await mkdir(dirname(file), { recursive: true });
  const target = await open(file, 'a', 0o640);
  try {
    await target.writeFile(`${isCut ? '\n' : ''}${lines.join('')}`);
    await target.sync();
  } finally {
    await target.close();
  }
}

/** @throws TombstoneError for a line that this environment did not sign. */
export function readTombstones({ file, environment, signing }: TombstonePlace): Tombstone[] {
  if (!existsSync(file)) return [];
  const publicKey = createPublicKey(signing.publicPem);
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line, index) => {
    // A crash cut it while it was written, and the erasure was not committed.
    if (!line.endsWith('}')) return [];
    try {
      const { statement, signature } = lineSchema.parse(JSON.parse(line));
      if (!verify(null, Buffer.from(statement), publicKey, Buffer.from(signature, 'base64'))) {
        throw new Error('the signature is not of this environment');
      }
      const stated = statementSchema.parse(JSON.parse(statement));
      if (stated.environment !== environment) throw new Error('of another environment');
      const { account_id: accountId, user_id: userId, erased_at: erasedAt } = stated;
      return [{ accountId, userId, erasedAt }];
    } catch (cause) {
      throw new TombstoneError(`${file}, line ${index + 1}: not a signed erasure`, { cause });
    }
  });
}

/** The list of erasures cannot be trusted. */
export class TombstoneError extends Error {}
