import { ConfigError } from '../config.ts';
import { getCurrency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { formatAmount } from '../core/money.ts';
import type { Session } from '../db/postgres/pool.ts';
import { explainPayout } from '../dispatch/explain.ts';
import { createRecoveryState } from '../dispatch/recovery.ts';
import {
  decidePayout,
  decisionActions,
  findAccountOfPayout,
  findPayoutVersion,
} from '../exceptions/decisions.ts';
import { listDecisions } from '../exceptions/exceptions.ts';
import { findUnfinished } from '../monitoring/status.ts';
import { getPolicy } from '../operators/policies.ts';
import { findMargin } from '../payouts/margin.ts';
import type { PayoutName } from '../payouts/payout-name.ts';
import { decidedByPerson } from '../payouts/payout-reason.ts';
import { cancelScheduleRow, findSchedule } from '../payouts/schedule.ts';
import type { RailFault } from '../rails/host/rail-config.ts';
import { findMessage } from '../travel-rule/travel-rule.ts';
import { defineCommand, Screen } from './command.ts';
import { type CommandContext, openRails } from './context.ts';
import { describeDecision } from './exception.ts';
import { needsAnother, oneOf, payout, payoutVersion, reason } from './options.ts';
import { writeExplanation } from './payout-screen.ts';
import { describeWait } from './status-screen.ts';

export const payoutCommands = [
  defineCommand({
    name: 'payout explain',
    argument: 'payout',
    permission: 'read',
    about: 'show why a payout took its route, what was decided, and its next step',
    options: { payout },
    run: async (context, { payout: payoutId }) => {
      const key = await getPayoutKey(context, payoutId);
      await using rails = await openRails(context);
      const { router } = rails.dispatcher;
      // Before what it is about, so that a change in between makes it outdated.
      const version = await findPayoutVersion(context.db.system, key);
      const explained = await explainPayout({ session: context.db.system, router }, key);
      const decisions = await listDecisions(context.db, key);
      const schedule = await describeSchedule(context.db.system, key);
      const travelRule = await findMessage(context.db.system, key);
      const unfinished = await findUnfinished(context.db.system, key);
      const result = {
        account_id: key.accountId,
        ...explained,
        payout_version: version,
        waits_for: unfinished === undefined ? '' : describeWait(unfinished),
        ...schedule,
        ...(travelRule !== undefined && { travel_rule: travelRule }),
        persons_decided: decisions.map(describeDecision),
      };
      return new Screen(result, () => writeExplanation(result));
    },
  }),
  defineCommand({
    name: 'payout decide',
    argument: 'payout',
    permission: 'decide',
    about: 'decide about a payout; one of high value needs the same from a second person',
    options: {
      payout,
      action: oneOf('decision', decisionActions),
      payoutVersion: payoutVersion.optional(),
      reason,
    },
    run: async (context, { payout: payoutId, action, payoutVersion: version, reason: why }) => {
      const key = await getPayoutKey(context, payoutId);
      await using rails = await openRails(context);
      // A retry chooses among all rails, so that none may be left out.
      if (action === 'retry') refuseFaulty(rails.configured.faults);
      // The rail is asked to stop the order first.
      if (action === 'not_paid') await refuseFaultyRailOf(context, rails, key);
      const result = await decidePayout(
        {
          db: context.db,
          keys: context.keys,
          dispatcher: rails.dispatcher,
          rates: rails.rates,
          readPolicy: () =>
            getPolicy({ session: context.db.system, keys: context.keys }, 'decision'),
        },
        {
          ...key,
          action,
          decidedBy: context.operator.name,
          operatorId: context.operator.id,
          reason: why,
          version,
        },
      );
      return { result, ...(result === 'waiting' && { needs: needsAnother }) };
    },
  }),
  defineCommand({
    name: 'payout cancel',
    resultNames: ['status'],
    argument: 'payout',
    permission: 'decide',
    about: 'stop a payout before it runs, or at its rail where that is still possible',
    options: { payout },
    run: async (context, { payout: payoutId }) => {
      const key = await getPayoutKey(context, payoutId);
      const schedule = await findSchedule(context.db.system, key);
      if (schedule?.status === 'SCHEDULED') {
        const cancelled = { ...key, userId: schedule.user_id, reason: decidedByPerson };
        return cancelScheduleRow(context.db.system, cancelled);
      }
      await using rails = await openRails(context);
      const { dispatcher } = rails;
      const services = { session: context.db.system, router: dispatcher.router };
      await refuseFaultyRailOf(context, rails, key);
      const recovery = createRecoveryState(context.db);
      await recovery.refresh();
      recovery.refuse();
      await dispatcher.cancelOne(key.accountId, key.payoutId);
      const { compared_at: _, other_ways: __, ...explained } = await explainPayout(services, key);
      return explained;
    },
  }),
  defineCommand({
    name: 'payout margin',
    argument: 'payout',
    permission: 'read',
    about: 'show what a payout earned and what its rail charged',
    options: { payout },
    // A payout that was never committed has none.
    run: async (context, { payout: payoutId }) =>
      (await findMargin(context.db.system, await getPayoutKey(context, payoutId))) ?? {},
  }),
];

/** @throws ConfigError where the rail of the last attempt could not be opened here. */
async function refuseFaultyRailOf(
  { db }: CommandContext,
  { dispatcher, configured }: Awaited<ReturnType<typeof openRails>>,
  key: PayoutName,
): Promise<void> {
  const services = { session: db.system, router: dispatcher.router };
  const { attempts } = await explainPayout(services, key);
  const rail = attempts.at(-1)?.rail;
  refuseFaulty(configured.faults.filter((fault) => fault.rail === rail));
}

/** What a scheduled payout waits for; nothing of another one. */
async function describeSchedule(session: Session, key: PayoutName) {
  const found = await findSchedule(session, key);
  if (found === undefined) return {};
  const { user_id: _, status: __, shortfall, source_currency: code, ...schedule } = found;
  const lacks =
    shortfall === null
      ? {}
      : { shortfall: `${formatAmount(shortfall, getCurrency(code))} ${code}` };
  return { schedule: { ...schedule, ...lacks } };
}

function refuseFaulty(faults: readonly RailFault[]): void {
  if (faults.length === 0) return;
  const texts = faults.map(({ text }) => text).join('; ');
  throw new ConfigError(`this command needs rails that cannot be opened: ${texts}`);
}

/** @throws AppError not_found. */
export async function getPayoutKey({ db, name }: CommandContext, payoutId: string) {
  const accountId = await findAccountOfPayout(db.system, payoutId);
  if (accountId === undefined) throw new AppError('not_found', `payout not found in ${name}`);
  return { accountId, payoutId };
}
