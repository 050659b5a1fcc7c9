import { getCurrency } from '../core/currency.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import type { PayoutName } from './payout-name.ts';

const marginText: Statement = {
  name: 'find_payout_margin',
  text: `
    select source_currency, fee_earned, charges from payout_margins
    where account_id = $1 and payout_id = $2`,
};

type MarginRow = {
  source_currency: string;
  fee_earned: bigint;
  charges: readonly { rail: string; kind: string; currency: string; amount: string }[];
};

/**
 * What a payout earned and what its rails took of their own accord. The exchange's share is in the
 * ledger's `fx` accounts, and not a payout's own before its currencies are settled.
 */
export async function findMargin(session: Session, { accountId, payoutId }: PayoutName) {
  const [row] = await session.rows<MarginRow>(marginText, [accountId, payoutId]);
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
