import type { Session } from '../db/postgres/pool.ts';
import {
  describeRowFault,
  listRowFaults,
  type RecipientServices,
} from '../payouts/recipient-check.ts';
import type { CheckedRow } from './draft-row.ts';

/** What the rails of valid rows object to: such rows are invalid, as single payouts are refused. */
export async function checkRecipients(
  services: RecipientServices,
  owner: { session: Session; accountId: string },
  rows: readonly CheckedRow[],
): Promise<CheckedRow[]> {
  const priced = rows.flatMap((row, index) => {
    const { userId, terms, quote, set } = row;
    if (row.status !== 'VALID' || userId === undefined) return [];
    if (terms === undefined || quote === undefined) return [];
    const { payer, destinationCurrency: currency } = terms;
    return [{ index, userId, set, payer, currency, amountMinor: quote.destinationMinor }];
  });
  const faults = await listRowFaults(services, owner, priced);
  const checked = [...rows];
  for (const [order, { index }] of priced.entries()) {
    const row = rows[index];
    const found = faults[order] ?? [];
    if (row === undefined || found.length === 0) continue;
    const { draft } = row;
    const user = draft.userId === undefined ? 'internal_user_id' : 'user_token';
    const amount = `${draft.amount?.side ?? 'destination'}_amount`;
    for (const fault of found) {
      const column = fault.field === 'amount' ? amount : user;
      draft.faults.push({ column, ...describeRowFault(fault) });
    }
    checked[index] = {
      draft,
      status: 'INVALID',
      payoutId: undefined,
      userId: row.userId,
      dataKey: row.dataKey,
      terms: undefined,
      quote: undefined,
      set: undefined,
    };
  }
  return checked;
}
