import type { RailHost } from '../../src/rails/contract/contract.ts';
import type { Decide, Fault } from '../fault-proxy/fault-proxy.ts';

/**
 * The life of one instance of a rail, as of the process that it would be in. Everything that can be
 * seen outside is a step: a write to the store, something heard, an exchange with the counterpart.
 * At one of them the process may die, be stopped for a while, or be refused what it asked for.
 */

export const endings = [
  /** Killed before the step has an effect: what the instance did since the last step is done. */
  'dies_before',
  /** Killed when the step has had its effect, before the instance knows. */
  'dies_after',
  /** Stopped before the step, as by a stopped machine; a successor takes over, then it goes on. */
  'sleeps',
  /** The database is away for this one step. */
  'fails_before',
  /** The database did it, and the connection was lost before it could say so. */
  'fails_after',
] as const;
export type Ending = (typeof endings)[number];

export type ProcessRun = {
  /** How many steps were begun. */
  readonly steps: number;
  /** The last step that was a request with the pattern `booking`; 0: none was. */
  readonly bookingStep: number;
  /** Whether the step at which something was to happen has come. */
  readonly isReached: boolean;
  /** Resolves when the process is dead or stopped, so that nobody hears from it any more. */
  readonly gone: Promise<'gone'>;
  readonly isGone: boolean;
  /** A step of the host: counted. */
  step<T>(act: () => Promise<T>): Promise<T>;
  /** Something without an effect outside: not counted, but the dead do not do it. */
  look<T>(act: () => Promise<T>): Promise<T>;
  /** What a proxy does with the exchanges of this process: each of them is a step. */
  readonly decide: Decide;
  /** Ends the sleep. */
  wakeUp(): void;
  kill(): void;
};

export type Interruption = { readonly how: Ending; readonly atStep: number };

/** A life without an ending lasts until it is killed. */
export function createLife(ending?: Interruption, booking?: RegExp): ProcessRun {
  const course = createCourse(ending);
  let bookingStep = 0;
  return {
    get steps() {
      return course.steps;
    },
    get bookingStep() {
      return bookingStep;
    },
    get isReached() {
      return ending !== undefined && course.steps >= ending.atStep;
    },
    get isGone() {
      return course.state !== 'alive';
    },
    gone: course.left.fired,
    look: (act) => look(course, act),
    step: (act) => takeStep(course, act),
    decide: ({ request }) => {
      if (booking?.test(request) === true) bookingStep = course.steps + 1;
      return decideExchange(course);
    },
    wakeUp: () => {
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
  /** What happens at the step that begins. */
  begin(): Ending | undefined;
  /** Answers when the process runs; false when it never will again. */
  runs(): Promise<boolean>;
};

function createCourse(ending: Interruption | undefined): Course {
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
      return steps === ending?.atStep ? ending.how : undefined;
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
    case 'dies_before':
      course.leave('dead');
      return never();
    case 'dies_after':
      await act();
      course.leave('dead');
      return never();
    case 'sleeps':
      course.leave('asleep');
      return look(course, act);
    case 'fails_before':
      throw new Error('the database is away');
    case 'fails_after':
      await act();
      throw new Error('the database went away');
    case undefined:
      return look(course, act);
  }
}

async function decideExchange(course: Course): Promise<Fault> {
  if (!(await course.runs())) return { kind: 'reset' };
  switch (course.begin()) {
    case 'dies_before':
      course.leave('dead');
      return { kind: 'reset' };
    case 'dies_after':
      return {
        kind: 'hold',
        until: () => {
          course.leave('dead');
          return Promise.resolve('reset');
        },
      };
    case 'sleeps':
      course.leave('asleep');
      return (await course.runs()) ? { kind: 'none' } : { kind: 'reset' };
    // An exchange is no matter of the database.
    case 'fails_before':
    case 'fails_after':
    case undefined:
      return { kind: 'none' };
  }
}

/** The dead say nothing. */
function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

/** The same host, as an instance with this life has it. */
export function liveOn(host: RailHost, life: ProcessRun, isProxied: boolean): RailHost {
  return {
    ...host,
    store: {
      get: (collection, key) => life.look(() => host.store.get(collection, key)),
      list: (collection, query) => life.look(() => host.store.list(collection, query)),
      write: (changes) => life.step(() => host.store.write(changes)),
    },
    // Behind a proxy the exchange itself is the step.
    fetch: (input, init) =>
      isProxied
        ? life.look(() => host.fetch(input, init))
        : life.step(() => host.fetch(input, init)),
    receive: (message) => life.step(() => host.receive(message)),
    log: (level, message, fields) => {
      if (!life.isGone) host.log(level, message, fields);
    },
    wake: () => {
      if (!life.isGone) host.wake();
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
