import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { askOperator } from './ask-operator.ts';
import { useSession } from './context.tsx';
import type { List } from './operator-types.ts';

/** Reads and acts of the operators' API. */

const everyMs = 10_000;

type Options = { isWanted?: boolean };

export function useOperator<Answer>(path: string, { isWanted = true }: Options = {}) {
  const { session } = useSession();
  return useQuery({
    queryKey: ['operator', path],
    queryFn: () => askOperator<Answer>(session, path),
    refetchInterval: everyMs,
    enabled: isWanted,
  });
}

/** Reads the next page of a list. `error`: why the last try did not bring it. */
export type NextPage = { read: () => void; error: Error | null };

/** A list that goes on: `more` is undefined on the last page. */
export function useOperatorPages<Row>(path: string) {
  const { session } = useSession();
  const asked = useInfiniteQuery({
    queryKey: ['operator pages', path],
    queryFn: ({ pageParam }) => askOperator<List<Row>>(session, addCursor(path, pageParam)),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next ?? undefined,
    // Who reads on is not disturbed.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : everyMs),
  });
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchNextPageError } = asked;
  const more: NextPage = {
    read: () => void fetchNextPage(),
    error: isFetchNextPageError ? error : null,
  };
  const matching = data?.pages.at(-1)?.matching ?? 0;
  return {
    data: data && { data: data.pages.flatMap((page) => page.data), matching },
    error,
    refetch,
    more: hasNextPage ? more : undefined,
  };
}

function addCursor(path: string, cursor: string): string {
  if (cursor === '') return path;
  return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams({ cursor }).toString()}`;
}

/** `waiting`: a second operator has to approve it before it is done. */
export type Acted = { result: 'done' | 'waiting'; approval: string; outcome: unknown };

export type ActRequest = { path: string; body: object; method?: 'PUT' | 'PATCH' };

export function useAct<Answer = Acted>() {
  const { session } = useSession();
  return useMutation({
    mutationFn: ({ path, body, method }: ActRequest) =>
      askOperator<Answer>(session, path, { method: method ?? 'POST', body }),
  });
}

/**
 * Whether the operator's role has the permission. Others see pages, and no button that the service would
 * refuse.
 */
export function useMay(permission: 'operate' | 'decide' | 'comply' | 'administer'): boolean {
  return useSession().session.operator.permissions.includes(permission);
}

/** Everything is read again: an action can change what any page shows. */
export function useReadAgain(): () => void {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries();
}
