import { z } from 'zod';
import { findCurrency } from '../../core/currency.ts';
import { newId } from '../../core/ids.ts';
import { readDecimal } from '../../core/money.ts';
import { formatRate, getRate, parseRate } from '../../core/rate.ts';
import type { Database } from '../../db/postgres/pool.ts';
import type { LogFields, Rail, RailPrice } from '../contract/contract.ts';
import { defaultPriceRules } from '../contract/price-rules.ts';
import {
  claimReading,
  listPrices,
  type PriceWrite,
  readRevision,
  releaseReading,
  requestReading,
  storePrices,
} from './prices.sql.ts';

/**
 * The prices that counterparties of rails quote. One process reads them, under a lease; every process
 * uses what was stored last.
 */

export type QuotedPrices = {
  /** The rails that quote prices. */
  readonly railNames: readonly string[];
  /** As last refreshed; another object after each change. */
  list(): readonly StoredPrice[];
  /** Reads the stored prices again if any process has stored some; otherwise one small statement. */
  refresh(): Promise<void>;
  /** Makes the next reading of a rail due, because it refused a payment at its last price. */
  request(rail: string): Promise<void>;
  /**
   * Asks the counterparty of a rail if that is due and no other process does it; answers whether prices
   * were stored.
   *
   * @throws Error where the counterparty does not answer; the last prices stay.
   */
  read(rail: string, signal: AbortSignal): Promise<boolean>;
};

export type StoredPrice = Awaited<ReturnType<typeof listPrices>>[number];

type QuotingRail = Pick<Rail, 'name' | 'payers' | 'readPrices' | 'priceRules'>;

export type PriceServices = {
  db: Pick<Database, 'system'>;
  rails: readonly QuotingRail[];
  log: (level: 'warn', message: string, fields: LogFields) => void;
};

const readMsMax = 30_000;
/** Longer than a reading may take. */
const leaseMs = 45_000;

export async function openQuotedPrices({ db, rails, log }: PriceServices): Promise<QuotedPrices> {
  const quoting = new Map(
    rails.filter(({ readPrices }) => readPrices !== undefined).map((rail) => [rail.name, rail]),
  );
  let current: { revision: string; prices: readonly StoredPrice[] } = { revision: '', prices: [] };
  const refresh = async (): Promise<void> => {
    if (quoting.size === 0) return;
    const revision = await readRevision(db.system);
    // Unequal instead of greater: the revision of a restored database may be lower.
    if (revision === current.revision) return;
    const prices = await listPrices(db.system);
    current = { revision, prices: prices.filter(({ rail }) => quoting.has(rail)) };
  };
  await refresh();
  return {
    railNames: [...quoting.keys()],
    list: () => current.prices,
    refresh,
    request: (rail) => requestReading(db.system, rail),
    read: async (name, stopping) => {
      const rail = quoting.get(name);
      if (rail?.readPrices === undefined) return false;
      const { readEveryMs: everyMs } = rail.priceRules ?? defaultPriceRules;
      const claim = { rail: name, holder: newId() };
      const readAt = await claimReading(db.system, { ...claim, leaseMs, everyMs });
      if (readAt === undefined) return false;
      let isStored = false;
      try {
        const signal = AbortSignal.any([stopping, AbortSignal.timeout(readMsMax)]);
        const { prices, faults } = checkPrices(rail, await rail.readPrices({ signal }));
        for (const fault of faults)
          log('warn', 'a price has an unexpected form', { rail: name, fault });
        isStored = await storePrices(db.system, claim, { readAt, prices });
      } finally {
        if (!isStored) await releaseReading(db.system, claim);
      }
      await refresh();
      return isStored;
    },
  };
}

const decimalText = z.string().refine((text) => (readDecimal(text)?.digits ?? -1n) >= 0n);
const codeText = z.string().refine((code) => findCurrency(code) !== undefined);

/** The last instant of a Date. */
const instantMsMax = 8_640_000_000_000_000;

const stepSchema = z.object({
  upTo: decimalText.nullable(),
  fixed: decimalText,
  // A part of a basis point is never left out of a fee.
  basisPoints: z.number().min(0).max(10_000).transform(Math.ceil),
});

const priceSchema = z
  .object({
    payerKey: z.string(),
    sourceCurrency: codeText,
    destinationCurrency: codeText,
    rate: z.string().refine((text) => parseRate(text) !== undefined),
    fee: z.array(stepSchema).min(1).max(100).refine(isAscending),
    holdsUntilMs: z.number().min(0).max(instantMsMax).optional(),
    deliverySeconds: z
      .number()
      .min(0)
      .max(366 * 86_400)
      .transform(Math.ceil)
      .optional(),
  })
  .refine(
    ({ sourceCurrency, destinationCurrency, rate }) =>
      sourceCurrency !== destinationCurrency || formatRate(getRate(rate)) === '1',
    { path: ['rate'] },
  );

/** Only the last step may be unbounded; where it has a bound, larger amounts have no price. */
function isAscending(steps: readonly { upTo: string | null }[]): boolean {
  const bounds = steps.map(({ upTo }) => (upTo === null ? undefined : readDecimal(upTo)));
  return bounds.every((bound, index) => {
    if (bound === undefined) return index === bounds.length - 1;
    const before = bounds[index - 1];
    return before === undefined
      ? bound.digits > 0n
      : bound.digits * 10n ** BigInt(before.scale) > before.digits * 10n ** BigInt(bound.scale);
  });
}

/** The prices that can be used, and a fault for each other one: its payer and the member, no value. */
function checkPrices(
  { payers }: QuotingRail,
  found: readonly RailPrice[],
): { prices: PriceWrite[]; faults: string[] } {
  const currencies = new Map(payers.map((payer) => [payer.key, payer.currencies]));
  const prices = new Map<string, PriceWrite>();
  const faults: string[] = [];
  for (const given of found) {
    const parsed = priceSchema.safeParse(given);
    if (!parsed.success) {
      const place = parsed.error.issues[0]?.path.join('.') ?? '';
      faults.push(`${currencies.has(given.payerKey) ? given.payerKey : '?'}: ${place}`);
      continue;
    }
    const { payerKey, sourceCurrency, destinationCurrency, ...price } = parsed.data;
    if (currencies.get(payerKey)?.includes(destinationCurrency) !== true) {
      faults.push('a payer or currency that is not configured');
      continue;
    }
    const name = `${payerKey} ${sourceCurrency}/${destinationCurrency}`;
    if (prices.has(name)) continue;
    prices.set(name, {
      payerKey,
      sourceCurrency,
      destinationCurrency,
      rate: price.rate,
      fee: JSON.stringify(price.fee),
      holdsUntil: price.holdsUntilMs === undefined ? null : new Date(price.holdsUntilMs),
      deliverySeconds: price.deliverySeconds ?? null,
    });
  }
  return { prices: [...prices.values()], faults };
}
