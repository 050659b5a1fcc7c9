import { z } from 'zod';
import { readBounded } from '../../core/bounded-body.ts';
import {
  type IdentityCase,
  type IdentityProvider,
  opinionSchema,
  ProviderError,
} from './provider.ts';

/**
 * A provider behind JSON over HTTP (docs/verification.md). Between this form and that of a company
 * stands a small adapter of the operator. Answers are bounded, and redirects are not followed.
 */

export type HttpProviderOptions = {
  readonly url: string;
  /** The bearer token. */
  readonly token: string;
  readonly fetch: typeof fetch;
};

type CallInit = { method: 'GET' | 'POST'; headers?: Record<string, string>; body?: string };

const answerBytesMax = 64 * 1024;
const callMsMax = 30_000;

const openedAnswer = z.object({ case: z.string().min(1).max(200) });
const caseAnswer = z.discriminatedUnion('status', [
  z.object({ status: z.literal('open') }),
  opinionSchema.omit({ provider: true }).extend({ status: z.literal('closed') }),
]);

export function createHttpProvider({ url, token, fetch }: HttpProviderOptions): IdentityProvider {
  const base = url.replace(/\/+$/, '');
  const name = new URL(url).hostname;
  const call = async (path: string, init: CallInit, signal: AbortSignal): Promise<unknown> => {
    try {
      const response = await fetch(`${base}${path}`, {
        ...init,
        headers: { ...init.headers, authorization: `Bearer ${token}`, accept: 'application/json' },
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(callMsMax)]),
      });
      const raw = await readBounded(response, answerBytesMax);
      if (raw === undefined) throw new ProviderError('the answer is too long');
      if (!response.ok) throw new ProviderError(`${name} answered ${response.status}`);
      return JSON.parse(raw.toString());
    } catch (cause) {
      if (cause instanceof ProviderError) throw cause;
      throw new ProviderError(`${name} gave no answer`, { cause });
    }
  };
  return {
    name,
    open: async (identity, signal) => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': identity.id };
      const body = JSON.stringify(writeCase(identity));
      const answer = await call('', { method: 'POST', headers, body }, signal);
      return parseAnswer(openedAnswer, answer, name).case;
    },
    findOpinion: async (reference, signal) => {
      const answer = await call(`/${encodeURIComponent(reference)}`, { method: 'GET' }, signal);
      const read = parseAnswer(caseAnswer, answer, name);
      if (read.status === 'open') return undefined;
      const { status: _, ...opinion } = read;
      return { ...opinion, provider: name };
    },
  };
}

function parseAnswer<Schema extends z.ZodType>(
  schema: Schema,
  answer: unknown,
  name: string,
): z.output<Schema> {
  const { data, success } = schema.safeParse(answer);
  // The fault would quote the answer, which is about a person.
  if (!success) throw new ProviderError(`${name} gave an answer of another form`);
  return data;
}

function writeCase(identity: IdentityCase) {
  return {
    id: identity.id,
    user: {
      first_name: identity.firstName,
      middle_name: identity.middleName,
      last_name: identity.lastName,
      date_of_birth: identity.dateOfBirth,
      country: identity.country,
    },
    images: identity.images.map(({ type, bytes }) => ({
      type,
      content: bytes.toString('base64'),
    })),
  };
}
