import { z } from 'zod';
import { batchAnswer } from '../batches/batches-view.ts';
import { wholeAnswer } from '../http/schema.ts';
import { balanceAnswer } from '../ledger/ledger.routes.ts';
import { payoutAnswer } from '../payouts/payout-view.ts';
import { userAnswer } from '../users/users.routes.ts';

/** The types of events, and what the data of each type holds. */

const user = userAnswer
  .partial()
  .extend({
    user_token: z.string().describe('The user that changed'),
    status: z.enum(['ACTIVE', 'LOCKED', 'DEACTIVE']).describe('The status after the change'),
  })
  .describe('The user; only token and status without the scope users:read, and after an erasure');

const attributes = z
  .object({
    attr_set_token: z.string().describe('The set that has a new version'),
    user_token: z.string().describe('The user whose values they are; "" after an erasure'),
    version: z.int().describe('The number of the version, from 1'),
    destination_token: z.string().optional().describe('The destination of the set'),
    currency_code: z.string().optional().describe('The currency of the set'),
    is_complete: z.boolean().optional().describe('Whether all required values are stored'),
    stored_on: z.string().optional().describe('UTC, without offset'),
    attrs: z
      .record(z.string(), z.string())
      .optional()
      .describe('Attribute type to value, numbers masked'),
  })
  .describe('The set; the members after version only with the scope users:read');

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
  'returned',
] as const;

const payout = payoutAnswer
  .extend({ user_token: z.string().describe('The recipient of the payout') })
  .describe('The payout as it was after the change');

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

const verification = z
  .object({
    user_token: z.string().describe('The user who is verified'),
    session_id: z.string().describe('The verification session that changed'),
    status: z.string().describe('The status of the session after the change'),
  })
  .describe('The verification session');

const balance = balanceAnswer
  .partial({ balance: true })
  .describe('The balance; its amount only with the scope balance:read');

const account = z
  .object({
    frozen_on: z.string().describe('Since when commits are refused and nothing is sent, UTC'),
    unfrozen_on: z.string().describe('UTC, without offset; "" while it is frozen'),
  })
  .describe('What the operator stopped for the account');

const restoredAccount = z
  .object({
    last_sequence: wholeAnswer.describe(
      'Of the event before this one. Events with numbers between the two never happened',
    ),
  })
  .describe('Which events count no longer: the database was restored to an earlier moment');

const batchStatuses = batchAnswer.shape.status.options;
export const batchEventNames = [
  ...batchStatuses.map((status) => status.toLowerCase() as Lowercase<typeof status>),
  'removed',
] as const;

const batch = batchAnswer
  .extend({ status: z.enum([...batchStatuses, 'REMOVED']).describe('The status after the change') })
  .describe('The batch as it was after the change');

const credential = z
  .object({
    credential_id: z.string().describe('The credential that changed'),
    kind: z.string().describe('client: client id and secret; api_key: a key'),
    scopes: z.array(z.string()).describe('What the credential may do'),
    allowed_addresses: z.array(z.string()).describe('Networks that may use it; empty: all'),
    created_on: z.string().describe('UTC, without offset'),
    expires_on: z.string().describe('UTC, without offset; "" if it does not expire'),
    revoked_on: z.string().describe('UTC, without offset; "" while it is valid'),
  })
  .describe('The credential, never with its secret');

const webhook = z
  .object({
    webhook_token: z.string().describe('The endpoint that events are no longer sent to'),
    status: z.string().describe('PAUSED: it failed for 14 days; DISABLED: it answered 410'),
    status_reason: z.string().describe('Why, in words'),
  })
  .describe('The endpoint that gets no more events');

const proposal = z
  .object({
    proposal_token: z.string().describe('The proposal that changed'),
    payout_token: z.string().describe('The payout that is proposed'),
    user_token: z.string().describe('The recipient of the payout'),
    status: z.enum(['OPEN', 'CONFIRMED', 'DECLINED', 'EXPIRED']).describe('After the change'),
    credential_id: z.string().describe('The credential that proposed'),
    created_on: z.string().describe('UTC, without offset'),
    expiration: z.string().describe('Of the quote: UTC, without offset'),
    decided_on: z.string().describe('UTC, without offset; "" until a decision'),
    decided_through: z.string().describe('link or api; "" until a decision'),
    decided_by: z
      .string()
      .describe('The credential that decided, or that got the link last; "" if there is none'),
  })
  .describe('The proposal, never with its reason or its link');

const abandonedDelivery = z
  .object({
    webhook_token: z.string().describe('The endpoint that did not accept an event'),
    delivery_token: z.string().describe('The last request, in the log of the webhook'),
    sequence: wholeAnswer.describe('Of the event that is not sent again; a replay sends it'),
    event_type: z.string().describe('Of that event; "" if it was no longer kept'),
    tries: z.int().describe('How often it was sent'),
    status_code: z.int().describe('Of the last answer; 0 if there was none'),
    error: z.string().describe('Why the last request failed, in words'),
  })
  .describe('The delivery that is abandoned');

function namesOf<Family extends string, Name extends string>(
  family: Family,
  names: readonly Name[],
): `${Family}.${Name}`[] {
  return names.map((name) => `${family}.${name}` as const);
}

/** The members of every event; `type` and `data` differ. */
const common = {
  sequence: wholeAnswer.describe(
    'Begins with 1 and has no gaps within the account, except before `account.restored`',
  ),
  created_on: z.string().describe('UTC, without offset'),
  schema_version: z
    .literal(1)
    .meta({ jsonSchema: { type: 'integer', const: 1 } })
    .describe('Of data. Grows when a member changes or goes, not when one is added'),
  object: z.string().describe('The token of the object that changed'),
  object_sequence: wholeAnswer.describe(
    'Begins with 1 and has no gaps within the object, as long as its events are kept',
  ),
};

function describeEvent<Type extends string, Data extends z.ZodType>(
  id: string,
  types: readonly [Type, ...Type[]] | readonly Type[],
  data: Data,
) {
  const type = z.enum(types).describe('What happened');
  return z.object({ type, ...common, data: data.meta({ id: `${id}Data` }) }).meta({ id });
}

const kinds = [
  describeEvent('UserEvent', namesOf('user', ['created', 'updated', 'erased']), user),
  describeEvent('AttributesEvent', namesOf('attributes', ['stored']), attributes),
  describeEvent('PayoutEvent', namesOf('payout', payoutEventNames), payout),
  describeEvent('VerificationEvent', namesOf('verification', verificationEventNames), verification),
  describeEvent('BalanceEvent', namesOf('balance', ['funded', 'adjusted']), balance),
  describeEvent('AccountEvent', namesOf('account', ['frozen', 'unfrozen']), account),
  describeEvent('AccountRestoredEvent', namesOf('account', ['restored']), restoredAccount),
  describeEvent('BatchEvent', namesOf('batch', batchEventNames), batch),
  describeEvent(
    'CredentialEvent',
    namesOf('credential', ['created', 'updated', 'revoked', 'expiring']),
    credential,
  ),
  describeEvent(
    'ProposalEvent',
    namesOf('proposal', ['created', 'confirmed', 'declined', 'expired']),
    proposal,
  ),
  describeEvent('WebhookEvent', namesOf('webhook', ['paused', 'disabled']), webhook),
  describeEvent(
    'WebhookDeliveryEvent',
    namesOf('webhook', ['delivery_abandoned']),
    abandonedDelivery,
  ),
] as const;

export const eventTypes = kinds.flatMap((kind): string[] => kind.shape.type.options);

/** One of the kinds of events, distinguished by `type`. */
export const eventAnswer = z
  .discriminatedUnion('type', kinds)
  .describe('A change, in the order in which the changes of the account happened')
  .meta({ id: 'Event', isRaw: true });
export type EventAnswer = z.infer<typeof eventAnswer>;
