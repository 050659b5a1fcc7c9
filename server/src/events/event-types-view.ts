import { z } from 'zod';
import { amountAnswer } from '../http/schema.ts';

/** The types of events, and what the data of each type holds. */

const token = (what: string) => z.string().describe(what);

const user = z.object({
  user_token: token('The user that changed'),
  status: z.enum(['ACTIVE', 'LOCKED', 'DEACTIVE']).describe('The status of the user'),
});

const attributes = z.object({
  attr_set_token: token('The set that has a new version'),
  user_token: token('The user whose values they are'),
  version: z.int().describe('The number of the version, from 1'),
});

/** As in the types of their events, in lower case. */
export const payoutEventNames = [
  'pending',
  'scheduled',
  'processing',
  'hold',
  'error',
  'ready_for_pickup',
  'completed',
  'cancelled',
] as const;

const payout = z.object({
  payout_token: token('The payout that changed'),
  user_token: token('Its recipient'),
  client_transfer_id: token('Your own identifier of the transfer'),
  status: z
    .enum(payoutEventNames.map((name) => name.toUpperCase()))
    .describe('The status after the change'),
  status_reason: z.string().describe('Why, in words; "" where there is nothing to say'),
});

/** As in the types of their events; the status of a session has spaces and capitals. */
export const verificationEventNames = [
  'started',
  'submitted',
  'abandoned',
  'expired',
  'resubmitted',
  'declined',
  'approved',
  'resubmission_requested',
  'review',
] as const;

const verification = z.object({
  user_token: token('The user who is verified'),
  session_id: token('The verification session that changed'),
  status: z.string().describe('The status of the session after the change'),
});

const balance = z.object({
  token: token('The balance that changed'),
  currency_code: z.string().describe('Its currency'),
});

export const batchEventNames = ['committing', 'committed'] as const;

const batch = z.object({
  batch_token: token('The batch that changed'),
  status: z
    .enum(batchEventNames.map((name) => name.toUpperCase()))
    .describe('The status after the change'),
});

function namesOf<Family extends string, Name extends string>(
  family: Family,
  names: readonly Name[],
): `${Family}.${Name}`[] {
  return names.map((name) => `${family}.${name}` as const);
}

/** The members of every event; `type` and `data` differ. */
const common = {
  sequence: amountAnswer.describe('Begins with 1 and has no gaps within the account'),
  created_on: z.string().describe('UTC, without offset'),
};

function describeEvent<Type extends string, Data extends z.ZodType>(
  id: string,
  types: readonly [Type, ...Type[]] | readonly Type[],
  data: Data,
) {
  const type = z.enum(types).describe('What happened');
  return z.object({ type, ...common, data: data.describe('The object that changed') }).meta({ id });
}

const kinds = [
  describeEvent('UserEvent', namesOf('user', ['created', 'updated']), user),
  describeEvent('AttributesEvent', namesOf('attributes', ['stored']), attributes),
  describeEvent('PayoutEvent', namesOf('payout', payoutEventNames), payout),
  describeEvent('VerificationEvent', namesOf('verification', verificationEventNames), verification),
  describeEvent('BalanceEvent', namesOf('balance', ['funded']), balance),
  describeEvent('BatchEvent', namesOf('batch', batchEventNames), batch),
] as const;

export const eventTypes = kinds.flatMap((kind): string[] => kind.shape.type.options);

/** One of the kinds of events, told apart by `type`. */
export const eventAnswer = z
  .discriminatedUnion('type', kinds)
  .describe('A change, in the order in which the changes of the account happened')
  .meta({ id: 'Event', isRaw: true });
export type EventAnswer = z.infer<typeof eventAnswer>;
