import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A TCP proxy between a rail and its counterparty that injects faults. It knows no protocol: a fault
 * is decided for an exchange, which begins when the client first sends on a connection, or sends again
 * after the other side has answered. With HTTP that is one request.
 */

export type Address = { readonly host: string; readonly port: number };

export type Exchange = {
  /** From 1, over all connections, in the order in which the exchanges began. */
  readonly number: number;
  /** From 1: the connection it is on. */
  readonly connection: number;
  /** The bytes with which the client began it, as Latin-1 text; all of a short request. */
  readonly request: string;
};

export type Fault =
  | { readonly kind: 'none' }
  /** The request is not forwarded and the connection is reset. */
  | { readonly kind: 'reset' }
  /** The request is dropped silently. */
  | { readonly kind: 'drop_request' }
  /**
   * The request is forwarded after this resolves, even when the client has given up by then;
   * `arrived` is called when the counterparty has answered it or ended the connection.
   */
  | { readonly kind: 'delay_request'; until(): Promise<void>; arrived(): void }
  /** The request is not forwarded; the proxy answers instead of the counterparty. */
  | { readonly kind: 'forge_answer'; readonly answer: Uint8Array }
  /** The request is forwarded; the answer is dropped silently. */
  | { readonly kind: 'drop_answer' }
  /** The request is forwarded; the answer is truncated after this many bytes by a reset. */
  | { readonly kind: 'truncate_answer'; readonly afterBytes: number }
  /** The request is forwarded; the client gets these bytes instead of the answer. */
  | { readonly kind: 'replace_answer'; readonly answer: Uint8Array }
  /** In the answer, every n-th byte from an offset on gets its highest bit set. */
  | { readonly kind: 'corrupt_answer'; readonly fromByte: number; readonly everyBytes: number }
  /** The answer arrives byte by byte. */
  | { readonly kind: 'slow_answer'; readonly everyMs: number }
  /**
   * The answer is held until this says what is to be done. It is called when the answer begins, so
   * that the counterparty is known to have received the request.
   */
  | { readonly kind: 'hold_answer'; until(): Promise<'go' | 'reset'> };

export type Decide = (exchange: Exchange) => Fault | Promise<Fault>;

export type FaultProxy = {
  readonly address: Address;
  /** How many exchanges have begun. */
  readonly exchanges: number;
  /** Sets what decides from now on, also for open connections. */
  decide(decide: Decide): void;
  /** Resets all open connections; new ones are accepted as before. */
  reset(): void;
  close(): Promise<void>;
};

/** On a free port of 127.0.0.1; injects nothing until `decide` is called. */
export async function openFaultProxy(target: Address): Promise<FaultProxy> {
  const pairs = new Set<Pair>();
  const counted = { connections: 0, exchanges: 0 };
  let decide: Decide = () => ({ kind: 'none' });
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const connection = ++counted.connections;
    const pair = joinSockets(client, target, (request) =>
      decide({ number: ++counted.exchanges, connection, request }),
    );
    pairs.add(pair);
    void pair.closed.then(() => pairs.delete(pair));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the proxy has no TCP port');
  const reset = (): void => {
    for (const pair of pairs) pair.reset();
  };
  return {
    address: { host: '127.0.0.1', port: bound.port },
    get exchanges() {
      return counted.exchanges;
    },
    decide: (next) => {
      decide = next;
    },
    reset,
    close: async () => {
      reset();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  };
}

/** A whole HTTP answer after which the connection ends, for `impostor` and `replace`. */
export function formatHttpAnswer(status: number, body: string, contentType = 'text/html'): Buffer {
  const bytes = Buffer.from(body);
  const head = [
    `HTTP/1.1 ${status} Fault`,
    `Content-Type: ${contentType}`,
    `Content-Length: ${bytes.length}`,
    'Connection: close',
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]);
}

/** Injects a fault into the n-th exchange (from 1) only. */
export function faultNth(number: number, fault: Fault): Decide {
  return (exchange) => (exchange.number === number ? fault : { kind: 'none' });
}

/** Injects a fault into the first `count` exchanges whose request has this pattern. */
export function faultMatching(pattern: RegExp, fault: Fault, count = 1): Decide {
  let left = count;
  return ({ request }) => {
    if (left === 0 || !pattern.test(request)) return { kind: 'none' };
    left -= 1;
    return fault;
  };
}

type Pair = { reset(): void; readonly closed: Promise<void> };

/** Joins a client with the target for as long as both live. */
function joinSockets(
  client: Socket,
  target: Address,
  begin: (request: string) => Fault | Promise<Fault>,
): Pair {
  const upstream = connect({ ...target, allowHalfOpen: true });
  client.setNoDelay(true);
  upstream.setNoDelay(true);
  const reset = (): void => {
    // A reset, not an orderly end: the other side must not take what it has for the whole.
    if (client.readyState === 'open') client.resetAndDestroy();
    client.destroy();
    upstream.destroy();
  };
  let fault: Fault = { kind: 'none' };
  let isClientSpeaking = false;
  let released: Promise<void> | undefined;
  const answering = createAnswering(client, reset);

  const takeRequest = async (chunk: Buffer): Promise<void> => {
    if (!isClientSpeaking) {
      isClientSpeaking = true;
      fault = await begin(chunk.toString('latin1'));
      released = undefined;
      answering.begin(fault);
    }
    switch (fault.kind) {
      case 'reset':
        return reset();
      case 'drop_request':
        return;
      case 'forge_answer':
        client.end(fault.answer);
        return;
      case 'delay_request':
        released ??= fault.until();
        await released;
        if (!upstream.destroyed) upstream.write(chunk);
        return;
      default:
        upstream.write(chunk);
    }
  };
  const requests = createQueue(takeRequest, reset);
  const answers = createQueue(answering.take, reset);
  client.on('data', requests.add);
  client.on('end', () => requests.afterwards(() => upstream.end()));
  upstream.on('data', (chunk: Buffer) => {
    isClientSpeaking = false;
    answers.add(chunk);
  });
  upstream.on('end', () =>
    answers.afterwards(() => {
      // A dropped answer has no visible end either.
      if (fault.kind !== 'drop_answer') client.end();
    }),
  );
  const arrive = (): void => {
    if (fault.kind !== 'delay_request') return;
    fault.arrived();
    if (client.destroyed) upstream.destroy();
  };
  upstream.on('data', arrive).on('close', arrive).on('error', reset);
  // A delayed request outlives its client.
  const giveUp = (): void => {
    if (fault.kind !== 'delay_request') reset();
  };
  client.on('close', giveUp).on('error', giveUp);
  return { reset, closed: waitForClose([client, upstream]) };
}

async function waitForClose(sockets: readonly Socket[]): Promise<void> {
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          socket.once('close', () => {
            resolve();
          });
        }),
    ),
  );
}

/** How the counterparty's bytes reach the client under the fault of the current exchange. */
function createAnswering(
  client: Socket,
  reset: () => void,
): { begin(fault: Fault): void; take(chunk: Buffer): Promise<void> } {
  let fault: Fault = { kind: 'none' };
  let seenBytes = 0;
  let held: Promise<'go' | 'reset'> | undefined;
  const take = async (chunk: Buffer): Promise<void> => {
    const fromBytes = seenBytes;
    seenBytes += chunk.length;
    switch (fault.kind) {
      case 'drop_answer':
        return;
      case 'truncate_answer': {
        if (seenBytes < fault.afterBytes) {
          client.write(chunk);
          return;
        }
        const rest = chunk.subarray(0, Math.max(0, fault.afterBytes - fromBytes));
        // A reset discards bytes in flight, so they get a moment to arrive.
        await new Promise<void>((resolve) => {
          client.write(rest, () => {
            resolve();
          });
        });
        await sleep(20);
        return reset();
      }
      case 'replace_answer':
        if (fromBytes === 0) client.end(fault.answer);
        return;
      case 'corrupt_answer':
        client.write(corrupt(chunk, fromBytes, fault));
        return;
      case 'slow_answer':
        for (const byte of chunk) {
          if (client.destroyed) return;
          client.write(Buffer.from([byte]));
          await sleep(fault.everyMs);
        }
        return;
      case 'hold_answer':
        held ??= fault.until();
        if ((await held) === 'reset') return reset();
        client.write(chunk);
        return;
      default:
        client.write(chunk);
    }
  };
  return {
    begin: (next) => {
      fault = next;
      seenBytes = 0;
      held = undefined;
    },
    take,
  };
}

function corrupt(
  chunk: Buffer,
  fromBytes: number,
  fault: { readonly fromByte: number; readonly everyBytes: number },
): Buffer {
  const changed = Buffer.from(chunk);
  for (let index = 0; index < changed.length; index += 1) {
    const offset = fromBytes + index - fault.fromByte;
    if (offset >= 0 && offset % fault.everyBytes === 0)
      changed[index] = (changed[index] ?? 0) | 0x80;
  }
  return changed;
}

/** Runs in order, one at a time; a failure ends the connection. */
function createQueue(
  take: (chunk: Buffer) => Promise<void>,
  fail: () => void,
): { add(chunk: Buffer): void; afterwards(last: () => void): void } {
  let done: Promise<void> = Promise.resolve();
  return {
    add: (chunk) => {
      done = done.then(() => take(chunk)).catch(fail);
    },
    afterwards: (last) => {
      void done.then(last);
    },
  };
}
