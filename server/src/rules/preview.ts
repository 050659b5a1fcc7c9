import { findStops } from '../controls/freezes.ts';
import type { Session } from '../db/postgres/pool.ts';
import type { RouteCandidate } from '../destinations/route-candidate.ts';
import { describeChosen } from '../dispatch/explain.ts';
import { describeTerms } from '../dispatch/failover.ts';
import { evaluateRoute, type RouterServices } from '../dispatch/routing.ts';
import type { SendingPreview } from '../payouts/dry-run-view.ts';
import type { PayoutName } from '../payouts/payout-name.ts';
import { type PreviewRow, readPreviewRow } from './preview.sql.ts';
import { checkRows, type RulesOptions } from './rules.ts';
import { measureHeadroom } from './velocity.ts';

/**
 * How a payout would be sent: through which payer, what would hold it, and what limits would have left.
 * The checks are those of the dispatcher, with their writes: for a transaction that is rolled back.
 */

export type PreviewOptions = {
  rules: RulesOptions;
  router: RouterServices;
  onError: (error: unknown) => void;
};

export type Preview = (session: Session, payout: PayoutName) => Promise<SendingPreview>;

export function createPreview({ rules, router, onError }: PreviewOptions): Preview {
  return async (session, payout) => {
    const row = await readPreviewRow(session, payout);
    const route = describeRoute(router, row);
    const holds: SendingPreview['holds'] = [];
    try {
      const [hit] = await checkRows({ ...rules, session }, [row]);
      // Which check holds it could warn a suspect.
      if (hit !== undefined) holds.push('review');
    } catch (error) {
      onError(error);
      holds.push('checks_unavailable');
    }
    if (router.healthOf(row.rail) === 'down') holds.push('rail_unavailable');
    const stops = await findStops(session, {
      accountId: payout.accountId,
      country: row.country,
      deliveryType: row.delivery_type,
      currency: row.destination_currency,
      rails: [row.rail],
    });
    holds.push(...stops.filter((code) => code !== 'commits_stopped'));
    return { route, holds, limits: await measureHeadroom(session, row, rules.limits) };
  };
}

function describeRoute(router: RouterServices, row: PreviewRow): RouteCandidate[] {
  const route = evaluateRoute(
    router,
    { rail: row.rail, payerKey: row.payer_key },
    describeTerms(row),
  );
  if (route === undefined) return [];
  const { candidates, standing } = route;
  if (candidates.length > 0) return [...candidates];
  return [describeChosen(row, standing, new Date(router.nowMs()))];
}
