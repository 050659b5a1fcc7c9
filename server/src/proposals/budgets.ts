import { getCurrency } from '../core/currency.ts';
import { formatAmount } from '../core/money.ts';
import type { Session } from '../db/postgres/pool.ts';
import { selectBudgets } from './budgets.sql.ts';

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
  const rows = await selectBudgets(session, credential);
  return rows.map(({ currency: code, per_proposal: perProposal, per_day: perDay, open_max }) => {
    const currency = getCurrency(code);
    const money = (minor: bigint | null) => (minor === null ? null : formatAmount(minor, currency));
    return { currency: code, per_proposal: money(perProposal), per_day: money(perDay), open_max };
  });
}
