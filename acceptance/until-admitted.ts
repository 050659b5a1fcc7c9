import { setTimeout as sleep } from 'node:timers/promises';

const refusal = /^Error: 503 .*Too many requests/s;
const waitMsMax = 60_000;

/**
 * Repeats a request, as a client does, while the service refuses it because too many requests of the account
 * wait for the database. On a busy machine this happens to requests that are sent at the same time. Only for
 * requests that a client may repeat. @throws Error with the answer; at once where the refusal is another one.
 */
export async function untilAdmitted<T>(send: () => Promise<T>): Promise<T> {
  for (const endMs = performance.now() + waitMsMax; ; await sleep(50)) {
    try {
      return await send();
    } catch (error) {
      if (!refusal.test(String(error)) || performance.now() > endMs) throw error;
    }
  }
}
