import { z } from 'zod';
import { assert } from '../core/errors.ts';
import { plainArray, textArray } from '../db/arrays.ts';
import { placeByOrdinal } from '../db/ordinals.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, maybeOne, nullable, type RowOf } from '../db/rows.ts';
import { refuseQuote } from './open-quotes.ts';
import { openStatusList, payoutStatuses } from './payout-states.ts';
import {
  describeNewSchedule,
  insertSchedule,
  type NewSchedule,
  pastShortfall,
  selectSchedule,
  storedSchedule,
} from './schedules.sql.ts';

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

const openExceptions = (isOpen: string): string => `
  case when p.status in (${openStatusList}) then array(
    select e.kind from exceptions e
    where e.account_id = p.account_id and e.payout_id = p.id and ${isOpen}
    order by e.opened_at, e.kind)${isOpen === 'e.closed_at is null' ? frozenBy : ''} else '{}' end`;

/** The scope of the freeze that holds it, as if it were an exception. */
const frozenBy = ` || array(
    select 'frozen_' || f.scope from payout_dispatches d
    join freezes f on f.id = d.frozen_by
    where d.account_id = p.account_id and d.payout_id = p.id)`;

const timelineEntry = z.object({
  status: z.enum(payoutStatuses),
  status_reason: z.string(),
  at: z.coerce.date<string>(),
  /** Kinds of the exceptions that the change opened. */
  opened_exceptions: z.array(z.string()),
});
export type TimelineEntry = z.infer<typeof timelineEntry>;

/** From the events, which are read along an index by subject: one descent for each payout. */
const timeline = (bound: string): string => `
  coalesce((
    select json_agg(json_build_object('status', upper(substr(e.type, length('payout.') + 1)),
        'status_reason', e.detail, 'at', e.created_at, 'opened_exceptions',
        case when e.type in ('payout.hold', 'payout.error') then array(
          select x.kind from exceptions x
          where x.account_id = e.account_id and x.payout_id = e.subject_id
            and x.opened_at = e.created_at
          order by x.kind) else '{}' end) order by e.sequence)
    from events e
    where e.account_id = p.account_id and e.subject_id = p.id and e.month >= month_of(p.created_at)
      and e.type in (${payoutStatuses.map((status) => `'payout.${status.toLowerCase()}'`).join(', ')})
      ${bound}
  ), '[]')`;

const railReference = (bound: string): string => `
  coalesce((
    select a.provider_reference from attempts a
    where a.account_id = p.account_id and a.payout_id = p.id and a.provider_reference <> ''
      ${bound}
    order by a.number desc limit 1), '')`;

/** A payout with what opens its attributes. */
export const payoutColumns = {
  account_id: column.uuid,
  id: column.uuid,
  user_id: column.uuid,
  status: column.oneOf(...payoutStatuses),
  status_reason: column.text,
  client_transfer_id: column.text,
  source_token: column.uuid,
  source_currency: column.text,
  source_amount: column.bigint,
  fee: column.bigint,
  destination_token: column.uuid,
  destination_currency: column.text,
  destination_amount: column.bigint,
  exchange_rate: column.text,
  mid_rate: column.text,
  payer_name: column.text,
  delivery_type: column.text,
  country: column.text,
  attr_set_id: nullable(column.uuid),
  attr_version: nullable(column.integer),
  metadata: column.text,
  pickup_code: column.text,
  created_at: column.instant,
  expires_at: column.instant,
  estimated_availability: column.instant,
  /** When a scheduled payout is to run, and when it ran; null for any other one. */
  runs_at: nullable(column.instant),
  ran_at: nullable(column.instant),
  committed_at: nullable(column.instant),
  completed_at: nullable(column.instant),
  /** When its status last changed. */
  updated_at: column.instant,
  /** In the destination's minor units: what came back after completion. */
  returned_amount: column.bigint,
  /** The rail that it takes now. */
  rail: column.text,
  /** Its changes, the oldest first; those whose events are not kept any more are missing. */
  timeline: column.json(z.array(timelineEntry)),
  /** The rail's own name for the payment; "" before it gave one. */
  rail_reference: column.text,
  /** Kinds of the open exceptions, the oldest first. */
  open_exceptions: column.texts,
  schedule: nullable(column.json(storedSchedule)),
  sealed: nullable(column.bytes),
  data_key: column.bytes,
} as const;

export type PayoutRow = RowOf<typeof payoutColumns>;

const {
  open_exceptions: _exceptions,
  schedule: _schedule,
  timeline: _timeline,
  rail_reference: _reference,
  sealed,
  data_key: dataKey,
  ...termColumns
} = payoutColumns;

const create = defineQuery({
  name: 'create_payouts',
  text: `
    select id, attr_set_id, attr_version, created_at, expires_at, sealed, data_key, is_refused
    from create_payouts(
      $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
      $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33
    )`,
  columns: {
    id: column.uuid,
    attr_set_id: nullable(column.uuid),
    attr_version: nullable(column.integer),
    created_at: column.instant,
    expires_at: column.instant,
    sealed,
    data_key: dataKey,
    is_refused: column.boolean,
  },
});

type Bounds = {
  exception: string;
  event: string;
  attempt: string;
  shortfall: string;
  more: string;
};

/** What a `PayoutRow` is read from: `payouts p`, and conditions for what was there at the time. */
const selectFrom = (payouts: string, until: Bounds): string => `
  select ${until.more}${Object.keys(termColumns)
    .map((name) => `p.${name}`)
    .join(
      ', ',
    )}, ${openExceptions(until.exception)} as open_exceptions, ${timeline(until.event)} as timeline,
    ${railReference(until.attempt)} as rail_reference, ${selectSchedule(until.shortfall)} as schedule,
    with_version(v.version, v.sealed) as sealed, u.data_key
  from ${payouts}
  join users u on u.account_id = p.account_id and u.id = p.user_id
  left join attribute_set_versions v
    on v.account_id = p.account_id and v.set_id = p.attr_set_id and v.version = p.attr_version`;

export const selectPayouts = selectFrom('payouts p', {
  exception: 'e.closed_at is null',
  event: '',
  attempt: '',
  shortfall: 'x.shortfall::text',
  more: '',
});

/** The same as of points `r (id, at, sequence)`; see `payout_as_of`. */
export const selectPayoutsAsOf = (points: string): string =>
  selectFrom(
    `(${points}) r (id, at, sequence)
    cross join lateral payout_as_of($1, r.id, r.at, r.sequence) p`,
    {
      exception: 'e.opened_at <= r.at and (e.closed_at is null or e.closed_at > r.at)',
      event: 'and e.created_at <= r.at and e.sequence <= r.sequence',
      attempt: 'and a.taken_at <= r.at',
      shortfall: pastShortfall,
      more: 'r.sequence as event_sequence, ',
    },
  );

const selectPayout = defineQuery({
  name: 'find_payout',
  text: `
    ${selectPayouts}
    where p.account_id = $1 and p.user_id = $2 and p.id = $3`,
  columns: payoutColumns,
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
  providerPrice?: string | undefined;
};

/** Of a quote whose account has too many open ones: it was not stored. */
export const quoteRefused = Symbol('the account has too many open quotes');

/**
 * Stores quotes in one transaction and returns their rows in the order of the quotes; undefined for
 * those whose account another transaction has, where it may not wait.
 */
export async function insertPayouts(
  session: Session,
  payouts: readonly NewPayout[],
  mayWait: boolean,
): Promise<(PayoutRow | typeof quoteRefused | undefined)[]> {
  const list = <T>(read: (payout: NewPayout) => T): T[] => payouts.map(read);
  const text = (read: (payout: NewPayout) => string): string => textArray(payouts.map(read));
  const plain = (read: (payout: NewPayout) => string | bigint | number | boolean | null): string =>
    plainArray(payouts.map(read));
  const entries = payouts.flatMap(({ accountId, id, metadataHashes }) =>
    metadataHashes.map((hash) => ({ accountId, id, hash })),
  );
  const rows = await many(session, create, [
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
    plainArray(entries.map(({ accountId }) => accountId)),
    plainArray(entries.map(({ id }) => id)),
    entries.map(({ hash }) => hash),
    mayWait,
    list((payout) => payout.providerPrice ?? null),
  ]);
  const decided = new Map(rows.map((row) => [row.id, row]));
  return payouts.map((payout) => {
    const row = decided.get(payout.id);
    if (row?.is_refused === true) return quoteRefused;
    return row === undefined ? undefined : describeQuoted(payout, row);
  });
}

function describeQuoted(
  payout: NewPayout,
  { is_refused: _isRefused, ...decided }: RowOf<typeof create.columns>,
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
    timeline: [
      { status: 'PENDING', status_reason: '', at: decided.created_at, opened_exceptions: [] },
    ],
    rail_reference: '',
    open_exceptions: [],
    schedule: describeNewSchedule(payout.schedule),
  };
}

/**
 * Stores a quote, in two statements where it is scheduled.
 *
 * @throws AppError open_quotes_exceeded.
 */
export async function insertPayout(session: Session, payout: NewPayout): Promise<PayoutRow> {
  const [row] = await insertPayouts(session, [payout], true);
  assert(row !== undefined, 'a payout that may wait for its account is stored');
  if (row === quoteRefused) throw await refuseQuote(session, payout);
  const { schedule } = payout;
  if (schedule !== undefined) await insertSchedule(session, { ...payout, schedule });
  return row;
}

type PayoutId = { accountId: string; userId: string; payoutId: string };

export async function findPayoutRow(
  session: Session,
  { accountId, userId, payoutId }: PayoutId,
): Promise<PayoutRow | undefined> {
  return maybeOne(session, selectPayout, [accountId, userId, payoutId]);
}
