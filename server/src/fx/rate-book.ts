import { findCurrency } from '../core/currency.ts';
import { divideRates, type Rate, rateOfOne } from '../core/rate.ts';
import { type AgeLimit, getExpiryMs } from './age-limits.ts';

/** 1 unit of `base` is worth `rate` units of `quote`, according to `source` at `asOfMs`. */
export type RateQuote = {
  readonly base: string;
  readonly quote: string;
  readonly rate: Rate;
  readonly source: string;
  readonly asOfMs: number;
};

/** `asOfMs` is that of the oldest quote in the rate. */
export type MidRateResult =
  | { ok: true; rate: Rate; asOfMs: number }
  | { ok: false; reason: 'unknown' | 'stale'; detail: string };

export type MidRates = {
  /** Units of `to` for one unit of `from`, without margin. */
  find(from: string, to: string): MidRateResult;
};

export type RateBookOptions = {
  /** The limit of sources that are not in `limits`; null: none. */
  maxAgeMs: number | null;
  limits?: Readonly<Record<string, AgeLimit>>;
  nowMs: () => number;
};

/** A quote as a link between two currencies, in either direction. */
type Link = { quote: RateQuote; expiresAtMs: number };
type Links = ReadonlyMap<string, ReadonlyMap<string, readonly Link[]>>;

/** Links from one currency to another, with the age of the oldest and the earliest expiry. */
type Path = {
  from: string;
  links: readonly Link[];
  pivots: string;
  asOfMs: number;
  expiresAtMs: number;
};

type Candidate = { result: MidRateResult & { ok: true }; expiresAtMs: number };

const neverMs = Number.POSITIVE_INFINITY;

/**
 * All rates that follow from the quotes. The newest quote of a pair wins. A quoted pair is
 * preferred to one computed through a third currency (the euro for rates of the central bank, the
 * dollar for prices of cryptocurrencies), and that to one through two. If the preferred path is
 * stale, the next one that is not is used. A volatile cryptocurrency is never a bridge between two
 * others.
 *
 * A quoted rate is returned as it is; a computed one is an exact fraction, truncated to twelve
 * significant digits, so that converting there and back never gains.
 */
export function createRateBook(quotes: readonly RateQuote[], options: RateBookOptions): MidRates {
  const links = buildLinks(quotes, options);
  const candidatesByPair = new Map<string, Map<string, readonly Candidate[]>>();

  const resolve = (from: string, to: string): readonly Candidate[] => {
    // Pairs without quotes are not cached, so that a caller cannot make the book grow.
    if (!links.has(from) || !links.has(to)) return [];
    const candidates = findCandidates(links, from, to);
    let byDestination = candidatesByPair.get(from);
    if (byDestination === undefined) {
      byDestination = new Map();
      candidatesByPair.set(from, byDestination);
    }
    byDestination.set(to, candidates);
    return candidates;
  };

  return {
    find: (from, to) => {
      if (from === to) return findRateOfSame(from, options.nowMs);
      const candidates = candidatesByPair.get(from)?.get(to) ?? resolve(from, to);
      const nowMs = options.nowMs();
      for (const candidate of candidates) {
        if (nowMs <= candidate.expiresAtMs) return candidate.result;
      }
      return explainAbsence(from, to, candidates);
    },
  };
}

function findRateOfSame(code: string, nowMs: () => number): MidRateResult {
  if (findCurrency(code) === undefined) {
    return { ok: false, reason: 'unknown', detail: `Unknown currency ${code}` };
  }
  return { ok: true, rate: rateOfOne, asOfMs: nowMs() };
}

function explainAbsence(
  from: string,
  to: string,
  candidates: readonly Candidate[],
): MidRateResult & { ok: false } {
  const last = candidates.at(-1);
  if (last === undefined) {
    return { ok: false, reason: 'unknown', detail: `No exchange rate from ${from} to ${to}` };
  }
  const asOf = new Date(last.result.asOfMs).toISOString();
  const end = new Date(last.expiresAtMs).toISOString();
  const detail = `The exchange rate from ${from} to ${to} of ${asOf} expired at ${end}`;
  return { ok: false, reason: 'stale', detail };
}

function buildLinks(quotes: readonly RateQuote[], options: RateBookOptions): Links {
  const links = new Map<string, Map<string, Link[]>>();
  const add = (from: string, to: string, link: Link): void => {
    const neighbours = links.get(from) ?? new Map<string, Link[]>();
    links.set(from, neighbours);
    const known = neighbours.get(to) ?? [];
    neighbours.set(to, keepUseful([...known, link], compareLinks));
  };
  for (const quote of quotes) {
    if (quote.base === quote.quote || quote.rate.digits <= 0n) {
      throw new Error(`invalid quote ${quote.base}/${quote.quote} of ${quote.source}`);
    }
    const link: Link = { quote, expiresAtMs: getQuoteExpiryMs(quote, options) };
    add(quote.base, quote.quote, link);
    add(quote.quote, quote.base, link);
  }
  return links;
}

function getQuoteExpiryMs(quote: RateQuote, options: RateBookOptions): number {
  const limit = options.limits?.[quote.source];
  if (limit !== undefined) return getExpiryMs(quote.asOfMs, limit);
  if (options.maxAgeMs === null) return neverMs;
  return getExpiryMs(quote.asOfMs, { maxAgeMs: options.maxAgeMs, calendar: 'every_day' });
}

/** The newest first; of quotes of one instant the source first in the alphabet. */
function compareLinks(left: Link, right: Link): number {
  return (
    right.quote.asOfMs - left.quote.asOfMs || compareText(left.quote.source, right.quote.source)
  );
}

function comparePaths(left: Path, right: Path): number {
  return (
    left.links.length - right.links.length ||
    right.asOfMs - left.asOfMs ||
    compareText(left.pivots, right.pivots)
  );
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/**
 * The items in order of preference, without those that can never be used because a preferred one
 * expires later.
 */
function keepUseful<T extends { expiresAtMs: number }>(
  items: T[],
  compare: (left: T, right: T) => number,
): T[] {
  let endMs = Number.NEGATIVE_INFINITY;
  return items.toSorted(compare).filter((item) => {
    if (item.expiresAtMs <= endMs) return false;
    endMs = item.expiresAtMs;
    return true;
  });
}

/**
 * Paths are searched in alphabetical direction, so that a rate and its inverse always follow from
 * the same quotes.
 */
function findCandidates(links: Links, from: string, to: string): Candidate[] {
  const isForward = from < to;
  const paths = isForward ? findPaths(links, from, to) : findPaths(links, to, from);
  return keepUseful(paths, comparePaths).map((path) => ({
    result: Object.freeze({
      ok: true as const,
      rate: computeRate(path, isForward),
      asOfMs: path.asOfMs,
    }),
    expiresAtMs: path.expiresAtMs,
  }));
}

function findPaths(links: Links, from: string, to: string): Path[] {
  const paths = walkLinks(links, [from, to]);
  if (paths.some((path) => path.expiresAtMs === neverMs)) return paths;
  const pivotsOfFrom = listPivots(links, from, to);
  for (const pivot of pivotsOfFrom) paths.push(...walkLinks(links, [from, pivot, to]));
  if (paths.some((path) => path.expiresAtMs === neverMs)) return paths;
  const pivotsOfTo = listPivots(links, to, from);
  for (const first of pivotsOfFrom) {
    for (const second of pivotsOfTo) {
      if (links.get(first)?.has(second) !== true) continue;
      paths.push(...walkLinks(links, [from, first, second, to]));
    }
  }
  return paths;
}

function listPivots(links: Links, from: string, to: string): string[] {
  const neighbours = links.get(from)?.keys() ?? [];
  return [...neighbours].filter((code) => code !== to && findCurrency(code)?.isCrypto !== true);
}

/** Every choice of quotes along the given currencies; none if two of them are not linked. */
function walkLinks(links: Links, codes: readonly [string, ...string[]]): Path[] {
  let chains: Link[][] = [[]];
  for (let index = 1; index < codes.length; index += 1) {
    const steps = links.get(codes[index - 1] ?? '')?.get(codes[index] ?? '') ?? [];
    chains = chains.flatMap((chain) => steps.map((step) => [...chain, step]));
  }
  return chains.map((chain) => ({
    from: codes[0],
    links: chain,
    pivots: codes.slice(1, -1).join(),
    asOfMs: Math.min(...chain.map((link) => link.quote.asOfMs)),
    expiresAtMs: Math.min(...chain.map((link) => link.expiresAtMs)),
  }));
}

/** The rate along the path, or against it: a fraction of exact products, truncated once. */
function computeRate(path: Path, isForward: boolean): Rate {
  let along = rateOfOne;
  let against = rateOfOne;
  let code = path.from;
  for (const { quote } of path.links) {
    if (quote.base === code) {
      along = multiplyExactly(along, quote.rate);
      code = quote.quote;
    } else {
      against = multiplyExactly(against, quote.rate);
      code = quote.base;
    }
  }
  const [numerator, denominator] = isForward ? [along, against] : [against, along];
  const isQuoted = path.links.length === 1 && denominator === rateOfOne;
  return isQuoted ? numerator : divideRates(numerator, denominator);
}

function multiplyExactly(left: Rate, right: Rate): Rate {
  return { digits: left.digits * right.digits, scale: left.scale + right.scale };
}
