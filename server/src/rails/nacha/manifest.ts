import { createHash } from 'node:crypto';
import { z } from 'zod';
import { minorUnits } from '../kit/records.ts';
import { type AchFile, isAdviceFile } from './ach-file.ts';
import { parseAchFile } from './ach-parser.ts';
import { listEntries } from './final-check.ts';
import { AchFormatError } from './record-layout.ts';
import type { Context } from './records.ts';

/**
 * A manifest lists the payments of a file that the rail wrote. It is in the archive folder, outside of
 * the database, before the bank can see the file. After the database was restored to an earlier moment
 * the rail reads it to learn what the database has lost. It holds no personal data.
 */
const entrySchema = z.object({
  reference: z.string(),
  trace: z.string(),
  amountMinor: minorUnits,
  payerKey: z.string().optional(),
  countryCode: z.string().optional(),
});

const manifestSchema = z.object({
  fileId: z.string(),
  name: z.string(),
  sha256: z.string(),
  createdAtMs: z.number(),
  effectiveOn: z.string(),
  sameDay: z.boolean(),
  deadlineMs: z.number(),
  entries: z.array(entrySchema),
  /** Of debits of the operator's own account. */
  offsets: z.array(z.object({ trace: z.string(), amountMinor: minorUnits })),
  /** How often the range of trace numbers had been used up. */
  round: z.number(),
  /** Counters of the rail after this file. */
  counters: z.array(z.object({ key: z.string(), next: z.number() })),
  /** When the file was put into the outbox; absent: perhaps never. */
  handedOverAtMs: z.number().optional(),
});

export type Manifest = z.infer<typeof manifestSchema>;

/** Far more than a file of the largest configurable size takes. */
const bytesMax = 64 * 1024 * 1024;

const manifestEnd = '.manifest.json';
const fileEnd = '.ach';

export function nameFile(rail: string, fileId: string): string {
  return `${rail}-${fileId}${fileEnd}`;
}

export async function writeManifest({ folders }: Context, manifest: Manifest): Promise<void> {
  const text = JSON.stringify(z.encode(manifestSchema, manifest));
  await folders.archive.replace(`${manifest.name}${manifestEnd}`, Buffer.from(`${text}\n`));
}

/** Ids of all files of this rail of which there is a manifest, or that lie in the outbox. */
export async function listWrittenFiles({ folders, host }: Context): Promise<string[]> {
  const prefix = `${host.name}-`;
  const end = `${fileEnd}${manifestEnd}`;
  const ids = new Set<string>();
  for (const { name } of await folders.archive.list()) {
    if (name.startsWith(prefix) && name.endsWith(end)) {
      ids.add(name.slice(prefix.length, -end.length));
    }
  }
  for (const { name } of await folders.outbox.list()) {
    if (name.startsWith(prefix) && name.endsWith(fileEnd)) {
      ids.add(name.slice(prefix.length, -fileEnd.length));
    }
  }
  return [...ids].toSorted();
}

/** The manifest of a file, else one made from its own records; a sentence where neither can be read. */
export async function readWrittenFile(
  context: Context,
  fileId: string,
): Promise<Manifest | string> {
  const manifest = await findManifest(context, fileId);
  if (manifest !== undefined) return manifest;
  const name = nameFile(context.host.name, fileId);
  try {
    return describeFile(context, fileId, await context.folders.outbox.read(name, bytesMax));
  } catch (error) {
    if (error instanceof AchFormatError) return `${name} in the outbox cannot be read`;
    throw error;
  }
}

/** The manifest of a file; undefined where there is none. */
export async function findManifest(
  { folders, host }: Context,
  fileId: string,
): Promise<Manifest | string | undefined> {
  const name = nameFile(host.name, fileId);
  const bytes = await folders.archive.find(`${name}${manifestEnd}`, bytesMax);
  return bytes && parseManifest(bytes, name);
}

function parseManifest(bytes: Uint8Array, name: string): Manifest | string {
  const fault = `the manifest of ${name} cannot be read`;
  try {
    const parsed = manifestSchema.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8')));
    return parsed.success && parsed.data.name === name ? parsed.data : fault;
  } catch (error) {
    if (error instanceof SyntaxError) return fault;
    throw error;
  }
}

/** For a file in the outbox whose manifest was lost. */
function describeFile({ config, host }: Context, fileId: string, bytes: Uint8Array): Manifest {
  const file = parseAchFile(bytes);
  const { first, last } = config.traceRange;
  const sequences = listEntries(file).map(({ trace }) => Number(trace.slice(8)));
  const highest = Math.min(Math.max(first, ...sequences), last);
  return {
    fileId,
    name: nameFile(host.name, fileId),
    sha256: createHash('sha256').update(bytes).digest('hex'),
    createdAtMs: host.nowMs(),
    effectiveOn: readEffectiveDay(file),
    sameDay: false,
    deadlineMs: host.nowMs(),
    ...splitEntries(file),
    round: 0,
    counters: [{ key: 'trace', next: highest - first + 1 }],
  };
}

export function splitEntries(file: AchFile): Pick<Manifest, 'entries' | 'offsets'> {
  const all = listEntries(file).map(({ amountMinor, reference, trace }) => ({
    reference,
    trace,
    amountMinor,
  }));
  return {
    entries: all.filter(({ reference }) => reference !== ''),
    offsets: all
      .filter(({ reference }) => reference === '')
      .map(({ trace, amountMinor }) => ({ trace, amountMinor })),
  };
}

/** Minor units. */
export function sumEntries(entries: Manifest['entries']): bigint {
  return entries.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
}

function readEffectiveDay({ batches }: AchFile): string {
  const date = batches[0]?.header.effectiveDate ?? '';
  if (isAdviceFile(batches) || !/^[0-9]{6}$/.test(date)) {
    throw new AchFormatError('the file has no effective date');
  }
  return `20${date.slice(0, 2)}-${date.slice(2, 4)}-${date.slice(4)}`;
}
