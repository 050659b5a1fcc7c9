import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Batch,
  commit,
  createSender,
  describeRows,
  pathOf,
  quote,
  uploadRows,
  waitUntilCommitted,
} from './batch-kit.ts';
import { ok, readBalance, type Service, startService } from './service.ts';

/** Many concurrent batch requests, each with its own key. */

let service: Service;
before(async () => {
  service = await startService();
});
after(() => service.stop());

/** More than the connections to the database. */
const batchCount = 32;

test('concurrent quotes, cancellations and commits with keys are all answered correctly', async () => {
  const own = await createSender(service, { funds: '10000' });
  const batches: Batch[] = [];
  while (batches.length < batchCount) batches.push(await uploadRows(own.api, describeRows(own, 2)));
  /** As clients do: what is refused because too many wait comes again with its key. */
  const send = async (method: 'GET' | 'POST' | 'PUT', path: string, body?: string) => {
    const request = {
      ...(body === undefined ? {} : { body }),
      ...(method !== 'GET' && {
        headers: { 'idempotency-key': randomUUID(), 'content-type': 'application/json' },
      }),
    };
    for (;;) {
      const reply = await own.api.call<Batch>(method, path, request);
      if (reply.status !== 503) return reply;
      await sleep(50);
    }
  };
  const quoted = await Promise.all(batches.map((batch) => send('POST', `${pathOf(batch)}/quote`)));
  assert.deepEqual(
    quoted.map((reply) => ok(reply).status),
    batches.map(() => 'QUOTED'),
  );
  // Half of them are canceled and committed at the same time; one of the two wins.
  const ends = await Promise.all(
    batches.map(async (batch) => {
      const [cancelled, committed] = await Promise.all([
        send('POST', `${pathOf(batch)}/cancel`),
        send('PUT', pathOf(batch), '{"mode":"all"}'),
      ]);
      const state = ok(await send('GET', pathOf(batch)));
      return { batch, cancel: cancelled.status, commit: ok(committed).status, state: state.status };
    }),
  );
  for (const end of ends) {
    if (end.state === 'CANCELLED') assert.deepEqual([end.cancel, end.commit], [200, 'failure']);
    else assert.deepEqual([end.cancel, end.commit], [409, 'success']);
  }
  const paid = ends.filter(({ state }) => state !== 'CANCELLED');
  await Promise.all(paid.map(({ batch }) => waitUntilCommitted(own.api, batch)));
  const last = await uploadRows(own.api, describeRows(own, 1));
  await quote(own.api, last);
  assert.equal((await commit(own.api, last)).status, 'success');
  await waitUntilCommitted(own.api, last);
  await readBalance(own.api, 'USD');
});
