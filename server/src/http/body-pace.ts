import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

/** The minimum rate at which bodies must arrive, so that slow senders do not hold connections. */

export type PaceOptions = {
  /** Averaged over a window; time in which the service does not read is excluded. */
  bytesPerSecondMin: number;
  windowMs: number;
};

/** A slow mobile network achieves about four times this. */
const bodyPace: PaceOptions = { bytesPerSecondMin: 4096, windowMs: 10_000 };

export type Pace = {
  /** Starts the clock: the service waits for bytes. */
  wait(): void;
  /** Counts bytes that arrived and stops the clock until `wait`. */
  receive(bytes: number): void;
  end(): void;
};

/** Calls `onSlow` once when a window of waiting brought fewer bytes than the rate requires. */
export function createPace(onSlow: () => void, options: PaceOptions = bodyPace): Pace {
  const windowBytes = (options.bytesPerSecondMin * options.windowMs) / 1000;
  let waitedMs = 0;
  let bytesSeen = 0;
  let waitsSince: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (waitsSince !== undefined) waitedMs += performance.now() - waitsSince;
    waitsSince = undefined;
  };
  return {
    wait: () => {
      if (waitsSince !== undefined) return;
      waitsSince = performance.now();
      timer = setTimeout(onSlow, Math.max(0, options.windowMs - waitedMs)).unref();
    },
    receive: (bytes) => {
      stop();
      bytesSeen += bytes;
      if (bytesSeen < windowBytes) return;
      bytesSeen = 0;
      waitedMs = 0;
    },
    end: stop,
  };
}

/** How long an answered request may continue sending its body, at the minimum rate. */
const restMsMax = 30_000;
const restWindowMs = 5000;

/**
 * Closes the connection of an answered request unless the rest of its body keeps arriving. A client
 * that is still sending reads its answer only afterwards; Node reads and discards the rest.
 */
export function watchRest(request: IncomingMessage): void {
  // A request injected by a test has no socket.
  if (request.complete || !(request.socket instanceof Socket)) return;
  const { headers, socket } = request;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
  const windowBytes = (bodyPace.bytesPerSecondMin * restWindowMs) / 1000;
  const startMs = performance.now();
  let bytesBefore = socket.bytesRead;
  const timer = setInterval(() => {
    if (request.complete || socket.destroyed) {
      clearInterval(timer);
      return;
    }
    const isSlow = socket.bytesRead - bytesBefore < windowBytes;
    bytesBefore = socket.bytesRead;
    if (!isSlow && performance.now() - startMs < restMsMax) return;
    clearInterval(timer);
    socket.destroy();
  }, restWindowMs).unref();
}
