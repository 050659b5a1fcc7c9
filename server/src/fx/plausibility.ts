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
 * A misplaced decimal point at a source, or a source under somebody else's control, would pay out a
 * multiple of the right amount. A rate that moved too far is therefore left to an operator.
 */

const jumpFactor = 2n;

/** Several imports within so many days move a rate no further than one import may. */
export const windowDays = 7;

const dayMs = 86_400_000;

export type Plausibility = {
  /** The first rate that must not be stored unless an operator accepts it. */
  jump: string | undefined;
  /** Rates to look at; they are stored. */
  warnings: string[];
};

type PairOf = Pick<RateQuote, 'base' | 'quote' | 'source'>;

function keyOf({ base, quote, source }: PairOf): string {
  return `${base}/${quote} ${source}`;
}

/**
 * Compares each quote with the newest stored rate of its pair and source and with the checkpoints of
 * the window. The first quote of a pair from a source is compared with what the other sources give
 * for the pair, and where they give nothing with the bundled table, which only warns: that table is
 * illustrative.
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
    `within ${windowDays} days or since its last import: ` +
    'check it, and import with --accept-jumps if it is right'
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
      `${pair} is ${given} in its first import from this source, and ${formatRate(implied.rate)} ` +
      'by the rates that were imported before: check it, and import with --accept-jumps if it is right';
    return { jump };
  }
  const example = bundled.find(quote.base, quote.quote);
  if (!example.ok || !isJump(example.rate, quote.rate)) return {};
  const warning =
    `${pair} is ${given} in its first import; the illustrative table of this release has ` +
    `${formatRate(example.rate)}: check the rate before you quote with it`;
  return { warning };
}

function isJump(before: Rate, after: Rate): boolean {
  const left = before.digits * 10n ** BigInt(after.scale);
  const right = after.digits * 10n ** BigInt(before.scale);
  return right > left * jumpFactor || left > right * jumpFactor;
}

/**
 * Keeps the first rate of each pair and day, for the comparisons of the days to come. An accepted
 * jump starts its window anew: later rates are compared with the accepted one.
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
