import type { Database } from '../db/postgres/pool.ts';
import { formatTimeCursor, readTimeCursor, takePage } from '../db/time-page.ts';
import {
  closeInboundRows,
  countExceptionRows,
  type DecisionRow,
  type ExceptionFilter,
  type ExceptionState,
  type ListedExceptionRow,
  listDecisionsOfExceptions,
  listDecisionsOfPayout,
  listExceptionRows,
} from './exceptions.sql.ts';

export type { DecisionRow, ExceptionFilter, ExceptionState } from './exceptions.sql.ts';

/** Exceptions as operators list them, and closing many inbound ones at once. */

/** As the table permits them; a test compares the two. */
export const exceptionKinds = [
  'unmatched',
  'unreadable',
  'not_understood',
  'report_missing',
  'paid_after_refusal',
  'accepted_after_refusal',
  'paid_after_return',
  'refused_after_payment',
  'return_of_unpaid',
  'excess_return',
  'amount_differs',
  'unknown_outcome',
  'not_sent',
  'parked',
  'routes_exhausted',
  'price_worse',
  'screening',
  'velocity',
  'rail_missing',
  'overdue',
  'unscheduled',
  'report_changed',
  'recovered',
  'approval',
] as const;

/** Kinds of no payout: closing them moves no money, but lets their rail settle again. */
export const inboundKinds = [
  'unmatched',
  'unreadable',
  'not_understood',
  'report_missing',
  'report_changed',
] as const;

export type ListedException = ListedExceptionRow & {
  /** Decisions about its payout while it was open. */
  readonly decisions: readonly DecisionRow[];
};

export type ExceptionPage = {
  readonly rows: readonly ListedException[];
  /** On all pages; counting ends at ten thousand. */
  readonly matching: number;
  /** The cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
};

/** The newest first; of all accounts if none is named. @throws AppError invalid_request. */
export async function listExceptionPage(
  db: Database,
  filter: ExceptionFilter,
  page: { state: ExceptionState; cursor: string | undefined; count: number },
): Promise<ExceptionPage> {
  const { state, count } = page;
  const after = readTimeCursor(page.cursor);
  const matching = await countExceptionRows(db.system, filter, state);
  const found = await listExceptionRows(db.system, filter, { state, after, count: count + 1 });
  const { rows, next } = takePage(found, count, ({ opened_us: us, id: key }) =>
    formatTimeCursor({ us, key }),
  );
  const decisions = await listDecisionsOfExceptions(db.system, rows);
  return {
    matching,
    rows: rows.map((row) => ({
      ...row,
      decisions: decisions.filter((decision) => decision.exception_id === row.id),
    })),
    next,
  };
}

/** Decisions about a payout, in order. */
export function listDecisions(
  db: Database,
  payout: { accountId: string; payoutId: string },
): Promise<DecisionRow[]> {
  return listDecisionsOfPayout(db.system, payout);
}

/**
 * Closes open inbound exceptions of one kind and rail, and returns how many. It moves no money; without
 * such exceptions the rail settles by the calendar again. One that was opened after `newest`, and that
 * the person has therefore not seen, stays open.
 */
export function closeInboundExceptions(
  db: Database,
  filter: {
    kind: (typeof inboundKinds)[number];
    rail: string;
    from?: Date | undefined;
    to?: Date | undefined;
    newest?: string | undefined;
  },
  by: { decidedBy: string; reason: string },
): Promise<number> {
  return closeInboundRows(db.system, filter, `dismissed by ${by.decidedBy}: ${by.reason}`);
}
