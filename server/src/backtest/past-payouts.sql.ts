import { z } from 'zod';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, type RowOf } from '../db/rows.ts';

const charges = z.array(z.object({ currency: z.string(), amount: z.string() }));

/**
 * Committed payouts in the order of their quotes, with the rates of their price. Names, attributes and
 * metadata are not read.
 */
const pastPayouts = defineQuery({
  name: 'list_past_payouts_to_replay',
  text: `
    select q.id, (extract(epoch from q.created_at) * 1000000)::bigint as created_us, s.status,
      coalesce(q.ran_at, s.committed_at) as priced_at, q.runs_at is not null as is_scheduled,
      q.ran_at is not null as has_run, q.source_currency, q.source_amount, q.fee,
      q.destination_token, q.destination_currency, q.destination_amount, q.mid_rate, q.usd_amount,
      q.country, q.delivery_type, coalesce(s.rail, q.rail) as rail,
      coalesce(s.payer_key, q.payer_key) as payer_key, u.kyc_status = 'approved' as is_verified,
      (select json_agg(json_build_object('currency', c.currency, 'amount', c.amount::text))
        from payout_charges c where c.account_id = q.account_id and c.payout_id = q.id) as charges
    from payout_quotes q
    join payout_states s on s.account_id = q.account_id and s.payout_id = q.id
    join users u on u.account_id = q.account_id and u.id = q.user_id
    where q.account_id = $1 and q.created_at >= $2 and (q.created_at, q.id) >
      (timestamptz 'epoch' + $3::bigint * interval '1 microsecond', $4::uuid)
    order by q.created_at, q.id limit $5`,
  columns: {
    id: column.uuid,
    created_us: column.bigint,
    status: column.text,
    priced_at: column.instant,
    is_scheduled: column.boolean,
    has_run: column.boolean,
    source_currency: column.text,
    source_amount: column.bigint,
    fee: column.bigint,
    destination_token: column.uuid,
    destination_currency: column.text,
    destination_amount: column.bigint,
    mid_rate: column.text,
    /** Cents; 0: not stored. */
    usd_amount: column.bigint,
    country: column.text,
    delivery_type: column.text,
    /** Through which it went. */
    rail: column.text,
    payer_key: column.text,
    /** The recipient, now. */
    is_verified: column.boolean,
    /** In minor units; null: none was reported. */
    charges: nullable(column.json(charges)),
  },
});

export type PastRow = RowOf<typeof pastPayouts.columns>;

export const selectPastPayouts = (
  session: Session,
  page: { accountId: string; since: Date; after: { createdUs: bigint; id: string }; count: number },
): Promise<PastRow[]> =>
  many(session, pastPayouts, [
    page.accountId,
    page.since,
    page.after.createdUs,
    page.after.id,
    page.count,
  ]);
