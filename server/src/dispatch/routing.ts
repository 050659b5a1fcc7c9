import { findCurrency } from '../core/currency.ts';
import { assert } from '../core/errors.ts';
import { formatAmount } from '../core/money.ts';
import { formatRate } from '../core/rate.ts';
import { type Catalogue, getDestinationToken, type Payer } from '../destinations/catalogue.ts';
import { usd } from '../destinations/pricing.ts';
import { quotePayer } from '../destinations/quote.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { Health } from './gate.ts';

/**
 * Through whom a payout goes, and why. The payer that the client named comes first; where its
 * destination is a dynamic one and it refuses, the equivalent payers are candidates, and every one
 * that is not taken has a rule that says why.
 */

/** What a payout has been promised, and by whom. Amounts in minor units. */
export type RouteTerms = {
  /** The one that the client named. */
  destinationToken: string;
  sourceCurrency: string;
  sourceMinor: bigint;
  feeMinor: bigint;
  destinationCurrency: string;
  destinationMinor: bigint;
  isVerified: boolean;
};

/** What is known of a payer beside its terms; undefined where there were too few payouts. */
export type Measured = {
  /** Of what it was asked, how much it answered definitely, percent. */
  availabilityPercent: number | undefined;
  /** 0 to 5 in tenths. */
  ratingTenths: number | undefined;
};

export type RouterServices = {
  catalogue(): Catalogue;
  rates(): MidRates;
  healthOf(rail: string): Health;
  measure(payer: Payer): Measured;
  /** Whether a rail takes the same reference again for another payer of it. */
  arePayersApart(rail: string): boolean;
};

export type ExclusionRule =
  | 'tried_before'
  | 'same_rail'
  | 'rail_down'
  | 'rate_unknown'
  | 'rate_stale'
  | 'below_minimum'
  | 'above_maximum'
  | 'currency_not_delivered'
  | 'amount_too_small'
  | 'amount_too_large'
  | 'over_quoted_cost'
  | 'needs_verification'
  | 'named_another';

/** As stored, and as a client reads it. Amounts and rates are decimal texts. */
export type RouteCandidate = {
  destination_token: string;
  payer_name: string;
  company_name: string;
  fee: string;
  exchange_rate: string;
  /** What the sender pays in all for the promised amount. */
  cost: string;
  /** "0" is no bound. */
  min_limit_usd: string;
  max_limit_usd: string;
  health: Health;
  availability_percent: number | null;
  rating: number | null;
  score: number | null;
  is_chosen: boolean;
  excluded_by: ExclusionRule | '';
  detail: string;
};

export type Route = {
  /** Undefined: nobody is left. */
  next: Payer | undefined;
  candidates: readonly RouteCandidate[];
};

type TriedPayer = { rail: string; payer_key: string };

/** The payer of a route in the present catalogue; undefined where it is not offered any more. */
export function findRoutePayer(
  catalogue: Catalogue,
  { rail, payerKey }: { rail: string; payerKey: string },
): Payer | undefined {
  return catalogue.findPayer(getDestinationToken(rail, payerKey));
}

/**
 * Who may take over a payout that its present payer refused for good: the equivalent payers within
 * what was quoted, the best score first.
 */
export function findNextPayer(
  services: RouterServices,
  terms: RouteTerms,
  tried: readonly TriedPayer[],
): Route {
  const catalogue = services.catalogue();
  const named = catalogue.findPayer(terms.destinationToken);
  if (named === undefined) return { next: undefined, candidates: [] };
  const others = catalogue.findEquivalents(named, terms.destinationCurrency);
  const judged = [named, ...others].map((payer) => ({
    payer,
    candidate: judge(services, { payer, terms, tried }),
  }));
  const findBest = (rule: RouteCandidate['excluded_by']): Payer | undefined =>
    judged
      .filter(({ candidate }) => candidate.excluded_by === rule)
      .toSorted(
        (a, b) =>
          (b.candidate.score ?? 0) - (a.candidate.score ?? 0) ||
          (a.payer.destinationToken < b.payer.destinationToken ? -1 : 1),
      )[0]?.payer;
  // Waiting for a rail to come back is better than having none.
  const next = findBest('') ?? findBest('rail_down');
  return {
    next,
    candidates: judged.map(({ payer, candidate }) => ({
      ...candidate,
      is_chosen: payer === next,
    })),
  };
}

/**
 * The choice that the client made by naming a destination: that payer, and the equivalent ones that
 * could take over from it, each as it stood then.
 */
export function describeNamed(services: RouterServices, terms: RouteTerms): RouteCandidate[] {
  const catalogue = services.catalogue();
  const named = catalogue.findPayer(terms.destinationToken);
  if (named?.isDynamicToken !== true) return [];
  const others = catalogue.findEquivalents(named, terms.destinationCurrency);
  if (others.length === 0) return [];
  const ownTerms = { payer: named, terms, tried: [] };
  return [
    { ...judge(services, ownTerms), is_chosen: true, excluded_by: '', detail: '' },
    ...others.map((payer): RouteCandidate => {
      const candidate = judge(services, { payer, terms, tried: [] });
      if (candidate.excluded_by !== '') return candidate;
      return {
        ...candidate,
        excluded_by: 'named_another',
        detail: 'the client named another payer; this one may take over',
      };
    }),
  ];
}

type Judging = { payer: Payer; terms: RouteTerms; tried: readonly TriedPayer[] };

function judge(services: RouterServices, { payer, terms, tried }: Judging): RouteCandidate {
  const source = findCurrency(terms.sourceCurrency);
  assert(source !== undefined, 'a payout is in a known currency');
  const standing = describeStanding(services, payer);
  const quote = quotePayer({
    payer,
    sourceCurrency: terms.sourceCurrency,
    destinationCurrency: terms.destinationCurrency,
    amount: { side: 'destination', minor: terms.destinationMinor },
    rates: services.rates(),
  });
  const { margin_basis_points: marginBasisPoints, ...shown } = standing;
  if (!quote.ok) {
    const prices = { fee: '', exchange_rate: '', cost: '', score: null, is_chosen: false };
    return { ...shown, ...prices, excluded_by: quote.reason, detail: quote.detail };
  }
  const costMinor = quote.sourceMinor + quote.feeMinor;
  const excluded = findExclusion(
    services,
    { payer, terms, tried },
    { costMinor, needsVerification: quote.verificationRequired },
  );
  return {
    ...shown,
    fee: formatAmount(quote.feeMinor, source),
    exchange_rate: formatRate(quote.rate),
    cost: formatAmount(costMinor, source),
    score: score(standing, {
      feeMinor: quote.feeMinor,
      sourceMinor: quote.sourceMinor,
      marginBasisPoints: terms.sourceCurrency === terms.destinationCurrency ? 0 : marginBasisPoints,
    }),
    is_chosen: false,
    excluded_by: excluded?.rule ?? '',
    detail: excluded?.detail ?? '',
  };
}

/** A payer at an instant, whatever the amount. */
export type Standing = Pick<
  RouteCandidate,
  | 'destination_token'
  | 'payer_name'
  | 'company_name'
  | 'min_limit_usd'
  | 'max_limit_usd'
  | 'health'
  | 'availability_percent'
  | 'rating'
> & { margin_basis_points: number };

export function describeStanding(services: RouterServices, payer: Payer): Standing {
  const measured = services.measure(payer);
  return {
    destination_token: payer.destinationToken,
    payer_name: payer.name,
    company_name: payer.company.name,
    min_limit_usd: formatAmount(payer.pricing.minLimitUsdMinor, usd),
    max_limit_usd: formatAmount(payer.pricing.maxLimitUsdMinor, usd),
    margin_basis_points: payer.pricing.marginBasisPoints,
    health: services.healthOf(payer.railName),
    availability_percent: measured.availabilityPercent ?? null,
    rating: measured.ratingTenths === undefined ? null : measured.ratingTenths / 10,
  };
}

/**
 * A thousand, less a point for every tenth of a percent that it was not available (unmeasured: none)
 * and for every hundredth of a percent that fee and margin take; a rail that fails at present loses a
 * hundred more.
 */
export function score(
  standing: Pick<Standing, 'availability_percent' | 'health'>,
  price: { feeMinor: bigint; sourceMinor: bigint; marginBasisPoints: number },
): number {
  const { feeMinor, sourceMinor, marginBasisPoints } = price;
  const feeBasisPoints = Number((feeMinor * 10_000n) / (sourceMinor > 0n ? sourceMinor : 1n));
  const available = (standing.availability_percent ?? 100) * 10;
  return available - feeBasisPoints - marginBasisPoints - (standing.health === 'up' ? 0 : 100);
}

function findExclusion(
  services: RouterServices,
  { payer, terms, tried }: Judging,
  offer: { costMinor: bigint; needsVerification: boolean },
): { rule: ExclusionRule; detail: string } | undefined {
  const { railName, key } = payer;
  if (tried.some((one) => one.rail === railName && one.payer_key === key)) {
    return { rule: 'tried_before', detail: 'it has refused this payout' };
  }
  if (!services.arePayersApart(railName) && tried.some(({ rail }) => rail === railName)) {
    return { rule: 'same_rail', detail: 'its rail has refused the reference of this payout' };
  }
  if (services.healthOf(railName) === 'down') {
    return { rule: 'rail_down', detail: 'its rail gives no clear answers at present' };
  }
  const quotedMinor = terms.sourceMinor + terms.feeMinor;
  if (offer.costMinor > quotedMinor) {
    return { rule: 'over_quoted_cost', detail: 'it costs more than was quoted' };
  }
  if (offer.needsVerification && !terms.isVerified) {
    return { rule: 'needs_verification', detail: 'it asks for a verified recipient' };
  }
  return undefined;
}
