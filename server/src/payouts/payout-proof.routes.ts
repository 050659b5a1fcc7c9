import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { formatToken } from '../core/ids.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { accountChains } from '../ledger/chain.ts';
import { type PayoutProof, provePayout } from '../ledger/payout-proof.ts';
import {
  type Context,
  type PayoutServices,
  payoutParams,
  readPayoutTokens,
} from './payouts.routes.ts';
import { findPayoutRow } from './payouts.sql.ts';

/** The proof that a payout is in the chain that the environment has signed. */

const hash = z.string().describe('SHA-256, hexadecimal');
const place = z.string().describe('The number of a link, or the sequence of its last event');
const linkTime = z.string().describe('Of the latest row of the link, microseconds since 1970');

const provedRow = z
  .object({
    row_hash: hash,
    row: z
      .record(z.string(), z.string())
      .optional()
      .describe('The journal or event as it was hashed; absent where it is of another payout'),
  })
  .meta({ id: 'ProvedRow' });

const provedLink = z
  .object({
    chain: z.enum(accountChains).describe('Whose link it is'),
    place,
    created_us: linkTime,
    previous: z.string().describe('The hash of the link before it; "" for the first one'),
    rows: z.array(provedRow).describe('All rows of the link, in their order'),
    path: z
      .array(
        z
          .object({
            place,
            created_us: linkTime,
            row_count: z.int().describe('Rows of the link'),
            digest: hash,
          })
          .meta({ id: 'PathLink' }),
      )
      .describe('The links after it, to the one that is signed'),
    checkpoint: z
      .object({
        statement: z.string().describe('JSON, exactly as it is signed: the heads of both chains'),
        signature: z.string().describe('Ed25519 over the statement, Base64'),
        key_id: z.string().describe('Of a key of `/.well-known/receipt-keys.json`'),
      })
      .meta({ id: 'Checkpoint' })
      .describe('A signed head of the chain'),
  })
  .meta({ id: 'ProvedLink' });

const proofAnswer = z
  .object({
    payout_token: z.string(),
    account_id: z.string().describe('The account whose chain it is'),
    payout_id: z.string().describe('The payout in the rows'),
    links: z.array(provedLink).describe('The links with its journals and events'),
  })
  .meta({ id: 'PayoutProof' });

export function payoutProofRoutes(): Route<PayoutServices>[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/payout/{user_token}/{payout_token}/proof',
      isVersioned: true,
      operationId: 'getPayoutProof',
      tag: 'Payouts',
      summary: 'Prove what was recorded about a payout',
      description:
        'Its journals and events, and the chain of hashes from them to a head that the environment has signed. `outlay proof verify` checks it offline.',
      access: 'payouts:read',
      params: payoutParams,
      response: proofAnswer,
      refusals: [404],
      handle: async ({ env, accountId }: Context, { params }) => {
        const { userId, payoutId } = readPayoutTokens(params);
        const session = env.db.tenant(accountId);
        const row = await findPayoutRow(session, { accountId, userId, payoutId });
        if (row === undefined) throw new AppError('not_found', 'Payout not found');
        return writeProof(await provePayout(env.chain, session, { accountId, payoutId }));
      },
    }),
  ];
}

function writeProof(proof: PayoutProof) {
  return {
    payout_token: formatToken('payout', proof.payout_id),
    ...proof,
    links: proof.links.map((link) => ({
      ...link,
      rows: link.rows.map(({ row, row_hash }) => ({
        row_hash,
        ...(row !== undefined && { row: dropNulls(row) }),
      })),
    })),
  };
}

function dropNulls(row: object): Record<string, string> {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}
