import type { Catalog, Payer } from '../destinations/catalog.ts';
import { type Quote, type QuoteResult, quotePayer } from '../destinations/quote.ts';
import type { ExclusionRule } from '../destinations/route-candidate.ts';
import { score } from '../dispatch/routing.ts';
import type { PayerHistories } from '../dispatch/standings.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { Plan } from './changes.ts';

/** Which payer a past payout would take under a plan, and at what price. */

export type PayoutToRoute = {
  /** The payer that the client named, as it is without changes. */
  readonly named: Payer;
  readonly sourceCurrency: string;
  readonly sourceMinor: bigint;
  readonly destinationCurrency: string;
  /** What the recipient gets, under every plan. */
  readonly destinationMinor: bigint;
  readonly isVerified: boolean;
  readonly rates: MidRates;
};

/** Why no payer takes it: the rule that excludes the named payer, or the only other one. */
export type NotRoutedReason = ExclusionRule | 'not_offered' | 'daily_limit';

export type Offer = { readonly ok: true; readonly payer: Payer; readonly quote: Quote };
export type Choice = Offer | { readonly ok: false; readonly reason: NotRoutedReason };

export type ChoosePayer = (payout: PayoutToRoute) => Choice;

export function createChoice(plan: Plan, histories: PayerHistories): ChoosePayer {
  const { choose, substitute, weights } = plan.routing;
  const find = createCandidates(plan.catalog);
  const compare =
    choose === 'cheapest'
      ? compareCost
      : (a: Offer, b: Offer) =>
          scoreOffer(b, histories, weights) - scoreOffer(a, histories, weights);
  return (payout) => {
    const named = plan.catalog.findPayer(payout.named.destinationToken);
    const first = named === undefined ? undefined : offerNamed(named, payout);
    if (choose === 'named' && first?.ok === true) return first;
    const scope = choose === 'named' ? substitute : 'service';
    const others = scope === 'none' ? [] : find(payout, scope);
    const offers = others.map((payer) => offerOther(payer, payout));
    const best = findBest([...(first === undefined ? [] : [first]), ...offers], compare);
    if (best !== undefined) return best;
    if (first?.ok === false) return first;
    // Where the named payer is not offered, the reason of the only other one says more.
    const [only] = offers;
    return only?.ok === false && offers.length === 1 ? only : { ok: false, reason: 'not_offered' };
  };
}

/** The first of those that compare equal: the named payer, then the order of the tokens. */
function findBest(
  choices: readonly Choice[],
  compare: (a: Offer, b: Offer) => number,
): Offer | undefined {
  let best: Offer | undefined;
  for (const choice of choices) {
    if (choice.ok && (best === undefined || compare(choice, best) < 0)) best = choice;
  }
  return best;
}

function compareCost({ quote: a }: Offer, { quote: b }: Offer): number {
  const difference = a.sourceMinor + a.feeMinor - b.sourceMinor - b.feeMinor;
  return difference < 0n ? -1 : Number(difference > 0n);
}

function scoreOffer(
  { payer, quote }: Offer,
  histories: PayerHistories,
  weights: Plan['routing']['weights'],
): number {
  const isExchange = quote.rate !== quote.midRate;
  const standing = {
    availability_percent: histories(payer).availabilityPercent ?? null,
    // Past disturbances are in the availability.
    health: 'up' as const,
  };
  const { feeMinor, sourceMinor } = quote;
  const marginBasisPoints = isExchange ? payer.pricing.marginBasisPoints : 0;
  return score(standing, { feeMinor, sourceMinor, marginBasisPoints }, weights);
}

type FindCandidates = (payout: PayoutToRoute, scope: 'equivalent' | 'service') => readonly Payer[];

/** Other payers of the same country, delivery type and currency; equivalent ones have the same name. */
function createCandidates(catalog: Catalog): FindCandidates {
  const known = new Map<string, readonly Payer[]>();
  return ({ named, destinationCurrency }, scope) => {
    const key = `${named.destinationToken} ${destinationCurrency}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const payers = catalog
      .payersIn(named.country.code)
      .filter(
        (payer) =>
          payer.destinationToken !== named.destinationToken &&
          payer.deliveryType === named.deliveryType &&
          payer.currencies.includes(destinationCurrency) &&
          (scope === 'service' || payer.name === named.name),
      )
      .toSorted((a, b) => (a.destinationToken < b.destinationToken ? -1 : 1));
    known.set(key, payers);
    return payers;
  };
}

/**
 * With the stored source amount where it still delivers the same amount: of a quote by source amount
 * the amount computed back may be a unit less, and so below a limit.
 */
function offerNamed(payer: Payer, payout: PayoutToRoute): Choice {
  const bySource = quoteFor(payer, payout, 'source');
  const isSame = bySource.ok && bySource.destinationMinor === payout.destinationMinor;
  return toChoice(payer, isSame ? bySource : quoteFor(payer, payout, 'destination'));
}

function offerOther(payer: Payer, payout: PayoutToRoute): Choice {
  const quoted = quoteFor(payer, payout, 'destination');
  if (quoted.ok && quoted.verificationRequired && !payout.isVerified) {
    return { ok: false, reason: 'needs_verification' };
  }
  return toChoice(payer, quoted);
}

function quoteFor(
  payer: Payer,
  payout: PayoutToRoute,
  side: 'source' | 'destination',
): QuoteResult {
  return quotePayer({
    payer,
    sourceCurrency: payout.sourceCurrency,
    destinationCurrency: payout.destinationCurrency,
    amount: { side, minor: side === 'source' ? payout.sourceMinor : payout.destinationMinor },
    rates: payout.rates,
  });
}

function toChoice(payer: Payer, quoted: QuoteResult): Choice {
  if (quoted.ok) return { ok: true, payer, quote: quoted };
  return { ok: false, reason: quoted.reason };
}
