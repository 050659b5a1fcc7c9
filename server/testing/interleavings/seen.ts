import type { Session } from '../../src/db/postgres/pool.ts';
import type { PayoutName } from '../../src/payouts/payout-name.ts';
import { readRows } from '../setups/read-rows.ts';

/** What the database says about a payout. */

export type Seen = {
  status: string;
  wasCompleted: boolean;
  rail: string;
  /** Minor units of the destination. */
  returned: number;
  attempts: readonly {
    rail: string;
    reference: string;
    state: string;
    wasTaken: boolean;
    isUnknown: boolean;
    /** Milliseconds. */
    reportedAtMs: number | null;
  }[];
  /** Whether a claim can take it. */
  isScheduled: boolean;
  isDue: boolean;
  /** By a freeze. */
  isFrozen: boolean;
  /** The rules have passed it. */
  isChecked: boolean;
  fence: string;
  /** The kinds of its open exceptions. */
  open: readonly string[];
  /** Kinds of closed ones: an exception that was answered is not opened again. */
  closed: readonly string[];
  /** Of the source currency, minor units. */
  wallet: number;
  /** The sum of all balances of each currency that has another sum than zero. */
  unbalanced: readonly string[];
};

const text = `
  select json_build_object(
    'status', p.status, 'wasCompleted', p.completed_at is not null, 'rail', p.rail,
    'returned', p.returned_amount,
    'attempts', coalesce((
      select json_agg(json_build_object('rail', a.rail, 'reference', a.reference, 'state', a.state,
        'wasTaken', a.taken_at is not null, 'isUnknown', a.unknown_since is not null,
        'reportedAtMs', extract(epoch from a.reported_at) * 1000) order by a.number)
      from attempts a where a.account_id = p.account_id and a.payout_id = p.id), '[]'),
    'isScheduled', d.payout_id is not null, 'isDue', coalesce(d.due_at < 'infinity', false),
    'isFrozen', d.frozen_by is not null, 'isChecked', coalesce(d.is_checked, false),
    'fence', coalesce(d.fence::text, ''),
    'open', (select coalesce(json_agg(e.kind order by e.kind), '[]') from exceptions e
      where e.account_id = p.account_id and e.payout_id = p.id and e.closed_at is null),
    'closed', (select coalesce(json_agg(distinct e.kind), '[]') from exceptions e
      where e.account_id = p.account_id and e.payout_id = p.id and e.closed_at is not null),
    'wallet', (select balance from ledger_accounts l where l.account_id = p.account_id
      and l.currency = p.source_currency and l.name = 'wallet'),
    'unbalanced', (select coalesce(json_agg(currency), '[]') from (
      select currency from ledger_accounts where account_id = p.account_id
      group by currency having sum(balance) <> 0) u)) as seen
  from payouts p
  left join payout_dispatches d on d.account_id = p.account_id and d.payout_id = p.id
  where p.account_id = $1 and p.id = $2`;

export async function look(session: Session, payout: PayoutName): Promise<Seen> {
  const values = [payout.accountId, payout.payoutId];
  const [row] = await readRows<{ seen: Seen }>(session, { name: 'see_payout', text }, values);
  if (row === undefined) throw new Error('the payout is gone');
  return row.seen;
}
