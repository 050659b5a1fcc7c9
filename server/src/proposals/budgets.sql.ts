import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, nullable, type RowOf } from '../db/rows.ts';

/** What a credential may propose in a currency, as operators set it. */

export type Budget = {
  readonly currency: string;
  /** Minor units, fee included; undefined: no limit. */
  readonly perProposalMinor: bigint | undefined;
  /** Of the confirmed proposals of a day (UTC). */
  readonly perDayMinor: bigint | undefined;
  readonly openMax: number;
};

export const openDefault = 10;

type CredentialId = { readonly accountId: string; readonly credentialId: string };

const setStatement: Statement = {
  name: 'set_budget',
  text: `
    insert into credential_budgets (account_id, credential_id, currency, per_proposal, per_day,
      open_max)
    select account_id, id, $3, $4, $5, $6 from credentials
    where account_id = $1 and id = $2 and 'payouts:propose' = any (scopes)
    on conflict (account_id, credential_id, currency) do update
    set per_proposal = excluded.per_proposal, per_day = excluded.per_day,
      open_max = excluded.open_max`,
};

const removeStatement: Statement = {
  name: 'remove_budget',
  text: `
    delete from credential_budgets where account_id = $1 and credential_id = $2 and currency = $3`,
};

const listQuery = defineQuery({
  name: 'list_budgets',
  text: `
    select credential_id, currency, per_proposal, per_day, open_max from credential_budgets
    where account_id = $1 and ($2::uuid is null or credential_id = $2)
    order by credential_id, currency`,
  columns: {
    credential_id: column.uuid,
    currency: column.text,
    per_proposal: nullable(column.bigint),
    per_day: nullable(column.bigint),
    open_max: column.integer,
  },
});
export type BudgetRow = RowOf<typeof listQuery.columns>;

/** False if there is no such credential, or it may not propose. */
export async function upsertBudget(
  session: Session,
  { accountId, credentialId }: CredentialId,
  budget: Budget,
): Promise<boolean> {
  const { currency, perProposalMinor = null, perDayMinor = null, openMax } = budget;
  const values = [accountId, credentialId, currency, perProposalMinor, perDayMinor, openMax];
  return (await exec(session, setStatement, values)) === 1;
}

export async function deleteBudget(
  session: Session,
  { accountId, credentialId }: CredentialId,
  currency: string,
): Promise<void> {
  await exec(session, removeStatement, [accountId, credentialId, currency]);
}

/** Of one credential, or of all of the account. */
export async function selectBudgets(
  session: Session,
  { accountId, credentialId }: { readonly accountId: string; readonly credentialId?: string },
): Promise<BudgetRow[]> {
  return many(session, listQuery, [accountId, credentialId ?? null]);
}
