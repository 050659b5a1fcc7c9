import { z } from 'zod';
import { getCurrency } from '../core/currency.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, maybeOne } from '../db/rows.ts';
import type { PayoutName } from './payout-name.ts';

const selectMargin = defineQuery({
  name: 'find_payout_margin',
  text: `
    select source_currency, fee_earned, charges from payout_margins
    where account_id = $1 and payout_id = $2`,
  columns: {
    source_currency: column.text,
    fee_earned: column.bigint,
    charges: column.json(
      z.array(
        z.object({ rail: z.string(), kind: z.string(), currency: z.string(), amount: z.string() }),
      ),
    ),
  },
});

/**
 * The fee that a payout earned and the charges that its rails deducted. The FX margin is in the
 * ledger accounts `fx`; it belongs to no single payout until its currencies are exchanged.
 */
export async function findMargin(session: Session, { accountId, payoutId }: PayoutName) {
  const row = await maybeOne(session, selectMargin, [accountId, payoutId]);
  if (row === undefined) return undefined;
  const write = (minor: bigint, code: string): string => formatAmount(minor, getCurrency(code));
  return {
    payout_token: formatToken('payout', payoutId),
    fee: write(row.fee_earned, row.source_currency),
    fee_currency: row.source_currency,
    charges: row.charges.map((charge) => ({
      ...charge,
      amount: write(BigInt(charge.amount), charge.currency),
    })),
  };
}
