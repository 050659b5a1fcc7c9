import { queryOptions, useQueries, useQuery } from '@tanstack/react-query';
import { accountQuery, findListed } from './accounts.ts';
import type { Api, Payout, Schemas } from './client.ts';
import { useApi, useSession } from './context.tsx';
import { nameQuery } from './names.ts';

/** Questions that several pages ask. Every key begins with the account, whose answer it is. */

const minuteMs = 60_000;

export function balancesQuery(api: Api) {
  return queryOptions({
    queryKey: [api.account, 'balances'],
    queryFn: () => api.listBalances(),
    refetchInterval: 15_000,
  });
}

export function countriesQuery(api: Api) {
  return queryOptions({
    queryKey: [api.account, 'countries'],
    queryFn: () => api.listCountries(),
    staleTime: 60 * minuteMs,
  });
}

export function userQuery(api: Api, token: string) {
  return queryOptions({
    queryKey: [api.account, 'user', token],
    queryFn: () => api.getUser({ user_token: token }),
    staleTime: 5 * minuteMs,
    enabled: token !== '',
  });
}

export function payoutQuery(api: Api, { user, payout }: { user: string; payout: string }) {
  return queryOptions({
    queryKey: [api.account, 'payout', payout],
    queryFn: () => api.getPayout({ user_token: user, payout_token: payout }),
    // A payout that can still change is read again; an end is final for the most part.
    refetchInterval: ({ state }) => (isSettled(state.data) ? minuteMs : 3_000),
  });
}

function isSettled(payout: Payout | undefined): boolean {
  return payout?.status === 'COMPLETED' || payout?.status === 'CANCELLED';
}

/** Names of the recipients of a page of payouts. */
export function useNames(payouts: readonly Payout[]): ReadonlyMap<string, string> {
  const { account } = useSession();
  return useRecipientNames(payouts.map(({ user_token: user }) => ({ account, user })));
}

export type Named = { account: string; user: string };

/** Names of recipients of any account, by their tokens; "" stands for no recipient. */
export function useRecipientNames(rows: readonly Named[]): ReadonlyMap<string, string> {
  const { apiOf } = useSession();
  const accounts = new Map(rows.map(({ account, user }) => [user, account]));
  accounts.delete('');
  const tokens = [...accounts.keys()];
  return useQueries({
    queries: [...accounts].map(([user, account]) => nameQuery(apiOf(account), user)),
    combine: (answers) =>
      new Map(
        answers.flatMap(({ data, isError }, index): [string, string][] => {
          const name = data ?? 'Name not available';
          return data === undefined && !isError ? [] : [[tokens[index] ?? '', name]];
        }),
      ),
  });
}

/** Names of these accounts, by their identifiers; of one that has no name yet, the identifier. */
export function useAccountNames(accounts: readonly string[]): (account: string) => string {
  const { session } = useSession();
  const ids = [...new Set(accounts)];
  const names = useQueries({
    queries: ids.map((account) => accountQuery(session, account)),
    combine: (answers) => new Map(answers.map(({ data }, index) => [ids[index] ?? '', data])),
  });
  return (account) => findListed(session, account) ?? names.get(account) ?? account;
}

export function useCountryNames(): ReadonlyMap<string, string> {
  const { data = [] } = useQuery(countriesQuery(useApi()));
  return new Map(data.map(({ country_code: code, country_name: name }) => [code, name]));
}

/** The countries that payouts can go to, as a list to choose from. */
export function useCountryChoices(): { value: string; label: string }[] {
  const { data = [] } = useQuery(countriesQuery(useApi()));
  return data.map(({ country_code: value, country_name: label }) => ({ value, label }));
}

export type ServedCountry = Schemas['ServedCountry'];
