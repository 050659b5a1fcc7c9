import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { createRefusal } from '../../../../sdk/src/errors.ts';
import { useSession } from './context.tsx';
import type { Session } from './session.ts';

/**
 * The operators' part of the API (docs/openapi.json, tag Operators), by the session. Amounts in it are
 * texts and numbers are counts, so it is read as plain JSON.
 */

const prefix = '/v0.1.4/operator/';

type Call = { method?: 'GET' | 'POST' | 'PUT'; body?: object };

async function askOperator<Answer>(
  { csrf }: Session,
  path: string,
  { method = 'GET', body }: Call = {},
): Promise<Answer> {
  const response = await fetch(prefix + path, {
    method,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'outlay-csrf': csrf }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer: unknown = await response.json();
  if (response.ok) return answer as Answer;
  throw createRefusal({ status: response.status, body: answer, retryAfterMs: undefined });
}

export type List<Row> = { data: Row[]; next?: string | null; matching?: number };

const everyMs = 10_000;

export function useOperator<Answer>(path: string) {
  const { session } = useSession();
  return useQuery({
    queryKey: ['operator', path],
    queryFn: () => askOperator<Answer>(session, path),
    refetchInterval: everyMs,
  });
}

/** `waiting`: a second operator has to approve it before it is done. */
export type Acted = { result: 'done' | 'waiting'; approval: string };

export type Act = { path: string; body: object };

export function useAct() {
  const { session } = useSession();
  return useMutation({
    mutationFn: ({ path, body }: Act) =>
      askOperator<Acted>(session, path, { method: 'POST', body }),
  });
}

/** Everything is read again: an action can change what any page shows. */
export function useReadAgain(): () => void {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries();
}

export type Exception = {
  account_id: string;
  id: string;
  payout_token: string;
  rail: string;
  kind: string;
  detail: string;
  amount: string | null;
  currency: string | null;
  opened_at: string;
  closed_at: string | null;
  resolution: string;
  decisions: {
    decided_at: string;
    action: string;
    decided_by: string;
    reason: string;
    is_effective: boolean;
  }[];
};

export type Approval = {
  approval: string;
  action: string;
  requested_by: string;
  reason: string;
  requested_at: string;
  expires_at: string;
  options: Record<string, unknown>;
};

export type Rail = {
  rail: string;
  health: string;
  is_frozen: boolean;
  being_sent: number;
  handed_over: number;
  waiting: number;
  funds: Record<string, unknown>[];
};

export type Freeze = {
  id: string;
  scope: string;
  reason: string;
  frozen_by: string;
  since: string;
  rail?: string;
};

export type AuditEntry = {
  sequence: string;
  created_at: string;
  actor: string;
  actor_kind: string;
  role: string | null;
  address: string;
  action: string;
  object: unknown;
  reason: string;
  outcome: string;
  before: unknown;
  after: unknown;
};

export type Group = {
  name: string;
  committed: number;
  completed: number;
  canceled: number;
  success: number | null;
  median_seconds: number | null;
  fee_bps: number | null;
  margin_bps: number | null;
};

export type OverviewFigures = {
  days: number;
  balances: {
    account_id: string;
    account_name: string;
    currency: string;
    available: string;
    reserved: string;
    in_transit: string;
  }[];
  payouts_by_day: { day: string; status: string; count: number }[];
  corridors: Group[];
  rails: Group[];
  needs: { exceptions: number; approvals: number; freezes: number };
};
