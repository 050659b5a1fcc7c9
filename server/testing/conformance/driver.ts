import { planNext } from '../../src/dispatch/next-step.ts';
import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailObservation,
} from '../../src/rails/contract/contract.ts';
import type { Checks } from './checks.ts';
import type { ProcessRun } from './process-run.ts';
import type { ExpectedOutcome } from './subject.ts';

/**
 * What the dispatcher does with one rail, without its database: the attempt is recorded before the
 * call, an unknown outcome is queried with back-off and never sent again, a retry counts only while
 * the rail never said that it had taken the payment, and outcomes are applied by rank. Payments
 * survive the death of an instance of the rail.
 */

export type Payment = {
  readonly instruction: Instruction;
  readonly expectedOutcome: ExpectedOutcome;
  /** Of the last attempt, as it would be recorded. */
  attempt: 'none' | 'sending' | RailAnswer['outcome'];
  /** The state of the payout by all outcomes so far. */
  standing: 'under_way' | 'ready_for_pickup' | 'paid' | 'rejected' | 'returned';
  /** Whether the rail ever said that it had taken it. */
  wasTaken: boolean;
  sends: number;
  tries: number;
  /** When the next call is due; undefined: none is. */
  dueAtMs: number | undefined;
  /** What would open an exception. */
  readonly contradictions: string[];
  /** Outcomes in order, for the message of a case that fails. */
  readonly history: string[];
};

/** `pending`: calls of the instance that have not ended, awaited or not. */
export type Caller = {
  readonly rail: RailCalls;
  readonly processRun: ProcessRun;
  readonly pending: Set<Promise<unknown>>;
};

export type DriverOptions = {
  readonly checks: Checks;
  readonly callMsMax: number;
  nowMs(): number;
  /** The amounts that the counterparty has booked, now. */
  payments(instruction: Instruction): Promise<readonly bigint[]>;
};

export type Driver = {
  readonly payments: readonly Payment[];
  add(instruction: Instruction, expectedOutcome: ExpectedOutcome): Payment;
  /** Sends or queries it, as is due, and applies the answer. */
  callNext(payment: Payment, caller: Caller): Promise<void>;
  /** One call whose answer is not applied. */
  call(
    kind: RailCallKind,
    payment: Payment,
    caller: Caller,
  ): Promise<RailAnswer | 'gone' | 'late' | 'thrown'>;
  /** Applies the observations of a new inbound message. */
  observe(observations: readonly RailObservation[]): void;
  apply(payment: Payment, answer: RailAnswer): Promise<void>;
};

export type RailCallKind = 'send' | 'query' | 'query while stopped' | 'cancel';

const ranks = { under_way: 0, ready_for_pickup: 1, paid: 2, rejected: 3, returned: 3 } as const;

export function isEnded({ standing }: Payment): boolean {
  return standing === 'rejected' || standing === 'returned';
}

export function createDriver(options: DriverOptions): Driver {
  const { checks, nowMs } = options;
  const payments = new Map<string, Payment>();
  const call: Driver['call'] = async (kind, payment, { rail, processRun, pending }) => {
    const controller = new AbortController();
    const run = async (): Promise<RailAnswer | 'thrown'> => {
      try {
        return await callRail(rail, kind, payment.instruction, { signal: controller.signal });
      } catch (error) {
        // The database was away: a rail can only throw.
        if (!isHostError(error)) checks.addThrown(kind, error);
        return 'thrown';
      }
    };
    const ended = run().finally(() => pending.delete(ended));
    pending.add(ended);
    const { promise: late, resolve } = Promise.withResolvers<'late'>();
    const timer = setTimeout(resolve, options.callMsMax, 'late' as const);
    const answer = await Promise.race([ended, processRun.gone, late]);
    clearTimeout(timer);
    controller.abort();
    payment.history.push(`${kind}: ${describe(answer)}`);
    if (typeof answer === 'string') return answer;
    checks.readAnswer(payment.instruction, answer, nowMs());
    return answer;
  };
  const apply: Driver['apply'] = async (payment, answer) => {
    const { instruction } = payment;
    const held = answer.outcome === 'retry' || answer.outcome === 'rejected';
    if (held && (await options.payments(instruction)).length > 0) {
      // It was booked and is called refused, or not sent.
      payment.contradictions.push(
        `${answer.outcome} was answered although the counterparty has booked it`,
      );
    }
    applyAnswer(payment, answer, nowMs());
  };
  return {
    get payments() {
      return [...payments.values()];
    },
    call,
    apply,
    add: (instruction, expectedOutcome) => {
      const payment = newPayment(instruction, expectedOutcome, nowMs());
      payments.set(instruction.reference, payment);
      checks.watch(instruction);
      return payment;
    },
    callNext: async (payment, caller) => {
      const isSend = ['none', 'retry'].includes(payment.attempt) && !payment.wasTaken;
      if (isSend) {
        payment.attempt = 'sending';
        payment.sends += 1;
      }
      // Due until an answer is recorded, because the lease of a dead process ends.
      payment.dueAtMs = nowMs();
      payment.tries += 1;
      const answer = await call(isSend ? 'send' : 'query', payment, caller);
      if (answer === 'gone') return;
      await apply(payment, readAnswer(answer));
    },
    observe: (observations) => {
      for (const observation of observations) {
        const payment = payments.get(observation.reference);
        if (payment === undefined) continue;
        payment.history.push(`notified: ${observation.outcome}`);
        applyOutcome(payment, observation.outcome, 'notified');
        if (isEnded(payment)) payment.dueAtMs = undefined;
      }
    },
  };
}

function newPayment(
  instruction: Instruction,
  expectedOutcome: ExpectedOutcome,
  nowMs: number,
): Payment {
  return {
    instruction: Object.freeze(instruction),
    expectedOutcome,
    attempt: 'none',
    standing: 'under_way',
    wasTaken: false,
    sends: 0,
    tries: 0,
    dueAtMs: nowMs,
    contradictions: [],
    history: [],
  };
}

function callRail(
  rail: RailCalls,
  kind: RailCallKind,
  ...call: [Instruction, CallContext]
): Promise<RailAnswer> {
  if (kind === 'send') return rail.send(...call);
  if (kind === 'query') return rail.query(...call);
  const [instruction, context] = call;
  if (kind === 'query while stopped') {
    return rail.query(instruction, { ...context, isStopped: true });
  }
  if (rail.cancel === undefined) throw new Error('the rail has no cancel');
  return rail.cancel(...call);
}

/** Thrown by the suite's host where the database is away (process-run.ts). */
export function isHostError(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (/^the database (is|went) away$/.test(cause.message)) return true;
  }
  return false;
}

function describe(answer: RailAnswer | string): string {
  if (typeof answer === 'string') return answer;
  const { outcome, code = '' } = answer;
  return ['reason' in answer ? `${outcome} (${answer.reason})` : outcome, code].join(' ').trim();
}

function readAnswer(answer: RailAnswer | 'late' | 'thrown'): RailAnswer {
  const isKnown = typeof answer === 'object' && answer !== null && answer.outcome !== undefined;
  return isKnown ? answer : { outcome: 'unknown', reason: 'no_answer' };
}

function applyAnswer(payment: Payment, answer: RailAnswer, nowMs: number): void {
  // What a rail had taken once is never sent again, no matter what it answers later.
  const outcome = answer.outcome === 'retry' && payment.wasTaken ? 'unknown' : answer.outcome;
  const { availableAtMs } = payment.instruction;
  payment.attempt = outcome;
  payment.dueAtMs = planNext(answer, {
    tries: payment.tries,
    // No payment is held for a person, and none waits for a notification alone.
    unknownSinceMs: undefined,
    firstTriedAtMs: undefined,
    sendsNotifications: false,
    availableAtMs,
    nowMs,
  }).dueAtMs;
  if (outcome !== 'retry' && outcome !== 'unknown') {
    payment.tries = 0;
    applyOutcome(payment, outcome, 'answered');
  }
  if (isEnded(payment)) payment.dueAtMs = undefined;
}

/** By rank: an outcome below the known one has no effect, and no end follows another. */
function applyOutcome(
  payment: Payment,
  outcome: RailObservation['outcome'],
  how: 'notified' | 'answered',
): void {
  const { standing } = payment;
  if (outcome !== 'rejected') payment.wasTaken = true;
  const isContradiction =
    outcome === 'rejected'
      ? standing === 'paid'
      : standing === 'rejected' && (outcome === 'paid' || outcome === 'returned');
  if (isContradiction) {
    payment.contradictions.push(`${outcome} was ${how} after ${standing}`);
    return;
  }
  const next = outcome === 'accepted' ? 'under_way' : outcome;
  if (ranks[next] > ranks[standing]) payment.standing = next;
}
