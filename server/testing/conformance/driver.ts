import { setTimeout as sleep } from 'node:timers/promises';
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
 * What the service's dispatcher does with one rail (payouts/dispatch.ts), without its database: the
 * attempt is recorded before the call, an unclear outcome is asked about with back-off and never
 * resent, a retry is believed only of what the rail never said it had taken, and what is heard is
 * applied by rank. Its payments live on when an instance of the rail dies.
 */

export type Payment = {
  readonly instruction: Instruction;
  readonly expectedOutcome: ExpectedOutcome;
  /** Of the last attempt, as it would be recorded. */
  attempt: 'none' | 'sending' | RailAnswer['outcome'];
  /** Where the payout stands by all that was heard. */
  standing: 'under_way' | 'ready_for_pickup' | 'paid' | 'rejected' | 'returned';
  /** Whether the rail ever said that it had it. */
  wasTaken: boolean;
  sends: number;
  tries: number;
  /** When it is asked about again; undefined: nobody asks any more. */
  dueAtMs: number | undefined;
  /** What a person would have to look into. */
  readonly contradictions: string[];
  /** What was said, in order, for the message of a case that fails. */
  readonly history: string[];
};

/** `pending`: calls of the instance that have not ended, whether somebody waits for them or not. */
export type Caller = {
  readonly rail: RailCalls;
  readonly processRun: ProcessRun;
  readonly pending: Set<Promise<unknown>>;
};

export type DriverOptions = {
  readonly checks: Checks;
  readonly callMsMax: number;
  nowMs(): number;
  /** The counterparty's records, at this moment. */
  payments(instruction: Instruction): Promise<readonly bigint[]>;
};

export type Driver = {
  readonly payments: readonly Payment[];
  add(instruction: Instruction, expectedOutcome: ExpectedOutcome): Payment;
  /** Sends it or asks about it, as is its turn, and applies the answer. */
  ask(payment: Payment, caller: Caller): Promise<void>;
  /** One call, with nothing that follows from it. */
  call(
    kind: CallKind,
    payment: Payment,
    caller: Caller,
  ): Promise<RailAnswer | 'gone' | 'late' | 'thrown'>;
  /** What a message that is kept for the first time says. */
  observe(observations: readonly RailObservation[]): void;
  apply(payment: Payment, answer: RailAnswer): Promise<void>;
};

export type CallKind = 'send' | 'query' | 'cancel';

const backOffFirstMs = 60_000;
const backOffMsMax = 24 * 3_600_000;
const acceptedCheckMs = 15 * 60_000;
const lookMsMax = 366 * 24 * 3_600_000;
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
        // The database was away: there is no other way to say so.
        if (!isHostError(error)) checks.addThrown(kind, error);
        return 'thrown';
      }
    };
    const ended = run().finally(() => pending.delete(ended));
    pending.add(ended);
    const timer = new AbortController();
    const late = sleep(options.callMsMax, 'late' as const, timer).catch(() => 'late' as const);
    const answer = await Promise.race([ended, processRun.gone, late]);
    timer.abort();
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
      // A payment that was paid, and was refused to be paid again, may be called so.
      payment.contradictions.push(`${answer.outcome} was said while the counterparty has it`);
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
    ask: async (payment, caller) => {
      const isSend = ['none', 'retry'].includes(payment.attempt) && !payment.wasTaken;
      if (isSend) {
        payment.attempt = 'sending';
        payment.sends += 1;
      }
      // Until an answer is recorded it is due: the lease of a dead process ends.
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
        payment.history.push(`heard: ${observation.outcome}`);
        advance(payment, observation.outcome, 'heard');
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
  kind: CallKind,
  ...call: [Instruction, CallContext]
): Promise<RailAnswer> {
  if (kind === 'send') return rail.send(...call);
  if (kind === 'query') return rail.query(...call);
  if (rail.cancel === undefined) throw new Error('the rail has no cancel');
  return rail.cancel(...call);
}

/** Thrown by the suite's host where the database is to be away (processRun.ts). */
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
  const backOffMs = Math.min(backOffFirstMs * 2 ** Math.min(payment.tries - 1, 20), backOffMsMax);
  // What a rail had taken once is never sent again, whatever it says of it later.
  const outcome = answer.outcome === 'retry' && payment.wasTaken ? 'unknown' : answer.outcome;
  payment.attempt = outcome;
  if (outcome === 'retry' || outcome === 'unknown') {
    payment.dueAtMs = nowMs + backOffMs;
  } else {
    payment.tries = 0;
    advance(payment, outcome, 'answered');
    const checkAtMs = 'checkAtMs' in answer ? answer.checkAtMs : undefined;
    payment.dueAtMs = findLook(payment, checkAtMs, nowMs);
  }
  if (isEnded(payment)) payment.dueAtMs = undefined;
}

function findLook(
  payment: Payment,
  checkAtMs: number | undefined,
  nowMs: number,
): number | undefined {
  if (checkAtMs !== undefined && checkAtMs > nowMs) return Math.min(checkAtMs, nowMs + lookMsMax);
  const isPaid = payment.standing === 'paid' && checkAtMs === undefined;
  return isPaid ? undefined : nowMs + acceptedCheckMs;
}

/** By rank: what is lower than what is known has no effect, and ends do not follow each other. */
function advance(
  payment: Payment,
  outcome: RailObservation['outcome'],
  how: 'heard' | 'answered',
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
