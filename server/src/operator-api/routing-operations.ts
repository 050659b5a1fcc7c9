import { z } from 'zod';
import { count, defineOperation, optionalText, text } from './operation.ts';

/** What other fees, limits and routing rules would have done with past payouts. */

const changes = z
  .looseObject({
    rails: z.array(z.unknown()).optional().describe('`rail`, `offered`, `dailyLimits`'),
    payers: z
      .array(z.unknown())
      .optional()
      .describe(
        '`rail`, `payer`, `countryCode`, `deliveryType`; `offered`, `fee`, `marginBasisPoints`, ' +
          '`rates`, `minLimit`, `maxLimit`, `availability`',
      ),
    routing: z.looseObject({}).optional().describe('`choose`, `substitute`, `weights`'),
  })
  .meta({ id: 'BacktestChanges' })
  .describe('Changes of the rails file and of routing, as docs/guides/backtest.md says');

const side = z
  .object({
    payouts: count('Payouts that a payer takes'),
    fee_usd: text('Fees, at the rates of each payout'),
    margin_usd: text('What exchange rates leave below the mid rate, with rounding'),
    cost_usd: text('Fees and margin: what senders pay'),
    charges_usd: text('What rails charged; of payouts that move, the mean of the new payer'),
    payouts_without_charges: count('Payouts through payers that reported no charge'),
    earned_usd: text('Fees and margin, less charges'),
    mean_arrival_seconds: count('From commit to the estimated arrival; 0 without payouts'),
    arrive_within_hour: count('Payouts estimated to arrive within an hour'),
    arrive_within_day: count('Payouts estimated to arrive within 24 hours'),
    delayed_by_daily_limits: count('Payouts that wait for a day with room'),
    expected_failures: z.number().describe('The sum of the measured failure rates of the payers'),
    payouts_without_failure_rate: count('Payouts through payers with too few measured payouts'),
  })
  .meta({ id: 'BacktestSide' });

const sides = { before: side.describe('As it is'), after: side.describe('With the changes') };

const reasons = z.array(
  z.object({ reason: text('Why no payer takes it'), payouts: count('So many') }),
);

const examples = (about: string) =>
  z
    .array(
      z.object({
        payout_token: text('The payout'),
        before: optionalText('Rail and payer as it is; null: none'),
        after: optionalText('Rail and payer with the changes; null: none'),
        before_cost_usd: optionalText('Fee and margin'),
        after_cost_usd: optionalText('Fee and margin'),
        reason: text('Why one side has no payer; "" where both have one'),
      }),
    )
    .describe(about);

const result = z
  .object({
    payouts: count('Committed payouts that were read'),
    replayed: count('Those that could be compared'),
    left_out: z
      .array(z.object({ reason: text('Why'), payouts: count('So many'), detail: text('In words') }))
      .describe('Those that could not'),
    priced_as_quoted: count(
      'Replayed payouts whose price, as it is, equals the one that was quoted',
    ),
    valued_at_present_rates: count('Replayed payouts whose rate to USD was not stored'),
    charges_without_rate: count('Charges left out because their currency has no rate'),
    total: z.object(sides).describe('All replayed payouts'),
    corridors: z
      .array(
        z.object({
          source_currency: text('Of the balance'),
          country: text('ISO 3166-1 alpha-3'),
          delivery_type: text('How it is delivered'),
          destination_currency: text('Of the recipient'),
          ...sides,
        }),
      )
      .describe('The largest first'),
    rails: z
      .array(z.object({ rail: text('The rail that takes it on each side'), ...sides }))
      .describe('The largest first'),
    not_routed: z
      .object({
        before: reasons.describe('As it is'),
        after: reasons.describe('With the changes'),
      })
      .describe('Payouts that no payer takes'),
    lost: count('Routed as it is, and not with the changes'),
    admitted: count('Routed with the changes, and not as it is'),
    moved: count('Routed through another payer'),
    moves: z
      .array(
        z.object({
          from: text('Rail and payer'),
          to: text('Rail and payer'),
          payouts: count('So many'),
        }),
      )
      .describe('The most frequent, at most 100'),
    examples: z
      .object({
        moved: examples('Routed through another payer, at most 20'),
        lost: examples('Routed as it is only, at most 20'),
        admitted: examples('Routed with the changes only, at most 20'),
      })
      .describe('Payouts whose route differs'),
    next: optionalText('The `cursor` of the rest; null where all payouts were read'),
  })
  .meta({ id: 'Backtest' });

/** What an operation reads at once: about a second of work. */
const payoutsMax = '20000';

export const routingOperations = () => [
  defineOperation({
    command: 'routing backtest',
    method: 'POST',
    path: '/operator/routing/backtest',
    operationId: 'backtestRouting',
    summary: 'Replay past payouts with other fees, limits or routing',
    description:
      `Changes nothing. An answer covers at most ${payoutsMax} payouts; \`next\` leads to the rest. ` +
      'Counts and amounts of such answers can be added; daily limits and mean charges are those of each.',
    result,
    fields: { changes },
    fixed: { payouts: payoutsMax },
    refusals: [404],
  }),
];
