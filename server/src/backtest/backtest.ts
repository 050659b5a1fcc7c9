import { setImmediate } from 'node:timers/promises';
import { isUuid } from '../core/ids.ts';
import type { Session } from '../db/postgres/pool.ts';
import { type PayerHistories, readPayerHistories } from '../dispatch/standings.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { listQuotingAccounts } from '../payouts/quoting-accounts.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { type Changes, planAsItIs, planChanged } from './changes.ts';
import { selectPastPayouts } from './past-payouts.sql.ts';
import { createReplay, type Replay, type ReplayResult } from './replay.ts';

export { type Changes, readChanges } from './changes.ts';

/**
 * Replays the committed payouts of the past against the present catalog and a changed one. It reads
 * pages of payouts, writes nothing, and lets other work run between two pages.
 */

export type BacktestServices = {
  readonly session: Session;
  readonly rails: readonly Rail[];
  readonly presentRates: MidRates;
  readonly nowMs: number;
};

export type BacktestScope = {
  /** Undefined: every account. */
  readonly accountId: string | undefined;
  /** Payouts that were quoted since then. */
  readonly since: Date;
  readonly payoutsMax: number;
  /** `next` of an earlier answer for the same account or accounts. */
  readonly cursor: string | undefined;
};

/** `next`: the cursor where payouts are left; null: all were read. */
export type Backtest = ReplayResult & { next: string | null };

const pageRows = 500;
const firstId = '00000000-0000-0000-0000-000000000000';

/** @throws DocumentFaults. */
export async function runBacktest(
  services: BacktestServices,
  changes: Changes,
  scope: BacktestScope,
): Promise<Backtest> {
  const { session, rails, presentRates, nowMs } = services;
  const after = planChanged(rails, changes, nowMs);
  const before = planAsItIs(rails, nowMs);
  const histories: PayerHistories = await readPayerHistories(session);
  const replay = createReplay({ before, after, histories, presentRates });
  const next = await replayAll(session, replay, scope);
  return { ...replay.finish(), next };
}

type Place = { accountId: string; createdUs: bigint; id: string };

async function replayAll(
  session: Session,
  replay: Replay,
  scope: BacktestScope,
): Promise<string | null> {
  const from = scope.cursor === undefined ? undefined : readCursor(scope.cursor);
  let left = scope.payoutsMax;
  const accounts =
    scope.accountId === undefined
      ? listQuotingAccounts(session, { since: scope.since, first: from?.accountId })
      : [scope.accountId];
  for await (const accountId of accounts) {
    let place: Place =
      from?.accountId === accountId ? from : { accountId, createdUs: 0n, id: firstId };
    for (;;) {
      // One more than fits shows whether payouts are left.
      const count = Math.min(pageRows, left + 1);
      const page = { accountId, since: scope.since, after: place, count };
      const rows = await selectPastPayouts(session, page);
      for (const row of rows.slice(0, left)) {
        replay.add(row);
        place = { accountId, createdUs: row.created_us, id: row.id };
      }
      if (rows.length > left) return writeCursor(place);
      left -= rows.length;
      if (rows.length < count) break;
      await setImmediate();
    }
  }
  return null;
}

const writeCursor = ({ accountId, createdUs, id }: Place): string =>
  `${accountId}.${createdUs}.${id}`;

/** @throws Error for a text that `isCursor` refuses. */
function readCursor(text: string): Place {
  const [accountId, createdUs, id] = text.split('.');
  if (accountId === undefined || createdUs === undefined || id === undefined || !isCursor(text)) {
    throw new Error('unreachable: cursors are checked where they arrive');
  }
  return { accountId, createdUs: BigInt(createdUs), id };
}

/** Whether a text has the form of a cursor, and is of the account where one is given. */
export function isCursor(text: string, account?: string): boolean {
  const [accountId = '', createdUs = '', id = '', ...rest] = text.split('.');
  if (account !== undefined && account !== accountId) return false;
  return isUuid(accountId) && /^\d{1,18}$/.test(createdUs) && isUuid(id) && rest.length === 0;
}
