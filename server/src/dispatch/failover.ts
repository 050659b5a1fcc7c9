import type { Reason } from '../rails/contract/reasons.ts';
import type { TermsRow } from './dispatch.sql.ts';
import { allowsFailover, type NextStep } from './next-step.ts';
import type { StoredPayout } from './recipient-objections.ts';
import { findNextPayer, type RouterServices, type RouteTerms } from './routing.ts';

type Refusal = {
  row: TermsRow;
  payout: StoredPayout;
  reason: Reason | '';
  /** For operators. */
  detail?: string | undefined;
  listTried: () => Promise<{ rail: string; payer_key: string }[]>;
};

export function describeTerms(row: TermsRow): RouteTerms {
  return {
    destinationToken: row.destination_token,
    sourceCurrency: row.source_currency,
    sourceMinor: row.source_amount,
    feeMinor: row.fee,
    destinationCurrency: row.destination_currency,
    destinationMinor: row.destination_amount,
    isVerified: row.is_verified,
  };
}

/**
 * The next payer of a refused payout, or that none is left; undefined if it must not fail over. A payout
 * whose payer asks more than quoted is never canceled by itself: without another payer a person decides
 * whether it is sent at the higher price.
 */
export async function failOver(
  router: RouterServices,
  { row, payout, reason, detail, listTried }: Refusal,
): Promise<Pick<NextStep, 'outcome' | 'details'> | undefined> {
  if (reason === '' || !allowsFailover(reason)) return undefined;
  const isPrice = reason === 'price_worse';
  const named = router.catalog().findPayer(row.destination_token);
  if (named?.isDynamicToken !== true && !isPrice) return undefined;
  const refused = { rail: row.rail, payerKey: row.payer_key, reason, detail };
  const terms = describeTerms(row);
  const route = await findNextPayer(router, terms, { payout, tried: await listTried(), refused });
  const routing = JSON.stringify({ refused_because: reason, candidates: route.candidates });
  const shown = detail === undefined ? {} : { detail };
  if (route.next === undefined) {
    const exception = isPrice ? 'price_worse' : 'routes_exhausted';
    return { outcome: 'rejected', details: { ...shown, routing, is_exhausted: true, exception } };
  }
  const { railName, key } = route.next;
  return {
    outcome: 'rejected',
    details: {
      ...shown,
      routing,
      next_rail: railName,
      next_payer: key,
      ...(route.nextPrice !== undefined && { next_price: route.nextPrice }),
    },
  };
}
