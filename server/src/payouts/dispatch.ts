import { setTimeout as sleep } from 'node:timers/promises';
import { type AttributeValues, openValues } from '../attributes/attributes.ts';
import type { EnvironmentName } from '../core/access.ts';
import { newId } from '../core/ids.ts';
import type { KeyRing } from '../core/sealing.ts';
import { createBatcher, held } from '../db/batcher.ts';
import type { EnvironmentClock } from '../db/environment-clock.ts';
import { placeByOrdinal } from '../db/ordinals.ts';
import type { Database } from '../db/pool.ts';
import type { Instruction, Rail, RailAnswer } from '../rails/contract.ts';
import { openPerson } from '../users/users.ts';
import {
  applyObservation,
  applyObservations,
  countDue,
  type DispatchRow,
  type Observation,
  postponeDispatch,
  takeDispatches,
} from './dispatch.sql.ts';

export { applyObservation, countDue, findNextDue } from './dispatch.sql.ts';

/**
 * Committed payouts on their way: what is due is claimed with a lease, the attempt is written
 * before the rail is called, the rail is called outside any transaction, and one transaction
 * records what it said. Whatever is no definite answer is unknown, and unknown is asked again.
 */

export type DispatchServices = {
  db: Database;
  keys: KeyRing;
  clock: EnvironmentClock;
  rails: ReadonlyMap<string, Rail>;
  /** Told of every answer of a rail, and of what could not be done. */
  onAnswer: (rail: string, outcome: string) => void;
  onError: (error: unknown) => void;
  times: DispatchTimes;
};

export type DispatchTimes = {
  /** How long a claim is its process's own; what a dead process held is free after it. */
  leaseMs: number;
  /** Shorter than the lease: the answer of a call that took longer would be refused anyway. */
  callMsMax: number;
};

/** In staging a moved clock waits for the leases of the dead, and no call takes long. */
export const dispatchTimes: Readonly<Record<EnvironmentName, DispatchTimes>> = {
  staging: { leaseMs: 5_000, callMsMax: 4_000 },
  live: { leaseMs: 60_000, callMsMax: 45_000 },
};

export type Dispatcher = {
  /** Takes what is due now, as far as there is room, and answers how many; they go on by themselves. */
  startDue(): Promise<number>;
  /** The same, and waits for what it took. */
  runDue(): Promise<number>;
  /** Asks about one payout at once, unless somebody else is at it. */
  runOne(accountId: string, payoutId: string): Promise<void>;
  /** Returns when nothing is due any more, whoever does it. */
  drain(): Promise<void>;
  /** Returns when nothing that was taken here is under way any more. */
  settle(): Promise<void>;
};

/** Payouts that may be with their rails at once. */
const underWayMax = 1000;
const takenMax = 500;
const backOffFirstMs = 60_000;
const backOffMaxMs = 24 * 3_600_000;
/** An outcome that stays unknown for longer is put before a person; the funds stay where they are. */
const unknownMsMax = 24 * 3_600_000;
/** When to look again after a rail accepted and did not say when. */
const acceptedCheckMs = 15 * 60_000;
/** However late a rail wants to be asked, a payout is looked at once a year. */
const lookMsMax = 366 * 24 * 3_600_000;

export function createDispatcher(services: DispatchServices): Dispatcher {
  const { db, clock } = services;
  const { leaseMs } = services.times;
  const record = createRecorder(db);
  const underWay = new Set<Promise<void>>();
  const start = (row: DispatchRow, endMs: number): Promise<void> => {
    const done = dispatchOne(services, record, { row, endMs })
      .catch(async (error: unknown) => {
        services.onError(error);
        await putOff(services, row);
      })
      .finally(() => underWay.delete(done));
    underWay.add(done);
    return done;
  };
  const take = async (claim: {
    count: number;
    only?: { accountId: string; payoutId: string };
  }): Promise<Promise<void>[]> => {
    // The lease begins later than this, by the database's clock.
    const endMs = clock.steadyMs() + leaseMs;
    const rows = await takeDispatches(db.system, { ...claim, leaseMs });
    return rows.map((row) => start(row, endMs));
  };
  const takeDue = async (): Promise<Promise<void>[]> => {
    if (underWay.size >= underWayMax) await Promise.race(underWay);
    return take({ count: Math.min(takenMax, underWayMax - underWay.size) });
  };
  const runDue = async (): Promise<number> => {
    const taken = await takeDue();
    await Promise.all(taken);
    return taken.length;
  };
  return {
    startDue: async () => (await takeDue()).length,
    runDue,
    runOne: async (accountId, payoutId) => {
      await Promise.all(await take({ count: 1, only: { accountId, payoutId } }));
    },
    drain: async () => {
      for (;;) {
        if ((await runDue()) > 0) continue;
        await Promise.all(underWay);
        if ((await countDue(db.system)) === 0) return;
        // Another process holds the lease of what is left.
        await sleep(10);
      }
    },
    settle: async () => {
      await Promise.all(underWay);
    },
  };
}

/** Records what rails answered, in groups; what is out of the ordinary by itself. */
function createRecorder(db: Database): (observation: Observation) => Promise<void> {
  const group = createBatcher<Observation, true | undefined>({
    db,
    accountOf: ({ accountId }) => accountId,
    keyOf: ({ payoutId }) => payoutId,
    run: async (session, observations, mayWait) => {
      const rows = await applyObservations(session, observations, mayWait);
      return placeByOrdinal(observations, rows, (row) => (row.is_held ? held : true));
    },
  });
  return async (observation) => {
    const isApplied = await group.submit(observation);
    if (isApplied !== true) await applyObservation(db.system, observation);
  };
}

async function dispatchOne(
  services: DispatchServices,
  record: (observation: Observation) => Promise<void>,
  { row, endMs }: { row: DispatchRow; endMs: number },
): Promise<void> {
  const { clock } = services;
  clock.observe(row.now);
  // Somebody else may have asked its rail by now, heard that nothing was sent, and be sending it.
  if (clock.steadyMs() >= endMs) throw new Error('a claim was over before its rail was called');
  const answer = await callRail(services, row);
  services.onAnswer(row.rail, answer.outcome);
  const next = planNext(doubt(answer, row), {
    tries: row.tries,
    unknownSince: row.unknown_since,
    nowMs: clock.nowMs(),
  });
  await record({
    accountId: row.account_id,
    payoutId: row.payout_id,
    observationId: newId(),
    source: row.mode,
    outcome: next.outcome,
    reason: 'reason' in answer ? answer.reason : '',
    fence: row.fence,
    dueAt: next.dueAtMs === undefined ? undefined : new Date(next.dueAtMs),
    journalIds: [newId(), newId(), newId()],
  });
}

/** One payout's trouble is not its neighbour's, and not the end of its own way. */
async function putOff(services: DispatchServices, claim: DispatchRow): Promise<void> {
  try {
    const waitMs = getBackOffMs(claim.tries);
    await postponeDispatch(services.db.system, { ...claim, waitMs });
  } catch (error) {
    // Without the database only the lease's own end is left.
    services.onError(error);
  }
}

/** As `payout_reference` in SQL: a function of the payout and nothing else. */
export function formatReference(payoutId: string): string {
  return payoutId.replaceAll('-', '');
}

function readInstruction(keys: KeyRing, row: DispatchRow): Instruction {
  const userKey = keys.unwrap(row.data_key, row.user_id);
  const attributes: AttributeValues =
    row.attributes === null || row.attr_set_id === null
      ? {}
      : openValues(userKey, row.attributes, row.attr_set_id);
  const person = openPerson(userKey, { id: row.user_id, sealed: row.person });
  return {
    reference: formatReference(row.payout_id),
    payerKey: row.payer_key,
    countryCode: row.country,
    deliveryType: row.delivery_type as Instruction['deliveryType'],
    currency: row.destination_currency,
    amountMinor: row.destination_amount,
    attributes,
    beneficiary: { firstName: person.first_name, lastName: person.last_name },
    pickupCode: row.pickup_code,
    committedAtMs: row.committed_at.getTime(),
    availableAtMs: row.estimated_availability.getTime(),
  };
}

const outcomes: ReadonlySet<unknown> = new Set<RailAnswer['outcome']>([
  'accepted',
  'ready_for_pickup',
  'paid',
  'rejected',
  'returned',
  'retry',
  'unknown',
]);

/** A rail is not trusted with the form of its answer either. */
function readAnswer(answer: RailAnswer | null | undefined): RailAnswer {
  if (outcomes.has(answer?.outcome)) return answer as RailAnswer;
  return { outcome: 'unknown', reason: 'the rail answered nothing that can be understood' };
}

/** What a rail had taken once is never sent again, whatever it says of it later. */
function doubt(answer: RailAnswer, row: DispatchRow): RailAnswer {
  if (answer.outcome !== 'retry' || !row.was_taken) return answer;
  return { outcome: 'unknown', reason: answer.reason };
}

async function callRail(services: DispatchServices, row: DispatchRow): Promise<RailAnswer> {
  const rail = services.rails.get(row.rail);
  // Certainly nothing is sent by a call that is not made.
  const notCalled = (reason: string): RailAnswer => ({
    outcome: row.mode === 'send' ? 'retry' : 'unknown',
    reason,
  });
  // Not configured in this process (any more).
  if (rail === undefined) return notCalled('the rail is not configured');
  let instruction: Instruction;
  try {
    instruction = readInstruction(services.keys, row);
  } catch (error) {
    services.onError(error);
    return notCalled('the instruction cannot be read');
  }
  try {
    const call = row.mode === 'send' ? rail.send(instruction) : rail.query(instruction);
    return await within(services.times.callMsMax, call.then(readAnswer));
  } catch (error) {
    // A rail should not throw; when it does, nobody knows what it had done before.
    services.onError(error);
    return { outcome: 'unknown', reason: 'the rail failed' };
  }
}

/** The answer, or that it did not come in time; what comes later is heard by nobody. */
function within(timeMs: number, answer: Promise<RailAnswer>): Promise<RailAnswer> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      resolve({ outcome: 'unknown', reason: 'the rail did not answer in time' });
    }, timeMs);
    answer.then(resolve, reject).finally(() => clearTimeout(late));
  });
}

type Next = { outcome: string; dueAtMs: number | undefined };

function planNext(
  answer: RailAnswer,
  state: { tries: number; unknownSince: Date | null; nowMs: number },
): Next {
  const { tries, unknownSince, nowMs } = state;
  const backOffMs = getBackOffMs(tries);
  switch (answer.outcome) {
    case 'accepted':
    case 'ready_for_pickup':
      return { outcome: answer.outcome, dueAtMs: findLook(answer.checkAtMs, nowMs) };
    case 'paid': {
      const dueAtMs =
        answer.checkAtMs === undefined ? undefined : findLook(answer.checkAtMs, nowMs);
      return { outcome: 'paid', dueAtMs };
    }
    case 'rejected':
    case 'returned':
      return { outcome: answer.outcome, dueAtMs: undefined };
    case 'retry':
      return { outcome: 'retry', dueAtMs: nowMs + backOffMs };
    case 'unknown': {
      const unknownMs = unknownSince === null ? 0 : nowMs - unknownSince.getTime();
      return {
        outcome: unknownMs >= unknownMsMax ? 'hold' : 'unknown',
        dueAtMs: nowMs + backOffMs,
      };
    }
  }
}

function getBackOffMs(tries: number): number {
  return Math.min(backOffFirstMs * 2 ** Math.min(tries - 1, 20), backOffMaxMs);
}

/** When the rail wants to be asked again, within reason: ahead, and not past a year. */
function findLook(checkAtMs: number | undefined, nowMs: number): number {
  if (checkAtMs === undefined || !(checkAtMs > nowMs)) return nowMs + acceptedCheckMs;
  return Math.min(checkAtMs, nowMs + lookMsMax);
}
