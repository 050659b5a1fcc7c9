import { type Reason } from '../rails/contract/reasons.ts';
import type { TermsRow } from './dispatch.sql.ts';
import { allowsFailover, type NextStep } from './next-step.ts';
import { findNextPayer, type RouterServices, type RouteTerms } from './routing.ts';

type Refusal = {
  row: TermsRow;
  reason: Reason | '';
  listTried: () => Promise<{ rail: string; payer_key: string }[]>;
};

/** What a payout has been promised, as routing reads it. */
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

/** Where a refused payout goes on; undefined where the refusal is the end of it. */
export async function failOver(
  router: RouterServices,
  { row, reason, listTried }: Refusal,
): Promise<Pick<NextStep, 'outcome' | 'details'> | undefined> {
  if (reason === '' || !allowsFailover(reason)) return undefined;
  const named = router.catalogue().findPayer(row.destination_token);
  if (named?.isDynamicToken !== true) return undefined;
  const route = findNextPayer(router, describeTerms(row), await listTried());
  const routing = JSON.stringify({ refused_because: reason, candidates: route.candidates });
  if (route.next === undefined) {
    const exception = 'routes_exhausted';
    return { outcome: 'rejected', details: { routing, is_exhausted: true, exception } };
  }
  const { railName, key } = route.next;
  return { outcome: 'rejected', details: { routing, next_rail: railName, next_payer: key } };
}
