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

/** @throws the reason of the signal when it is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      },
      Math.min(ms, timerMsMax),
    );
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Ends the wait, not the work. @throws the reason of the signal when it is aborted. */
export function waitFor<Result>(work: Promise<Result>, signal?: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal?.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    const end = (): void => signal?.removeEventListener('abort', abort);
    work.then(resolve, reject).finally(end);
    if (signal?.aborted === true) abort();
  });
}
