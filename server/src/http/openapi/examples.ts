import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from './schemas.ts';

/**
 * The examples of the description: requests that were sent and answers that came, recorded by
 * `npm run record` from a running service. An acceptance test sends them again.
 */

export type ExampleRequest = {
  params?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: unknown;
  form?: Record<string, string>;
};

export type ExampleRecord = {
  operationId: string;
  summary: string;
  request: ExampleRequest;
  /** A null body stands for an empty one, or one that is no JSON. */
  answer: { status: number; contentType: string; body: unknown };
};

export const examplesFile = join(import.meta.dirname, 'examples.json');

/** Read when they are asked for, so that an idle service does not hold them. */
export function readExamples(): ExampleRecord[] {
  return JSON.parse(readFileSync(examplesFile, 'utf8')) as ExampleRecord[];
}

/** The `examples` of a media type, by a name made of the summary. */
export function listExamples(
  examples: readonly ExampleRecord[],
  read: (example: ExampleRecord) => unknown,
): JsonObject {
  const entries = examples
    .filter((example) => read(example) !== undefined)
    .map((example) => [
      example.summary.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'),
      { summary: example.summary, value: read(example) },
    ]);
  return entries.length === 0 ? {} : { examples: Object.fromEntries(entries) };
}
