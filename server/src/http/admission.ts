/**
 * How many requests may be in flight, so that an accepted one is answered within a bounded time: by
 * Little's law, the completions per millisecond times the longest wait. The limit follows the
 * measured completions, so that no machine's capacity has to be configured.
 */

export type GateOptions = {
  /** The longest time that an accepted request may take under overload. */
  waitMs: number;
  /** The limit never exceeds this. */
  inFlightMax: number;
  /** A clock that never jumps. */
  steadyMs: () => number;
};

export type Gate = {
  /** Whether one more request would wait for too long. */
  isFull(): boolean;
  enter(): void;
  /** A request ended or pauses; `isDone` if it succeeded, which counts as a completion. */
  leave(isDone: boolean): void;
  countShed(): void;
  read(): GateState;
};

export type GateState = { inFlight: number; limit: number; shed: number };

/**
 * Always admitted: a burst of this size, such as all connections of a client that starts, must not
 * be refused because the service was idle or stalled a moment ago.
 */
export const inFlightMin = 1024;

/** Group commits complete hundreds of requests at once: a shorter window would see none or all. */
const windowMs = 250;
/** Weight of the last window in the estimate. */
const smoothing = 0.3;

export function createGate({ waitMs, inFlightMax, steadyMs }: GateOptions): Gate {
  const floor = Math.min(inFlightMin, inFlightMax);
  let limit = floor;
  let donePerMs = floor / waitMs;
  let inFlight = 0;
  let shed = 0;
  let done = 0;
  let highest = 0;
  let startedMs = steadyMs();

  const adapt = (): void => {
    const nowMs = steadyMs();
    const elapsedMs = nowMs - startedMs;
    if (elapsedMs < windowMs) return;
    const measured = done / elapsedMs;
    // A window with few requests in flight, or after a long pause, does not show the capacity.
    const wasBusy = highest * 2 >= limit && elapsedMs < 2 * windowMs;
    const isInformative = measured > donePerMs || wasBusy;
    if (isInformative) donePerMs += (measured - donePerMs) * smoothing;
    limit = Math.round(Math.min(inFlightMax, Math.max(floor, donePerMs * waitMs)));
    startedMs = nowMs;
    done = 0;
    highest = inFlight;
  };

  return {
    isFull: () => {
      adapt();
      return inFlight >= limit;
    },
    enter: () => {
      inFlight += 1;
      if (inFlight > highest) highest = inFlight;
    },
    leave: (isDone) => {
      inFlight -= 1;
      if (isDone) done += 1;
    },
    countShed: () => {
      shed += 1;
    },
    read: () => ({ inFlight, limit, shed }),
  };
}
