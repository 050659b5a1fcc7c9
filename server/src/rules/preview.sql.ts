import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, nullable, one, type RowOf } from '../db/rows.ts';
import { termColumns } from '../dispatch/dispatch.ts';
import type { PayoutName } from '../payouts/payout-name.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';

/** The SQL of previews: a payout as the dispatcher would claim it. */

const previewColumns = {
  ...termColumns,
  account_id: column.uuid,
  payout_id: column.uuid,
  user_id: column.uuid,
  exchange_rate: column.text,
  country: column.text,
  delivery_type: column.oneOf(...deliveryTypes),
  attr_set_id: nullable(column.uuid),
  attributes: nullable(column.bytes),
  data_key: column.bytes,
  person: column.bytes,
  user_country: column.text,
} as const;
export type PreviewRow = RowOf<typeof previewColumns>;

const selectPreview = defineQuery({
  name: 'select_payout_preview',
  text: `
    select p.account_id, p.id as payout_id, p.user_id, p.rail, p.payer_key, p.country,
      p.delivery_type, p.attr_set_id, p.destination_token, p.source_currency, p.source_amount,
      p.fee, p.destination_currency, p.destination_amount, p.exchange_rate,
      p.provider_price,
      u.kyc_status = 'approved' as is_verified,
      with_version(v.version, v.sealed) as attributes, u.data_key,
      with_version(u.version, u.sealed) as person, u.country as user_country
    from payouts p
    join users u on u.account_id = p.account_id and u.id = p.user_id
    left join attribute_set_versions v
      on v.account_id = p.account_id and v.set_id = p.attr_set_id and v.version = p.attr_version
    where p.account_id = $1 and p.id = $2`,
  columns: previewColumns,
});

export function readPreviewRow(
  session: Session,
  { accountId, payoutId }: PayoutName,
): Promise<PreviewRow> {
  return one(session, selectPreview, [accountId, payoutId]);
}
