import { setTimeout as sleep } from 'node:timers/promises';

const refusal = /^Error: 503 .*Too many requests/s;
const waitMsMax = 60_000;

/**
 * Sends again, as a client does, what was refused because too many requests of the account wait: on a busy
 * machine, requests that are sent at once may wait too long for the database. Only for requests that a client
 * may repeat. @throws Error with the answer, of another refusal at once.
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
