import { ConfigError, RefusedCommand } from '../config.ts';
import { formatToken } from '../core/ids.ts';
import { importSanctionsLists } from '../environment/imports.ts';
import {
  findRescreeningProgress,
  listWaitingPayouts,
  listWaitingRecipients,
  type RescreeningProgress,
} from '../rules/recipient-rescreening.ts';
import { decideScreenedPayout } from '../rules/screening-decisions.ts';
import { listEvidence } from '../screening/evidence.ts';
import { listPayoutScreenings } from '../screening/payout-screenings.ts';
import { findScreening, recordDecision } from '../screening/records.ts';
import { listOpinions } from '../screening/service/opinions.ts';
import { clearanceCommands, result } from './clearance.ts';
import { defineCommand } from './command.ts';
import type { CommandContext } from './context.ts';
import { flag, limit, oneOf, payout, payoutVersion, reason, user } from './options.ts';
import { getPayoutKey } from './payout.ts';
import { getUserKey } from './user-key.ts';

const subject = { user: user.optional(), payout: payout.optional() };
function checkSubject({
  user: userId,
  payout: payoutId,
}: {
  user?: string | undefined;
  payout?: string | undefined;
}): string | undefined {
  if (userId !== undefined && payoutId !== undefined) {
    return '--user and --payout exclude each other';
  }
  return userId === undefined && payoutId === undefined
    ? '--user or --payout is missing'
    : undefined;
}

export const screeningCommands = [
  defineCommand({
    name: 'screening import',
    permission: 'comply',
    about: 'read the configured sanctions lists now',
    options: { acceptShorter: flag('accept a list that is much shorter than the previous one') },
    run: async (context, { acceptShorter }) => {
      const reports = await importSanctionsLists(context, acceptShorter);
      if (reports.length === 0) {
        throw new ConfigError(
          'no sanctions list is configured, so that no name is screened: set OUTLAY_SCREENING_OFAC_SDN, OUTLAY_SCREENING_UN, OUTLAY_SCREENING_EU or OUTLAY_SCREENING_UK',
        );
      }
      if (reports.some(({ ok }) => !ok)) process.exitCode = 1;
      return reports;
    },
  }),
  defineCommand({
    name: 'screening show',
    permission: 'read',
    about: 'show how a user or a payout was screened; an empty list: never',
    options: subject,
    check: checkSubject,
    run: async (context, { user: userId, payout: payoutId }) => {
      const { system } = context.db;
      if (payoutId !== undefined) {
        return listPayoutScreenings(system, await getPayoutKey(context, payoutId));
      }
      const found = await findScreening(system, await getUserKey(context, userId ?? ''));
      return found === undefined ? [] : [found];
    },
  }),
  defineCommand({
    name: 'screening evidence',
    permission: 'comply',
    about: 'show the texts that were compared for the hits of a user or a payout',
    options: subject,
    check: checkSubject,
    run: async (context, { user: userId, payout: payoutId }) => {
      const services = { session: context.db.system, keys: context.keys };
      if (payoutId === undefined) {
        return listEvidence(services, await getUserKey(context, userId ?? ''));
      }
      return listEvidence(services, await getPayoutKey(context, payoutId));
    },
  }),
  defineCommand({
    name: 'screening opinions',
    permission: 'comply',
    about: 'show what the screening service answered about a payout',
    options: { payout },
    run: async (context, { payout: payoutId }) =>
      listOpinions(
        { session: context.db.system, keys: context.keys },
        await getPayoutKey(context, payoutId),
      ),
  }),
  defineCommand({
    name: 'screening decide',
    permission: 'comply',
    about:
      'decide about the hits of a user, or of a payout that was found too late to be stopped; ' +
      'to clear a user may need two people',
    options: {
      ...subject,
      result: result.optional(),
      payoutVersion: payoutVersion.optional(),
      decision: oneOf('decision', ['cleared', 'confirmed']),
      reason,
    },
    check: (given) => {
      const fault = checkSubject(given);
      if (fault !== undefined || given.user === undefined) return fault;
      return given.result === undefined
        ? '--result is missing: it is needed with --user'
        : undefined;
    },
    approval: async (context, { user: userId, result: sequence = 0, decision }) => {
      if (userId === undefined || decision !== 'cleared') return undefined;
      await getSeenResult(context, userId, sequence);
      return { policy: 'screening' };
    },
    run: async (context, { user: userId, payout: payoutId, result: sequence = 0, ...values }) => {
      const { decision, reason: why, payoutVersion: version } = values;
      const given = { decision, reason: why, decidedBy: context.operator.name };
      if (payoutId === undefined) return decideUser(context, userId ?? '', { ...given, sequence });
      const key = await getPayoutKey(context, payoutId);
      await decideScreenedPayout(context, { ...key, ...given, version });
      return { result: 'done' };
    },
  }),
  defineCommand({
    name: 'screening waiting',
    permission: 'read',
    about: 'list recipients with undecided hits, and how far the pass over all recipients is',
    options: { limit: limit.optional() },
    run: async (context, { limit: count = 100 }) => {
      const { system } = context.db;
      const progress = await findRescreeningProgress(system);
      const recipients = await listWaitingRecipients(system, count + 1);
      const payouts = await listWaitingPayouts(system, count + 1);
      return {
        progress: progress === undefined ? null : describeProgress(progress),
        has_more_recipients: recipients.length > count,
        has_more_payouts: payouts.length > count,
        recipients: recipients
          .slice(0, count)
          .map(({ userId, accountId, sequence, entries, screenedAt }) => ({
            account: accountId,
            user_token: formatToken('user', userId),
            result: sequence,
            entries,
            screened_at: screenedAt,
          })),
        payouts: payouts.slice(0, count).map(({ account_id: account, payout_id: id, ...row }) => ({
          account,
          payout_token: formatToken('payout', id),
          ...row,
        })),
      };
    },
  }),
  ...clearanceCommands,
];

function describeProgress(progress: RescreeningProgress) {
  const { startedAt, finishedAt, screened, hits, remaining } = progress;
  return { started_at: startedAt, finished_at: finishedAt, screened, hits, remaining };
}

async function decideUser(
  context: CommandContext,
  userId: string,
  given: { decision: 'cleared' | 'confirmed'; decidedBy: string; reason: string; sequence: number },
): Promise<object> {
  const key = await getSeenResult(context, userId, given.sequence);
  const services = { session: context.db.system, keys: context.keys };
  const recorded = await recordDecision(services, { ...key, ...given });
  switch (recorded.kind) {
    case 'recorded':
      return recorded;
    case 'nothing_to_decide':
      throw new RefusedCommand('the user has no hits, so that there is nothing to decide');
    case 'stale':
      throw new RefusedCommand('the user was screened meanwhile: read the result, then decide');
  }
}

/** The user, whose newest result it is. @throws AppError not_found, RefusedCommand. */
async function getSeenResult(context: CommandContext, userId: string, sequence: number) {
  const key = await getUserKey(context, userId);
  const last = await findScreening(context.db.system, key);
  if (last === undefined) throw new RefusedCommand('the user was never screened');
  if (last.sequence === sequence) return key;
  throw new RefusedCommand(
    `the newest result of the user is ${last.sequence}: read it, then decide about it`,
  );
}
