import { z } from 'zod';
import { describeSending, listFrozenRails } from '../controls/freezes.ts';
import { isUuid } from '../core/ids.ts';
import type { Health } from '../dispatch/gate.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { readOverview } from '../monitoring/overview.ts';
import { openRailReports, type RailReportServices } from '../monitoring/rail-reports.ts';
import type { RailFunds } from '../rails/contract/contract.ts';
import { count, type OperatorServices, text } from './operation.ts';

/** Numbers that no command prints: the overview, and rails with their health. */

export type OverviewServices = OperatorServices & {
  readonly railNames: readonly string[];
  healthOf(rail: string): Health;
  /** Of the loops of this process; one that serves requests only has no `dispatch`. */
  loopsSucceededAtMs(): ReadonlyMap<string, number>;
  railFunds(): ReadonlyMap<string, readonly RailFunds[]>;
} & RailReportServices;

const share = (about: string) => z.number().nullable().describe(about);

const performance = z
  .object({
    name: text('The corridor (country, delivery type, currency), or the rail'),
    committed: count('Payouts that were committed in the period'),
    completed: count('Of these, completed'),
    canceled: count('Of these, canceled'),
    success: share('Completed ones among those that ended, 0 to 1; null: none ended'),
    median_seconds: share('From commit to completion, to a tenth; null: none completed'),
    fee_bps: share('The fee, in hundredths of a percent of the source amount, on average'),
    margin_bps: share('How far the quoted rate is below the mid rate, in the same unit'),
  })
  .meta({ id: 'Performance' });

const railPerformance = performance
  .extend({
    on_time: share('Completed ones that were completed by the time of the quote, 0 to 1'),
    charged: count('Payouts whose provider had quoted its fee and reported what it charged'),
    quoted_cost_bps: share('Of these, the fee quoted, in hundredths of a percent, on average'),
    cost_bps: share('Of these, what was charged, in the same unit'),
  })
  .meta({ id: 'RailPerformance' });

const overview = z
  .object({
    days: count('The period in days'),
    balances: z
      .array(
        z.object({
          account_id: text('The account'),
          account_name: text('Its name'),
          currency: text('The currency'),
          available: text('What can be committed, decimal'),
          reserved: text('Set aside for batches, decimal'),
          in_transit: text('Handed to rails and not completed, decimal'),
        }),
      )
      .describe(
        'Money by account and currency, the first 1,000 by name; the report of a month has all',
      ),
    payouts_by_day: z
      .array(
        z.object({
          day: text('The day of the quote, UTC'),
          status: text('The present status'),
          count: count('How many payouts'),
        }),
      )
      .describe('The oldest day first'),
    corridors: z.array(performance).describe('Those with most payouts first'),
    rails: z.array(performance).describe('Those with most payouts first'),
    needs: z
      .object({
        exceptions: count('Open exceptions'),
        approvals: count('Requests that wait for a second operator'),
        identities: count('Verifications that wait for a decision; counting ends at 1000'),
        freezes: count('What is stopped or frozen'),
      })
      .describe('What needs a person now'),
  })
  .meta({ id: 'Overview' });

const overviewQuery = z.object({
  account: z
    .string()
    .refine(isUuid, { error: 'must be an identifier (UUID)' })
    .optional()
    .describe('Of one account; all by default'),
  days: z
    .string()
    .regex(/^(?:[1-9]\d?|[12]\d\d|3[0-5]\d|36[0-6])$/, {
      error: 'must be a whole number from 1 to 366',
    })
    .optional()
    .describe('The period in days, up to 366; 30 by default')
    .meta({ jsonSchema: { type: 'integer', minimum: 1, maximum: 366, default: 30 } }),
});

const overviewRoute = (): Route<OperatorServices> =>
  defineRoute<OperatorServices, unknown, z.output<typeof overviewQuery>>({
    method: 'GET',
    path: '/operator/overview',
    isVersioned: true,
    operationId: 'getOverview',
    tag: 'Operators',
    summary: 'See money, payouts over time, and how corridors and rails do',
    description:
      'Any operator may read it. Payouts count by the day of their quote (UTC); after many changes at once the numbers are up to a minute old.',
    access: 'operator',
    query: overviewQuery,
    response: overview,
    handle: async ({ env }, { query }) => {
      const days = Number(query.days ?? 30);
      return { days, ...(await readOverview(env.db, { accountId: query.account, days })) };
    },
  });

const prefunding = z
  .object({
    currency: text('Of the balance from which the rail pays'),
    funds: text('As last read by this process, decimal; "" where it is not known'),
    committed: text('For payouts that are committed and not handed over, decimal'),
    scheduled: text('For payouts that are scheduled for the next 24 hours, decimal'),
    left: text('What remains after both, decimal, negative where it is short; "" if not known'),
  })
  .meta({ id: 'RailPrefunding' });

const rail = z
  .object({
    rail: text('The name of the rail'),
    health: z
      .enum(['up', 'degraded', 'down'])
      .nullable()
      .describe('As this process has seen its last calls; null where it sends no payouts'),
    is_frozen: z.boolean().describe('Whether an operator has stopped it'),
    being_sent: count('Payouts that are being sent'),
    handed_over: count('Payouts whose outcome is awaited'),
    waiting: count('Payouts that wait to be sent'),
    funds: z
      .array(z.object({ currency: text('The currency'), amount: text('Decimal') }))
      .describe('What is left at the counterparty, where it says so'),
    prefunding: z
      .array(prefunding)
      .describe('What it has to pay from and what it will need, by currency'),
    prices: z
      .object({
        age_seconds: z.number().nullable().describe('Of the newest price; null: none was read'),
        unpriced: count(
          'Payers and currencies that are not offered because they have no fresh price',
        ),
      })
      .nullable()
      .describe('The prices that its provider quotes; null where tariffs are the price'),
    reported_at: text('When it last reported something definite, RFC 3339; "" if never'),
    oldest_unanswered_at: text('When the oldest attempt without an outcome began; "": none'),
    unresolved_inbound: count('Open exceptions about inbound messages: unmatched or unreadable'),
    unmatched_inbound: count('Of these, about money or a status of no known payment'),
    refused_callbacks_last_day: count(
      "Callbacks of the last 24 hours, in whole hours, that nothing proved to be the counterparty's",
    ),
    next_cut_off_at: text('When its next file or window closes; "": it has none'),
    last_day: railPerformance.nullable().describe('Payouts quoted in the last 24 hours'),
    last_30_days: railPerformance
      .nullable()
      .describe('Payouts quoted in the last 30 times 24 hours'),
  })
  .meta({ id: 'OperatorRail' });

const railList = z
  .object({ data: z.array(rail).describe('By name') })
  .meta({ id: 'OperatorRails' });

const railsRoute = (): Route<OverviewServices> =>
  defineRoute<OverviewServices>({
    method: 'GET',
    path: '/operator/rails',
    isVersioned: true,
    operationId: 'listRails',
    tag: 'Operators',
    summary: 'See the rails: health, payouts in flight, prefunding, prices, how they did',
    description:
      'Any operator may read it. Health and funds are those of the process that answers; one that serves requests only does not know the health. Without health: `outlay rails`, short for `outlay admin rail list`.',
    access: 'operator',
    response: railList,
    handle: async ({ env }) => ({ data: await describeRails(env) }),
  });

async function describeRails(env: OverviewServices) {
  const { db, railNames, healthOf, railFunds } = env;
  const isSending = env.loopsSucceededAtMs().has('dispatch');
  const findHealth = (name: string): Health | null => {
    if (!railNames.includes(name)) return 'down';
    return isSending ? healthOf(name) : null;
  };
  const sending = await describeSending(db.system);
  const frozen = await listFrozenRails(db.system);
  const names = new Set([...railNames, ...sending.map((row) => row.rail)]);
  const describe = await openRailReports({ ...env, sending });
  return [...names].toSorted().map((name) => ({
    rail: name,
    health: findHealth(name),
    is_frozen: frozen.includes(name),
    funds: railFunds().get(name) ?? [],
    ...describe(name),
  }));
}

export const overviewOperations = (): Route<OverviewServices>[] => [overviewRoute(), railsRoute()];
