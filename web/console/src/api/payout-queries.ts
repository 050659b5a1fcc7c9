import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import type { Api, Payout, Schemas } from './client.ts';
import { useApi } from './context.tsx';
import { payoutQuery, userQuery } from './queries.ts';

/** What is known about one payout, in questions that are asked at the same time. */

export type PayoutKey = { user: string; payout: string };
export type PayoutDecision = Schemas['PayoutDecision'];
export type PayoutEvent = Schemas['PayoutEvent'];

/** Why it was routed as it was: attempts, exceptions, and the compared payers. */
export function decisionQuery(api: Api, { user, payout }: PayoutKey) {
  return queryOptions({
    queryKey: [api.account, 'decision', payout],
    queryFn: () => api.explainPayout({ user_token: user, payout_token: payout }),
  });
}

export function payoutEventsQuery(api: Api, { payout }: PayoutKey) {
  return queryOptions({
    queryKey: [api.account, 'payout-events', payout],
    queryFn: async () => {
      const events = await api.listEvents({ object: payout });
      return events.filter((event): event is PayoutEvent => event.type.startsWith('payout.'));
    },
  });
}

export const keyOfPayout = ({ user_token: user, payout_token: payout }: Payout): PayoutKey => ({
  user,
  payout,
});

/**
 * The payout, when what its page shows above the fold was asked for and answered: parts that come
 * later would move the others. A new state is a reason to ask for the rest again.
 */
export function usePayoutPage(key: PayoutKey) {
  const api = useApi();
  const queries = useQueryClient();
  const asked = useQuery(payoutQuery(api, key));
  const parts = [
    useQuery(decisionQuery(api, key)),
    useQuery(payoutEventsQuery(api, key)),
    useQuery(userQuery(api, key.user)),
  ];
  const states = asked.data?.timeline.length;
  const { account } = api;
  const { payout } = key;
  const known = useRef(states);
  useEffect(() => {
    if (known.current !== undefined && known.current !== states) {
      for (const name of ['decision', 'payout-events']) {
        void queries.invalidateQueries({ queryKey: [account, name, payout] });
      }
    }
    known.current = states;
  }, [queries, account, payout, states]);
  const isWhole = parts.every(({ isPending }) => !isPending);
  return { ...asked, data: isWhole ? asked.data : undefined };
}
