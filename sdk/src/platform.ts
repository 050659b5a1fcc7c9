/** What the SDK takes from its surroundings: time and randomness of Node 18 and newer, and browsers. */

/** As a variable, and imported with remarks for bundlers, so that those for browsers do not look for it. */
const nodeCrypto = 'node:crypto';

type WebCrypto = typeof globalThis.crypto;

/** Web Crypto. Node 18 has it only as a module. */
export async function loadCrypto(): Promise<WebCrypto> {
  const present = (globalThis as { crypto?: WebCrypto }).crypto;
  if (present !== undefined) return present;
  const { webcrypto } = (await import(/* webpackIgnore: true */ /* @vite-ignore */ nodeCrypto)) as {
    webcrypto: WebCrypto;
  };
  return webcrypto;
}

/** Milliseconds since 1970. */
export function nowMs(): number {
  return Date.now();
}

/** 128 random bits as text. `crypto.randomUUID` is missing in browsers on pages without TLS. */
export async function createKey(): Promise<string> {
  const bytes = (await loadCrypto()).getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A longer timer ends at once. */
export const timerMsMax = 2 ** 31 - 1;

/** The callbacks of a signal, which share one listener: of more than ten, Node 18 and 20 warn as of a leak. */
const shared = new WeakMap<AbortSignal, { callbacks: Set<() => void>; listener(): void }>();

/** Calls back when the signal is aborted, or is already. Returns a function that takes the callback away. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => undefined;
  if (signal.aborted) {
    callback();
    return () => undefined;
  }
  const { callbacks, listener } = shared.get(signal) ?? listen(signal);
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size > 0) return;
    signal.removeEventListener('abort', listener);
    shared.delete(signal);
  };
}

function listen(signal: AbortSignal): { callbacks: Set<() => void>; listener(): void } {
  const callbacks = new Set<() => void>();
  const listener = (): void => {
    for (const callback of callbacks) callback();
  };
  signal.addEventListener('abort', listener, { once: true });
  const added = { callbacks, listener };
  shared.set(signal, added);
  return added;
}

/** @throws the reason of the signal when it is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      release();
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, timerMsMax));
    const release = onAbort(signal, () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    });
  });
}

/** Ends the wait, not the work. @throws the reason of the signal when it is aborted. */
export function waitFor<Result>(work: Promise<Result>, signal?: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const release = onAbort(signal, () => reject(signal?.reason as Error));
    work.then(resolve, reject).finally(release);
  });
}
