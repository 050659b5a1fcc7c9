import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

/** The least rate at which bodies arrive: a client that sends next to nothing holds no connection. */

export type PaceOptions = {
  /** Averaged over a window; the time in which the service itself does not read does not count. */
  bytesPerSecondMin: number;
  windowMs: number;
};

/** A slow mobile network sends about four times as much. */
export const bodyPace: PaceOptions = { bytesPerSecondMin: 4096, windowMs: 10_000 };

export type Pace = {
  /** From now on the service waits for bytes. */
  wait(): void;
  /** So many bytes arrived; nothing is waited for until `wait`. */
  receive(bytes: number): void;
  end(): void;
};

/** Calls `onSlow` once when a window of waiting brought fewer bytes than the rate asks for. */
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

/** After its answer a request may send the rest of its body for so long, at the least rate. */
const restMsMax = 30_000;
const restWindowMs = 5000;

/**
 * Closes the connection of an answered request unless the rest of its body keeps arriving: a client
 * that is still sending reads its answer only afterwards, and one that stopped holds a connection
 * for nothing. Node reads the rest and drops it.
 */
export function watchRest(request: IncomingMessage): void {
  // A request that a test injects has no socket.
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
