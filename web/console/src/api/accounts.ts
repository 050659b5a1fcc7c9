import { queryOptions } from '@tanstack/react-query';
import { askOperator } from './ask-operator.ts';
import type { List, OperatorAccount } from './operator-types.ts';
import type { Session } from './session.ts';

/** Accounts beyond those that the session lists. */

/** As many as the service takes. */
const idsMax = 100;
const staleMs = 5 * 60_000;

/** The name of an account; null where there is no such account. */
export function accountQuery(session: Session, account: string) {
  return queryOptions({
    queryKey: ['account name', account],
    queryFn: () => loadAccountName(session, account),
    staleTime: staleMs,
    enabled: session.has_more_accounts && account !== '' && findListed(session, account) === null,
  });
}

/** Null: the session does not list it. */
export function findListed(session: Session, account: string): string | null {
  return session.accounts.find((entry) => entry.account === account)?.name ?? null;
}

type Question = { ids: Set<string>; names: Promise<ReadonlyMap<string, string>> };

let question: Question | undefined;

/** All that a page needs at the same moment are asked for together. */
async function loadAccountName(session: Session, account: string): Promise<string | null> {
  question ??= openQuestion(session);
  question.ids.add(account);
  return (await question.names).get(account) ?? null;
}

function openQuestion(session: Session): Question {
  const ids = new Set<string>();
  return { ids, names: ask(session, ids) };
}

async function ask(session: Session, ids: Set<string>): Promise<ReadonlyMap<string, string>> {
  // All parts of the page that are drawn now have asked by then.
  await new Promise((resolve) => setTimeout(resolve));
  question = undefined;
  const all = [...ids];
  const names = new Map<string, string>();
  for (let from = 0; from < all.length; from += idsMax) {
    const accounts = all.slice(from, from + idsMax).join(',');
    const path = `accounts?accounts=${encodeURIComponent(accounts)}`;
    const { data } = await askOperator<List<OperatorAccount>>(session, path);
    for (const { id, name } of data) names.set(id, name);
  }
  return names;
}

/** So many are offered; who looks for another one writes more of its name. */
const offeredMax = 50;

export function accountSearchQuery(session: Session, name: string) {
  const query = new URLSearchParams({ limit: String(offeredMax), ...(name !== '' && { name }) });
  const path = `accounts?${query.toString()}`;
  return queryOptions({
    queryKey: ['operator', path],
    queryFn: () => askOperator<List<OperatorAccount>>(session, path),
    staleTime: 30_000,
  });
}
