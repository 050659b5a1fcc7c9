import { AppError } from '../../core/errors.ts';
import {
  answers,
  arePlansOld,
  type Connection,
  destroy,
  discardPlans,
  type Opener,
  type OpenOptions,
  run,
} from './connection.ts';
import type { SilenceLimits } from './dead-connections.ts';
import { breaksConnection } from './errors.ts';

/**
 * A bounded pool. An idle connection is tested before use, because a network may drop packets silently;
 * when one proves dead, the others are tested before their next use.
 */

export type PoolUse = {
  readonly inUse: number;
  readonly idle: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
};

export type ConnectionPool = {
  /** @throws AppError unavailable when no connection becomes free in time. */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Every open connection, in use or idle. */
  list(): Iterable<Connection>;
  /** Closes idle connections, and tests those in use before their next use. */
  distrust(): void;
  /** Closes connections that were idle for long. */
  closeIdle(): void;
  describeUse(): PoolUse;
  close(): Promise<void>;
};

export type PoolOptions = OpenOptions & {
  opener: Opener;
  connectionsMax: number;
  onConnectionLost: (error: Error) => void;
  /** Called when a connection was silently dead, so that every pool distrusts its own. */
  onDead: () => void;
  /** `openMsMax` is for the queue, tests and opening together. */
  limits: SilenceLimits;
};

const idleMsMax = 60_000;
/** For a connection that is being closed. */
const endMsMax = 2_000;

type Waiter = { take(connection: Connection | undefined): void };

export function createConnectionPool(options: PoolOptions): ConnectionPool {
  return new BoundedPool(options);
}

class BoundedPool implements ConnectionPool {
  readonly #options: PoolOptions;
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #suspected = new WeakSet<Connection>();
  readonly #queue = new Set<Waiter>();
  readonly #emptied = Promise.withResolvers<void>();
  /** Open connections, those that are being opened, and those that are being closed. */
  #count = 0;
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    // Without awaiting if one is idle: every statement would pay for the promise.
    const connection = this.#takeTrusted() ?? (await this.#acquire());
    try {
      if (arePlansOld(connection)) await run(connection, discardPlans);
      return await work(connection);
    } catch (error) {
      if (breaksConnection(error)) this.#drop(connection);
      throw error;
    } finally {
      this.#release(connection);
    }
  }

  list(): Iterable<Connection> {
    return this.#open;
  }

  distrust(): void {
    for (const connection of this.#open) this.#suspected.add(connection);
    for (const connection of this.#idle.slice()) this.#drop(connection);
  }

  closeIdle(): void {
    const nowMs = performance.now();
    for (const connection of this.#idle.slice()) {
      if (nowMs - connection.silentSinceMs > idleMsMax) this.#retire(connection);
    }
  }

  describeUse(): PoolUse {
    const idle = this.#idle.length;
    return { inUse: this.#open.size - idle, idle, waiting: this.#queue.size };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiter of this.#queue) waiter.take(undefined);
    this.#queue.clear();
    for (const connection of this.#idle.slice()) this.#retire(connection);
    if (this.#count > 0) await this.#emptied.promise;
  }

  #takeTrusted(): Connection | undefined {
    const last = this.#idle.at(-1);
    return last !== undefined && this.#isTrusted(last) ? this.#idle.pop() : undefined;
  }

  async #acquire(): Promise<Connection> {
    const endMs = performance.now() + this.#options.limits.openMsMax;
    for (;;) {
      if (this.#isClosed) throw new Error('Client was closed and is not queryable');
      const known = this.#idle.pop();
      if (known !== undefined) {
        if (await this.#isSound(known)) return known;
      } else if (this.#count < this.#options.connectionsMax) {
        this.#count += 1;
        return this.#openOne(endMs);
      } else {
        const given = await this.#waitForTurn(endMs);
        if (given === undefined && !this.#isClosed) return this.#openOne(endMs);
        if (given === undefined) continue;
        if (this.#isTrusted(given) || (await this.#isSound(given))) return given;
      }
    }
  }

  async #openOne(endMs: number): Promise<Connection> {
    const { opener, onConnectionLost } = this.#options;
    try {
      const leftMs = Math.max(1, endMs - performance.now());
      const connection = await opener.open(this.#options, leftMs);
      this.#open.add(connection);
      connection.client.on('error', (error) => {
        // In use, its statement fails.
        if (this.#idle.includes(connection)) onConnectionLost(error);
        this.#drop(connection);
      });
      connection.client.on('end', () => this.#drop(connection));
      return connection;
    } catch (error) {
      this.#freePlace();
      throw error;
    }
  }

  #waitForTurn(endMs: number): Promise<Connection | undefined> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        take: (connection) => {
          clearTimeout(timer);
          resolve(connection);
        },
      };
      const timer = setTimeout(() => {
        this.#queue.delete(waiter);
        reject(createBusyError());
      }, endMs - performance.now());
      this.#queue.add(waiter);
    });
  }

  #isTrusted(connection: Connection): boolean {
    const idleMs = performance.now() - connection.silentSinceMs;
    return (
      idleMs < this.#options.limits.testAfterMs &&
      !this.#suspected.has(connection) &&
      this.#open.has(connection)
    );
  }

  async #isSound(connection: Connection): Promise<boolean> {
    const { testMsMax } = this.#options.limits;
    if (!this.#isTrusted(connection) && !(await answers(connection, testMsMax))) {
      if (!this.#open.has(connection)) return false;
      this.#options.onConnectionLost(new Error('an idle connection did not answer'));
      this.#drop(connection);
      this.#options.onDead();
      return false;
    }
    this.#suspected.delete(connection);
    return this.#open.has(connection);
  }

  #release(connection: Connection): void {
    if (!this.#open.has(connection)) return;
    // A connection in an open transaction must not be used by others.
    if (connection.client.getTransactionStatus() !== 'I') this.#drop(connection);
    else if (this.#isClosed) this.#retire(connection);
    else {
      const [next] = this.#queue;
      if (next === undefined) this.#idle.push(connection);
      else {
        this.#queue.delete(next);
        next.take(connection);
      }
    }
  }

  #drop(connection: Connection): void {
    if (!this.#forget(connection)) return;
    destroy(connection.client);
    this.#freePlace();
  }

  #retire(connection: Connection): void {
    if (!this.#forget(connection)) return;
    const timer = setTimeout(() => destroy(connection.client), endMsMax);
    void this.#options.opener.end(connection).finally(() => {
      clearTimeout(timer);
      this.#freePlace();
    });
  }

  /** False if it was removed before. */
  #forget(connection: Connection): boolean {
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    return this.#open.delete(connection);
  }

  /** Lets the first waiting caller open a connection. */
  #freePlace(): void {
    const [next] = this.#queue;
    if (next !== undefined && !this.#isClosed) {
      this.#queue.delete(next);
      next.take(undefined);
      return;
    }
    this.#count -= 1;
    if (this.#isClosed && this.#count === 0) this.#emptied.resolve();
  }
}

function createBusyError(): AppError {
  return new AppError('unavailable', 'No database connection became free in time. Retry later.', {
    retryAfterSeconds: 1,
  });
}
