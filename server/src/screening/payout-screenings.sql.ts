import { z } from 'zod';
import { plainArray, textArray } from '../db/arrays.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, nullable, type RowOf } from '../db/rows.ts';
import { type Hit, hit } from './hit.ts';
import { entryKinds } from './list-entry.ts';

/** The SQL of screening payouts. Rows are added and never changed. */

const walletColumns = {
  wallet: column.text,
  /** As listed: currency and address. */
  text: column.text,
  list: column.text,
  entry_id: column.text,
  name: column.text,
  kind: column.oneOf(...entryKinds),
  programmes: column.json(z.array(z.string())),
  content_hash: column.bytes,
};
export type WalletHitRow = RowOf<typeof walletColumns>;

const selectWallets = defineQuery({
  name: 'screening_select_wallets',
  text: `
    select w.wallet, w.text, w.list, w.entry_id, e.name, e.kind, e.programmes, e.content_hash
    from screening_wallets w
    join screening_entries e using (list, entry_id, from_sequence)
    where w.wallet = any ($1::text[]) and e.until_sequence is null
    order by w.list, w.entry_id`,
  columns: walletColumns,
});

const clearedColumns = {
  ordinal: column.integer,
  payout_id: column.uuid,
  hits: column.json(z.array(hit)),
  cleared_by: column.text,
  cleared_at: column.instant,
};
export type ClearedRow = RowOf<typeof clearedColumns>;

/** The last clearance of the payout itself, or of an earlier one with the same names. */
const selectCleared = defineQuery({
  name: 'screening_select_cleared',
  text: `
    select given.ordinal::integer, s.payout_id, s.hits, s.cleared_by, s.cleared_at
    from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[]) with ordinality
      as given (account_id, payout_id, user_id, subject_index, ordinal)
    cross join lateral (
      (select * from payout_screenings
      where account_id = given.account_id and payout_id = given.payout_id
        and cleared_by is not null
      order by sequence desc limit 1)
      union all
      (select * from payout_screenings
      where account_id = given.account_id and user_id = given.user_id
        and subject_index = decode(given.subject_index, 'hex') and cleared_by is not null
      order by screened_at desc, sequence desc limit 1)
    ) s`,
  columns: clearedColumns,
});

/** Adds no row that equals the last one. */
const insertRows: Statement = {
  name: 'screening_insert_payout_rows',
  text: `
    insert into payout_screenings (account_id, payout_id, sequence, user_id, is_passed,
      recipient_sequence, subject_index, list_fingerprint, threshold_permille, hits, screened_at,
      cleared_by, cleared_at, evidence)
    select $1, given.payout_id, coalesce(last.sequence, 0) + 1, given.user_id, given.is_passed,
      given.recipient_sequence, decode(given.subject_index, 'hex'), $2, $3, given.hits,
      environment_now(), given.cleared_by, given.cleared_at, decode(given.evidence, 'hex')
    from jsonb_to_recordset($4::jsonb) as given (payout_id uuid, user_id uuid, is_passed boolean,
      recipient_sequence integer, subject_index text, hits jsonb, cleared_by text,
      cleared_at timestamptz, evidence text)
    left join lateral (
      select * from payout_screenings s
      where s.account_id = $1 and s.payout_id = given.payout_id
      order by s.sequence desc limit 1
    ) last on true
    where (last.is_passed, last.recipient_sequence, encode(last.subject_index, 'hex'),
        last.list_fingerprint, last.threshold_permille, last.hits)
      is distinct from (given.is_passed, given.recipient_sequence, given.subject_index,
        $2::bytea, $3::smallint, given.hits)
    order by given.payout_id
    on conflict (account_id, payout_id, sequence) do nothing`,
};

const insertClearance: Statement = {
  name: 'screening_insert_clearance',
  text: `
    insert into payout_screenings (account_id, payout_id, sequence, user_id, is_passed,
      recipient_sequence, subject_index, list_fingerprint, threshold_permille, hits, screened_at,
      cleared_by, cleared_at, evidence)
    select account_id, payout_id, sequence + 1, user_id, true, recipient_sequence, subject_index,
      list_fingerprint, threshold_permille, hits, screened_at, $3, environment_now(), evidence
    from payout_screenings
    where account_id = $1 and payout_id = $2 and sequence = $4 and not is_passed
    on conflict (account_id, payout_id, sequence) do nothing`,
};

const historyColumns = {
  sequence: column.integer,
  is_passed: column.boolean,
  recipient_sequence: column.integer,
  threshold_permille: column.integer,
  hits: column.json(z.array(hit)),
  screened_at: column.instant,
  cleared_by: nullable(column.text),
  cleared_at: nullable(column.instant),
};
export type PayoutScreeningRow = RowOf<typeof historyColumns>;

const selectHistory = defineQuery({
  name: 'screening_select_payout_history',
  text: `
    select sequence, is_passed, recipient_sequence, threshold_permille, hits, screened_at,
      cleared_by, cleared_at
    from payout_screenings
    where account_id = $1 and payout_id = $2
    order by sequence desc
    limit $3`,
  columns: historyColumns,
});

export type PayoutKey = { readonly accountId: string; readonly payoutId: string };

export type NewPayoutRow = {
  payout_id: string;
  user_id: string;
  is_passed: boolean;
  recipient_sequence: number;
  subject_index: string;
  hits: readonly Hit[];
  cleared_by: string | null;
  cleared_at: Date | null;
  /** Sealed, in hexadecimal digits. */
  evidence: string | null;
};

export function findListedWallets(
  session: Session,
  wallets: readonly string[],
): Promise<WalletHitRow[]> {
  return many(session, selectWallets, [textArray(wallets)]);
}

export function readCleared(
  session: Session,
  payouts: readonly (PayoutKey & { userId: string; subjectIndex: Buffer })[],
): Promise<ClearedRow[]> {
  return many(session, selectCleared, [
    plainArray(payouts.map(({ accountId }) => accountId)),
    plainArray(payouts.map(({ payoutId }) => payoutId)),
    plainArray(payouts.map(({ userId }) => userId)),
    plainArray(payouts.map(({ subjectIndex }) => subjectIndex.toString('hex'))),
  ]);
}

export async function writePayoutRows(
  session: Session,
  given: {
    accountId: string;
    fingerprint: Buffer;
    thresholdPermille: number;
    rows: readonly NewPayoutRow[];
  },
): Promise<void> {
  const { accountId, fingerprint, thresholdPermille, rows } = given;
  const values = [accountId, fingerprint, thresholdPermille, JSON.stringify(rows)];
  await exec(session, insertRows, values);
}

/** False where another result has followed. */
export async function writeClearance(
  session: Session,
  { accountId, payoutId, sequence }: PayoutKey & { sequence: number },
  clearedBy: string,
): Promise<boolean> {
  const values = [accountId, payoutId, clearedBy, sequence];
  return (await exec(session, insertClearance, values)) > 0;
}

/** Newest first. */
export function readPayoutHistory(
  session: Session,
  { accountId, payoutId }: PayoutKey,
  countMax: number,
): Promise<PayoutScreeningRow[]> {
  return many(session, selectHistory, [accountId, payoutId, countMax]);
}
