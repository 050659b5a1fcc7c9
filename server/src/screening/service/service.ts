import { z } from 'zod';
import { readBounded } from '../../core/bounded-body.ts';

/**
 * The port for a screening service that gives a second opinion. JSON over HTTP
 * (docs/guides/screening.md); between this form and that of a company stands a small adapter of the
 * operator. Answers are bounded, and redirects are not followed.
 */

/** What the service needs to know of a payout. */
export type OpinionRequest = {
  readonly person: {
    readonly first_name: string;
    readonly middle_name: string;
    readonly last_name: string;
    readonly business_name: string;
    readonly date_of_birth: string;
    readonly country: string;
  };
  /** Names in the attributes, such as the holder of the account. */
  readonly names: readonly { readonly field: string; readonly text: string }[];
  readonly bank_codes: readonly string[];
  /** "" where the money does not go to a wallet. */
  readonly wallet: string;
  readonly destination_country: string;
};

export const opinionAnswer = z.object({
  result: z.enum(['clear', 'hit']),
  /** The service's name of the case. */
  reference: z.string().max(200).default(''),
  matches: z
    .array(
      z.object({
        list: z.string().max(200),
        entry: z.string().max(200),
        name: z.string().max(500).default(''),
        /** Thousandths; absent where the service gives none. */
        score: z.int().min(0).max(1000).optional(),
      }),
    )
    .max(20)
    .default([]),
});
export type OpinionAnswer = z.output<typeof opinionAnswer>;

export type ScreeningService = {
  readonly name: string;
  /**
   * The body as it was stored, and the key of the request: the same for every try.
   *
   * @throws ScreeningServiceError without a usable answer.
   */
  ask(request: { id: string; body: string }, signal: AbortSignal): Promise<OpinionAnswer>;
};

/** The message names no person. */
export class ScreeningServiceError extends Error {}

const answerBytesMax = 64 * 1024;
const callMsMax = 10_000;

export function createScreeningService(options: {
  url: string;
  /** The bearer token. */
  token: string;
  fetch: typeof fetch;
}): ScreeningService {
  const { url, token } = options;
  const name = new URL(url).hostname;
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const call = async (init: RequestInit): Promise<{ status: number; text: string }> => {
    const limit = AbortSignal.timeout(callMsMax);
    const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;
    try {
      const response = await options.fetch(url, { ...init, redirect: 'error', signal });
      const raw = await readBounded(response, answerBytesMax);
      if (raw === undefined) {
        throw new ScreeningServiceError(`${name} gave an answer over ${answerBytesMax} bytes`);
      }
      return { status: response.status, text: raw.toString() };
    } catch (cause) {
      if (cause instanceof ScreeningServiceError) throw cause;
      throw new ScreeningServiceError(`${name} gave no answer`, { cause });
    }
  };
  return {
    name,
    ask: async ({ id, body }, signal) => {
      const { status, text } = await call({
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': id },
        body,
        signal,
      });
      if (status < 200 || status > 299)
        throw new ScreeningServiceError(`${name} answered ${status}`);
      const answer = parseAnswer(text);
      // The fault would quote the answer, which is about a person.
      if (answer === undefined) {
        throw new ScreeningServiceError(`${name} gave an answer of another form`);
      }
      return answer;
    },
  };
}

function parseAnswer(text: string): OpinionAnswer | undefined {
  try {
    return opinionAnswer.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
