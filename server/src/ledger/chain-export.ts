import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { readPublicKeys } from '../core/verifying-keys.ts';
import type { Database } from '../db/postgres/pool.ts';
import {
  type Checkpoint,
  checkpointSchema,
  type LinkRecord,
  linkRecordSchema,
  parseChainJson,
} from './chain.ts';
import { readChains } from './chain-source.ts';
import { type ChainProof, createChainVerifier } from './chain-verifier.ts';

/**
 * An export of the chains: JSON lines, first the checkpoints, then every link with its rows, and a last
 * line with their number.
 */

const exportLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('checkpoint'), checkpoint: checkpointSchema }),
  z.object({ type: z.literal('link'), link: linkRecordSchema }),
  z.object({ type: z.literal('end'), links: z.int() }),
]);
type ExportLine = z.output<typeof exportLine>;
type WrittenLine = Exclude<ExportLine, { type: 'link' }> | { type: 'link'; link: LinkRecord };

/** Leaves no file behind when it fails. @throws Error where the file exists. */
export function exportChains(db: Database, path: string): Promise<{ links: number }> {
  return readChains(db, async ({ checkpoints, links }) => {
    const file = await open(path, 'wx', 0o600);
    const write = (line: WrittenLine) => file.appendFile(`${JSON.stringify(line)}\n`);
    try {
      for (const checkpoint of checkpoints) await write({ type: 'checkpoint', checkpoint });
      let count = 0;
      for await (const link of links()) {
        await write({ type: 'link', link });
        count += 1;
      }
      await write({ type: 'end', links: count });
      await file.sync();
      return { links: count };
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  });
}

/**
 * Verifies an export without its database.
 *
 * @param keys the public keys of the environment: a key set, or PEM
 * @param outside checkpoints that were kept elsewhere
 * @throws Error where the file is not an export, or was cut off.
 */
export async function verifyExport(
  path: string,
  { keys: text, outside }: { keys: string; outside: readonly Checkpoint[] },
): Promise<ChainProof> {
  const keys = readPublicKeys(text);
  const checkpoints = [...outside];
  for await (const line of readLines(path)) {
    if (line.type !== 'checkpoint') break;
    checkpoints.push(line.checkpoint);
  }
  const verifier = createChainVerifier({ checkpoints, keys });
  let expected: number | undefined;
  for await (const line of readLines(path)) {
    if (line.type === 'link') verifier.add(line.link);
    if (line.type === 'end') expected = line.links;
  }
  const proof = verifier.finish();
  if (expected !== proof.links) throw new Error(`${path} is not a whole export: it was cut off`);
  return proof;
}

async function* readLines(path: string): AsyncGenerator<ExportLine> {
  const input = createReadStream(path);
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      yield parseLine(line, path);
    }
  } finally {
    input.destroy();
  }
}

function parseLine(line: string, path: string): ExportLine {
  try {
    return parseChainJson(line, exportLine, 'a line');
  } catch (cause) {
    throw new Error(`${path} is not an export of chains`, { cause });
  }
}
