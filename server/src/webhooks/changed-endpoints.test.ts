import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import {
  addEndpoint,
  openTestDeliverer,
  startEndpoint,
  writeEvents,
} from '../../testing/setups/webhooks.ts';
import { newId } from '../core/ids.ts';
import { resumeEndpoint, updateEndpoint } from './webhooks.sql.ts';

/** What a request to the old terms says does not count for the new ones. */

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

/** An endpoint whose first request waits until it is answered by the test. */
async function holdFirstRequest() {
  const held = Promise.withResolvers<ServerResponse>();
  let count = 0;
  const receiver = await startEndpoint((_request, response) => {
    count += 1;
    if (count === 1) held.resolve(response);
    else response.end();
  });
  const { accountId } = await money.createOwner();
  const endpointId = await addEndpoint(money, { accountId, url: receiver.url });
  await writeEvents(money, { accountId, subjects: [newId()], count: 1 });
  const deliverer = openTestDeliverer(money);
  await deliverer.startDue();
  return {
    id: { accountId, endpointId },
    receiver,
    deliverer,
    response: await held.promise,
    [Symbol.asyncDispose]: async () => {
      await deliverer[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

async function findEndpoint(endpointId: string) {
  const [row] = await money.rows<{ status: string; failing_since: Date | null; back_offs: number }>(
    'select status, failing_since, back_offs from webhook_endpoints where id = $1',
    [endpointId],
  );
  return row;
}

const healthy = { status: 'ENABLED', failing_since: null, back_offs: 0 };

test('410 of the old address does not disable the new one, which gets the event', async () => {
  await using held = await holdFirstRequest();
  const { id, deliverer, response } = held;
  await using next = await startEndpoint((_request, answer) => answer.end());
  await money.db.tenantTransaction(id.accountId, (session) =>
    updateEndpoint(session, id, { url: next.url, description: undefined, eventTypes: undefined }),
  );
  response.writeHead(410).end();
  await deliverer.settle();
  await deliverer.drain();
  assert.deepEqual(await findEndpoint(id.endpointId), healthy);
  assert.equal(next.requests.length, 1);
});

test('a failure that was under way does not count after a resume', async () => {
  await using held = await holdFirstRequest();
  const { id, receiver, deliverer, response } = held;
  await money.db.tenantTransaction(id.accountId, (session) => resumeEndpoint(session, id));
  response.writeHead(503).end();
  await deliverer.settle();
  assert.deepEqual(await findEndpoint(id.endpointId), healthy);
  await deliverer.drain();
  assert.equal(receiver.requests.length, 2, 'sent again at once');
});
