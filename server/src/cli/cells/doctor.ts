import { readFileSync, statSync } from 'node:fs';
import { type Finding, formatCause, problem } from '../doctor/finding.ts';
import { compareCells } from './compare.ts';
import { type CellDescription, cellSchema } from './description.ts';
import { checkReach } from './reach.ts';

/** Compares the descriptions of several cells (docs/guides/cells.md). Changes nothing. */

const fileBytesMax = 10_000_000;

export type CellsDoctorOptions = {
  readonly realNowMs: () => number;
  readonly fetch?: typeof fetch;
};

export async function examineCells(
  files: readonly string[],
  { realNowMs, fetch: given = fetch }: CellsDoctorOptions,
): Promise<Finding[]> {
  const read = files.map(readDescription);
  const faults = read.flatMap((one) => ('fault' in one ? [problem(one.fault)] : []));
  if (faults.length > 0) return faults;
  const cells = read.flatMap((one) => ('fault' in one ? [] : [one]));
  return [
    ...compareCells(cells, realNowMs()),
    ...(await checkReach(cells, { fetch: given, realNowMs })),
  ];
}

function readDescription(file: string): CellDescription | { fault: string } {
  let written: unknown;
  try {
    if (statSync(file).size > fileBytesMax) return { fault: `${file} is too large` };
    written = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    return { fault: `${file} cannot be read: ${formatCause(error)}` };
  }
  const parsed = cellSchema.safeParse(written);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue?.path.map(String).join('.') || 'the file';
  return { fault: `${file} is not the output of outlay admin cell describe: ${place}` };
}
