import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { createRefusal } from '../../../../sdk/src/errors.ts';
import { useSession } from './context.tsx';
import { takeEarly } from './early.ts';
import type { Session } from './session.ts';

/**
 * The operators' part of the API (docs/openapi.json, tag Operators), by the session. Amounts in it are
 * texts and numbers are counts, so it is read as plain JSON. The shapes are in `operator-types.ts`.
 */

const prefix = '/v0.1.4/operator/';

type Call = { method?: 'GET' | 'POST' | 'PUT' | 'PATCH'; body?: object };

async function askOperator<Answer>(
  { csrf }: Session,
  path: string,
  { method = 'GET', body }: Call = {},
): Promise<Answer> {
  const early = method === 'GET' ? await takeEarly('operator', prefix + path) : undefined;
  const response =
    early ??
    (await fetch(prefix + path, {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json', 'outlay-csrf': csrf }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }));
  const answer: unknown = await response.json();
  if (response.ok) return answer as Answer;
  throw createRefusal({ status: response.status, body: answer, retryAfterMs: undefined });
}

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
