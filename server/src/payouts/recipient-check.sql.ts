import type { Session, Statement } from '../db/postgres/pool.ts';

const columns = `u.account_id, u.id as user_id, u.country as user_country, u.data_key, u.sealed as person,
  v.set_id, v.sealed as attributes`;

/** The user, and the values that a quote would pin: those of the set, else the newest complete ones, else the newest. */
const findForQuoteText: Statement = {
  name: 'find_recipient_of_quote',
  text: `
    select ${columns}
    from users u
    left join lateral (
      select v.set_id, v.sealed from attribute_sets s
      join attribute_set_versions v
        on v.account_id = s.account_id and v.set_id = s.id and v.version = s.latest_version
      where s.account_id = $1 and s.user_id = $2 and s.destination_token = $3 and s.currency = $4
        and ($5::uuid is null or s.id = $5)
      order by v.is_complete desc, s.touched_at desc, s.id desc limit 1
    ) v on true
    where u.account_id = $1 and u.id = $2`,
};

/** Of a payout that is not committed: with its pinned values if complete, else the latest complete. */
const findForCommitText: Statement = {
  name: 'find_recipient_of_payout',
  text: `
    select ${columns}, p.rail, p.payer_key, p.country, p.delivery_type, p.destination_currency,
      p.destination_amount
    from payouts p
    join users u on u.account_id = p.account_id and u.id = p.user_id
    left join lateral (
      select v.set_id, v.sealed from attribute_sets s
      join attribute_set_versions v on v.account_id = s.account_id and v.set_id = s.id
      where s.account_id = p.account_id and s.user_id = p.user_id
        and s.destination_token = p.destination_token and s.currency = p.destination_currency
        and v.is_complete
        and (v.version = s.latest_version or (s.id = p.attr_set_id and v.version = p.attr_version))
      order by (s.id = p.attr_set_id and v.version = p.attr_version) is true desc,
        s.touched_at desc, s.id desc limit 1
    ) v on true
    where p.account_id = $1 and p.user_id = $2 and p.id = $3 and p.committed_at is null
      and p.status = 'PENDING' and p.expires_at > environment_now()`,
};

export type RecipientRow = {
  account_id: string;
  user_id: string;
  user_country: string;
  data_key: Buffer;
  person: Buffer;
  set_id: string | null;
  attributes: Buffer | null;
};

export type RecipientQuery = {
  userId: string;
  destinationToken: string;
  currency: string;
  attrSetId: string | undefined;
};

export async function findRecipientOfQuote(
  session: Session,
  accountId: string,
  query: RecipientQuery,
): Promise<RecipientRow | undefined> {
  const { userId, destinationToken, currency, attrSetId } = query;
  const values = [accountId, userId, destinationToken, currency, attrSetId ?? null];
  const [row] = await session.rows<RecipientRow>(findForQuoteText, values);
  return row;
}

export type PendingRecipientRow = RecipientRow & {
  rail: string;
  payer_key: string;
  country: string;
  delivery_type: string;
  destination_currency: string;
  destination_amount: bigint;
};

/** Undefined where there is nothing to commit. */
export async function findRecipientOfPayout(
  session: Session,
  payout: { accountId: string; userId: string; payoutId: string },
): Promise<PendingRecipientRow | undefined> {
  const values = [payout.accountId, payout.userId, payout.payoutId];
  const [row] = await session.rows<PendingRecipientRow>(findForCommitText, values);
  return row;
}
