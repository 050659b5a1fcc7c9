import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import {
  addEndpoint,
  openTestDeliverer,
  type Request,
  startEndpoint,
  writeEvents,
} from '../../testing/setups/webhooks.ts';
import { newId } from '../core/ids.ts';
import { replay } from './webhooks.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

const accept = (_request: Request, response: ServerResponse): void => {
  response.end();
};
const refuse = (_request: Request, response: ServerResponse): void => {
  response.writeHead(500).end();
};

const createSubjects = (count: number): string[] => Array.from({ length: count }, () => newId());

async function findEndpoint(endpointId: string) {
  const [row] = await money.rows<{ cursor: bigint; status: string; retries: number }>(
    `select cursor, status, (select count(*)::integer from webhook_retries r
       where r.endpoint_id = e.id) as retries
     from webhook_endpoints e where id = $1`,
    [endpointId],
  );
  assert.ok(row !== undefined);
  return row;
}

/** The sequences of each of the subjects, as they arrived. */
function groupBySubject(requests: readonly Request[], subjects: number): number[][] {
  const groups = Array.from({ length: subjects }, (): number[] => []);
  for (const { sequence } of requests) groups[sequence % subjects]?.push(sequence);
  return groups;
}

test('two processes send every event once, and those of an object in order', async () => {
  await using receiver = await startEndpoint((_request, response) => {
    setTimeout(() => response.end(), Math.random() * 5);
  });
  const { accountId } = await money.createOwner();
  const endpointId = await addEndpoint(money, { accountId, url: receiver.url });
  await using one = openTestDeliverer(money);
  await using other = openTestDeliverer(money, { db: money.connect() });
  const subjects = createSubjects(7);
  for (let round = 0; round < 2; round += 1) {
    await writeEvents(money, { accountId, subjects, count: 700 });
    await Promise.all([one.drain(), other.drain()]);
  }
  await one.drain();
  assert.equal(receiver.requests.length, 1400);
  assert.equal(new Set(receiver.requests.map(({ id }) => id)).size, 1400);
  for (const sequences of groupBySubject(receiver.requests, subjects.length)) {
    assert.deepEqual(
      sequences,
      sequences.toSorted((a, b) => a - b),
    );
  }
  const [account] = await money.rows<{ sequence: bigint }>(
    'select event_sequence as sequence from accounts where id = $1',
    [accountId],
  );
  assert.equal((await findEndpoint(endpointId)).cursor, account?.sequence);
  assert.deepEqual([one.errors, other.errors], [[], []]);
});

test('the backlog of an endpoint that is down stays in the event log, and arrives later', async () => {
  let answer = refuse;
  await using receiver = await startEndpoint((request, response) => answer(request, response));
  const { accountId } = await money.createOwner();
  const endpointId = await addEndpoint(money, { accountId, url: receiver.url });
  await using deliverer = openTestDeliverer(money);
  await writeEvents(money, { accountId, subjects: createSubjects(500), count: 1500 });
  await deliverer.drain();
  assert.ok(receiver.requests.length <= 25, 'it backs off after the first failures');
  for (let hours = 0; hours < 6; hours += 1) {
    await money.advance(3_700_000);
    await deliverer.drain();
  }
  assert.ok((await findEndpoint(endpointId)).retries < 300);
  answer = accept;
  receiver.requests.length = 0;
  await money.advance(3_700_000);
  await deliverer.drain();
  assert.equal(new Set(receiver.requests.map(({ sequence }) => sequence)).size, 1500);
  assert.equal(receiver.requests.length, 1500);
  for (const sequences of groupBySubject(receiver.requests, 500)) {
    assert.deepEqual(
      sequences,
      sequences.toSorted((a, b) => a - b),
    );
  }
  assert.equal((await findEndpoint(endpointId)).retries, 0);
});

test('an event that is refused for 14 days is abandoned, and those behind it arrive', async () => {
  const { accountId } = await money.createOwner();
  let poison = 0;
  await using receiver = await startEndpoint((request, response) =>
    (request.sequence === poison ? refuse : accept)(request, response),
  );
  const endpointId = await addEndpoint(money, { accountId, url: receiver.url });
  await using deliverer = openTestDeliverer(money);
  const [poisoned = '', other = ''] = createSubjects(2);
  poison = Number((await findEndpoint(endpointId)).cursor) + 1;
  await writeEvents(money, { accountId, subjects: [poisoned], count: 3 });
  for (let hours = 0; hours <= 14 * 24; hours += 12) {
    await deliverer.drain();
    await money.advance(12 * 3_600_000);
    await writeEvents(money, { accountId, subjects: [other], count: 1 });
  }
  await deliverer.drain();
  assert.equal((await findEndpoint(endpointId)).status, 'ENABLED');
  assert.equal(deliverer.results.filter((result) => result === 'abandoned').length, 1);
  const behind = receiver.requests.filter(({ sequence }) =>
    [poison + 1, poison + 2].includes(sequence),
  );
  assert.deepEqual(
    behind.map(({ sequence }) => sequence),
    [poison + 1, poison + 2],
  );
  const events = await money.rows<{ payload: string }>(
    `select payload from events where account_id = $1 and type = 'webhook.delivery_abandoned'`,
    [accountId],
  );
  const [abandoned, ...others] = events.map(
    ({ payload }) => JSON.parse(payload) as Record<string, unknown>,
  );
  assert.deepEqual(others, []);
  const { sequence, event_type: type, status_code: status, error } = abandoned ?? {};
  assert.deepEqual([sequence, type, status, error], [poison, 'user.updated', 500, 'status 500']);
});

test('an abandoned event of webhooks makes no further event', async () => {
  const { accountId } = await money.createOwner();
  const isOfWebhooks = ({ type }: Request): boolean => type.startsWith('webhook.');
  await using receiver = await startEndpoint((request, response) =>
    (isOfWebhooks(request) ? refuse : accept)(request, response),
  );
  await addEndpoint(money, { accountId, url: receiver.url });
  await using deliverer = openTestDeliverer(money);
  const notice = `select write_event($1, 'webhook.paused', $2, '{}', environment_now())`;
  await money.rows(notice, [accountId, newId()]);
  for (let days = 0; days <= 15; days += 1) {
    await deliverer.drain();
    await money.advance(24 * 3_600_000);
    await writeEvents(money, { accountId, subjects: createSubjects(1), count: 1 });
  }
  assert.ok(deliverer.results.includes('abandoned'));
  const sent = new Set(receiver.requests.filter(isOfWebhooks).map(({ sequence }) => sequence));
  assert.equal(sent.size, 1);
});

async function replayAll(
  endpoint: { accountId: string; endpointId: string },
  from: number,
): Promise<void> {
  const until = new Date('9999-01-01T00:00:00Z');
  const range = { from: BigInt(from), to: 2n ** 53n, since: new Date(0), until, eventTypes: [] };
  await money.db.tenantTransaction(endpoint.accountId, (session) =>
    replay({ session, ...endpoint }, range, { isDryRun: false }),
  );
}

test('new events of an object arrive after its replayed ones, however long the replay is', async () => {
  let answer = accept;
  await using receiver = await startEndpoint((request, response) => answer(request, response));
  const { accountId } = await money.createOwner();
  const endpointId = await addEndpoint(money, { accountId, url: receiver.url });
  await using deliverer = openTestDeliverer(money);
  const subjects = createSubjects(7);
  // More than the deliverer holds in memory, of which a turn reads 500 at once.
  await writeEvents(money, { accountId, subjects, count: 1204 });
  await deliverer.drain();
  // The events of different objects are sent at once: any may come first.
  const first = Math.min(...receiver.requests.map(({ sequence }) => sequence));
  receiver.requests.length = 0;
  // New events fail before the replay and wait for their retries.
  answer = refuse;
  await writeEvents(money, { accountId, subjects, count: 7 });
  await deliverer.drain();
  answer = accept;
  await replayAll({ accountId, endpointId }, first);
  await writeEvents(money, { accountId, subjects, count: 518 });
  receiver.requests.length = 0;
  // However often a slow machine has tried them by now.
  await money.advance(3_700_000);
  await deliverer.drain();
  // The failed ones twice: replayed, and by their retries.
  assert.equal(receiver.requests.length, 1736);
  for (const sequences of groupBySubject(receiver.requests, subjects.length)) {
    assert.deepEqual(
      sequences,
      sequences.toSorted((a, b) => a - b),
    );
  }
  assert.deepEqual(deliverer.errors, []);
});

test('a second replay of an event that the first one could not deliver sends it once', async () => {
  let answer = accept;
  await using receiver = await startEndpoint((request, response) => answer(request, response));
  const { accountId } = await money.createOwner();
  const endpointId = await addEndpoint(money, { accountId, url: receiver.url });
  await using deliverer = openTestDeliverer(money);
  await writeEvents(money, { accountId, subjects: createSubjects(1), count: 3 });
  await deliverer.drain();
  const [{ sequence: first } = { sequence: 0 }] = receiver.requests;
  answer = (request, response) =>
    (request.sequence === first + 1 ? refuse : accept)(request, response);
  for (let replays = 0; replays < 2; replays += 1) {
    await replayAll({ accountId, endpointId }, first);
    await deliverer.drain();
  }
  answer = accept;
  receiver.requests.length = 0;
  await money.advance(60_000);
  await deliverer.drain();
  assert.deepEqual(
    receiver.requests.map(({ sequence }) => sequence),
    [first + 1, first + 2],
  );
  assert.equal((await findEndpoint(endpointId)).retries, 0);
  assert.deepEqual(deliverer.errors, []);
});

test('a request that was cut when the process stopped is sent again under the same id', async () => {
  let answer = (_request: Request, _response: ServerResponse): void => undefined;
  const arrived = Promise.withResolvers<void>();
  await using receiver = await startEndpoint((request, response) => {
    arrived.resolve();
    answer(request, response);
  });
  const { accountId } = await money.createOwner();
  await addEndpoint(money, { accountId, url: receiver.url });
  const stopped = openTestDeliverer(money);
  await writeEvents(money, { accountId, subjects: createSubjects(1), count: 1 });
  await stopped.startDue();
  await arrived.promise;
  await stopped[Symbol.asyncDispose]();
  answer = accept;
  await using next = openTestDeliverer(money);
  await next.drain();
  const [first, second] = receiver.requests;
  assert.equal(receiver.requests.length, 2);
  assert.equal(first?.id, second?.id);
  assert.deepEqual(next.results, ['delivered']);
});

test('a process that lost its lease stores nothing', async () => {
  const waiting: ServerResponse[] = [];
  const arrived = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using receiver = await startEndpoint((_request, response) => {
    arrived[waiting.length]?.resolve();
    waiting.push(response);
  });
  const { accountId } = await money.createOwner();
  const endpointId = await addEndpoint(money, { accountId, url: receiver.url });
  await using slow = openTestDeliverer(money);
  await using other = openTestDeliverer(money, { db: money.connect() });
  await writeEvents(money, { accountId, subjects: createSubjects(1), count: 1 });
  await slow.startDue();
  await arrived[0]?.promise;
  await money.rows(
    `update webhook_endpoints set lease_until = now() - interval '1 second' where id = $1`,
    [endpointId],
  );
  await other.startDue();
  await arrived[1]?.promise;
  for (const response of waiting) response.end();
  await Promise.all([slow.settle(), other.settle()]);
  const log = await money.rows('select from webhook_deliveries where endpoint_id = $1', [
    endpointId,
  ]);
  assert.equal(log.length, 1);
  assert.deepEqual([slow.errors, other.errors], [[], []]);
});

test('an endpoint whose backlog is no longer kept is not claimed again and again', async () => {
  await using receiver = await startEndpoint(accept);
  const { accountId } = await money.createOwner();
  const endpointId = await addEndpoint(money, { accountId, url: receiver.url });
  await writeEvents(money, { accountId, subjects: createSubjects(1), count: 3 });
  await money.rows('delete from events where account_id = $1', [accountId]);
  await using deliverer = openTestDeliverer(money);
  const readClaims = async () => {
    await deliverer.drain();
    const [row] = await money.rows<{ claims: number; backlog: number }>(
      `select e.fence::integer as claims, (a.event_sequence - e.cursor)::integer as backlog
       from webhook_endpoints e join accounts a on a.id = e.account_id where e.id = $1`,
      [endpointId],
    );
    return row;
  };
  assert.deepEqual(await readClaims(), { claims: 1, backlog: 0 });
  assert.deepEqual(await readClaims(), { claims: 1, backlog: 0 });
  await writeEvents(money, { accountId, subjects: createSubjects(1), count: 1 });
  await readClaims();
  assert.equal(receiver.requests.length, 1);
});

test('after the clock of the database was set back an endpoint is served at once', async () => {
  await using receiver = await startEndpoint(accept);
  const { accountId } = await money.createOwner();
  await addEndpoint(money, { accountId, url: receiver.url });
  await using deliverer = openTestDeliverer(money);
  const write = () => writeEvents(money, { accountId, subjects: createSubjects(1), count: 1 });
  await write();
  await deliverer.drain();
  // As an hour later, on a server that is an hour behind.
  await money.rows(
    `update webhook_endpoints set lease_until = lease_until + interval '1 hour' where account_id = $1`,
    [accountId],
  );
  await write();
  await deliverer.drain();
  assert.equal(receiver.requests.length, 2);
});
