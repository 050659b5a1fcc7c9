import { z } from 'zod';
import type { Principal } from '../core/access.ts';
import { getCurrency } from '../core/currency.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { formatAmount } from '../core/money.ts';
import type { Session } from '../db/postgres/pool.ts';
import { candidateSchema, hideProviderPrice } from '../destinations/route-candidate.ts';
import { amountAnswer } from '../http/schema.ts';
import { readPostings } from '../ledger/ledger.ts';

/** What a dry run of a payout or a batch adds to the answer of the request. */

const postingFields = {
  postings: z
    .array(
      z
        .object({
          from: z.string().describe('An account of the ledger, such as `wallet`'),
          to: z.string().describe('The account that gets it'),
          amount: amountAnswer.describe('In the currency of the transfer'),
          currency_code: z.string(),
        })
        .meta({ id: 'Posting' }),
    )
    .describe('The transfers that the commit would post; empty where it would be refused'),
  balances: z
    .array(
      z
        .object({
          token: z.string().describe('Of the balance'),
          currency_code: z.string(),
          before: amountAnswer.describe('Before the commit'),
          after: amountAnswer.describe('After it'),
        })
        .meta({ id: 'BalanceChange' }),
    )
    .describe('The balances that the commit would change; empty without the scope balance:read'),
};

const holdCodes = [
  'review',
  'rail_unavailable',
  'checks_unavailable',
  'sending_stopped',
  'account_frozen',
  'corridor_frozen',
  'rail_frozen',
] as const;

const sendingFields = {
  route: z
    .array(candidateSchema)
    .describe('The payer, and those that could take over from it; empty if it is offered no more'),
  holds: z
    .array(z.enum(holdCodes))
    .describe(
      'Why the committed payout would wait before it is sent: a person decides (`review`), the rail is down, the checks cannot run now, or the operator has stopped sending',
    ),
  limits: z
    .array(
      z
        .object({
          name: z.string().describe('As the operator has named the limit'),
          count_left: z.int().optional().describe('Absent where the limit does not count payouts'),
          usd_left: amountAnswer.optional().describe('Absent where the limit has no sum'),
        })
        .meta({ id: 'LimitHeadroom' }),
    )
    .describe('What each limit on the number or sum of payouts would have left after this one'),
};

export const batchDryRun = z.object(postingFields).meta({ id: 'BatchDryRun' });
export const dryRun = z.object({ ...postingFields, ...sendingFields }).meta({ id: 'DryRun' });

/** How a payout would be sent, written by `rules/preview.ts`. */
export type SendingPreview = {
  route: z.infer<typeof candidateSchema>[];
  holds: (typeof holdCodes)[number][];
  limits: { name: string; count: bigint | undefined; usdMinor: bigint | undefined }[];
};

/** What the transaction of the session has posted, as the caller may see it. */
export async function viewPostings(
  session: Session,
  { accountId, scopes }: Pick<Principal, 'accountId' | 'scopes'>,
) {
  const { postings, balances } = await readPostings(session, accountId);
  const shown = scopes.has('balance:read') ? balances : [];
  return {
    postings: postings.map(({ from, to, minor, currency }) => ({
      from,
      to,
      amount: writeAmount(minor, currency),
      currency_code: currency,
    })),
    balances: shown.map(({ token, currency, before, after }) => ({
      token,
      currency_code: currency,
      before: writeAmount(before, currency),
      after: writeAmount(after, currency),
    })),
  };
}

export function writePreview({ route, holds, limits }: SendingPreview) {
  return {
    route: route.map(hideProviderPrice),
    holds,
    limits: limits.map(({ name, count, usdMinor }) => ({
      name,
      count_left: count === undefined ? undefined : Number(count),
      usd_left: usdMinor === undefined ? undefined : writeAmount(usdMinor, 'USD'),
    })),
  };
}

function writeAmount(minor: bigint, currency: string): JsonNumber {
  return new JsonNumber(formatAmount(minor, getCurrency(currency)));
}
