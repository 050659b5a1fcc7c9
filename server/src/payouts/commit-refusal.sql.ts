import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, maybeOne, nullable, type RowOf } from '../db/rows.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';

/**
 * A quote with what its commit depends on. Its attribute values are those that the commit would find
 * incomplete: of the set that it names, else of the newest one.
 */
const factsQuery = defineQuery({
  name: 'find_commit_facts',
  text: `
    select q.country, q.delivery_type, q.source_currency, q.source_amount, q.fee,
      q.destination_currency, q.rail, q.payer_key, coalesce(w.balance, 0)::bigint as balance,
      q.needs_attributes and c.set_id is null as lacks_attributes,
      q.needs_verification and u.kyc_status <> 'approved' as lacks_verification,
      u.data_key, v.set_id, with_version(v.version, v.sealed) as sealed
    from payout_quotes q
    join users u on u.account_id = q.account_id and u.id = q.user_id
    left join ledger_accounts w on w.account_id = q.account_id and w.currency = q.source_currency
      and w.name = 'wallet'
    left join lateral find_complete_attributes(q.needs_attributes, q.account_id, q.user_id,
      q.attr_set_id, q.attr_version, q.destination_token, q.destination_currency, q.created_at)
      c on true
    left join lateral find_attribute_set(q.account_id, q.user_id, q.destination_token,
      q.destination_currency, q.attr_set_id) s on true
    left join attribute_set_versions v
      on v.account_id = q.account_id and v.set_id = s.set_id and v.version = s.version
    where q.account_id = $1 and q.user_id = $2 and q.id = $3`,
  columns: {
    rail: column.text,
    payer_key: column.text,
    country: column.text,
    delivery_type: column.oneOf(...deliveryTypes),
    source_currency: column.text,
    source_amount: column.bigint,
    fee: column.bigint,
    destination_currency: column.text,
    balance: column.bigint,
    lacks_attributes: column.boolean,
    lacks_verification: column.boolean,
    data_key: column.bytes,
    set_id: nullable(column.uuid),
    sealed: nullable(column.bytes),
  },
});
export type CommitFacts = RowOf<typeof factsQuery.columns>;

export type PayoutId = { accountId: string; userId: string; payoutId: string };

export async function findCommitFacts(
  session: Session,
  { accountId, userId, payoutId }: PayoutId,
): Promise<CommitFacts | undefined> {
  return maybeOne(session, factsQuery, [accountId, userId, payoutId]);
}
