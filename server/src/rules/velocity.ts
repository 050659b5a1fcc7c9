import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { findCurrency } from '../core/currency.ts';
import { convert } from '../core/rate.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import { readUsdMinor, usd } from '../destinations/pricing.ts';
import type { DispatchRow, RuleHit } from '../dispatch/dispatch.ts';
import type { MidRates } from '../fx/rate-book.ts';

/**
 * Limits on how often and how much is paid in a rolling window: to one recipient, by one account, or
 * by one account through one corridor. A payout over a limit waits for a person.
 */

const dollars = z.string().transform((text, context) => {
  const minor = readUsdMinor(text);
  if (minor === undefined) context.addIssue({ code: 'custom', message: 'no amount of USD' });
  return minor ?? 0n;
});

const limit = z
  .strictObject({
    /** As it is shown to who decides. */
    name: z.string().min(1).max(60),
    per: z.enum(['recipient', 'account', 'corridor']),
    windowHours: z
      .number()
      .positive()
      .max(24 * 366),
    countMax: z.int().min(0).optional(),
    usdMax: dollars.optional(),
    /** Only of this corridor: `MEX BANK_DEPOSIT MXN`. */
    corridor: z.string().optional(),
  })
  .refine(({ countMax, usdMax }) => countMax !== undefined || usdMax !== undefined, {
    error: 'has neither countMax nor usdMax',
  });

const fileSchema = z.strictObject({ limits: z.array(limit).max(50) });

export type VelocityLimit = z.output<typeof limit>;

/** @throws Error with every fault of the operator's file. */
export function readVelocityLimits(path: string): readonly VelocityLimit[] {
  let written: unknown;
  try {
    written = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new Error(`${path} is not a file of JSON`, { cause });
  }
  const parsed = fileSchema.safeParse(written);
  if (parsed.success) return parsed.data.limits;
  const faults = parsed.error.issues.map(
    ({ path: at, message }) => `${at.map(String).join('.')}: ${message}`,
  );
  throw new Error(`${path}: ${faults.join('; ')}`);
}

const countText: Statement = {
  name: 'count_velocity',
  text: `select count_velocity($1, $2, $3, $4, $5, $6) as broken`,
};

/** The limits that the payout breaks, as a hit; it is counted either way. */
export async function checkVelocity(
  session: Session,
  row: DispatchRow,
  { limits, rates }: { limits: readonly VelocityLimit[]; rates: MidRates },
): Promise<RuleHit | undefined> {
  const corridor = `${row.country} ${row.delivery_type} ${row.destination_currency}`;
  const worthMinor = findUsdWorth(row, rates);
  // What cannot be valued cannot be let pass under a limit of value.
  if (worthMinor === undefined) {
    return { exception: 'velocity', detail: `no rate from ${row.source_currency} to USD` };
  }
  const [answer] = await session.rows<{ broken: string[] }>(countText, [
    row.account_id,
    row.payout_id,
    row.user_id,
    corridor,
    worthMinor,
    JSON.stringify(limits.map(describeLimit)),
  ]);
  const broken = answer?.broken ?? [];
  if (broken.length === 0) return undefined;
  return { exception: 'velocity', detail: `over the limit: ${broken.join(', ')}` };
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

function findUsdWorth(row: DispatchRow, rates: MidRates): bigint | undefined {
  const source = findCurrency(row.source_currency);
  if (source === undefined) return undefined;
  if (source === usd) return row.source_amount;
  const found = rates.find(source.code, usd.code);
  if (!found.ok) return undefined;
  return convert(row.source_amount, { from: source, to: usd, rate: found.rate }, 'ceil');
}
