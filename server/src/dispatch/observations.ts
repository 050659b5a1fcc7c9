import { type KeyRing, rowContext } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { defineProtectedTable, renewMac } from '../db/protected-tables.ts';
import type { RowOf } from '../db/rows.ts';
import {
  type ApplyResult,
  applyObservationRow,
  applyObservationRows,
  type Observation,
  type VouchedObservation,
  vouchedColumns,
} from './observations.sql.ts';

export {
  type ApplyResult,
  type Observation,
  type ObservationDetails,
  vouchedColumns,
} from './observations.sql.ts';

/**
 * Observations are stored with a code of the service: they are why payouts complete, are refunded and come
 * back, and the owner of the database could write the rest of such a move too.
 */

export function describeObservation(row: RowOf<typeof vouchedColumns>): string {
  const { account_id: accountId, payout_id: payoutId, id, source, reason, code, amount } = row;
  // Of a rejection, the database stores whether a payer was left.
  const outcome = row.outcome === 'exhausted' ? 'rejected' : row.outcome;
  const said = [source, outcome, reason, code, amount === null ? '' : amount.toString()];
  return rowContext('observations', accountId, payoutId, id, ...said);
}

export const protectedObservations = defineProtectedTable({
  table: 'observations',
  key: { account_id: 'uuid', payout_id: 'uuid', id: 'uuid' },
  values: ['mac'],
  columns: vouchedColumns,
  replacement: 'renew_observations',
  renew: renewMac(describeObservation),
});

export type ObservationLog = { readonly session: Session; readonly keys: Pick<KeyRing, 'mac'> };

export function applyObservation(
  { session, keys }: ObservationLog,
  observation: Observation,
): Promise<ApplyResult> {
  return applyObservationRow(session, vouch(keys, observation));
}

/**
 * The result of each observation, by its ordinal from 1; `held`: another transaction has the account.
 * Each payout may be named once.
 */
export function applyObservations(
  { session, keys }: ObservationLog,
  observations: readonly Observation[],
  mayWait: boolean,
): Promise<{ ordinal: number; result: ApplyResult | 'held' }[]> {
  const vouched = observations.map((observation) => vouch(keys, observation));
  return applyObservationRows(session, vouched, mayWait);
}

function vouch(keys: ObservationLog['keys'], observation: Observation): VouchedObservation {
  const { accountId, payoutId, observationId: id, source, outcome, reason, details } = observation;
  const { code = '', amount } = details ?? {};
  const said = {
    source,
    outcome,
    reason,
    code,
    amount: amount === undefined ? null : BigInt(amount),
  };
  const row = { account_id: accountId, payout_id: payoutId, id, ...said };
  return { ...observation, mac: keys.mac(describeObservation(row)) };
}
