import { z } from 'zod';
import { findCurrency } from '../core/currency.ts';
import { assert } from '../core/errors.ts';
import { formatAmount } from '../core/money.ts';
import { formatMargin, formatRate } from '../core/rate.ts';
import { type Catalog, getDestinationToken, type Payer } from '../destinations/catalog.ts';
import { usd } from '../destinations/pricing.ts';
import { describeProviderPrice, findLatestPrice } from '../destinations/provider-pricing.ts';
import { type Quote, quotePayer } from '../destinations/quote.ts';
import {
  candidateSchema,
  type ExclusionRule,
  type RouteCandidate,
  type Standing,
} from '../destinations/route-candidate.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { Reason } from '../rails/contract/reasons.ts';
import type { Health } from './gate.ts';
import type { FindObjection, StoredPayout, Takeover } from './recipient-objections.ts';

/**
 * Chooses the payer of a payout. The payer that the client named comes first. If its destination is
 * dynamic and it refuses, the equivalent payers are candidates; every candidate that is not chosen has
 * the rule that excluded it.
 */

/** What a payout was promised. Amounts in minor units. */
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

/** The payer that refused a payout last, and why. */
export type RefusedPayer = {
  rail: string;
  payerKey: string;
  reason: Reason;
  detail?: string | undefined;
};

/** Measured results of a payer; undefined while it has too few payouts. */
export type Measured = {
  /** The share of payouts with a definite outcome, percent. */
  availabilityPercent: number | undefined;
  /** 0 to 5 in tenths. */
  ratingTenths: number | undefined;
};

export type RouterServices = {
  catalog(): Catalog;
  rates(): MidRates;
  healthOf(rail: string): Health;
  measure(payer: Payer): Measured;
  /** The environment's time. */
  nowMs(): number;
  /** Whether the rail accepts the same reference again for another of its payers. */
  hasIndependentPayers(rail: string): boolean;
  /** Why payers could not pay the recipient of a payout with the details that it was committed with. */
  readObjections(payout: StoredPayout, takeover: Takeover): Promise<FindObjection>;
};

/** The candidates of a payout when it was sent first, and after each refusal. */
export const routingSchema = z.object({
  refused_because: z.string(),
  candidates: z.array(candidateSchema),
});

export type Route = {
  /** Undefined: no payer is left. */
  next: Payer | undefined;
  /** JSON: what its provider asks, where it quotes prices. */
  nextPrice: string | undefined;
  candidates: readonly RouteCandidate[];
};

type TriedPayer = { rail: string; payer_key: string };

/** The named payer and those that may take over from it; none if it is no longer offered. */
function listPayers(catalog: Catalog, terms: RouteTerms): readonly Payer[] {
  const named = catalog.findPayer(terms.destinationToken);
  if (named === undefined) return [];
  return [named, ...catalog.findEquivalents(named, terms.destinationCurrency)];
}

/**
 * The payer that takes over a payout that its present payer refused: the one with the best score among
 * the equivalent payers within the quoted cost that can pay the recipient with the stored details.
 */
export async function findNextPayer(
  services: RouterServices,
  terms: RouteTerms,
  {
    payout,
    tried,
    refused,
  }: {
    payout: StoredPayout;
    tried: readonly TriedPayer[];
    refused?: RefusedPayer | undefined;
  },
): Promise<Route> {
  const [named, ...others] = listPayers(services.catalog(), terms);
  if (named === undefined) return { next: undefined, nextPrice: undefined, candidates: [] };
  // A destination of one payer stays with it.
  const payers = named.isDynamicToken ? [named, ...others] : [named];
  const findObjection = await readObjections(services, payout, { named, others, terms });
  const evaluated = payers.map((payer) => ({
    payer,
    ...evaluatePayer(services, { payer, terms, tried, refused, findObjection }),
  }));
  const findBest = (rule: RouteCandidate['excluded_by']) =>
    evaluated
      .filter(({ candidate }) => candidate.excluded_by === rule)
      .toSorted(
        (a, b) =>
          (b.candidate.score ?? 0) - (a.candidate.score ?? 0) ||
          (a.payer.destinationToken < b.payer.destinationToken ? -1 : 1),
      )[0];
  // A rail that is down may come back.
  const next = findBest('') ?? findBest('rail_down');
  return {
    next: next?.payer,
    nextPrice: next?.providerPrice,
    candidates: evaluated.map(({ payer, candidate }) => ({
      ...candidate,
      is_chosen: payer === next?.payer,
    })),
  };
}

function readObjections(
  services: RouterServices,
  payout: StoredPayout,
  { named, others, terms }: { named: Payer; others: readonly Payer[]; terms: RouteTerms },
): Promise<FindObjection> {
  const { destinationCurrency: currency, destinationMinor: amountMinor } = terms;
  return services.readObjections(payout, { named, others, currency, amountMinor });
}

export type EvaluatedRoute = {
  payer: Payer;
  standing: Standing;
  /** The payer that the client named, and those that may take over; none of a single payer. */
  candidates: readonly RouteCandidate[];
};

/**
 * Evaluates the payer through which a payout is sent and, with the terms of its first attempt, the
 * candidates; undefined if the payer is no longer offered.
 */
export async function evaluateRoute(
  services: RouterServices,
  { rail, payerKey }: { rail: string; payerKey: string },
  first: FirstAttempt | undefined,
): Promise<EvaluatedRoute | undefined> {
  const payer = services.catalog().findPayer(getDestinationToken(rail, payerKey));
  if (payer === undefined) return undefined;
  return {
    payer,
    standing: describeStanding(services, payer),
    candidates: first === undefined ? [] : await evaluateFirst(services, first),
  };
}

export type FirstAttempt = { payout: StoredPayout; terms: RouteTerms };

async function evaluateFirst(
  services: RouterServices,
  { payout, terms }: FirstAttempt,
): Promise<RouteCandidate[]> {
  const [named, ...others] = listPayers(services.catalog(), terms);
  if (named?.isDynamicToken !== true || others.length === 0) return [];
  const findObjection = await readObjections(services, payout, { named, others, terms });
  const evaluate = (payer: Payer, isPromised = false) =>
    evaluatePayer(services, { payer, terms, tried: [], findObjection, isPromised }).candidate;
  return [
    { ...evaluate(named, true), is_chosen: true, excluded_by: '', detail: '' },
    ...others.map((payer): RouteCandidate => {
      const candidate = evaluate(payer);
      if (candidate.excluded_by !== '') return candidate;
      return {
        ...candidate,
        excluded_by: 'named_another',
        detail: 'the client named another payer; this one may take over',
      };
    }),
  ];
}

type Evaluation = {
  payer: Payer;
  terms: RouteTerms;
  tried: readonly TriedPayer[];
  refused?: RefusedPayer | undefined;
  findObjection: FindObjection;
  /** At the price of the payout's quote, whatever the payer costs now. */
  isPromised?: boolean;
};

type Evaluated = { candidate: RouteCandidate; providerPrice: string | undefined };

function evaluatePayer(services: RouterServices, evaluation: Evaluation): Evaluated {
  const { payer, terms } = evaluation;
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
  const { margin_basis_points: _margin, networks, ...described } = standing;
  const shown = {
    ...described,
    network: networks[terms.destinationCurrency] ?? '',
    provider_price: describePrice(services, payer, terms),
  };
  if (!quote.ok) {
    const prices = { fee: '', exchange_rate: '', cost: '', score: null, is_chosen: false };
    const candidate = { ...shown, ...prices, excluded_by: quote.reason, detail: quote.detail };
    return { candidate, providerPrice: undefined };
  }
  const { sourceMinor, feeMinor } = evaluation.isPromised === true ? terms : quote;
  const costMinor = sourceMinor + feeMinor;
  const excluded = findExclusion(services, evaluation, {
    costMinor,
    needsVerification: quote.verificationRequired,
  });
  const candidate: RouteCandidate = {
    ...shown,
    fee: formatAmount(feeMinor, source),
    exchange_rate: formatRate(quote.rate),
    cost: formatAmount(costMinor, source),
    score: score(standing, {
      feeMinor,
      sourceMinor,
      marginBasisPoints: getMargin(quote, { payer, terms }),
    }),
    is_chosen: false,
    excluded_by: excluded?.rule ?? '',
    detail: excluded?.detail ?? '',
  };
  return { candidate, providerPrice: quote.providerPrice?.text };
}

/** The latest price of the payer's provider, even if it is too old to be used. */
export function describePrice(
  { nowMs }: RouterServices,
  { offer }: Payer,
  terms: Pick<RouteTerms, 'sourceCurrency' | 'destinationCurrency' | 'destinationMinor'>,
): RouteCandidate['provider_price'] {
  const source = findCurrency(terms.sourceCurrency);
  const destination = findCurrency(terms.destinationCurrency);
  if (offer === undefined || source === undefined || destination === undefined) return null;
  const price = findLatestPrice(offer, { source, destination });
  if (price === undefined) return null;
  return describeProviderPrice(price, { destinationMinor: terms.destinationMinor, nowMs: nowMs() });
}

/** The margin of the tariff, or, with a provider's price, all that the rate leaves out of the mid rate. */
function getMargin(quote: Quote, { payer, terms }: Pick<Evaluation, 'payer' | 'terms'>): number {
  if (terms.sourceCurrency === terms.destinationCurrency) return 0;
  if (quote.providerPrice === undefined) return payer.pricing.marginBasisPoints;
  return Math.round(Number(formatMargin(quote.rate, quote.midRate)) * 10_000);
}

export function describeStanding(services: RouterServices, payer: Payer): Standing {
  const measured = services.measure(payer);
  return {
    destination_token: payer.destinationToken,
    payer_name: payer.name,
    company_name: payer.company.name,
    min_limit_usd: formatAmount(payer.pricing.minLimitUsdMinor, usd),
    max_limit_usd: formatAmount(payer.pricing.maxLimitUsdMinor, usd),
    margin_basis_points: payer.pricing.marginBasisPoints,
    networks: payer.networks,
    health: services.healthOf(payer.railName),
    availability_percent: measured.availabilityPercent ?? null,
    rating: measured.ratingTenths === undefined ? null : measured.ratingTenths / 10,
  };
}

/** How many points a tenth of a percent of unavailability and a basis point of price cost. */
export type ScoreWeights = { readonly unavailability: number; readonly price: number };

export const scoreWeights: ScoreWeights = { unavailability: 1, price: 1 };

/**
 * 1000, less a point for each tenth of a percent of unavailability (none if unmeasured) and for each
 * basis point of fee and margin, less 100 if the rail is failing. Other weights are for back-tests.
 */
export function score(
  standing: Pick<Standing, 'availability_percent' | 'health'>,
  price: { feeMinor: bigint; sourceMinor: bigint; marginBasisPoints: number },
  weights: ScoreWeights = scoreWeights,
): number {
  const { feeMinor, sourceMinor, marginBasisPoints } = price;
  const feeBasisPoints = Number((feeMinor * 10_000n) / (sourceMinor > 0n ? sourceMinor : 1n));
  const unavailable = 1000 - (standing.availability_percent ?? 100) * 10;
  return (
    1000 -
    unavailable * weights.unavailability -
    (feeBasisPoints + marginBasisPoints) * weights.price -
    (standing.health === 'up' ? 0 : 100)
  );
}

function findExclusion(
  services: RouterServices,
  { payer, terms, tried, refused, findObjection }: Evaluation,
  offer: { costMinor: bigint; needsVerification: boolean },
): { rule: ExclusionRule; detail: string } | undefined {
  const { railName, key } = payer;
  if (refused?.reason === 'price_worse' && refused.rail === railName && refused.payerKey === key) {
    const detail = refused.detail ?? 'its provider asked more than it had quoted';
    return { rule: 'price_worse', detail };
  }
  if (tried.some((one) => one.rail === railName && one.payer_key === key)) {
    return { rule: 'tried_before', detail: 'it refused this payout' };
  }
  if (!services.hasIndependentPayers(railName) && tried.some(({ rail }) => rail === railName)) {
    return { rule: 'same_rail', detail: 'its rail refused the reference of this payout' };
  }
  // Before the rule of a rail that is down, which may be chosen all the same.
  const objection = findObjection(payer);
  if (objection !== undefined) return objection;
  if (services.healthOf(railName) === 'down') {
    return { rule: 'rail_down', detail: 'its rail is down' };
  }
  const quotedMinor = terms.sourceMinor + terms.feeMinor;
  if (offer.costMinor > quotedMinor) {
    return { rule: 'over_quoted_cost', detail: 'it costs more than was quoted' };
  }
  if (offer.needsVerification && !terms.isVerified) {
    return { rule: 'needs_verification', detail: 'it requires a verified recipient' };
  }
  return undefined;
}
