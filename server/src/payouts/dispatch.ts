import { setTimeout as sleep } from 'node:timers/promises';
import { type AttributeValues, openValues } from '../attributes/attributes.ts';
import type { EnvironmentName } from '../core/access.ts';
import { newId } from '../core/ids.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { EnvironmentClock } from '../db/environment-clock.ts';
import type { Database } from '../db/pool.ts';
import type { Instruction, Rail, RailAnswer } from '../rails/contract.ts';
import { openPerson } from '../users/users.ts';
import {
  applyObservation,
  type BegunRow,
  beginAttempt,
  claimDispatches,
  countDue,
  type DispatchRow,
  getInstructionRow,
  type InstructionRow,
  postponeDispatch,
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
  /** Works off what is due now; answers how many payouts it took. */
  runDue(): Promise<number>;
  /** Asks about one payout at once, unless somebody else is at it. */
  runOne(accountId: string, payoutId: string): Promise<void>;
  /** Returns when nothing is due any more, whoever does it. */
  drain(): Promise<void>;
};

const claimCount = 50;
const concurrency = 8;
const backOffFirstMs = 60_000;
const backOffMaxMs = 24 * 3_600_000;
/** An outcome that stays unknown for longer is put before a person; the funds stay where they are. */
const unknownMsMax = 24 * 3_600_000;
/** When to look again after a rail accepted and did not say when. */
const acceptedCheckMs = 15 * 60_000;
/** However late a rail wants to be asked, a payout is looked at once a year. */
const lookMsMax = 366 * 24 * 3_600_000;

export function createDispatcher(services: DispatchServices): Dispatcher {
  const { leaseMs } = services.times;
  const work = async (claimed: readonly DispatchRow[]): Promise<void> => {
    const queue = [...claimed];
    const worker = async (): Promise<void> => {
      for (let row = queue.shift(); row !== undefined; row = queue.shift()) {
        try {
          await dispatchOne(services, row);
        } catch (error) {
          services.onError(error);
          await putOff(services, row);
        }
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
  };
  const runDue = async (): Promise<number> => {
    const claimed = await claimDispatches(services.db.system, { count: claimCount, leaseMs });
    await work(claimed);
    return claimed.length;
  };
  return {
    runDue,
    runOne: async (accountId, payoutId) => {
      const only = { accountId, payoutId };
      await work(await claimDispatches(services.db.system, { count: 1, leaseMs, only }));
    },
    drain: async () => {
      for (;;) {
        const count = await runDue();
        if (count > 0) continue;
        if ((await countDue(services.db.system)) === 0) return;
        // Another process holds the lease of what is left.
        await sleep(10);
      }
    },
  };
}

async function dispatchOne(services: DispatchServices, claim: DispatchRow): Promise<void> {
  const { db, clock } = services;
  const id = { accountId: claim.account_id, payoutId: claim.payout_id };
  const row = await getInstructionRow(db.system, id);
  const instruction = readInstruction(services.keys, claim.payout_id, row);
  const begun = await beginAttempt(db.system, {
    ...id,
    fence: claim.fence,
    reference: instruction.reference,
    leaseMs: services.times.leaseMs,
  });
  clock.observe(begun.now);
  if (begun.mode === 'none') return;
  const answer = await callRail(services, { mode: begun.mode, railName: row.rail, instruction });
  services.onAnswer(row.rail, answer.outcome);
  const next = planNext(doubt(answer, begun), {
    tries: claim.tries,
    unknownSince: begun.unknown_since,
    nowMs: clock.nowMs(),
  });
  await applyObservation(db.system, {
    ...id,
    observationId: newId(),
    source: begun.mode === 'send' ? 'send' : 'query',
    outcome: next.outcome,
    reason: 'reason' in answer ? answer.reason : '',
    fence: claim.fence,
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

/** The reference by which the rail knows the payout: a function of the payout and nothing else. */
export function formatReference(payoutId: string): string {
  return payoutId.replaceAll('-', '');
}

function readInstruction(keys: KeyRing, payoutId: string, row: InstructionRow): Instruction {
  const userKey = keys.unwrap(row.data_key, row.user_id);
  const attributes: AttributeValues =
    row.attributes === null || row.attr_set_id === null
      ? {}
      : openValues(userKey, row.attributes, row.attr_set_id);
  const person = openPerson(userKey, { id: row.user_id, sealed: row.person });
  return {
    reference: formatReference(payoutId),
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

type Call = { mode: 'send' | 'query'; railName: string; instruction: Instruction };

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
function doubt(answer: RailAnswer, begun: BegunRow): RailAnswer {
  if (answer.outcome !== 'retry' || begun.was_taken !== true) return answer;
  return { outcome: 'unknown', reason: answer.reason };
}

async function callRail(services: DispatchServices, call: Call): Promise<RailAnswer> {
  const rail = services.rails.get(call.railName);
  if (rail === undefined) {
    // Not configured in this process (any more): certainly nothing was sent by this call.
    return call.mode === 'send'
      ? { outcome: 'retry', reason: 'the rail is not configured' }
      : { outcome: 'unknown', reason: 'the rail is not configured' };
  }
  const ended = new AbortController();
  try {
    return await Promise.race([
      (call.mode === 'send' ? rail.send(call.instruction) : rail.query(call.instruction)).then(
        readAnswer,
      ),
      sleep(services.times.callMsMax, undefined, { signal: ended.signal }).then(
        (): RailAnswer => ({ outcome: 'unknown', reason: 'the rail did not answer in time' }),
      ),
    ]);
  } catch (error) {
    // A rail should not throw; when it does, nobody knows what it had done before.
    services.onError(error);
    return { outcome: 'unknown', reason: 'the rail failed' };
  } finally {
    ended.abort();
  }
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
