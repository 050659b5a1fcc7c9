import { z } from 'zod';
import { readJsonFile } from '../config-values.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, one } from '../db/rows.ts';
import { readUsdMinor } from '../destinations/pricing.ts';
import type { CheckedRow, CheckHit } from '../dispatch/dispatch.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { findUsdWorth } from '../fx/usd-worth.ts';

/**
 * Limits on the number and sum of payouts in a rolling window: to one recipient, by one account, or by
 * one account through one corridor. A payout over a limit is held.
 */

const dollars = z.string().transform((text, context) => {
  const minor = readUsdMinor(text);
  if (minor === undefined)
    context.addIssue({
      code: 'custom',
      message: 'must be an amount in USD as text, such as "1000.00"',
    });
  return minor ?? 0n;
});

const limit = z
  .strictObject({
    /** Shown to the person who decides about a held payout. */
    name: z.string().min(1).max(60),
    per: z.enum(['recipient', 'account', 'corridor']),
    windowHours: z
      .number()
      .positive()
      .max(24 * 366),
    countMax: z.int().min(0).optional(),
    usdMax: dollars.optional(),
    /** Restricts the limit to one corridor: `MEX BANK_DEPOSIT MXN`. */
    corridor: z.string().optional(),
  })
  .refine(({ countMax, usdMax }) => countMax !== undefined || usdMax !== undefined, {
    error: 'must have countMax or usdMax',
  });

const fileSchema = z.strictObject({ limits: z.array(limit).max(50) });

export type VelocityLimit = z.output<typeof limit>;

/** @throws Error with every fault of the operator's file. */
export function readVelocityLimits(path: string): readonly VelocityLimit[] {
  return readJsonFile(path, fileSchema).limits;
}

const countQuery = defineQuery({
  name: 'count_velocity',
  text: `select count_velocity($1, $2, $3, $4, $5, $6) as broken`,
  columns: { broken: column.texts },
});

/** The limits that the payout exceeds, as a hit. The payout is counted in any case. */
export async function checkVelocity(
  session: Session,
  row: CheckedRow,
  { limits, rates }: { limits: readonly VelocityLimit[]; rates: MidRates },
): Promise<CheckHit | undefined> {
  const worthMinor = findUsdWorth(rates, {
    currency: row.source_currency,
    minor: row.source_amount,
  });
  const { broken } = await one(session, countQuery, [
    row.account_id,
    row.payout_id,
    row.user_id,
    nameCorridor(row),
    worthMinor ?? 0n,
    JSON.stringify(limits.map(describeLimit)),
  ]);
  const details = [
    // Without a value the payout could exceed a limit unnoticed.
    ...(worthMinor === undefined
      ? [`no rate from ${row.source_currency} to USD: it is missing in the sums`]
      : []),
    ...(broken.length > 0 ? [`over the limit: ${broken.join(', ')}`] : []),
  ];
  if (details.length === 0) return undefined;
  return { exception: 'velocity', detail: details.join('; ') };
}

function nameCorridor(row: CheckedRow): string {
  return `${row.country} ${row.delivery_type} ${row.destination_currency}`;
}

const measureQuery = defineQuery({
  name: 'measure_velocity',
  text: `
    select name, count_max, usd_max, used_count, used_usd::bigint as used_usd
    from measure_velocity($1, $2, $3, $4)`,
  columns: {
    name: column.text,
    count_max: nullable(column.bigint),
    usd_max: nullable(column.bigint),
    used_count: column.bigint,
    used_usd: column.bigint,
  },
});

/** What a limit has left: undefined where it does not count payouts, or sums. Cents of USD. */
export type Headroom = { name: string; count: bigint | undefined; usdMinor: bigint | undefined };

/** What the limits that the payout counts towards have left; 0 where they are exceeded. */
export async function measureHeadroom(
  session: Session,
  payout: CheckedRow,
  limits: readonly VelocityLimit[],
): Promise<Headroom[]> {
  const listed = JSON.stringify(limits.map(describeLimit));
  const values = [payout.account_id, payout.user_id, nameCorridor(payout), listed];
  const measured = await many(session, measureQuery, values);
  const left = (max: bigint | null, used: bigint): bigint | undefined =>
    max === null ? undefined : max > used ? max - used : 0n;
  return measured.map((row) => ({
    name: row.name,
    count: left(row.count_max, row.used_count),
    usdMinor: left(row.usd_max, row.used_usd),
  }));
}

function describeLimit({ name, per, windowHours, countMax, usdMax, corridor }: VelocityLimit) {
  return {
    name,
    per,
    seconds: Math.round(windowHours * 3600),
    count: countMax ?? null,
    usd: usdMax === undefined ? null : usdMax.toString(),
    corridor: corridor ?? null,
  };
}
