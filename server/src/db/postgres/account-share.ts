import { AppError } from '../../core/errors.ts';

/**
 * Bounds how much of a pool one account may hold at once. Requests that wait for a locked row hold
 * their connections; without a bound those of one account would leave none for the others.
 */
export type AccountShare = {
  /** @throws AppError unavailable when the account's own requests leave no room in time. */
  run<T>(accountId: string, work: () => Promise<T>): Promise<T>;
};

export type AccountShareOptions = {
  /** How many of one account may run at once. */
  most: number;
  waitMsMax: number;
};

type Room = { running: number; queue: Set<() => void> };

export function createAccountShare({ most, waitMsMax }: AccountShareOptions): AccountShare {
  const rooms = new Map<string, Room>();
  const find = (accountId: string): Room => {
    const known = rooms.get(accountId);
    if (known !== undefined) return known;
    const room: Room = { running: 0, queue: new Set() };
    rooms.set(accountId, room);
    return room;
  };
  const waitForTurn = (room: Room): Promise<void> =>
    new Promise<void>((resolve, reject) => {
      const go = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        room.queue.delete(go);
        reject(
          new AppError(
            'unavailable',
            'Too many requests of this account wait for the database at once. Retry later.',
            { retryAfterSeconds: 1 },
          ),
        );
      }, waitMsMax);
      room.queue.add(go);
    });
  return {
    run: async (accountId, work) => {
      const room = find(accountId);
      if (room.running < most) room.running += 1;
      else await waitForTurn(room);
      try {
        return await work();
      } finally {
        const [next] = room.queue;
        if (next !== undefined) {
          room.queue.delete(next);
          next();
        } else {
          room.running -= 1;
          if (room.running === 0) rooms.delete(accountId);
        }
      }
    },
  };
}
