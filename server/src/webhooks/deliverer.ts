import { setTimeout as sleep } from 'node:timers/promises';
import {
  claimEndpoints,
  claimTests,
  type DeliveryResult,
  insertDeliveries,
} from './deliveries.sql.ts';
import { testType, writeTestMessage } from './messages.ts';
import { createSender, type SenderOptions } from './sender.ts';
import { type DeliveryServices, describeDelivery, openSigners, postMessage } from './sending.ts';
import { leaseMs, runTurn } from './turn.ts';

/**
 * The background work of webhooks. Each endpoint that has something to send gets a turn of its own,
 * so that one that hangs delays no other. Processes share the endpoints by leases.
 */

export type DelivererOptions = Pick<
  DeliveryServices,
  | 'db'
  | 'keys'
  | 'renderEvents'
  | 'concurrencyMax'
  | 'nowMs'
  | 'realNowMs'
  | 'steadyMs'
  | 'onDelivery'
> &
  Pick<SenderOptions, 'rules' | 'timeoutMs'> & {
    readonly onError: (error: unknown) => void;
    readonly random?: () => number;
    /** How long requests that are under way may take when the process stops; then they are cut. */
    readonly graceMs?: number;
  };

export type Deliverer = AsyncDisposable & {
  /** Begins the turns and tests that are due. Returns whether there may be more. */
  startDue(): Promise<boolean>;
  /** Resolves when all turns and tests have ended. */
  settle(): Promise<void>;
};

/** An endpoint that hangs occupies one of these for the time limit of a request. */
const turnsMax = 500;
const claimMax = 50;
/** Tests are counted apart, so that many of them do not delay turns. */
const testsMax = 50;
const graceMsDefault = 2_000;

export function createDeliverer(options: DelivererOptions): Deliverer {
  const sender = createSender(options);
  const cut = new AbortController();
  let isStopping = false;
  const turns = new Set<Promise<void>>();
  const tests = new Set<Promise<void>>();
  const services: DeliveryServices = {
    ...options,
    random: options.random ?? Math.random,
    sender,
    isStopping: () => isStopping,
    cut: cut.signal,
  };
  const begin = (running: Set<Promise<void>>, work: Promise<void>): void => {
    const watched = work.catch(options.onError).finally(() => running.delete(watched));
    running.add(watched);
  };
  const settle = async (): Promise<void> => {
    while (turns.size + tests.size > 0) await Promise.all([...turns, ...tests]);
  };
  return {
    startDue: async () => {
      if (isStopping) return false;
      const session = options.db.waiting;
      const count = Math.min(claimMax, turnsMax - turns.size);
      const claims = count > 0 ? await claimEndpoints(session, { count, leaseMs }) : [];
      for (const claim of claims) begin(turns, runTurn(services, claim));
      const due = tests.size < testsMax ? await claimTests(session, testsMax - tests.size) : [];
      for (const test of due) begin(tests, sendTest(services, test));
      return count > 0 && claims.length === count;
    },
    settle,
    [Symbol.asyncDispose]: async () => {
      isStopping = true;
      await Promise.race([
        settle(),
        sleep(options.graceMs ?? graceMsDefault, undefined, { ref: false }),
      ]);
      cut.abort();
      await settle();
      sender.close();
    },
  };
}

type Test = Awaited<ReturnType<typeof claimTests>>[number];

async function sendTest(services: DeliveryServices, test: Test): Promise<void> {
  const { account_id: accountId, endpoint_id: endpointId, url } = test;
  const { db, cut: signal } = services;
  const startedAtMs = services.nowMs();
  const signers = await openSigners(services, { accountId, endpointId });
  const message = writeTestMessage({ id: test.id, endpointId, nowMs: startedAtMs });
  const target = services.sender.open(url);
  const posting = { message, signers, target, signal, place: undefined };
  const sendResult = await postMessage(services, posting);
  const result: DeliveryResult = sendResult.error === '' ? 'delivered' : 'failed';
  const delivery = describeDelivery(
    services,
    { accountId },
    {
      // The client knows the test by this id.
      id: test.id,
      messageId: message.id,
      kind: 'test',
      sequence: null,
      type: testType,
      try: 1,
      result,
      retryAt: null,
      sendResult,
      startedAtMs,
    },
  );
  services.onDelivery(result);
  await insertDeliveries(db.waiting, { accountId, endpointId, url }, [delivery]);
}
