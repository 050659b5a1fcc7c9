/**
 * How many requests may be at work at once, so that an accepted one is answered within a bounded
 * time: by Little's law, what is finished per millisecond times the wait that is allowed. The
 * limit follows what is measured; nobody has to know the capacity of a machine beforehand.
 */

export type GateOptions = {
  /** How long an accepted request may take when there are more than can be served. */
  waitMs: number;
  /** Never more than this at once, however fast they are. */
  inFlightMax: number;
  /** A clock that never jumps. */
  steadyMs: () => number;
};

export type Gate = {
  /** Whether one more would have to wait for too long. */
  isFull(): boolean;
  enter(): void;
  /** The work of one has ended, or pauses; `isDone` says that it did what was asked. */
  leave(isDone: boolean): void;
  /** Notes that somebody was sent away. */
  turnAway(): void;
  read(): GateState;
};

export type GateState = { inFlight: number; limit: number; shed: number };

/**
 * Always admitted, whatever is measured: a crowd of this size, such as all connections of a client
 * that starts, must not be turned away because the service was idle, or stalled, a moment ago.
 */
export const inFlightFloor = 1024;

/** Batches end hundreds of requests at once: a shorter window would see none, or too many. */
const windowMs = 250;
/** How far an estimate moves towards what the last window showed. */
const pace = 0.3;

export function createGate({ waitMs, inFlightMax, steadyMs }: GateOptions): Gate {
  const floor = Math.min(inFlightFloor, inFlightMax);
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
    // A window in which few were at work, or nobody came for long, does not show what can be done.
    const wasBusy = highest * 2 >= limit && elapsedMs < 2 * windowMs;
    const isTelling = measured > donePerMs || wasBusy;
    if (isTelling) donePerMs += (measured - donePerMs) * pace;
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
    turnAway: () => {
      shed += 1;
    },
    read: () => ({ inFlight, limit, shed }),
  };
}
