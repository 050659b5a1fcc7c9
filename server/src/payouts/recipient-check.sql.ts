import { plainArray } from '../db/arrays.ts';
import { placeByOrdinal } from '../db/ordinals.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, maybeOne, nullable, type RowOf } from '../db/rows.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';
import { senderRow } from '../travel-rule/sender.ts';
import type { PayoutName } from './payout-name.ts';

const recipientColumns = {
  account_id: column.uuid,
  user_id: column.uuid,
  user_country: column.text,
  data_key: column.bytes,
  person: column.bytes,
  set_id: nullable(column.uuid),
  attributes: nullable(column.bytes),
  sender: nullable(column.json(senderRow)),
  payee: nullable(column.bytes),
} as const;

const selection = `u.account_id, u.id as user_id, u.country as user_country, u.data_key,
  with_version(u.version, u.sealed) as person, v.set_id,
  with_version(v.version, v.sealed) as attributes,
  (select to_jsonb(a) from account_senders a where a.account_id = u.account_id) as sender,
  find_payee_check(u.account_id, v.set_id, v.version, u.version) as payee`;

/** The user, and the attribute values that a quote would pin. */
const recipientOfQuote = defineQuery({
  name: 'find_recipient_of_quote',
  text: `
    select ${selection}, u.kyc_status, coalesce(v.is_complete, false) as is_complete
    from users u
    left join lateral find_attribute_set($1, $2, $3, $4, $5) s on true
    left join attribute_set_versions v
      on v.account_id = $1 and v.set_id = s.set_id and v.version = s.version
    where u.account_id = $1 and u.id = $2`,
  columns: { ...recipientColumns, kyc_status: column.text, is_complete: column.boolean },
});

/** The user, and the attribute values with which a payout was committed. */
const recipientOfCommitted = defineQuery({
  name: 'find_recipient_of_committed_payout',
  text: `
    select ${selection}
    from payouts p
    join users u on u.account_id = p.account_id and u.id = p.user_id
    left join attribute_set_versions v
      on v.account_id = p.account_id and v.set_id = p.attr_set_id and v.version = p.attr_version
    where p.account_id = $1 and p.id = $2`,
  columns: recipientColumns,
});

/** `is_complete`: of the attribute values; false without any. */
export type QuotedRecipientRow = RowOf<typeof recipientOfQuote.columns>;

/** Of rows of batches: the user and the values of the set, in order. */
const recipientsOfRows = defineQuery({
  name: 'find_recipients_of_rows',
  text: `
    select r.ord::integer as ordinal, ${selection}
    from unnest($2::uuid[], $3::uuid[], $4::integer[]) with ordinality
      as r (user_id, set_id, version, ord)
    join users u on u.account_id = $1 and u.id = r.user_id
    left join attribute_set_versions v
      on v.account_id = $1 and v.set_id = r.set_id and v.version = r.version`,
  columns: { ...recipientColumns, ordinal: column.integer },
});

/** Of a payout that has not run: its pinned values if complete, else the latest complete ones. */
const defineRecipientOfPayout = (name: string, condition: string) =>
  defineQuery({
    name,
    text: `
    select ${selection}, p.rail, p.payer_key, p.country, p.delivery_type, p.destination_currency,
      p.destination_amount
    from payouts p
    join users u on u.account_id = p.account_id and u.id = p.user_id
    left join lateral (
      select v.set_id, v.version, v.sealed from attribute_sets s
      join attribute_set_versions v on v.account_id = s.account_id and v.set_id = s.id
      where s.account_id = p.account_id and s.user_id = p.user_id
        and s.destination_token = p.destination_token and s.currency = p.destination_currency
        and v.is_complete
        and (v.version = s.latest_version or (s.id = p.attr_set_id and v.version = p.attr_version))
      order by (s.id = p.attr_set_id and v.version = p.attr_version) is true desc,
        s.touched_at desc, s.id desc limit 1
    ) v on true
    where p.account_id = $1 and p.user_id = $2 and p.id = $3 and ${condition}`,
    columns: {
      ...recipientColumns,
      rail: column.text,
      payer_key: column.text,
      country: column.text,
      delivery_type: column.oneOf(...deliveryTypes),
      destination_currency: column.text,
      destination_amount: column.bigint,
    },
  });

const recipientOfPending = defineRecipientOfPayout(
  'find_recipient_of_payout',
  `p.committed_at is null and p.status = 'PENDING' and p.expires_at > (select environment_now())`,
);
const recipientOfScheduled = defineRecipientOfPayout(
  'find_recipient_of_scheduled_payout',
  `p.status = 'SCHEDULED'`,
);

export type RecipientRow = RowOf<typeof recipientColumns>;

export type RecipientQuery = {
  userId: string;
  destinationToken: string;
  currency: string;
  attrSetId: string | undefined;
};

export type RecipientOfRow = {
  userId: string;
  set: { id: string; version: number } | undefined;
};

/** In the order of the rows; undefined where there is no such user. */
export async function findRecipientsOfRows(
  session: Session,
  accountId: string,
  rows: readonly RecipientOfRow[],
): Promise<(RecipientRow | undefined)[]> {
  const found = await many(session, recipientsOfRows, [
    accountId,
    plainArray(rows.map(({ userId }) => userId)),
    plainArray(rows.map(({ set }) => set?.id)),
    plainArray(rows.map(({ set }) => set?.version)),
  ]);
  return placeByOrdinal(rows, found, (row) => row);
}

export async function findRecipientOfQuote(
  session: Session,
  accountId: string,
  query: RecipientQuery,
): Promise<QuotedRecipientRow | undefined> {
  const { userId, destinationToken, currency, attrSetId } = query;
  const values = [accountId, userId, destinationToken, currency, attrSetId ?? null];
  return maybeOne(session, recipientOfQuote, values);
}

export type PendingRecipientRow = RowOf<typeof recipientOfPending.columns>;

/** Undefined where there is nothing to commit. */
export async function findRecipientOfPayout(
  session: Session,
  payout: { accountId: string; userId: string; payoutId: string },
): Promise<PendingRecipientRow | undefined> {
  return maybeOne(session, recipientOfPending, [payout.accountId, payout.userId, payout.payoutId]);
}

/** Undefined where it is no longer SCHEDULED. */
export async function findRecipientOfScheduled(
  session: Session,
  payout: { accountId: string; userId: string; payoutId: string },
): Promise<PendingRecipientRow | undefined> {
  const values = [payout.accountId, payout.userId, payout.payoutId];
  return maybeOne(session, recipientOfScheduled, values);
}

export function findRecipientOfCommitted(
  session: Session,
  { accountId, payoutId }: PayoutName,
): Promise<RecipientRow | undefined> {
  return maybeOne(session, recipientOfCommitted, [accountId, payoutId]);
}
