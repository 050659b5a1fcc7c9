import { z } from 'zod';
import { openJsonProvider, type ProviderAddress } from '../../core/json-provider.ts';
import { type IdentityCase, type IdentityProvider, opinionSchema } from './provider.ts';

/**
 * A provider behind JSON over HTTP (docs/verification.md). Between this form and that of a company
 * stands a small adapter of the operator.
 */

const answerBytesMax = 64 * 1024;
const callMsMax = 30_000;

const openedAnswer = z.object({ case: z.string().min(1).max(200) });
const caseAnswer = z.discriminatedUnion('status', [
  z.object({ status: z.literal('open') }),
  opinionSchema.omit({ provider: true }).extend({ status: z.literal('closed') }),
]);

export function createHttpProvider({ url, ...address }: ProviderAddress): IdentityProvider {
  const limits = { answerBytesMax, callMsMax };
  const { name, ask } = openJsonProvider(
    { ...address, url: url.replace(/(?<!\/)\/+$/, '') },
    limits,
  );
  return {
    name,
    open: async (identity, signal) => {
      const post = { body: JSON.stringify(writeCase(identity)), key: identity.id };
      return (await ask(openedAnswer, { post, signal })).case;
    },
    findOpinion: async (reference, signal) => {
      const read = await ask(caseAnswer, { path: `/${encodeURIComponent(reference)}`, signal });
      if (read.status === 'open') return undefined;
      const { status: _, ...opinion } = read;
      return { ...opinion, provider: name };
    },
  };
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
