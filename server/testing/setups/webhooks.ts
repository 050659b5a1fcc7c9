import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '../../src/core/ids.ts';
import { compileCatalog } from '../../src/destinations/catalog.ts';
import { renderEvents } from '../../src/events/event-view.ts';
import { createDeliverer, type Deliverer } from '../../src/webhooks/deliverer.ts';
import { createEndpoint } from '../../src/webhooks/webhooks.ts';
import type { MoneyTest } from './money.ts';

/** Endpoints and deliverers of tests, without HTTP to the service. */

export async function addEndpoint(
  money: MoneyTest,
  { accountId, url }: { accountId: string; url: string },
): Promise<string> {
  const endpointId = newId();
  const terms = { url, description: '', eventTypes: [], algorithm: 'hmac-sha256' } as const;
  await money.db.tenantTransaction(accountId, (session) =>
    createEndpoint({ session, accountId, endpointId }, { ...terms, keys: money.keys }),
  );
  return endpointId;
}

/** A deliverer as of one process. `random` is even, so that delays are exact. */
export function openTestDeliverer(
  money: MoneyTest,
  changes: { db?: MoneyTest['db']; concurrencyMax?: number } = {},
): Deliverer & { errors: unknown[]; results: string[]; drain(): Promise<void> } {
  const errors: unknown[] = [];
  const results: string[] = [];
  const { db = money.db } = changes;
  const catalog = compileCatalog([]);
  const reader = { keys: money.keys, catalog, rails: [], canRead: () => true };
  const deliverer = createDeliverer({
    db,
    keys: money.keys,
    renderEvents: (accountId, rows) =>
      renderEvents({ ...reader, accountId, session: db.tenant(accountId) }, rows),
    concurrencyMax: changes.concurrencyMax ?? 20,
    nowMs: money.clock.nowMs,
    realNowMs: () => Date.now(),
    steadyMs: () => performance.now(),
    random: () => 0.5,
    rules: { isLoopbackAllowed: true },
    timeoutMs: 10_000,
    graceMs: 20,
    onDelivery: (result) => results.push(result),
    onError: (error) => errors.push(error),
  });
  return {
    ...deliverer,
    errors,
    results,
    /** Until nothing is due. */
    drain: async () => {
      for (;;) {
        const count = results.length;
        await deliverer.startDue();
        await deliverer.settle();
        if (results.length === count) return;
      }
    },
  };
}

export type Request = { id: string; sequence: number; type: string };

/** An endpoint that records what it gets; `answer` sends the answer. */
export async function startEndpoint(
  answer: (request: Request, response: ServerResponse) => void,
): Promise<AsyncDisposable & { url: string; requests: Request[] }> {
  const requests: Request[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { sequence, type } = JSON.parse(Buffer.concat(chunks).toString()) as Request;
      const received = { id: String(request.headers['webhook-id']), sequence, type };
      requests.push(received);
      answer(received, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Writes events, each about the next of the subjects. */
export async function writeEvents(
  money: MoneyTest,
  { accountId, subjects, count }: { accountId: string; subjects: string[]; count: number },
): Promise<void> {
  await money.rows(
    `select write_event($1, 'user.updated',
       ($2::uuid[])[1 + n % cardinality($2::uuid[])], '{}', environment_now())
     from generate_series(1, $3::integer) n`,
    [accountId, subjects, count],
  );
}
