import { z } from 'zod';
import { getCurrency } from '../core/currency.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, maybeOne, nullable, type RowOf } from '../db/rows.ts';
import { getProviderCost, readProviderPrice } from '../destinations/provider-pricing.ts';
import type { PayoutName } from './payout-name.ts';

const selectMargin = defineQuery({
  name: 'find_payout_margin',
  text: `
    select m.source_currency, m.fee_earned, m.charges, p.rail, p.destination_amount,
      p.provider_price
    from payout_margins m
    join payouts p on p.account_id = m.account_id and p.id = m.payout_id
    where m.account_id = $1 and m.payout_id = $2`,
  columns: {
    source_currency: column.text,
    fee_earned: column.bigint,
    charges: column.json(
      z.array(
        z.object({ rail: z.string(), kind: z.string(), currency: z.string(), amount: z.string() }),
      ),
    ),
    rail: column.text,
    destination_amount: column.bigint,
    provider_price: nullable(column.text),
  },
});

/**
 * The fee that a payout earned and the charges that its rails deducted, beside the fee that its provider
 * had quoted. The FX margin is in the ledger accounts `fx`; it belongs to no single payout until its
 * currencies are exchanged.
 */
export async function findMargin(session: Session, { accountId, payoutId }: PayoutName) {
  const row = await maybeOne(session, selectMargin, [accountId, payoutId]);
  if (row === undefined) return undefined;
  return {
    payout_token: formatToken('payout', payoutId),
    fee: write(row.fee_earned, row.source_currency),
    fee_currency: row.source_currency,
    charges: row.charges.map((charge) => ({
      ...charge,
      amount: write(BigInt(charge.amount), charge.currency),
    })),
    ...compareWithQuote(row),
  };
}

function write(minor: bigint, code: string): string {
  return formatAmount(minor, getCurrency(code));
}

/**
 * `borne`: what the present rail charged above the quoted fee, negative where it charged less; "" before
 * it reported a charge in that currency.
 */
function compareWithQuote(row: RowOf<typeof selectMargin.columns>) {
  if (row.provider_price === null) return {};
  const price = readProviderPrice(row.provider_price);
  const quoted = getProviderCost(price, row.destination_amount);
  if (quoted === undefined) return {};
  const { code } = price.source;
  const charged = row.charges.filter(
    ({ rail, currency }) => rail === row.rail && currency === code,
  );
  const sum = charged.reduce((total, { amount }) => total + BigInt(amount), 0n);
  return {
    quoted_charge: write(quoted.feeMinor, code),
    quoted_currency: code,
    borne: charged.length === 0 ? '' : write(sum - quoted.feeMinor, code),
  };
}
