import { plainArray } from '../db/arrays.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, nullable, type RowOf } from '../db/rows.ts';

/**
 * Limits of one client, which operators set. A payout above one is held, as by the limits of the file.
 */

const limitColumns = {
  name: column.text,
  per: column.oneOf('payout', 'account', 'corridor'),
  seconds: column.bigint,
  count_max: nullable(column.bigint),
  /** Cents. */
  usd_max: nullable(column.bigint),
  corridor: nullable(column.text),
} as const;
export type AccountLimit = RowOf<typeof limitColumns>;

const listed = defineQuery({
  name: 'list_account_limits',
  text: `
    select name, per, seconds, count_max, usd_max, corridor, set_by, reason, set_at
    from account_limits where account_id = $1 order by name`,
  columns: {
    ...limitColumns,
    set_by: column.text,
    reason: column.text,
    set_at: column.instant,
  },
});

const found = defineQuery({
  name: 'find_account_limit',
  text: `
    select name, per, seconds, count_max, usd_max, corridor from account_limits
    where account_id = $1 and name = $2`,
  columns: limitColumns,
});

const limited = defineQuery({
  name: 'find_limited_accounts',
  text: `select distinct account_id from account_limits where account_id = any ($1)`,
  columns: { account_id: column.uuid },
});

const store = {
  name: 'store_account_limit',
  text: `
    insert into account_limits (account_id, name, per, seconds, count_max, usd_max, corridor,
      set_by, reason, set_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, environment_now())
    on conflict (account_id, name) do update set per = excluded.per, seconds = excluded.seconds,
      count_max = excluded.count_max, usd_max = excluded.usd_max, corridor = excluded.corridor,
      set_by = excluded.set_by, reason = excluded.reason, set_at = excluded.set_at`,
};

const remove = defineQuery({
  name: 'remove_account_limit',
  text: `delete from account_limits where account_id = $1 and name = $2 returning name`,
  columns: { name: column.text },
});

export async function listAccountLimits(
  session: Session,
  accountId: string,
): Promise<RowOf<typeof listed.columns>[]> {
  return many(session, listed, [accountId]);
}

export async function findAccountLimit(
  session: Session,
  { accountId, name }: { accountId: string; name: string },
): Promise<AccountLimit | undefined> {
  return maybeOne(session, found, [accountId, name]);
}

/** Those of the accounts that have limits of their own. */
export async function findLimitedAccounts(
  session: Session,
  accountIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await many(session, limited, [plainArray([...new Set(accountIds)])]);
  return new Set(rows.map(({ account_id: accountId }) => accountId));
}

export async function setAccountLimit(
  session: Session,
  accountId: string,
  limit: AccountLimit & { by: string; why: string },
): Promise<void> {
  await exec(session, store, [
    accountId,
    limit.name,
    limit.per,
    limit.seconds,
    limit.count_max,
    limit.usd_max,
    limit.corridor,
    limit.by,
    limit.why,
  ]);
}

/** Whether there was one. */
export async function removeAccountLimit(
  session: Session,
  { accountId, name }: { accountId: string; name: string },
): Promise<boolean> {
  return (await maybeOne(session, remove, [accountId, name])) !== undefined;
}

/** Whether the second one would let a payout pass that the first one holds. */
export function isRaised(before: AccountLimit | undefined, after: AccountLimit): boolean {
  if (before === undefined) return false;
  const isLooser = (was: bigint | null, is: bigint | null): boolean =>
    was !== null && (is === null || is > was);
  return (
    before.per !== after.per ||
    after.seconds < before.seconds ||
    (after.corridor !== null && after.corridor !== before.corridor) ||
    isLooser(before.count_max, after.count_max) ||
    isLooser(before.usd_max, after.usd_max)
  );
}
