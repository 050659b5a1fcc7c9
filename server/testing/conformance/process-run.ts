import type { RailHost } from '../../src/rails/contract/contract.ts';
import type { Decide, Fault } from '../fault-proxy/fault-proxy.ts';

/**
 * The process that one instance of a rail would run in. Everything with an effect outside is a step: a
 * write to the store, an inbound message, an exchange with the counterparty. At one of them the
 * process may be killed, be paused, or lose its database.
 */

export const crashKinds = [
  /** Killed before the step has its effect. */
  'killed_before_step',
  /** Killed after the step had its effect, before the instance learns of it. */
  'killed_after_step',
  /** Paused before the step, as by a frozen machine; a successor takes over, then it resumes. */
  'paused',
  /** The database fails for this one step. */
  'database_fails_before',
  /** The database did it, and the connection was lost before its answer. */
  'database_fails_after',
] as const;
export type CrashKind = (typeof crashKinds)[number];

export type ProcessRun = {
  /** The number of steps begun. */
  readonly steps: number;
  /** The last step whose request matched `booking`; 0: none did. */
  readonly bookingStep: number;
  /** Whether the step of the crash point was reached. */
  readonly isReached: boolean;
  /** Resolves when the process is killed or paused. */
  readonly gone: Promise<'gone'>;
  readonly isGone: boolean;
  /** Runs a counted step of the host. */
  step<T>(act: () => Promise<T>): Promise<T>;
  /** Runs something without an effect outside; never in a killed process. */
  runUncounted<T>(act: () => Promise<T>): Promise<T>;
  /** For the proxy of this process: each exchange is a step. */
  readonly decide: Decide;
  /** Ends the pause. */
  resume(): void;
  kill(): void;
};

export type CrashPoint = { readonly how: CrashKind; readonly atStep: number };

/** Without a crash point the process runs until it is killed. */
export function createProcessRun(crashPoint?: CrashPoint, booking?: RegExp): ProcessRun {
  const course = createCourse(crashPoint);
  let bookingStep = 0;
  return {
    get steps() {
      return course.steps;
    },
    get bookingStep() {
      return bookingStep;
    },
    get isReached() {
      return crashPoint !== undefined && course.steps >= crashPoint.atStep;
    },
    get isGone() {
      return course.state !== 'alive';
    },
    gone: course.left.fired,
    runUncounted: (act) => look(course, act),
    step: (act) => takeStep(course, act),
    decide: ({ request }) => {
      if (booking?.test(request) === true) bookingStep = course.steps + 1;
      return decideExchange(course);
    },
    resume: () => {
      if (course.state === 'asleep') course.state = 'alive';
      course.woken.fire('awake');
    },
    kill: () => {
      course.leave('dead');
      course.woken.fire('awake');
    },
  };
}

type Course = {
  state: 'alive' | 'asleep' | 'dead';
  readonly steps: number;
  readonly left: Signal<'gone'>;
  readonly woken: Signal<'awake'>;
  leave(state: 'asleep' | 'dead'): void;
  /** Begins a step, and returns what happens at it. */
  begin(): CrashKind | undefined;
  /** Resolves when the process runs; false where it never will again. */
  runs(): Promise<boolean>;
};

function createCourse(crashPoint: CrashPoint | undefined): Course {
  let steps = 0;
  const left = createSignal<'gone'>();
  const woken = createSignal<'awake'>();
  const course: Course = {
    state: 'alive',
    get steps() {
      return steps;
    },
    left,
    woken,
    leave: (state) => {
      course.state = state;
      left.fire('gone');
    },
    begin: () => {
      steps += 1;
      return steps === crashPoint?.atStep ? crashPoint.how : undefined;
    },
    runs: async () => {
      if (course.state === 'asleep') await woken.fired;
      return course.state !== 'dead';
    },
  };
  return course;
}

async function look<T>(course: Course, act: () => Promise<T>): Promise<T> {
  if (!(await course.runs())) return never();
  const result = await act();
  return (await course.runs()) ? result : never();
}

async function takeStep<T>(course: Course, act: () => Promise<T>): Promise<T> {
  if (!(await course.runs())) return never();
  switch (course.begin()) {
    case 'killed_before_step':
      course.leave('dead');
      return never();
    case 'killed_after_step':
      await act();
      course.leave('dead');
      return never();
    case 'paused':
      course.leave('asleep');
      return look(course, act);
    case 'database_fails_before':
      throw new Error('the database is away');
    case 'database_fails_after':
      await act();
      throw new Error('the database went away');
    case undefined:
      return look(course, act);
  }
}

async function decideExchange(course: Course): Promise<Fault> {
  if (!(await course.runs())) return { kind: 'reset' };
  switch (course.begin()) {
    case 'killed_before_step':
      course.leave('dead');
      return { kind: 'reset' };
    case 'killed_after_step':
      return {
        kind: 'hold_answer',
        until: () => {
          course.leave('dead');
          return Promise.resolve('reset');
        },
      };
    case 'paused':
      course.leave('asleep');
      return (await course.runs()) ? { kind: 'none' } : { kind: 'reset' };
    // An exchange does not use the database.
    case 'database_fails_before':
    case 'database_fails_after':
    case undefined:
      return { kind: 'none' };
  }
}

/** A killed process never answers. */
function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

/** The host as the instance of this process has it. */
export function runOn(host: RailHost, processRun: ProcessRun, isProxied: boolean): RailHost {
  return {
    ...host,
    store: {
      get: (collection, key) => processRun.runUncounted(() => host.store.get(collection, key)),
      isErased: (collection, key) =>
        processRun.runUncounted(() => host.store.isErased(collection, key)),
      list: (collection, query) =>
        processRun.runUncounted(() => host.store.list(collection, query)),
      write: (changes) => processRun.step(() => host.store.write(changes)),
    },
    // Behind a proxy the exchange itself is the step.
    fetch: (input, init) =>
      isProxied
        ? processRun.runUncounted(() => host.fetch(input, init))
        : processRun.step(() => host.fetch(input, init)),
    receive: (message) => processRun.step(() => host.receive(message)),
    log: (level, message, fields) => {
      if (!processRun.isGone) host.log(level, message, fields);
    },
    wake: () => {
      if (!processRun.isGone) host.wake();
    },
  };
}

type Signal<T> = { readonly fired: Promise<T>; fire(value: T): void };

function createSignal<T>(): Signal<T> {
  let fire: (value: T) => void = () => undefined;
  const fired = new Promise<T>((resolve) => {
    fire = resolve;
  });
  return { fired, fire: (value) => fire(value) };
}
