import type { Database } from '../db/postgres/pool.ts';
import { countPayoutDays, listAccountsBehind, sumPayoutDays } from './payout-days.sql.ts';

/** Keeps the payouts counted by day, which the overview adds up (`db/schema/payout-days.sql`). */

const accountsAtOnce = 200;
/** So many new events are counted within a look at the overview; with more it shows what was counted. */
const eventsOfLook = 5_000n;

/** Counts what has changed; true where there may be more. */
export async function countPayouts(db: Database): Promise<boolean> {
  const behind = await listAccountsBehind(db.system, accountsAtOnce);
  await countAccounts(
    db,
    behind.map(({ id }) => id),
  );
  return behind.length === accountsAtOnce;
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

async function countAccounts(db: Database, accountIds: readonly string[]): Promise<void> {
  const days = new Set<string>();
  for (const accountId of accountIds) {
    for (const day of await countPayoutDays(db.system, accountId)) days.add(day);
  }
  if (days.size > 0) await sumPayoutDays(db.system, [...days]);
}
