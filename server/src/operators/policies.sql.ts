import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, type RowOf } from '../db/rows.ts';

const policyColumns = {
  action: column.text,
  persons: column.integer,
  above_usd: column.bigint,
  mac: column.bytes,
  changed_at: column.instant,
} as const;

const all = defineQuery({
  name: 'select_policies',
  text: `select action, persons, above_usd, mac, changed_at from policies order by action`,
  columns: policyColumns,
});

const upsert: Statement = {
  name: 'upsert_policy',
  text: `
    insert into policies (action, persons, above_usd, mac, changed_at)
    values ($1, $2, $3, $4, clock_timestamp())
    on conflict (action) do update set persons = excluded.persons, above_usd = excluded.above_usd,
      mac = excluded.mac, changed_at = excluded.changed_at`,
};

export type PolicyRow = RowOf<typeof policyColumns>;

export const selectPolicies = (session: Session) => many(session, all);

export async function storePolicy(
  session: Session,
  { action, persons, above_usd: aboveUsd, mac }: Omit<PolicyRow, 'changed_at'>,
): Promise<void> {
  await exec(session, upsert, [action, persons, aboveUsd, mac]);
}
