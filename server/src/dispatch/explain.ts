import { formatSeconds } from '../core/clock.ts';
import { getCurrency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import type { Session } from '../db/postgres/pool.ts';
import { describeProviderPrice, readProviderPrice } from '../destinations/provider-pricing.ts';
import type { RouteCandidate, Standing } from '../destinations/route-candidate.ts';
import type { PayoutName } from '../payouts/payout-name.ts';
import {
  type AttemptRow,
  type ChosenTermsRow,
  findChosenTerms,
  listAttempts,
  listExceptionsOfPayout,
  listRoutings,
} from './explain.sql.ts';
import { listOtherWays } from './other-ways.ts';
import { describeStanding, type RouterServices, score } from './routing.ts';

/**
 * Explains the routing of a payout: the candidate payers, what other ways would cost now, the attempts
 * with their outcomes, and the exceptions. It is the answer of `/payout/{user_token}/{payout_token}/decision`.
 *
 * @throws AppError not_found.
 */
export async function explainPayout(
  { session, router }: { session: Session; router: RouterServices },
  name: PayoutName & { userId?: string },
) {
  const row = await findChosenTerms(session, name);
  if (row === undefined) throw new AppError('not_found', 'Payout not found');
  const [attempts, routings, exceptions] = await Promise.all([
    listAttempts(session, name),
    listRoutings(session, name),
    listExceptionsOfPayout(session, name),
  ]);
  return {
    payout_token: formatToken('payout', row.id),
    status: row.status,
    decisions:
      routings.length > 0
        ? routings.map(({ body, created_at: decidedAt }) => ({
            decided_at: formatSeconds(decidedAt),
            ...body,
            candidates: body.candidates.map((one) => showPromise(row, one, body.refused_because)),
          }))
        : [describeOnlyChoice(router, row, attempts[0])],
    compared_at: formatSeconds(new Date(router.nowMs())),
    other_ways: listOtherWays(router, {
      destinationToken: row.destination_token,
      destinationCurrency: row.destination_currency,
      sourceCurrency: row.source_currency,
      sourceMinor: row.source_amount,
    }),
    attempts: attempts.map((attempt) => ({
      number: attempt.number,
      rail: attempt.rail,
      payer_key: attempt.payer_key,
      state: attempt.state,
      reason: attempt.reason,
      provider_reference: attempt.provider_reference,
      started_at: formatSeconds(attempt.started_at),
      answered_at: attempt.answered_at === null ? '' : formatSeconds(attempt.answered_at),
    })),
    exceptions: exceptions.map((exception) => ({
      kind: exception.kind,
      opened_at: formatSeconds(exception.opened_at),
      closed_at: exception.closed_at === null ? '' : formatSeconds(exception.closed_at),
      resolution: exception.resolution,
    })),
  };
}

/** The price of the quote, of the payer that it named and that was chosen first. */
function showPromise(
  row: ChosenTermsRow,
  candidate: RouteCandidate,
  refusedBecause: string,
): RouteCandidate {
  const isNamed = candidate.destination_token === row.destination_token;
  if (refusedBecause !== '' || !candidate.is_chosen || !isNamed) return candidate;
  return { ...candidate, ...describePromise(row) };
}

function describePromise(
  row: Pick<ChosenTermsRow, 'source_currency' | 'source_amount' | 'fee' | 'exchange_rate'>,
): Pick<RouteCandidate, 'fee' | 'exchange_rate' | 'cost'> {
  const source = getCurrency(row.source_currency);
  return {
    fee: formatAmount(row.fee, source),
    exchange_rate: row.exchange_rate,
    cost: formatAmount(row.source_amount + row.fee, source),
  };
}

/** For a destination of a single payer: its standing when it was used, or now. */
function describeOnlyChoice(
  router: RouterServices,
  row: ChosenTermsRow,
  attempt: AttemptRow | undefined,
) {
  const standing = findStanding(router, row, attempt);
  const decidedAt = attempt?.started_at ?? row.created_at;
  return {
    decided_at: attempt === undefined ? '' : formatSeconds(attempt.started_at),
    refused_because: '',
    candidates: standing === undefined ? [] : [describeChosen(row, standing, decidedAt)],
  };
}

function findStanding(
  router: RouterServices,
  row: ChosenTermsRow,
  attempt: AttemptRow | undefined,
): Standing | undefined {
  if (attempt !== undefined && attempt.standing !== null) return attempt.standing;
  const payer = router.catalog().findPayer(row.destination_token);
  return payer === undefined ? undefined : describeStanding(router, payer);
}

export function describeChosen(
  row: Omit<ChosenTermsRow, 'id' | 'status' | 'destination_token' | 'created_at'>,
  standing: Standing,
  decidedAt: Date,
): RouteCandidate {
  const { margin_basis_points: marginBasisPoints, networks, ...shown } = standing;
  return {
    ...shown,
    network: networks[row.destination_currency] ?? '',
    ...describePromise(row),
    score: score(standing, {
      feeMinor: row.fee,
      sourceMinor: row.source_amount,
      marginBasisPoints: row.source_currency === row.destination_currency ? 0 : marginBasisPoints,
    }),
    provider_price: describeQuotedPrice(row, decidedAt),
    is_chosen: true,
    excluded_by: '',
    detail: '',
  };
}

/** Of its quote, with its age when it was sent. */
function describeQuotedPrice(
  row: Pick<ChosenTermsRow, 'provider_price' | 'destination_amount'>,
  decidedAt: Date,
): RouteCandidate['provider_price'] {
  if (row.provider_price === null) return null;
  return describeProviderPrice(readProviderPrice(row.provider_price), {
    destinationMinor: row.destination_amount,
    nowMs: decidedAt.getTime(),
  });
}
