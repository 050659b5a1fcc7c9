import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { readPublicKeys } from '../core/verifying-keys.ts';
import type { Database } from '../db/postgres/pool.ts';
import {
  type Checkpoint,
  chains,
  checkpointSchema,
  type LinkRecord,
  linkRecordSchema,
  parseChainJson,
  readStatement,
} from './chain.ts';
import { readChains } from './chain-source.ts';
import { type ChainProof, createChainVerifier } from './chain-verifier.ts';

/**
 * An export of the chains: JSON lines, first the checkpoints, then the links with their rows, each chain
 * as far as it is signed, and a last line with their number.
 */

const exportLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('checkpoint'), checkpoint: checkpointSchema }),
  z.object({ type: z.literal('link'), link: linkRecordSchema }),
  z.object({ type: z.literal('end'), links: z.int() }),
]);
type ExportLine = z.output<typeof exportLine>;
type WrittenLine = Exclude<ExportLine, { type: 'link' }> | { type: 'link'; link: LinkRecord };

export type Exported = {
  links: number;
  /** Links that were left out, because no checkpoint covers them yet. */
  unsigned_links: number;
};

/** Leaves no file behind when it fails. @throws Error where the file exists. */
export function exportChains(db: Database, path: string): Promise<Exported> {
  return readChains(db, async ({ checkpoints, links }) => {
    const file = await open(path, 'wx', 0o600);
    const write = (line: WrittenLine) => file.appendFile(`${JSON.stringify(line)}\n`);
    try {
      const signed = new Map<string, bigint>();
      for await (const checkpoint of checkpoints()) {
        noteSignedEnds(signed, checkpoint);
        await write({ type: 'checkpoint', checkpoint });
      }
      const exported = { links: 0, unsigned_links: 0 };
      for await (const link of links()) {
        const end = signed.get(`${link.account_id} ${link.chain}`) ?? 0n;
        if (BigInt(link.place) > end) {
          exported.unsigned_links += 1;
          continue;
        }
        await write({ type: 'link', link });
        exported.links += 1;
      }
      await write({ type: 'end', links: exported.links });
      await file.sync();
      return exported;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  });
}

/** Of each account and chain, the last place that is signed. */
function noteSignedEnds(ends: Map<string, bigint>, checkpoint: Checkpoint): void {
  const { account_id: id, ...heads } = readStatement(checkpoint);
  for (const chain of chains) {
    const place = BigInt(heads[chain]?.place ?? 0);
    const name = `${id} ${chain}`;
    if (place > (ends.get(name) ?? 0n)) ends.set(name, place);
  }
}

export type ExportProof = ChainProof & { environment: string };

/**
 * Verifies an export without its database. It shows what was recorded until `signed_at`; an older export
 * lacks what came later.
 *
 * @param keys the public keys of the environment: a key set, or PEM
 * @param outside checkpoints that were kept elsewhere
 * @throws Error where the file is not an export, was cut off, or has no checkpoint.
 */
export async function verifyExport(
  path: string,
  { keys: text, outside }: { keys: string; outside: readonly Checkpoint[] },
): Promise<ExportProof> {
  const keys = readPublicKeys(text);
  const checkpoints = [...outside];
  for await (const line of readLines(path)) {
    if (line.type !== 'checkpoint') break;
    checkpoints.push(line.checkpoint);
  }
  const [environment, ...others] = new Set(
    checkpoints.map((checkpoint) => readStatement(checkpoint).environment),
  );
  if (environment === undefined)
    throw new Error(`${path} has no checkpoint, so that it shows nothing`);
  if (others.length > 0) throw new Error(`${path} has checkpoints of several environments`);
  const verifier = createChainVerifier({ checkpoints, keys, isSignedToTheEnd: true });
  let expected: number | undefined;
  for await (const line of readLines(path)) {
    if (line.type === 'link') verifier.add(line.link);
    if (line.type === 'end') expected = line.links;
  }
  const proof = verifier.finish();
  if (expected !== proof.links) throw new Error(`${path} is not a whole export: it was cut off`);
  return { ...proof, environment };
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
