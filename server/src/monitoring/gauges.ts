import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { type ExpiryMeasureRow, measureExpiries } from '../accounts/expiry-warnings.ts';
import { freezeScopes } from '../controls/freezes.ts';
import { formatAmount } from '../core/money.ts';
import type { Health } from '../dispatch/gate.ts';
import { measureUnsigned } from '../ledger/checkpoints.ts';
import { measureNotices, type NoticeMeasureRow } from '../notices/notices.ts';
import type { Rail, RailFunds } from '../rails/contract/contract.ts';
import { measureRecipients } from '../rules/recipient-rescreening.ts';
import { readListsInForce } from '../screening/screening.ts';
import { measureWebhooks, type WebhookMeasureRow } from '../webhooks/webhooks.ts';
import { findNextCutOff } from './cut-offs.ts';
import { type AllGauges, createAll } from './gauge-list.ts';
import {
  countFreezes,
  countOpenExceptions,
  countUnfinished,
  type FreezeMeasureRow,
  limitGauges,
  type OpenExceptionsRow,
  type UnfinishedRow,
} from './gauges.sql.ts';
import { getLeftMinor, listPrefunding } from './prefunding.ts';
import { measurePrices } from './price-ages.ts';
import { listRailNeeds, type RailNeedRow } from './rail-states.sql.ts';
import { listPairs, type ReadinessParts } from './readiness.ts';
import { measureRequirements } from './requirement-ages.ts';

/**
 * The gauges for operators. Values of the database are read by a scrape, at most every few seconds;
 * during an outage the last values stay, and a gauge shows their age. A scrape never waits long and
 * never fails.
 */

export type MeasuredEnvironment = ReadinessParts & {
  readonly railNames: readonly string[];
  readonly rails: readonly Pick<
    Rail,
    'name' | 'payers' | 'findNextCutOff' | 'findRequirementsTime'
  >[];
  healthOf(rail: string): Health;
  railFunds(): ReadonlyMap<string, readonly RailFunds[]>;
  /** When background work last succeeded, by loop and the steady clock. */
  loopsSucceededAtMs(): ReadonlyMap<string, number>;
  /** The time of the newest quote of each source, milliseconds. */
  newestRates(): ReadonlyMap<string, number>;
};

export type Gauges = {
  /** Updates the gauges, within the time that a scrape may wait. */
  refresh(): Promise<void>;
};

export type GaugesOptions = {
  registry: Registry;
  environments: readonly MeasuredEnvironment[];
  steadyMs: () => number;
  /** Real time, by which sanctions lists age. */
  realNowMs: () => number;
  onError: (error: unknown) => void;
};

const readEveryMs = 10_000;
/** The longer a reading takes, the longer the pause: readings take a twentieth of the time at most. */
const pausePerReadMs = 20;
const scrapeMsMax = 2_000;

export function createGauges(options: GaugesOptions): Gauges {
  const gauges = createAll(options.registry);
  const readings = options.environments.map((environment) => createReading(environment, options));
  return {
    refresh: async () => {
      await Promise.all(readings.map((reading) => reading.refresh()));
      for (const gauge of Object.values(gauges)) gauge.reset();
      for (const { environment, last, readAtMs } of readings) {
        showProcess(gauges, environment, options.steadyMs());
        const ageSeconds = (options.steadyMs() - readAtMs()) / 1000;
        gauges.readAge.set({ environment: environment.name }, ageSeconds);
        const snapshot = last();
        if (snapshot === undefined) continue;
        showSnapshot(gauges, environment, { snapshot, ageSeconds, ...options });
      }
    },
  };
}

type Snapshot = {
  readonly unfinished: readonly UnfinishedRow[];
  readonly exceptions: readonly OpenExceptionsRow[];
  readonly freezes: readonly FreezeMeasureRow[];
  readonly webhooks: readonly WebhookMeasureRow[];
  readonly notices: readonly NoticeMeasureRow[];
  readonly unsignedSeconds: number;
  readonly expiries: readonly ExpiryMeasureRow[];
  readonly needs: readonly RailNeedRow[];
  readonly lists: readonly { list: string; checkedAtMs: number }[];
  readonly recipients: { waiting: bigint; pass_seconds: number };
};

function createReading(environment: MeasuredEnvironment, { steadyMs, onError }: GaugesOptions) {
  let last: Snapshot | undefined;
  // Until the first reading the age is that of this process, so that a database that cannot be read shows.
  let readAtMs = steadyMs();
  let running: Promise<void> | undefined;
  let nextAtMs = Number.NEGATIVE_INFINITY;
  const read = async (): Promise<void> => {
    const beganMs = steadyMs();
    try {
      last = await readSnapshot(environment);
      readAtMs = steadyMs();
    } catch (error) {
      onError(error);
    } finally {
      const tookMs = steadyMs() - beganMs;
      nextAtMs = steadyMs() + Math.max(readEveryMs, tookMs * pausePerReadMs);
      running = undefined;
    }
  };
  return {
    environment,
    last: () => last,
    readAtMs: () => readAtMs,
    refresh: async (): Promise<void> => {
      if (running === undefined && steadyMs() < nextAtMs) return;
      running ??= read();
      await Promise.race([running, sleep(scrapeMsMax, undefined, { ref: false })]);
    },
  };
}

async function readSnapshot({ db }: MeasuredEnvironment): Promise<Snapshot> {
  return db.systemTransaction(async (session) => {
    await limitGauges(session);
    const unfinished = await countUnfinished(session);
    const exceptions = await countOpenExceptions(session);
    const freezes = await countFreezes(session);
    const { versions } = await readListsInForce(session);
    const recipients = await measureRecipients(session);
    const webhooks = await measureWebhooks(session);
    const notices = await measureNotices(session);
    const unsignedSeconds = await measureUnsigned(session);
    const expiries = await measureExpiries(session);
    const needs = await listRailNeeds(session);
    const measured = { unfinished, exceptions, freezes, webhooks, notices, unsignedSeconds };
    return { ...measured, expiries, needs, lists: versions, recipients };
  });
}

const healthValues: Readonly<Record<Health, number>> = { up: 1, degraded: 0.5, down: 0 };

/** Gauges of this process. */
function showProcess(
  gauges: AllGauges,
  environment: MeasuredEnvironment,
  steadyNowMs: number,
): void {
  const { name, clock, catalog, db } = environment;
  gauges.clockAhead.set({ environment: name }, clock.databaseAheadMs() / 1000);
  const loops = environment.loopsSucceededAtMs();
  for (const [loop, atMs] of loops) {
    gauges.loopAge.set({ environment: name, loop }, (steadyNowMs - atMs) / 1000);
  }
  for (const rail of environment.rails) {
    const labels = { environment: name, rail: rail.name };
    // The breaker of a process that sends nothing never opens, and would hide those that are open.
    if (loops.has('dispatch')) {
      gauges.railHealth.set(labels, healthValues[environment.healthOf(rail.name)]);
    }
    const cutOffMs = findNextCutOff(rail, clock.nowMs());
    if (cutOffMs !== undefined) gauges.cutOff.set(labels, (cutOffMs - clock.nowMs()) / 1000);
  }
  for (const [source, asOfMs] of environment.newestRates()) {
    gauges.rateAge.set({ environment: name, source }, (clock.nowMs() - asOfMs) / 1000);
  }
  for (const [rail, funds] of environment.railFunds()) {
    for (const { currency, amount, asOfMs } of funds) {
      const labels = { environment: name, rail, currency };
      gauges.funds.set(labels, Number(amount));
      if (asOfMs !== undefined) gauges.fundsAge.set(labels, (clock.nowMs() - asOfMs) / 1000);
    }
  }
  for (const { rail, ageMs, unpriced } of measurePrices(catalog, clock.nowMs())) {
    const labels = { environment: name, rail };
    if (ageMs !== undefined) gauges.priceAge.set(labels, ageMs / 1000);
    gauges.unpriced.set(labels, unpriced);
  }
  for (const { rail, ageMs } of measureRequirements(environment.rails, clock.nowMs())) {
    gauges.requirementsAge.set({ environment: name, rail }, ageMs / 1000);
  }
  const book = environment.rates();
  const unusable = listPairs(catalog).filter(({ code }) => !book.find('USD', code).ok);
  gauges.ratesUnusable.set({ environment: name }, unusable.length);
  gauges.diskFull.set({ environment: name }, Number(db.isDiskFull()));
  for (const { pool, inUse, idle, waiting } of db.connections()) {
    const labels = { environment: name, pool };
    gauges.connections.set({ ...labels, state: 'in_use' }, inUse);
    gauges.connections.set({ ...labels, state: 'idle' }, idle);
    gauges.connections.set({ ...labels, state: 'waiting' }, waiting);
  }
}

/** Only in processes that read funds. */
function showFundsLeft(
  gauges: AllGauges,
  { name: environment, railFunds, catalog }: MeasuredEnvironment,
  needs: readonly RailNeedRow[],
): void {
  for (const [rail, rows] of listPrefunding({ needs, funds: railFunds(), catalog })) {
    for (const row of rows) {
      const leftMinor = getLeftMinor(row);
      if (leftMinor === undefined) continue;
      const labels = { environment, rail, currency: row.currency.code };
      gauges.fundsLeft.set(labels, Number(formatAmount(leftMinor, row.currency)));
    }
  }
}

function showSnapshot(
  gauges: AllGauges,
  measured: MeasuredEnvironment,
  { snapshot, ageSeconds, realNowMs }: GaugesOptions & { snapshot: Snapshot; ageSeconds: number },
): void {
  const { name: environment, railNames } = measured;
  showFundsLeft(gauges, measured, snapshot.needs);
  // 0 instead of absent, so that alert rules can compare it.
  for (const rail of railNames) {
    gauges.due.set({ environment, rail }, 0);
    gauges.lag.set({ environment, rail }, 0);
  }
  const lags = new Map<string, number>();
  for (const row of snapshot.unfinished) {
    const { rail, status } = row;
    gauges.due.inc({ environment, rail }, row.due + row.backing_off);
    gauges.backingOff.inc({ environment, rail }, row.backing_off);
    lags.set(rail, Math.max(lags.get(rail) ?? 0, row.lag_seconds));
    gauges.unfinished.set({ environment, rail, status }, row.count);
    gauges.oldest.set({ environment, rail, status }, row.oldest_seconds + ageSeconds);
  }
  // As of the reading: with its age added, payouts that were sent meanwhile would seem to wait.
  for (const [rail, seconds] of lags) gauges.lag.set({ environment, rail }, seconds);
  const { unsignedSeconds } = snapshot;
  gauges.unsigned.set({ environment }, unsignedSeconds === 0 ? 0 : unsignedSeconds + ageSeconds);
  for (const { kind, count, oldest_seconds: oldestSeconds } of snapshot.exceptions) {
    gauges.exceptions.set({ environment, kind }, count);
    gauges.oldestException.set({ environment, kind }, oldestSeconds + ageSeconds);
  }
  showFreezes(gauges, environment, snapshot.freezes);
  showWebhooks(gauges, environment, snapshot.webhooks);
  for (const { channel, count, oldest_seconds: oldestSeconds } of snapshot.notices) {
    gauges.notices.set({ environment, channel }, count);
    gauges.oldestNotice.set({ environment, channel }, oldestSeconds + ageSeconds);
  }
  for (const { days, count } of snapshot.expiries)
    gauges.credentials.set({ environment, days }, count);
  const { waiting, pass_seconds: passSeconds } = snapshot.recipients;
  gauges.recipientHits.set({ environment }, Number(waiting));
  gauges.recipientPass.set({ environment }, passSeconds);
  for (const { list, checkedAtMs } of snapshot.lists) {
    gauges.listAge.set({ environment, list }, (realNowMs() - checkedAtMs) / 1000);
  }
}

function showFreezes(
  gauges: AllGauges,
  environment: string,
  rows: readonly FreezeMeasureRow[],
): void {
  // 0 instead of absent, so that alert rules can compare it.
  for (const scope of freezeScopes) {
    const row = rows.find((one) => one.scope === scope);
    gauges.freezes.set({ environment, scope }, row?.count ?? 0);
    gauges.frozen.set({ environment, scope }, row?.waiting ?? 0);
  }
}

function showWebhooks(
  gauges: AllGauges,
  environment: string,
  rows: readonly WebhookMeasureRow[],
): void {
  const enabled = rows.find(({ status }) => status === 'ENABLED');
  gauges.webhookBacklog.set({ environment }, enabled?.backlog ?? 0);
  gauges.webhooksFailing.set({ environment }, enabled?.failing ?? 0);
  gauges.oldestWebhook.set({ environment }, enabled?.oldest_seconds ?? 0);
  for (const { status, count } of rows) gauges.webhooks.set({ environment, status }, count);
}
