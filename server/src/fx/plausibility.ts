import { formatRate, type Rate } from '../core/rate.ts';
import type { Session } from '../db/postgres/pool.ts';
import { bundledQuotes } from './bundled-rates.ts';
import {
  insertCheckpoints,
  type PairRate,
  readCheckpoints,
  removeCheckpoints,
} from './checkpoints.sql.ts';
import { readNewestRates } from './fx.sql.ts';
import { createRateBook, type MidRates, type RateQuote } from './rate-book.ts';

/**
 * A misplaced decimal point at a source, or a compromised source, would pay out a multiple of the
 * right amount. A rate that moved too far therefore needs the operator's consent.
 */

const jumpFactor = 2n;

/** All imports within this period together may move a rate no further than one may. */
const windowDays = 7;

const dayMs = 86_400_000;

export type Plausibility = {
  /** The first rate that needs the operator's consent. */
  jump: string | undefined;
  /** Rates that are stored but should be checked. */
  warnings: string[];
};

type PairOf = Pick<RateQuote, 'base' | 'quote' | 'source'>;

function keyOf({ base, quote, source }: PairOf): string {
  return `${base}/${quote} ${source}`;
}

/**
 * Compares each quote with the newest stored rate of its pair and source and with the checkpoints
 * of the window. The first quote of a pair from a source is compared with the rate by the other
 * sources, or else with the bundled table, which is illustrative and only causes a warning.
 */
export async function checkPlausibility(
  session: Session,
  quotes: readonly RateQuote[],
  nowMs: number,
): Promise<Plausibility> {
  const newest = await readNewestRates(session);
  const checkpoints = await readCheckpoints(session, toDay(nowMs - windowDays * dayMs));
  const references = Map.groupBy<string, PairRate>([...newest, ...checkpoints], keyOf);
  const stored = createRateBook(newest, { maxAgeMs: null, nowMs: () => nowMs });
  const bundled = createRateBook(bundledQuotes, { maxAgeMs: null, nowMs: () => nowMs });
  let jump: string | undefined;
  const warnings: string[] = [];
  for (const quote of quotes) {
    const known = references.get(keyOf(quote));
    if (known === undefined) {
      const first = checkFirst(quote, { stored, bundled });
      jump ??= first.jump;
      if (first.warning !== undefined) warnings.push(first.warning);
      continue;
    }
    const before = known.find(({ rate }) => isJump(rate, quote.rate));
    if (before !== undefined) jump ??= describeJump(quote, before.rate);
  }
  return { jump, warnings };
}

function describeJump(quote: RateQuote, before: Rate): string {
  return (
    `${quote.base}/${quote.quote} went from ${formatRate(before)} to ${formatRate(quote.rate)} ` +
    `within ${windowDays} days or since its last import. ` +
    'Check it, and import with --accept-jumps if it is right'
  );
}

function checkFirst(
  quote: RateQuote,
  { stored, bundled }: { stored: MidRates; bundled: MidRates },
): { jump?: string; warning?: string } {
  const pair = `${quote.base}/${quote.quote}`;
  const given = formatRate(quote.rate);
  const implied = stored.find(quote.base, quote.quote);
  if (implied.ok) {
    if (!isJump(implied.rate, quote.rate)) return {};
    const jump =
      `${pair} is ${given} in its first import from this source, but ${formatRate(implied.rate)} ` +
      'by earlier imports. Check it, and import with --accept-jumps if it is right';
    return { jump };
  }
  const example = bundled.find(quote.base, quote.quote);
  if (!example.ok || !isJump(example.rate, quote.rate)) return {};
  const warning =
    `${pair} is ${given} in its first import, but ${formatRate(example.rate)} in the illustrative ` +
    'table of this release. Check the rate';
  return { warning };
}

function isJump(before: Rate, after: Rate): boolean {
  const left = before.digits * 10n ** BigInt(after.scale);
  const right = after.digits * 10n ** BigInt(before.scale);
  return right > left * jumpFactor || left > right * jumpFactor;
}

/**
 * Stores the first rate of each pair and day for later comparisons. An accepted jump restarts the
 * window: later rates are compared with the accepted one.
 */
export async function keepCheckpoints(
  session: Session,
  quotes: readonly RateQuote[],
  { nowMs, acceptJumps }: { nowMs: number; acceptJumps: boolean },
): Promise<void> {
  const since = toDay(nowMs - windowDays * dayMs);
  if (acceptJumps) {
    const checkpoints = Map.groupBy(await readCheckpoints(session, since), keyOf);
    const jumped = quotes.filter((quote) =>
      checkpoints.get(keyOf(quote))?.some(({ rate }) => isJump(rate, quote.rate)),
    );
    await removeCheckpoints(session, jumped);
  }
  await insertCheckpoints(session, newestOfEachPair(quotes), { day: toDay(nowMs), since });
}

function newestOfEachPair(quotes: readonly RateQuote[]): RateQuote[] {
  const newest = new Map<string, RateQuote>();
  for (const quote of quotes) {
    const known = newest.get(keyOf(quote));
    if (known === undefined || known.asOfMs < quote.asOfMs) newest.set(keyOf(quote), quote);
  }
  return [...newest.values()];
}

function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
