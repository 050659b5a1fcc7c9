import { AppError } from '../../core/errors.ts';

/**
 * Limits how many connections of a pool one account may use at once. Requests that wait for a locked row
 * keep their connections; without a limit one account could use all of them.
 */
export type AccountQuota = {
  /** @throws AppError unavailable when no slot of the account becomes free in time. */
  run<T>(accountId: string, work: () => Promise<T>): Promise<T>;
};

export type AccountQuotaOptions = {
  most: number;
  waitMsMax: number;
};

type Slots = { running: number; queue: Set<() => void> };

export function createAccountQuota({ most, waitMsMax }: AccountQuotaOptions): AccountQuota {
  const slotsOf = new Map<string, Slots>();
  const find = (accountId: string): Slots => {
    const known = slotsOf.get(accountId);
    if (known !== undefined) return known;
    const slots: Slots = { running: 0, queue: new Set() };
    slotsOf.set(accountId, slots);
    return slots;
  };
  const waitForTurn = (slots: Slots): Promise<void> =>
    new Promise<void>((resolve, reject) => {
      const go = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        slots.queue.delete(go);
        reject(
          new AppError(
            'unavailable',
            'Too many requests of this account wait for the database at once. Retry later.',
            { retryAfterSeconds: 1 },
          ),
        );
      }, waitMsMax);
      slots.queue.add(go);
    });
  return {
    run: async (accountId, work) => {
      const slots = find(accountId);
      if (slots.running < most) slots.running += 1;
      else await waitForTurn(slots);
      try {
        return await work();
      } finally {
        const [next] = slots.queue;
        if (next !== undefined) {
          slots.queue.delete(next);
          next();
        } else {
          slots.running -= 1;
          if (slots.running === 0) slotsOf.delete(accountId);
        }
      }
    },
  };
}
