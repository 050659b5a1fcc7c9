import { deleteExpiredTokens } from '../accounts/accounts.ts';
import { warnOfExpiries } from '../accounts/expiry-warnings.ts';
import { expireApprovals } from '../approvals/approvals.ts';
import { removeAbandoned, runCommits } from '../batches/committer.ts';
import type { StopsInForce } from '../controls/stops-in-force.ts';
import { createStepFollower } from '../db/environment-clock.ts';
import { keepPartitions } from '../db/partitions.ts';
import { applyNotifications } from '../dispatch/notifications.ts';
import { followMarker, type RecoveryState, runRecovery } from '../dispatch/recovery.ts';
import { reapplyErasures } from '../erasure/erasure.ts';
import { reportMissingRails } from '../exceptions/decisions.ts';
import { reviewPayouts } from '../exceptions/review.ts';
import type { Rates } from '../fx/refresher.ts';
import { signCheckpoints } from '../ledger/checkpoints.ts';
import { countPayouts } from '../monitoring/payout-days.ts';
import { expireNotices } from '../notices/notices.ts';
import type { Notifier } from '../notices/notifier.ts';
import { deleteEndedQuoteCounts } from '../payouts/open-quotes.ts';
import type { Scheduler } from '../payouts/scheduler.ts';
import { expireProposals } from '../proposals/proposals.ts';
import { runPass } from '../rails/host/passes.ts';
import { removeOldTraceContexts } from '../tracing/trace-contexts.ts';
import type { Deliverer } from '../webhooks/deliverer.ts';
import { openChain } from './chain.ts';
import { openErasures } from './erasures.ts';
import type { Foundation } from './foundation.ts';
import type { IdentityChecks } from './identity-checks.ts';
import { importSanctionsLists } from './imports.ts';
import type { Loops } from './loops.ts';
import type { Payments } from './payments.ts';
import { hasRateSources, listSources } from './settings.ts';

/** What the loops of an environment do. Any number of processes may run them at the same time. */

export type BackgroundParts = {
  readonly base: Foundation;
  readonly payments: Payments;
  readonly rates: Rates;
  readonly recovery: RecoveryState;
  readonly stops: StopsInForce;
  readonly deliverer: Deliverer;
  readonly notifiers: readonly Notifier[];
  readonly identityChecks: IdentityChecks;
  readonly scheduler: Scheduler;
  readonly onRailAnswer: (rail: string, outcome: string) => void;
  /** Completes a move of the sandbox's clock that a process left unfinished. */
  readonly resumeClock: () => Promise<void>;
  readonly onError: (error: unknown) => void;
};

/** The longest wait of a payout that was committed through another process. */
const dispatchIdleMs = 250;
const batchIdleMs = 500;
/** The longest wait of a scheduled payout whose time has come, or whose funds have arrived. */
const scheduleIdleMs = 500;
const notificationIdleMs = 500;
/** The longest wait of an uploaded document, without a backlog. */
const documentsIdleMs = 1_000;
/** The longest wait of a question to the screening service, without a backlog. */
const opinionsIdleMs = 250;
/** Between passes over a rail that does not state an interval. */
const passIdleMs = 1_000;
/** The longest wait of an event for its webhooks, without a backlog. */
const webhooksIdleMs = 250;
/** The longest wait of a notice, without a backlog. */
const noticesIdleMs = 500;
const measuringIdleMs = 10_000;
/**
 * How long this process uses rates or limits that have been replaced. docs/rates.md promises ten
 * seconds, which leaves room for a retry.
 */
const refreshIdleMs = 5_000;
const resumeIdleMs = 5_000;
const clockErrorWaitMs = 500;
const ratesIdleMs = 5 * 60_000;
/** Lists change every few days; a list that has not changed costs one request. */
const listsIdleMs = 3_600_000;
/** Whether a list has changed costs one statement; another process may have imported it. */
const rescreenIdleMs = 10_000;
const cleaningIdleMs = 60_000;
const fundsIdleMs = 60_000;
/** The longest time from the expiry of a proposal to its event. */
const proposalsIdleMs = 5_000;
/** Between looks whether the database's clock was set back. */
const stepsIdleMs = 5_000;
const partitionsIdleMs = 10 * 60_000;
/** The longest time from a payout's limit to its exception. */
const reviewIdleMs = 60_000;
/** How old the numbers of the overview are at most, but for the time of counting. */
const countingIdleMs = 60_000;
/** How soon a reading of prices that is due begins, and other processes use it; of requirements too. */
const pricesIdleMs = 5_000;
const recoveryStateIdleMs = 1_000;
const recoveryIdleMs = 5_000;

type Repeat = (name: string, idleMs: number, run: () => Promise<unknown>) => void;

/** Keeps rates, prices, requirements, limits and measurements up to date. Every process needs it, `serve` included. */
export function startRefreshLoops(loops: Loops, parts: BackgroundParts): void {
  const { base, rates, recovery, payments } = parts;
  const { configured, limits, measurements, prices, requirements } = payments;
  // Half of it, so that nothing is older than `cacheMs` when the answer to the refresh arrives.
  const clockIdleMs = base.clock.cacheMs / 2;
  loops.start('refresh clock', {
    idleMs: clockIdleMs,
    errorWaitMaxMs: clockErrorWaitMs,
    run: () => base.clock.refresh(base.db.system),
  });
  loops.start('refresh rates', { idleMs: refreshIdleMs, run: () => rates.refresh() });
  loops.start('refresh limits', { idleMs: refreshIdleMs, run: async () => limits.refresh() });
  if (prices.railNames.length > 0) {
    loops.start('refresh prices', { idleMs: pricesIdleMs, run: prices.refresh });
  }
  if (configured.rails.length > 0) {
    loops.start('refresh requirements', { idleMs: pricesIdleMs, run: requirements.refresh });
  }
  loops.start('refresh recovery', {
    idleMs: recoveryStateIdleMs,
    errorWaitMaxMs: recoveryStateIdleMs,
    run: async () => {
      try {
        await followMarker(payments.recovery);
      } finally {
        // Also where the file cannot be written, as on a full disk.
        await recovery.refresh();
      }
    },
  });
  loops.start('refresh stops', {
    idleMs: recoveryStateIdleMs,
    run: () => parts.stops.refresh(base.db.system),
  });
  loops.start('exchange measurements', {
    idleMs: measuringIdleMs,
    run: () => measurements.exchange(),
  });
}

/** Dispatch, batches, passes of rails, imports, cleaning: the work of the roles `all` and `work`. */
export function startWorkLoops(loops: Loops, parts: BackgroundParts): void {
  const { base, payments, recovery } = parts;
  const { db, steadyMs } = base;
  const wakeDispatch = (): void => loops.wake('dispatch');
  const repeat: Repeat = (name, idleMs, run) => loops.start(name, { idleMs, run });
  /** For work that could pay, or that applies reports to payouts that are not matched yet. */
  const repeatUnlessRecovering: Repeat = (name, idleMs, run) =>
    repeat(name, idleMs, async () => (recovery.isRecovering() ? false : run()));

  repeat('dispatch', dispatchIdleMs, async () => (await payments.dispatcher.startDue()) > 0);
  repeatUnlessRecovering('batches', batchIdleMs, () => runCommits({ db, steadyMs, wakeDispatch }));
  repeatUnlessRecovering(
    'schedules',
    scheduleIdleMs,
    async () => (await parts.scheduler.runDue()) > 0,
  );
  repeatUnlessRecovering('notifications', notificationIdleMs, async () => {
    const hasMore = await applyAllNotifications(parts);
    // A refused payout may fail over at once.
    wakeDispatch();
    return hasMore;
  });
  for (const rail of payments.rails.filter(({ work }) => work !== undefined)) {
    const { name, workIdleMs: idleMs = passIdleMs } = rail;
    repeatUnlessRecovering(`rail ${name}`, idleMs, async () => {
      const waitMs = await runPass(db, rail, { nowMs: base.clock.nowMs, signal: loops.signal });
      if (waitMs === undefined || waitMs >= idleMs) return false;
      if (waitMs > 0) setTimeout(() => loops.wake(`rail ${name}`), waitMs).unref();
      return waitMs === 0;
    });
  }
  repeat('count payouts', countingIdleMs, () => countPayouts(db));
  repeatUnlessRecovering('review', reviewIdleMs, async () => {
    await expireApprovals(db.system);
    return reviewPayouts({ db, keys: base.keys, onError: parts.onError });
  });
  if (payments.rescreen !== undefined) {
    repeatUnlessRecovering('rescreen', rescreenIdleMs, payments.rescreen);
  }
  if (payments.rescreenRecipients !== undefined) {
    repeatUnlessRecovering('rescreen recipients', rescreenIdleMs, payments.rescreenRecipients);
  }
  // A restored outbox has notices that were sent already.
  for (const { channel, sendDue } of parts.notifiers) {
    repeatUnlessRecovering(`notices ${channel}`, noticesIdleMs, () => sendDue(loops.signal));
  }
  // A restored endpoint may be one that its client has removed or changed since.
  repeatUnlessRecovering('webhooks', webhooksIdleMs, parts.deliverer.startDue);
  startChores(repeat, parts, loops.signal);
}

/** What neither pays nor reads payouts, so that it continues during a recovery. */
function startChores(
  repeat: Repeat,
  { base, payments, rates, identityChecks, resumeClock }: BackgroundParts,
  signal: AbortSignal,
): void {
  const { db, config, name } = base;
  const { railNames } = payments.dispatcher;
  const retention = {
    eventMonths: config.OUTLAY_EVENT_MONTHS,
    webhookMonths: config.OUTLAY_WEBHOOK_MONTHS,
  };
  for (const rail of payments.funds.railNames) {
    repeat(`funds ${rail}`, fundsIdleMs, () => payments.funds.refresh(rail, signal));
  }
  for (const rail of payments.prices.railNames) {
    repeat(`prices ${rail}`, pricesIdleMs, async () => {
      await payments.prices.read(rail, signal);
    });
  }
  const { readNext, compareNext, askNext } = identityChecks;
  repeat('documents', documentsIdleMs, () => readNext(signal));
  repeat('faces', documentsIdleMs, () => compareNext(signal));
  if (askNext !== undefined) repeat('identity provider', documentsIdleMs, () => askNext(signal));
  const { opinions } = payments;
  if (opinions !== undefined) {
    repeat('screening service', opinionsIdleMs, () => opinions.askNext(signal));
  }
  const chain = openChain(base);
  repeat('checkpoints', config.OUTLAY_CHECKPOINT_SECONDS * 1000, () => signCheckpoints(chain));
  repeat('recovery', recoveryIdleMs, () => runRecovery(payments.recovery));
  repeat('erasures', cleaningIdleMs, async () => void (await reapplyErasures(openErasures(base))));
  repeat('missing rails', cleaningIdleMs, () => reportMissingRails(db, railNames));
  repeat('expired tokens', cleaningIdleMs, () => deleteExpiredTokens(db.system));
  repeat('expiring credentials', cleaningIdleMs, () => warnOfExpiries(db.system));
  repeat('expired quotes', cleaningIdleMs, () => deleteEndedQuoteCounts(db.system));
  repeat('expired notices', cleaningIdleMs, () => expireNotices(db.system));
  repeat(
    'expired proposals',
    proposalsIdleMs,
    async () => (await expireProposals(db.system, 100)) > 0,
  );
  if (base.tracing !== undefined) {
    repeat('old traces', cleaningIdleMs, () => removeOldTraceContexts(db.system));
  }
  repeat('abandoned batches', cleaningIdleMs, () => removeAbandoned({ db }));
  repeat('clock steps', stepsIdleMs, createStepFollower(db, base.clock));
  repeat('partitions', partitionsIdleMs, () =>
    keepPartitions(db.system, retention, base.clock.databaseAheadMs()),
  );
  if (hasRateSources(config)) repeat('import rates', ratesIdleMs, () => rates.importAll());
  if (listSources(config).length > 0) {
    repeat('import lists', listsIdleMs, () => importSanctionsLists(base));
  }
  if (name === 'staging') repeat('clock', resumeIdleMs, resumeClock);
}

/** Answers true when there may be more to apply at once. */
function applyAllNotifications({ base, payments, onRailAnswer, onError }: BackgroundParts) {
  const { dispatcher, measurements } = payments;
  return applyNotifications({
    db: base.db,
    keys: base.keys,
    router: dispatcher.router,
    measurements,
    nowMs: base.clock.nowMs,
    onNotification: onRailAnswer,
    onError,
  });
}
