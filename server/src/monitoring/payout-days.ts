import type { Database } from '../db/postgres/pool.ts';
import { countPayoutDays, listAccountsBehind } from './payout-days.sql.ts';

/** Keeps the payouts counted by day, which the overview adds up (`db/schema/payout-days.sql`). */

const accountsAtOnce = 200;
/** In one statement, so that it ends in time whatever has piled up. */
const eventsAtOnce = 50_000;
/** So many new events are counted within a look at the overview; with more it shows what was counted. */
const eventsOfLook = 5_000n;

/** Counts what has changed; true where there is more. */
export async function countPayouts(db: Database): Promise<boolean> {
  const behind = await listAccountsBehind(db.system, accountsAtOnce);
  const isMine = await countAccounts(
    db,
    behind.map(({ id }) => id),
  );
  const isMore =
    behind.length === accountsAtOnce || behind.some(({ events }) => events > eventsAtOnce);
  return isMine && isMore;
}

/** Before a look at the overview: so that a quiet environment shows the payout that was just made. */
export async function countNewest(db: Database): Promise<void> {
  const behind = await listAccountsBehind(db.system, accountsAtOnce);
  const events = behind.reduce((sum, account) => sum + account.events, 0n);
  if (events > eventsOfLook) return;
  await countAccounts(
    db,
    behind.map(({ id }) => id),
  );
}

/** False where another process is counting. */
async function countAccounts(db: Database, accountIds: readonly string[]): Promise<boolean> {
  for (const accountId of accountIds) {
    if (!(await countPayoutDays(db.system, accountId, eventsAtOnce))) return false;
  }
  return true;
}
