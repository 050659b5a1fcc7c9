import { plainArray, textArray } from '../db/arrays.ts';
import { placeByOrdinal } from '../db/ordinals.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';

/** Everything that quotes of one account depend on and the database knows, for many at once. */
const findQuoteContextsText: Statement = {
  name: 'find_quote_contexts',
  text: `
    select r.ord::integer as ordinal, u.status as user_status, a.accept_both_tokens,
      w.token as wallet_token, w.currency as wallet_currency,
      s.destination_token as set_destination, s.currency as set_currency, c.payout_id as committed_id,
      l.destination_token as last_destination
    from unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::text[]) with ordinality
      as r (user_id, source_token, source_currency, set_id, client_transfer_id, ord)
    join users u on u.account_id = $1 and u.id = r.user_id
    join accounts a on a.id = u.account_id
    left join ledger_accounts w on w.account_id = $1 and w.name = 'wallet'
      and case when r.source_token is null then w.currency = r.source_currency
        else w.token = r.source_token end
    left join attribute_sets s
      on s.account_id = $1 and s.id = r.set_id and s.user_id = u.id
    left join payout_states c
      on c.account_id = $1 and c.client_transfer_id = r.client_transfer_id
    left join lateral (
      -- Among the last thousand: quotes that nobody committed must not cost a reader their number.
      select destination_token from (
        select id, destination_token from payout_quotes
        where r.source_token is not null and account_id = $1 and user_id = u.id
        order by id desc limit 1000
      ) q
      where exists (select from payout_states s where s.account_id = $1 and s.payout_id = q.id)
      order by id desc limit 1
    ) l on true`,
};

/** Exceptions say why a committed payout waits; one that has ended needs no look-up. */
const openExceptions = `
  case when p.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD', 'ERROR') then array(
    select e.kind from exceptions e
    where e.account_id = p.account_id and e.payout_id = p.id and e.closed_at is null
    order by e.opened_at, e.kind) else '{}' end`;

const columns = `p.account_id, p.id, p.user_id, p.status, p.status_reason, p.client_transfer_id, p.source_token,
  p.source_currency, p.source_amount, p.fee, p.destination_token, p.destination_currency,
  p.destination_amount, p.exchange_rate, p.payer_name, p.delivery_type, p.country, p.attr_set_id,
  p.attr_version, p.metadata, p.pickup_code, p.created_at, p.expires_at, p.estimated_availability,
  p.committed_at, p.completed_at`;

const createText: Statement = {
  name: 'create_payouts',
  text: `
    select id, attr_set_id, attr_version, created_at, expires_at, sealed, data_key
    from create_payouts(
      $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
      $20, $21, $22, $23, $24, $25, $26, $27, $28, $29
    )`,
};

const commitText: Statement = {
  name: 'commit_payout',
  text: `select result, detail, pickup_code from commit_payout($1, $2, $3, $4, $5)`,
};

/** What a `PayoutRow` is read from. */
export const selectPayouts = `
  select ${columns}, ${openExceptions} as open_exceptions, v.sealed, u.data_key
  from payouts p
  join users u on u.account_id = p.account_id and u.id = p.user_id
  left join attribute_set_versions v
    on v.account_id = p.account_id and v.set_id = p.attr_set_id and v.version = p.attr_version`;

const findText: Statement = {
  name: 'find_payout',
  text: `
    ${selectPayouts}
    where p.account_id = $1 and p.user_id = $2 and p.id = $3`,
};

export type QuoteContextRow = {
  user_status: string;
  accept_both_tokens: boolean;
  wallet_token: string | null;
  wallet_currency: string | null;
  set_destination: string | null;
  set_currency: string | null;
  committed_id: string | null;
  last_destination: string | null;
};

export type QuoteContextQuery = {
  userId: string;
  sourceToken: string | undefined;
  sourceCurrency: string;
  attrSetId: string | undefined;
  clientTransferId: string | undefined;
};

/** In the order of the queries; undefined where the account has no such user. */
export async function findQuoteContexts(
  session: Session,
  accountId: string,
  queries: readonly QuoteContextQuery[],
): Promise<(QuoteContextRow | undefined)[]> {
  const rows = await session.rows<QuoteContextRow & { ordinal: number }>(findQuoteContextsText, [
    accountId,
    queries.map(({ userId }) => userId),
    queries.map(({ sourceToken }) => sourceToken ?? null),
    queries.map(({ sourceCurrency }) => sourceCurrency),
    queries.map(({ attrSetId }) => attrSetId ?? null),
    queries.map(({ clientTransferId }) => clientTransferId ?? null),
  ]);
  return placeByOrdinal(queries, rows, (row) => row);
}

/** A payout with what opens its attributes. */
export type PayoutRow = {
  account_id: string;
  id: string;
  user_id: string;
  status: string;
  status_reason: string;
  client_transfer_id: string;
  source_token: string;
  source_currency: string;
  source_amount: bigint;
  fee: bigint;
  destination_token: string;
  destination_currency: string;
  destination_amount: bigint;
  exchange_rate: string;
  payer_name: string;
  delivery_type: string;
  country: string;
  attr_set_id: string | null;
  attr_version: number | null;
  metadata: string;
  pickup_code: string;
  created_at: Date;
  expires_at: Date;
  estimated_availability: Date;
  committed_at: Date | null;
  completed_at: Date | null;
  /** Kinds of the exceptions that are open for it, the oldest first. */
  open_exceptions: readonly string[];
  sealed: Buffer | null;
  data_key: Buffer;
};

export type NewPayout = {
  accountId: string;
  id: string;
  userId: string;
  clientTransferId: string;
  sourceToken: string;
  sourceCurrency: string;
  sourceMinor: bigint;
  feeMinor: bigint;
  destinationToken: string;
  destinationCurrency: string;
  destinationMinor: bigint;
  exchangeRate: string;
  roundingNano: bigint;
  rail: string;
  payerKey: string;
  payerName: string;
  /** The set to pin; undefined pins the one that was stored last for the destination, if any. */
  attrSetId: string | undefined;
  deliveryType: string;
  countryCode: string;
  needsAttributes: boolean;
  needsVerification: boolean;
  notifyUser: boolean;
  metadata: string;
  lockSeconds: number;
  estimatedAvailability: Date;
  metadataHashes: readonly Buffer[];
};

/**
 * Stores quotes in one transaction and answers their rows, in the order of the quotes; undefined
 * for those whose account somebody holds, where it may not wait for it.
 */
export async function insertPayouts(
  session: Session,
  payouts: readonly NewPayout[],
  mayWait: boolean,
): Promise<(PayoutRow | undefined)[]> {
  const column = <T>(read: (payout: NewPayout) => T): T[] => payouts.map(read);
  const text = (read: (payout: NewPayout) => string): string => textArray(payouts.map(read));
  const plain = (read: (payout: NewPayout) => string | bigint | number | boolean | null): string =>
    plainArray(payouts.map(read));
  const entries = payouts.flatMap(({ accountId, id, metadataHashes }) =>
    metadataHashes.map((hash) => ({ accountId, id, hash })),
  );
  const rows = await session.rows<DecidedRow>(createText, [
    plain((payout) => payout.accountId),
    plain((payout) => payout.id),
    plain((payout) => payout.userId),
    text((payout) => payout.clientTransferId),
    plain((payout) => payout.sourceToken),
    text((payout) => payout.sourceCurrency),
    plain((payout) => payout.sourceMinor),
    plain((payout) => payout.feeMinor),
    plain((payout) => payout.destinationToken),
    text((payout) => payout.destinationCurrency),
    plain((payout) => payout.destinationMinor),
    text((payout) => payout.exchangeRate),
    plain((payout) => payout.roundingNano),
    text((payout) => payout.rail),
    text((payout) => payout.payerKey),
    text((payout) => payout.payerName),
    plain((payout) => payout.attrSetId ?? null),
    text((payout) => payout.deliveryType),
    text((payout) => payout.countryCode),
    plain((payout) => payout.needsAttributes),
    plain((payout) => payout.needsVerification),
    plain((payout) => payout.notifyUser),
    text((payout) => payout.metadata),
    plain((payout) => payout.lockSeconds),
    column((payout) => payout.estimatedAvailability),
    plainArray(entries.map(({ accountId }) => accountId)),
    plainArray(entries.map(({ id }) => id)),
    entries.map(({ hash }) => hash),
    mayWait,
  ]);
  const decided = new Map(rows.map((row) => [row.id, row]));
  return payouts.map((payout) => {
    const row = decided.get(payout.id);
    return row === undefined ? undefined : describeQuoted(payout, row);
  });
}

/** What the database decides of a new payout. */
type DecidedRow = Pick<
  PayoutRow,
  'id' | 'attr_set_id' | 'attr_version' | 'created_at' | 'expires_at' | 'sealed' | 'data_key'
>;

function describeQuoted(payout: NewPayout, decided: DecidedRow): PayoutRow {
  return {
    ...decided,
    account_id: payout.accountId,
    user_id: payout.userId,
    status: 'PENDING',
    status_reason: '',
    client_transfer_id: payout.clientTransferId,
    source_token: payout.sourceToken,
    source_currency: payout.sourceCurrency,
    source_amount: payout.sourceMinor,
    fee: payout.feeMinor,
    destination_token: payout.destinationToken,
    destination_currency: payout.destinationCurrency,
    destination_amount: payout.destinationMinor,
    exchange_rate: payout.exchangeRate,
    payer_name: payout.payerName,
    delivery_type: payout.deliveryType,
    country: payout.countryCode,
    metadata: payout.metadata,
    pickup_code: '',
    estimated_availability: payout.estimatedAvailability,
    committed_at: null,
    completed_at: null,
    open_exceptions: [],
  };
}

export async function insertPayout(session: Session, payout: NewPayout): Promise<PayoutRow> {
  const [row] = await insertPayouts(session, [payout], true);
  if (row === undefined) throw new Error('an inserted payout has no row');
  return row;
}

export type CommitRow = {
  result:
    | 'success'
    | 'not_found'
    | 'ended'
    | 'ex_rate_expired'
    | 'duplicate'
    | 'user_not_active'
    | 'addtl_attr_req'
    | 'insufficient_funds';
  detail: string;
  pickup_code: string;
};

type PayoutId = { accountId: string; userId: string; payoutId: string };

/** The journal and the pickup code are used only if this commit is the one that moves the money. */
export async function commitPayoutRow(
  session: Session,
  commit: PayoutId & { journalId: string; pickupCode: string },
): Promise<CommitRow> {
  const { accountId, userId, payoutId, journalId, pickupCode } = commit;
  const values = [accountId, userId, payoutId, journalId, pickupCode];
  const [row] = await session.rows<CommitRow>(commitText, values);
  if (row === undefined) throw new Error('a commit answered nothing');
  return row;
}

export async function findPayoutRow(
  session: Session,
  id: PayoutId,
): Promise<PayoutRow | undefined> {
  const [row] = await session.rows<PayoutRow>(findText, [id.accountId, id.userId, id.payoutId]);
  return row;
}
