import { getCurrency } from '../core/currency.ts';
import { formatAmount } from '../core/money.ts';
import type { Session } from '../db/postgres/pool.ts';
import { type BudgetRow, selectBudgets } from './budgets.sql.ts';

export {
  type Budget,
  deleteBudget as removeBudget,
  openDefault,
  upsertBudget as setBudget,
} from './budgets.sql.ts';

/** What credentials may propose. The check is `find_exceeded_budget` in schema/proposals.sql. */

/** Amounts as decimal text; null where there is no limit. */
export async function listBudgets(
  session: Session,
  credential: { accountId: string; credentialId: string },
) {
  return (await selectBudgets(session, credential)).map(describeBudget);
}

/** Those of all credentials of an account, by credential. */
export async function listAccountBudgets(session: Session, accountId: string) {
  const rows = await selectBudgets(session, { accountId });
  return Map.groupBy(
    rows.map((row) => ({ credentialId: row.credential_id, budget: describeBudget(row) })),
    ({ credentialId }) => credentialId,
  );
}

function describeBudget({ currency: code, per_proposal, per_day, open_max }: BudgetRow) {
  const currency = getCurrency(code);
  const money = (minor: bigint | null) => (minor === null ? null : formatAmount(minor, currency));
  return { currency: code, per_proposal: money(per_proposal), per_day: money(per_day), open_max };
}
