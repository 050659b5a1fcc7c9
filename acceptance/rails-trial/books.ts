import type { Books } from '../reliability-kit.ts';

/** What the service has in its database at one moment, for the judge. */

export type PayoutRecord = {
  readonly id: string;
  readonly status: string;
  readonly statusReason: string;
  readonly transferId: string;
  readonly rail: string;
  readonly sourceCurrency: string;
  readonly sourceMinor: bigint;
  readonly feeMinor: bigint;
  readonly currency: string;
  readonly amountMinor: bigint;
  readonly returnedMinor: bigint;
  readonly wasCompleted: boolean;
  /** Whether its last attempt has no known outcome. */
  readonly isUnknown: boolean;
  /** Kinds of the open questions about it. */
  readonly exceptions: readonly string[];
  /** Of its payments at rails, 32 hexadecimal digits. */
  readonly references: readonly string[];
};

export type Snapshot = {
  /** The committed ones. */
  readonly payouts: readonly PayoutRecord[];
  /** Of the client's account, by name and currency. */
  readonly balances: readonly { name: string; currency: string; balance: bigint }[];
  /** What rails took, by rail and currency. */
  readonly charges: readonly { rail: string; currency: string; amount: bigint }[];
  /** Open questions that belong to no payout. */
  readonly unmatched: readonly string[];
};

const payoutsText = `
  select p.id, p.status, p.status_reason as "statusReason", p.client_transfer_id as "transferId",
    p.rail, p.source_currency as "sourceCurrency", p.source_amount as "sourceMinor",
    p.fee as "feeMinor", p.destination_currency as currency, p.destination_amount as "amountMinor",
    p.returned_amount as "returnedMinor", p.completed_at is not null as "wasCompleted",
    coalesce(a.state in ('sending', 'unknown'), false) as "isUnknown",
    coalesce(e.kinds, array[]::text[]) as exceptions,
    array(select distinct reference from attempts a
      where a.account_id = p.account_id and a.payout_id = p.id) as references
  from payouts p
  left join lateral (
    select state from attempts a where a.account_id = p.account_id and a.payout_id = p.id
    order by number desc limit 1
  ) a on true
  left join lateral (
    select array_agg(kind) as kinds from exceptions e
    where e.account_id = p.account_id and e.payout_id = p.id and e.closed_at is null
  ) e on true
  where p.account_id = $1 and p.committed_at is not null`;

export async function takeSnapshot(books: Books, accountId: string): Promise<Snapshot> {
  const payouts = await books.rows<PayoutRecord>(payoutsText, [accountId]);
  const balances = await books.rows<Snapshot['balances'][number]>(
    'select name, currency, balance from ledger_accounts where account_id = $1',
    [accountId],
  );
  const charges = await books.rows<Snapshot['charges'][number]>(
    `select rail, currency, sum(amount)::bigint as amount from payout_charges
     where account_id = $1 group by rail, currency`,
    [accountId],
  );
  const unmatched = await books.rows<{ text: string }>(
    `select concat_ws(' ', rail, kind, detail) as text from exceptions
     where payout_id is null and closed_at is null`,
  );
  return { payouts, balances, charges, unmatched: unmatched.map(({ text }) => text) };
}

/** How many payouts are on their way, by rail. */
export async function countOpen(
  books: Books,
  accountId: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await books.rows<{ rail: string; count: number }>(
    `select rail, count(*)::integer as count from payouts
     where account_id = $1 and status in ('PROCESSING', 'READY_FOR_PICKUP') group by rail`,
    [accountId],
  );
  return new Map(rows.map(({ rail, count }) => [rail, count]));
}

/** By the environment's clock; 0 where a payout is due, or none will be. */
export async function findSecondsUntilDue(
  books: Books,
  accountId: string,
  leftOut: readonly string[],
): Promise<number> {
  const [row] = await books.rows<{ seconds: number | null }>(
    `select extract(epoch from min(d.due_at) - environment_now())::double precision as seconds
     from payout_dispatches d
     join payouts p on p.account_id = d.account_id and p.id = d.payout_id
     where d.account_id = $1 and d.rail <> all ($2) and d.due_at < 'infinity'
       and p.status in ('PROCESSING', 'READY_FOR_PICKUP')`,
    [accountId, leftOut],
  );
  return Math.max(row?.seconds ?? 0, 0);
}

/** Whether an observation has not had its effect yet. */
export async function hasUnheard(books: Books): Promise<boolean> {
  const rows = await books.rows(`select 1 from rail_observations where state = 'waiting' limit 1`);
  return rows.length > 0;
}

/**
 * Lets the next pass over every rail begin at once, even where a process holds one: a dead process would keep the
 * others out for half a minute. A live one then meets another at the same work, which it must bear.
 */
export async function endPassLeases(books: Books): Promise<void> {
  await books.rows(
    'update rail_passes set lease_until = clock_timestamp() where lease_until > clock_timestamp()',
  );
}

const explainedMax = 5;
const payoutPattern = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** What the service knows of the first payouts that something is wrong with. */
export async function explainViolations(
  books: Books,
  violations: readonly string[],
): Promise<string> {
  const ids = new Set(violations.flatMap((text) => payoutPattern.exec(text)?.[0] ?? []));
  const parts: string[] = [];
  for (const id of [...ids].slice(0, explainedMax)) {
    parts.push(`\n${id}: ${await describePayout(books, id)}\n`);
  }
  return parts.join('');
}

/** Everything that the service wrote down about a payout, for a person who looks into it. */
async function describePayout(books: Books, payoutId: string): Promise<string> {
  const [row] = await books.rows<{ text: string }>(
    `select jsonb_pretty(jsonb_build_object(
       'now', environment_now(),
       'dispatch', (select to_jsonb(d) from payout_dispatches d where payout_id = $1),
       'attempts', (select jsonb_agg(to_jsonb(a) order by number) from attempts a
         where payout_id = $1),
       'observations', (select jsonb_agg(concat_ws(' ', observed_at, source, outcome, reason, code,
         is_applied) order by observed_at) from observations where payout_id = $1),
       'observations', (select jsonb_agg(concat_ws(' ', received_at, id, outcome, amount, state, due_at)
         order by received_at) from rail_observations where replace(reference, '-', '') in (
           select reference from attempts where payout_id = $1)))) as text`,
    [payoutId],
  );
  return row?.text ?? '';
}
