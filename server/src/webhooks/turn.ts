import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../core/ids.ts';
import { findTracePlaces, type TracePlace } from '../tracing/trace-contexts.ts';
import {
  type ClaimRow,
  deleteRetries,
  type EndpointId,
  insertDeliveries,
  listRetries,
  type NewDelivery,
  releaseEndpoint,
  saveProgress,
  saveReplayCursor,
  stopEndpoint,
  upsertRetries,
  writeAbandonedEvents,
} from './deliveries.sql.ts';
import {
  DeliveryQueue,
  openRetry,
  type QueuedDelivery,
  startAgain,
  storeRetry,
} from './delivery-queue.ts';
import { createEndpointHealth } from './endpoint-health.ts';
import { createEventSource, type EventSource, findMessage } from './event-source.ts';
import type { SendResult, Target } from './sender.ts';
import { type DeliveryServices, describeDelivery, openSigners, postMessage } from './sending.ts';
import type { Signer } from './signatures.ts';

/** Events in memory beyond the cursor. */
const windowMax = 1000;
const readCountMax = 500;
/** For a probe, which sends one of them. */
const probeReadCount = 20;
/** With this many stored deliveries, new events stay in the event log. */
const storedMax = 1000;
export const leaseMs = 30_000;
const renewMs = 10_000;
/** After this time nothing more is read: another process may take over, and an old secret ends. */
const turnMs = 30_000;

/** Another process has the lease. */
class LeaseLost extends Error {}

/** Sends until nothing is ready, the endpoint backs off, or time is up. */
export async function runTurn(services: DeliveryServices, claim: ClaimRow): Promise<void> {
  const id = { accountId: claim.account_id, endpointId: claim.endpoint_id };
  const [signers, retries] = await Promise.all([
    openSigners(services, id),
    listRetries(services.db.waiting, id),
  ]);
  const turn = new Turn(services, { claim, signers });
  turn.openRetries(retries.map(openRetry));
  try {
    while (await turn.step());
  } catch (error) {
    turn.abort();
    if (!(error instanceof LeaseLost)) throw error;
  }
}

/**
 * One endpoint while this process holds its lease. Results are stored together, while further
 * requests are under way: the faster the endpoint answers, the more of them share a transaction.
 */
class Turn {
  readonly #services: DeliveryServices;
  readonly #claim: ClaimRow;
  readonly #id: EndpointId;
  readonly #signers: readonly Signer[];
  readonly #target: Target;
  readonly #queue = new DeliveryQueue();
  readonly #health: ReturnType<typeof createEndpointHealth>;
  readonly #events: EventSource;
  #replay: EventSource | undefined;
  /** Retries of events that are not replayed: they wait until the replay is read. */
  #held: readonly QueuedDelivery[] = [];
  readonly #cut = new AbortController();
  readonly #signal: AbortSignal;
  readonly #endMs: number;
  #savedAtMs: number;
  #savedCursor: bigint;
  #sending = 0;
  #ended: { item: QueuedDelivery; delivery: NewDelivery }[] = [];
  #isOver = false;
  #failure: Error | undefined;
  #wake: () => void = () => undefined;

  constructor(
    services: DeliveryServices,
    { claim, signers }: { claim: ClaimRow; signers: readonly Signer[] },
  ) {
    this.#services = services;
    this.#claim = claim;
    this.#id = { accountId: claim.account_id, endpointId: claim.endpoint_id };
    this.#signers = signers;
    this.#target = services.sender.open(claim.url);
    this.#health = createEndpointHealth(claim, services);
    ({ events: this.#events, replay: this.#replay } = openSources(claim, services));
    this.#signal = AbortSignal.any([this.#cut.signal, services.cut]);
    this.#savedAtMs = services.steadyMs();
    this.#endMs = this.#savedAtMs + turnMs;
    this.#savedCursor = claim.cursor;
  }

  openRetries(retries: readonly QueuedDelivery[]): void {
    const isHeld = ({ isReplay }: QueuedDelivery): boolean =>
      this.#replay !== undefined && !isReplay;
    this.#held = retries.filter(isHeld);
    this.#add(retries.filter((item) => !isHeld(item)));
  }

  #add(items: readonly QueuedDelivery[]): void {
    for (const item of items) {
      const isNew = this.#queue.add(item, this.#services.nowMs());
      if (!isNew) this.#sourceOf(item)?.finish(item.sequence);
    }
  }

  abort(): void {
    this.#isOver = true;
    this.#cut.abort();
  }

  /** Returns whether there is more to do. */
  async step(): Promise<boolean> {
    const [readCount] = await Promise.all([this.#read(), this.#save()]);
    this.#isOver ||= this.#services.isStopping();
    this.#queue.wake(this.#services.nowMs());
    this.#startReady();
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#sending === 0 && this.#ended.length === 0 && readCount === 0) {
      await this.#finish();
      return false;
    }
    if (this.#ended.length === 0 && this.#sending > 0) await this.#waitForEnd();
    return true;
  }

  #maySend(): boolean {
    return (
      !this.#isOver &&
      this.#health.backOffUntilMs() === undefined &&
      this.#health.stop() === undefined
    );
  }

  /**
   * Reads further events and returns how many. A replay is read to its end first, so that the new
   * events of an object arrive after its replayed ones.
   */
  async #read(): Promise<number> {
    const { db, nowMs, steadyMs } = this.#services;
    const hasRoom =
      this.#queue.size < windowMax - readCountMax && this.#queue.storedCount < storedMax;
    if (!hasRoom || !this.#maySend() || steadyMs() >= this.#endMs) return 0;
    const countMax = this.#health.isProbed() ? probeReadCount : readCountMax;
    const source = this.#replay?.isAtEnd() === false ? this.#replay : this.#events;
    const { count, items } = await source.read(db.waiting, countMax, nowMs());
    this.#add(items);
    if (source.isReplay && source.isAtEnd()) this.#add(this.#held);
    return count;
  }

  #startReady(): void {
    const isProbed = this.#health.isProbed();
    const atOnceMax = isProbed ? 1 : this.#services.concurrencyMax;
    while (this.#maySend() && this.#sending < atOnceMax) {
      const item = isProbed ? this.#queue.takeFirst() : this.#queue.take();
      if (item === undefined) return;
      this.#sending += 1;
      void this.#send(item);
    }
  }

  /** Never rejects: a failure of ours ends the turn. */
  async #send(item: QueuedDelivery): Promise<void> {
    const { db, nowMs, renderEvents } = this.#services;
    try {
      const { accountId } = this.#id;
      const { sequence } = item;
      const message =
        item.message ?? (await findMessage(db.waiting, renderEvents, { accountId, sequence }));
      const startedAtMs = nowMs();
      if (message === undefined) {
        const error = 'the event is no longer kept';
        const sendResult = { error, durationMs: 0, answer: undefined };
        const sent = { result: 'abandoned', retryAt: null, sendResult, startedAtMs } as const;
        this.#end(item, { ...sent, type: '', messageId: '' });
        return;
      }
      const sendResult = await postMessage(this.#services, {
        message,
        signers: this.#signers,
        target: this.#target,
        signal: this.#signal,
        place: item.isStored ? await this.#findPlace(item) : item.place,
      });
      const judged = this.#judge(item, sendResult, startedAtMs);
      const { id: messageId, type } = message;
      this.#end(item, { messageId, type, ...judged, sendResult, startedAtMs });
    } catch (error) {
      this.#isOver = true;
      if (!this.#signal.aborted) {
        this.#failure ??=
          error instanceof Error ? error : new Error('sending failed', { cause: error });
      }
      this.#queue.putBack(item, nowMs());
    } finally {
      this.#sending -= 1;
      this.#startReady();
      this.#wake();
    }
  }

  async #findPlace({ subjectId }: QueuedDelivery): Promise<TracePlace | undefined> {
    const { waiting, tracing } = this.#services.db;
    const { accountId } = this.#id;
    const [place] = await findTracePlaces(waiting, tracing, [{ accountId, subjectId }]);
    return place;
  }

  #judge(
    item: QueuedDelivery,
    sendResult: SendResult,
    startedAtMs: number,
  ): Pick<NewDelivery, 'result' | 'retryAt'> {
    if (sendResult.error === '') {
      this.#health.succeeded();
      return { result: 'delivered', retryAt: null };
    }
    // The time for retries begins with the first request.
    const firstAtMs = item.tries === 0 ? startedAtMs : item.firstAtMs;
    const tries = item.tries + 1;
    const nowMs = this.#services.nowMs();
    const verdict = this.#health.failed(sendResult, { tries, firstAtMs }, nowMs);
    if (verdict.result === 'abandoned') return { result: 'abandoned', retryAt: null };
    item.firstAtMs = firstAtMs;
    item.dueAtMs = verdict.dueAtMs;
    return { result: 'failed', retryAt: new Date(verdict.dueAtMs) };
  }

  #end(
    item: QueuedDelivery,
    sent: Pick<NewDelivery, 'messageId' | 'type' | 'result' | 'retryAt'> & {
      sendResult: SendResult;
      startedAtMs: number;
    },
  ): void {
    item.tries += 1;
    const delivery = describeDelivery(this.#services, this.#id, {
      ...sent,
      id: newId(),
      kind: item.isReplay ? 'replay' : 'event',
      sequence: item.sequence,
      try: item.tries,
    });
    this.#ended.push({ item, delivery });
    this.#services.onDelivery(sent.result);
    const nowMs = this.#services.nowMs();
    if (sent.result === 'failed') this.#queue.delay(item, nowMs);
    else this.#queue.remove(item, nowMs);
  }

  async #waitForEnd(): Promise<void> {
    const over = new AbortController();
    const ended = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const renewal = sleep(renewMs, undefined, { signal: over.signal }).catch(() => undefined);
    await Promise.race([ended, renewal]);
    over.abort();
  }

  /** Stores what has ended and what waits behind it, moves the cursor, and renews the lease. */
  async #save(passed: readonly QueuedDelivery[] = []): Promise<void> {
    const { db, steadyMs, nowMs } = this.#services;
    const ended = this.#ended;
    this.#ended = [];
    const retries = [...this.#queue.takeUnstored(), ...passed];
    const done = ended.filter(({ delivery }) => delivery.result !== 'failed');
    for (const item of [...retries, ...done.map(({ item: doneItem }) => doneItem)]) {
      this.#sourceOf(item)?.finish(item.sequence);
    }
    const cursor = this.#events.cursor();
    const replayCursor = this.#replay?.cursor();
    const isDue = ended.length + retries.length > 0 || cursor !== this.#savedCursor;
    if (!isDue && this.#replay === undefined && steadyMs() - this.#savedAtMs < renewMs) return;
    const { url } = this.#claim;
    const deliveries = ended.map(({ delivery }) => delivery);
    await db.waiting.systemTransaction(async (session) => {
      await writeAbandonedEvents(session, this.#id, deliveries);
      const progress = { cursor, ...this.#health.progress(), leaseMs };
      const saved = await saveProgress(session, this.#claim, progress);
      if (saved === undefined) throw new LeaseLost();
      const isOld = saved.revision !== this.#claim.revision;
      this.#isOver ||= isOld;
      if (replayCursor !== undefined) await saveReplayCursor(session, this.#claim, replayCursor);
      await insertDeliveries(session, { ...this.#id, url }, deliveries);
      const rows = retries.map(storeRetry);
      await upsertRetries(session, this.#id, isOld ? rows.map(startAgain(nowMs())) : rows);
      const stored = done.map(({ item }) => item).filter(({ isStored }) => isStored);
      await deleteRetries(session, this.#id, stored);
    });
    this.#savedAtMs = steadyMs();
    this.#savedCursor = cursor;
    if (this.#replay?.isDone() === true) this.#replay = undefined;
  }

  #sourceOf({ isReplay }: QueuedDelivery): EventSource | undefined {
    return isReplay ? this.#replay : this.#events;
  }

  async #finish(): Promise<void> {
    const session = this.#services.db.waiting;
    const sources = this.#replay === undefined ? [this.#events] : [this.#replay, this.#events];
    const passed = sources.flatMap((source) => source.listPassed());
    for (const item of passed) this.#queue.markStored(item);
    await this.#save(passed);
    const stop = this.#health.stop();
    if (stop !== undefined) await stopEndpoint(session, this.#claim, stop);
    const backOffUntilMs = this.#health.backOffUntilMs();
    const nextMs = backOffUntilMs ?? this.#queue.nextDueMs();
    await releaseEndpoint(session, this.#claim, {
      isBackingOff: backOffUntilMs !== undefined || this.#queue.storedCount >= storedMax,
      nextAt: nextMs === undefined ? undefined : new Date(nextMs),
    });
  }
}

function openSources(
  claim: ClaimRow,
  { renderEvents, db: { tracing } }: Pick<DeliveryServices, 'renderEvents' | 'db'>,
): { events: EventSource; replay: EventSource | undefined } {
  const { account_id: accountId, event_types: types } = claim;
  const { replay_cursor: replayCursor, replay_end: end, replay_types: replayTypes } = claim;
  const events = createEventSource({
    accountId,
    tracing,
    renderEvents,
    isReplay: false,
    cursor: claim.cursor,
    end: undefined,
    filters: [types],
  });
  if (replayCursor === null || end === null) return { events, replay: undefined };
  const filters = [types, replayTypes];
  const replay = createEventSource({
    accountId,
    tracing,
    renderEvents,
    isReplay: true,
    cursor: replayCursor,
    end,
    filters,
  });
  return { events, replay };
}
