import { findCurrency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { convert } from '../core/rate.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import { usd } from '../destinations/pricing.ts';
import { listTriedPayers } from '../dispatch/dispatch.ts';
import { describeTerms } from '../dispatch/failover.ts';
import { findNextPayer, type RouterServices } from '../dispatch/routing.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { clearPayout } from '../screening/payout-screenings.ts';
import { findScreening, recordDecision } from '../screening/records.ts';
import {
  closeUnmatched,
  type DecidedPayoutRow,
  decidePayoutRow,
  findDecidedPayout,
  openMissingRails,
} from './decisions.sql.ts';
import { type ExceptionRow, listExceptionRows } from './exceptions.sql.ts';

export { findAccountOfPayout } from './decisions.sql.ts';

/** What persons decide where the machinery must not: payouts held, contradicted, or without a way. */

export const decisionActions = [
  'release',
  'refund',
  'retry',
  'paid',
  'not_paid',
  'returned',
  'write_off',
  'dismiss',
] as const;
export type DecisionAction = (typeof decisionActions)[number];

export type Decision = {
  accountId: string;
  payoutId: string;
  action: DecisionAction;
  /** Who decides: a name that the operator knows persons by. */
  decidedBy: string;
  reason: string;
};

export type DecisionServices = {
  db: Database;
  keys: KeyRing;
  router: RouterServices;
  rates: () => MidRates;
  /** Whole USD; a payout worth more needs two persons. */
  twoPersonsAboveUsd: number;
};

/**
 * Records what a person decided. `waiting`: a second, different person has to decide the same.
 *
 * @throws AppError not_found, illegal_move (with what stands in the way).
 */
export async function decidePayout(
  services: DecisionServices,
  decision: Decision,
): Promise<'done' | 'waiting'> {
  const { db } = services;
  const payout = await findDecidedPayout(db.system, decision);
  if (payout === undefined) throw new AppError('not_found', 'no such payout');
  const next = decision.action === 'retry' ? await findRetry(services, payout) : undefined;
  const result = await db.systemTransaction((session) =>
    decidePayoutRow(session, {
      ...decision,
      id: newId(),
      personsNeeded: needsTwo(services, payout) ? 2 : 1,
      next,
    }),
  );
  if (result === 'not_found') throw new AppError('not_found', 'no such payout');
  if (result === 'illegal') {
    throw new AppError(
      'illegal_move',
      `${decision.action} cannot follow: the payout is ${payout.status}, or something of it is ` +
        'still alive at its rail, or nobody is asked',
    );
  }
  if (result === 'done' && decision.action === 'release' && payout.is_screening_asked) {
    await clearRecipient(services, payout, decision);
    const { accountId, payoutId, decidedBy } = decision;
    await clearPayout(db.system, { accountId, payoutId }, decidedBy);
  }
  return result;
}

/** Who lets the payout go says that the recipient is somebody else; that holds for the next ones. */
async function clearRecipient(
  { db, keys }: DecisionServices,
  payout: DecidedPayoutRow,
  { decidedBy, reason }: Decision,
): Promise<void> {
  const user = { accountId: payout.account_id, userId: payout.user_id };
  const last = await findScreening(db.system, user);
  if (last?.isBlocked !== true) return;
  await recordDecision(
    { session: db.system, keys },
    { ...user, sequence: last.sequence, decision: 'cleared', decidedBy, reason },
  );
}

async function findRetry(services: DecisionServices, payout: DecidedPayoutRow) {
  const tried = await listTriedPayers(services.db.system, {
    accountId: payout.account_id,
    payoutId: payout.payout_id,
  });
  const { next } = findNextPayer(services.router, describeTerms(payout), tried);
  if (next === undefined) {
    throw new AppError(
      'illegal_move',
      'no payer is left that could take it within what was quoted',
    );
  }
  return { rail: next.railName, payerKey: next.key };
}

/** What cannot be valued is taken for much. */
function needsTwo({ rates, twoPersonsAboveUsd }: DecisionServices, payout: DecidedPayoutRow) {
  const source = findCurrency(payout.source_currency);
  if (source === undefined) return true;
  const boundMinor = BigInt(twoPersonsAboveUsd) * 10n ** BigInt(usd.scale);
  if (source === usd) return payout.source_amount > boundMinor;
  const found = rates().find(source.code, usd.code);
  if (!found.ok) return true;
  const conversion = { from: source, to: usd, rate: found.rate };
  return convert(payout.source_amount, conversion, 'ceil') > boundMinor;
}

/** The newest first; of all accounts where none is named. `listExceptionPage` reads page by page. */
export async function listExceptions(
  db: Database,
  query: { accountId: string | undefined; includesClosed: boolean; count: number },
): Promise<ExceptionRow[]> {
  const { accountId, includesClosed, count } = query;
  const page = { state: includesClosed ? 'all' : 'open', after: undefined, count } as const;
  return listExceptionRows(db.system, { accountId }, page);
}

/**
 * Puts payouts before a person whose rail is configured in no process any more; answers how many
 * are new.
 */
export function reportMissingRails(db: Database, railNames: readonly string[]): Promise<number> {
  return openMissingRails(db.system, railNames);
}

/** @throws AppError not_found. */
export async function closeUnmatchedException(
  db: Database,
  close: { id: string; decidedBy: string; reason: string },
): Promise<void> {
  const resolution = `dismissed by ${close.decidedBy}: ${close.reason}`;
  if (!(await closeUnmatched(db.system, close.id, resolution))) {
    throw new AppError('not_found', 'no such open exception without an account');
  }
}
