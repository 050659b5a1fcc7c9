import { assert } from '../core/errors.ts';
import { plainArray, textArray } from '../db/arrays.ts';
import { placeByOrdinal } from '../db/ordinals.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, type RowOf } from '../db/rows.ts';
import { refuseQuote } from './open-quotes.ts';
import { type PayoutRow, payoutColumns } from './payouts.sql.ts';
import { describeNewSchedule, insertSchedule, type NewSchedule } from './schedules.sql.ts';

/** Storing quotes, and what has to be known for them. */

/** What the database knows of quotes' users, balances, attribute sets and identifiers. */
const selectQuoteContexts = defineQuery({
  name: 'find_quote_contexts',
  text: `
    select r.ord::integer as ordinal, u.status as user_status, u.data_key, a.accept_both_tokens,
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
      -- Among the last thousand, so that uncommitted quotes do not slow this down.
      select destination_token from (
        select id, destination_token from payout_quotes
        where r.source_token is not null and account_id = $1 and user_id = u.id
        order by id desc limit 1000
      ) q
      where exists (select from payout_states s where s.account_id = $1 and s.payout_id = q.id)
      order by id desc limit 1
    ) l on true`,
  columns: {
    ordinal: column.integer,
    user_status: column.text,
    data_key: column.bytes,
    accept_both_tokens: column.boolean,
    wallet_token: nullable(column.uuid),
    wallet_currency: nullable(column.text),
    set_destination: nullable(column.uuid),
    set_currency: nullable(column.text),
    committed_id: nullable(column.uuid),
    last_destination: nullable(column.uuid),
  },
});

const createdColumns = {
  id: column.uuid,
  attr_set_id: nullable(column.uuid),
  created_at: column.instant,
  expires_at: column.instant,
  sealed: payoutColumns.sealed,
  data_key: payoutColumns.data_key,
  is_refused: column.boolean,
};

const newPayouts = `
  row($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
    $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33)::new_payouts`;

const create = defineQuery({
  name: 'create_payouts',
  text: `
    select id, attr_set_id, created_at, expires_at, sealed, data_key, is_refused
    from create_payouts(${newPayouts}, $34)`,
  columns: createdColumns,
});

const createOwn = defineQuery({
  name: 'create_own_payouts',
  text: `
    select id, attr_set_id, created_at, expires_at, sealed, data_key, is_refused
    from create_own_payouts(${newPayouts})`,
  columns: createdColumns,
});

export type QuoteContextRow = Omit<RowOf<typeof selectQuoteContexts.columns>, 'ordinal'>;

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
  const rows = await many(session, selectQuoteContexts, [
    accountId,
    queries.map(({ userId }) => userId),
    queries.map(({ sourceToken }) => sourceToken ?? null),
    queries.map(({ sourceCurrency }) => sourceCurrency),
    queries.map(({ attrSetId }) => attrSetId ?? null),
    queries.map(({ clientTransferId }) => clientTransferId ?? null),
  ]);
  return placeByOrdinal(queries, rows, (row) => row);
}

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
  midRate: string;
  /** Cents of USD, for the limits on open quotes. */
  usdMinor: bigint;
  roundingNano: bigint;
  rail: string;
  payerKey: string;
  payerName: string;
  /** The set to pin; undefined pins the one that `find_attribute_set` chooses, if any. */
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
  schedule?: NewSchedule | undefined;
  /** See `getMaker`. */
  createdBy?: string | undefined;
  providerPrice?: string | undefined;
};

/** Of a quote whose account has too many open ones: it was not stored. */
export const quoteRefused = Symbol('the account has too many open quotes');

/**
 * Stores quotes in one transaction, as the service, and returns their rows in the order of the quotes; undefined for
 * those whose account another transaction has, where it may not wait.
 */
export async function insertPayouts(
  session: Session,
  payouts: readonly NewPayout[],
  mayWait: boolean,
): Promise<(PayoutRow | typeof quoteRefused | undefined)[]> {
  const rows = await many(session, create, [...describeNew(payouts), mayWait]);
  return placeCreated(payouts, rows);
}

/** In the order of the fields of `new_payouts`. */
function describeNew(payouts: readonly NewPayout[]): unknown[] {
  const list = <T>(read: (payout: NewPayout) => T): T[] => payouts.map(read);
  const text = (read: (payout: NewPayout) => string): string => textArray(payouts.map(read));
  const plain = (read: (payout: NewPayout) => string | bigint | number | boolean | null): string =>
    plainArray(payouts.map(read));
  const entries = payouts.flatMap(({ accountId, id, metadataHashes }) =>
    metadataHashes.map((hash) => ({ accountId, id, hash })),
  );
  return [
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
    text((payout) => payout.midRate),
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
    list((payout) => payout.estimatedAvailability),
    list((payout) => payout.schedule?.runsAt ?? null),
    plain((payout) => payout.usdMinor),
    plain((payout) => payout.createdBy ?? null),
    list((payout) => payout.providerPrice ?? null),
    plainArray(entries.map(({ accountId }) => accountId)),
    plainArray(entries.map(({ id }) => id)),
    entries.map(({ hash }) => hash),
  ];
}

function placeCreated(
  payouts: readonly NewPayout[],
  rows: readonly RowOf<typeof createdColumns>[],
): (PayoutRow | typeof quoteRefused | undefined)[] {
  const decided = new Map(rows.map((row) => [row.id, row]));
  return payouts.map((payout) => {
    const row = decided.get(payout.id);
    if (row?.is_refused === true) return quoteRefused;
    return row === undefined ? undefined : describeQuoted(payout, row);
  });
}

function describeQuoted(
  payout: NewPayout,
  { is_refused: _isRefused, ...decided }: RowOf<typeof createdColumns>,
): PayoutRow {
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
    mid_rate: payout.midRate,
    payer_name: payout.payerName,
    delivery_type: payout.deliveryType,
    country: payout.countryCode,
    metadata: payout.metadata,
    pickup_code: '',
    estimated_availability: payout.estimatedAvailability,
    runs_at: payout.schedule?.runsAt ?? null,
    ran_at: null,
    committed_at: null,
    completed_at: null,
    updated_at: decided.created_at,
    returned_amount: 0n,
    rail: payout.rail,
    payer_key: payout.payerKey,
    timeline: [
      { status: 'PENDING', status_reason: '', at: decided.created_at, opened_exceptions: [] },
    ],
    rail_reference: '',
    open_exceptions: [],
    schedule: describeNewSchedule(payout.schedule),
  };
}

/**
 * Stores a quote of a client's own connection, in two statements where it is scheduled.
 *
 * @throws AppError open_quotes_exceeded.
 */
export async function insertPayout(session: Session, payout: NewPayout): Promise<PayoutRow> {
  const created = await many(session, createOwn, describeNew([payout]));
  const [row] = placeCreated([payout], created);
  assert(row !== undefined, 'a payout that may wait for its account is stored');
  if (row === quoteRefused) throw await refuseQuote(session, payout);
  const { schedule } = payout;
  if (schedule !== undefined) await insertSchedule(session, { ...payout, schedule });
  return row;
}
