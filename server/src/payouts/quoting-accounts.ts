import type { Session } from '../db/postgres/pool.ts';
import { selectQuotingAccounts } from './quoting-accounts.sql.ts';

const pageRows = 500;

/** The accounts with quotes since then, in the order of their ids, beginning with `first`. */
export async function* listQuotingAccounts(
  session: Session,
  { since, first }: { since: Date; first?: string | undefined },
): AsyncGenerator<string> {
  let from = first ?? '00000000-0000-0000-0000-000000000000';
  for (let seen = 0; ; seen = 1) {
    // The last one of a page is the first one of the next.
    const ids = await selectQuotingAccounts(session, { from, since, count: pageRows });
    yield* ids.slice(seen);
    const last = ids.at(-1);
    if (last === undefined || ids.length < pageRows) return;
    from = last;
  }
}
