import { z } from 'zod';
import type { Session, Statement } from '../../db/postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, nullable, one } from '../../db/rows.ts';

/** The prices that rails quote, as last read by any process. */

const stepsSchema = z.array(
  z.object({ upTo: z.string().nullable(), fixed: z.string(), basisPoints: z.int() }),
);

const claimQuery = defineQuery({
  name: 'claim_price_reading',
  text: `
    insert into rail_price_readings (rail, holder, lease_until)
    values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
    on conflict (rail) do update
      set holder = excluded.holder, lease_until = excluded.lease_until
      where (rail_price_readings.lease_until is null
          or rail_price_readings.lease_until < clock_timestamp())
        and (rail_price_readings.read_at is null or rail_price_readings.read_at > (select environment_now())
          or rail_price_readings.read_at <= (select environment_now()) - $4 * interval '1 millisecond')
    returning environment_now() as now`,
  columns: { now: column.instant },
});

const releaseText: Statement = {
  name: 'release_price_reading',
  text: `
    update rail_price_readings set holder = null, lease_until = null
    where rail = $1 and holder = $2`,
};

const requestText: Statement = {
  name: 'request_price_reading',
  text: 'update rail_price_readings set read_at = null where rail = $1 and read_at is not null',
};

const storeQuery = defineQuery({
  name: 'store_rail_prices',
  text: 'select store_rail_prices($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as is_stored',
  columns: { is_stored: column.boolean },
});

const revisionQuery = defineQuery({
  name: 'read_price_revision',
  text: `
    select coalesce(string_agg(rail || ' ' || revision, ', ' order by rail), '') as revision
    from rail_price_readings`,
  columns: { revision: column.text },
});

const pricesQuery = defineQuery({
  name: 'list_rail_prices',
  text: `
    select rail, payer_key, source_currency, destination_currency, rate, fee, read_at, holds_until,
      delivery_seconds
    from rail_prices order by rail, payer_key, destination_currency, read_at desc, place`,
  columns: {
    rail: column.text,
    payer_key: column.text,
    source_currency: column.text,
    destination_currency: column.text,
    rate: column.text,
    fee: column.jsonText(stepsSchema),
    read_at: column.instant,
    holds_until: nullable(column.instant),
    delivery_seconds: nullable(column.integer),
  },
});

export type ReadingClaim = { rail: string; holder: string };

/** The environment's time where a reading is due and no other process does it; else undefined. */
export async function claimReading(
  session: Session,
  { rail, holder, leaseMs, everyMs }: ReadingClaim & { leaseMs: number; everyMs: number },
): Promise<Date | undefined> {
  return (await maybeOne(session, claimQuery, [rail, holder, leaseMs, everyMs]))?.now;
}

export async function releaseReading(
  session: Session,
  { rail, holder }: ReadingClaim,
): Promise<void> {
  await exec(session, releaseText, [rail, holder]);
}

export async function requestReading(session: Session, rail: string): Promise<void> {
  await exec(session, requestText, [rail]);
}

export type PriceWrite = {
  payerKey: string;
  sourceCurrency: string;
  destinationCurrency: string;
  rate: string;
  /** JSON array of steps. */
  fee: string;
  holdsUntil: Date | null;
  deliverySeconds: number | null;
};

/** False where another process has taken the reading over. */
export async function storePrices(
  session: Session,
  { rail, holder }: ReadingClaim,
  { readAt, prices }: { readAt: Date; prices: readonly PriceWrite[] },
): Promise<boolean> {
  const row = await one(session, storeQuery, [
    rail,
    holder,
    readAt,
    prices.map(({ payerKey }) => payerKey),
    prices.map(({ sourceCurrency }) => sourceCurrency),
    prices.map(({ destinationCurrency }) => destinationCurrency),
    prices.map(({ rate }) => rate),
    prices.map(({ fee }) => fee),
    prices.map(({ holdsUntil }) => holdsUntil),
    prices.map(({ deliverySeconds }) => deliverySeconds),
  ]);
  return row.is_stored;
}

/** Differs after each reading of any rail. */
export async function readRevision(session: Session): Promise<string> {
  return (await one(session, revisionQuery)).revision;
}

/** Of a payer and a destination currency the newest first, then in the order of the rail. */
export const listPrices = (session: Session) => many(session, pricesQuery);
