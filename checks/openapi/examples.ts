import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from './schemas.ts';

/**
 * The examples of the description: requests and answers that `npm run record` recorded from a
 * running service. An acceptance test sends them again.
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
  /** `body` is null if it is empty or not JSON. */
  answer: { status: number; contentType: string; body: unknown };
};

export const examplesFile = join(import.meta.dirname, 'examples.json');

/** Read on demand, so that an idle service does not hold them. */
export function readExamples(): ExampleRecord[] {
  return JSON.parse(readFileSync(examplesFile, 'utf8')) as ExampleRecord[];
}

/** The `examples` of a media type, named after their summaries. */
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
