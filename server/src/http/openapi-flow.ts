import type { ExampleRequest } from './openapi-examples.ts';

/**
 * The whole interface used once, step by step, as a client would. Recorded, the steps are the
 * examples of the description; the acceptance tests send them through a validating proxy.
 */

/** What later steps take from earlier answers. */
export type Known = { [name: string]: string };

export type Step = {
  operationId: string;
  summary: string;
  request: (known: Known) => ExampleRequest;
  /** 200 unless it says otherwise. */
  status?: number;
  /** The request contradicts the description on purpose: a validating proxy would refuse it. */
  isWrong?: boolean;
  /** The kind of credential it sends: by default the access token. */
  credential?: 'none' | 'reduced';
  /** A list is shown with so many items at most, at every level. */
  itemsMax?: number;
  /** Only prepares what follows; or its answer is no JSON to show. */
  isHidden?: boolean;
  keep?: (body: Body, known: Known) => Known;
};

/** A parsed answer, to be walked by whoever knows its shape. */
// biome-ignore lint/suspicious/noExplicitAny: replaced below by a narrow reader.
export type Body = unknown;

/** Reads a text out of an answer. @throws Error when it is not there. */
export function readText(body: Body, ...path: (string | number)[]): string {
  let at: unknown = body;
  for (const key of path) at = (at as Record<string | number, unknown> | null)?.[key];
  if (typeof at !== 'string') throw new Error(`the answer has no text at ${path.join('.')}`);
  return at;
}
