import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createUser } from './recipients.ts';
import { advance, daySeconds, fund, ok, type Service, startService } from './service.ts';
import {
  createEndpoint,
  type Endpoint,
  eventually,
  listDeliveries,
  pathOf,
  readEndpoint,
  sequencesOf,
  startClient,
} from './webhook-kit.ts';
import { type Received, startReceiver, webhookSettings } from './webhook-receiver.ts';

/** Webhooks to endpoints that fail, hang, redirect, or ask for a pause. */

let service: Service;
before(async () => {
  service = await startService({ settings: webhookSettings });
});
after(() => service.stop());

test('a failed event holds back later events of its object only, and arrives with the same id', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  const endpoint = await createEndpoint(api, receiver);
  const failing = await createUser(api);
  await receiver.until(() => receiver.received.length >= 1, 'the first event');
  const isOf = ({ data }: Received['body'], user: string): boolean => data['user_token'] === user;
  receiver.behave((body) => (isOf(body, failing) ? 500 : undefined));
  ok(await api.put(`/user/${failing}`, { first_name: 'Eva' }));
  await receiver.until(() => receiver.received.some(({ status }) => status === 500), 'a failure');
  ok(await api.put(`/user/${failing}`, { first_name: 'Ida' }));
  const other = await createUser(api);
  await receiver.until(
    () => receiver.accepted().some(({ body }) => isOf(body, other)),
    'the other',
  );
  assert.equal(receiver.received.filter(({ status }) => status === 500).length, 1);
  receiver.behave(() => undefined);
  await advance(api, 10);
  const ofFailing = () => receiver.received.filter(({ body }) => isOf(body, failing)).slice(1);
  await receiver.until(() => ofFailing().length >= 3, 'the events behind it');
  const [failed, first, second] = ofFailing();
  assert.equal(first?.headers['webhook-id'], failed?.headers['webhook-id']);
  assert.ok((first?.body.sequence ?? 0) < (second?.body.sequence ?? 0));
  const log = await eventually(
    () => listDeliveries(api, endpoint, `sequence=${first?.body.sequence}`),
    (rows) => rows.length === 2,
  );
  assert.deepEqual(
    log.map((row) => [row.try.text, row.result, row.status_code.text, row.error]),
    [
      ['2', 'delivered', '200', ''],
      ['1', 'failed', '500', 'status 500'],
    ],
  );
  assert.notEqual(log[1]?.retry_on, '');
});

test('an endpoint that hangs or is dead delays no other endpoint, and loses nothing', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  await using hanging = await startReceiver();
  const dead = await createEndpoint(api, { url: 'http://127.0.0.1:1/hook' });
  await createEndpoint(api, hanging);
  await createEndpoint(api, receiver);
  let isGivenUp = false;
  hanging.behave((_body, response) => {
    response.once('close', () => {
      isGivenUp = true;
    });
    return 'handled';
  });
  await createUser(api);
  await hanging.until(() => hanging.received.length >= 1, 'the first event, where it hangs');
  await createUser(api);
  await receiver.until(() => receiver.received.length >= 2, 'the events, elsewhere');
  assert.equal(isGivenUp, false, 'the others waited for the endpoint that hangs');
  for (let count = 2; count < 12; count += 1) await createUser(api);
  await receiver.until(() => receiver.received.length >= 12, 'all events');
  assert.equal(new Set(sequencesOf(receiver.received)).size, 12);
  const failing = await eventually(
    () => readEndpoint(api, dead),
    ({ failing_since: since }) => since !== '',
  );
  assert.equal(failing.status, 'ENABLED');
  assert.equal(failing.backlog.text, '12');
  hanging.behave(() => undefined);
  await eventually(
    async () => {
      await advance(api, 3600);
      return hanging.accepted();
    },
    (accepted) => new Set(sequencesOf(accepted)).size === 12,
  );
});

test('redirects are failures, and are not followed', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  await using target = await startReceiver();
  const endpoint = await createEndpoint(api, receiver);
  receiver.behave((_body, response) => {
    response.writeHead(307, { location: target.url }).end();
    return 'handled';
  });
  await createUser(api);
  const [row] = await eventually(
    () => listDeliveries(api, endpoint),
    (rows) => rows.length > 0,
  );
  assert.equal(row?.error, 'status 307: redirects are not followed');
  assert.equal(target.received.length, 0);
});

test('429 with Retry-After pauses the endpoint until then', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  await using observer = await startReceiver();
  const endpoint = await createEndpoint(api, receiver);
  receiver.behave((_body, response) => {
    response.writeHead(429, { 'retry-after': '7200' }).end();
    return 'handled';
  });
  await createUser(api);
  const [row] = await eventually(
    () => listDeliveries(api, endpoint),
    (rows) => rows.length > 0,
  );
  assert.equal(row?.status_code.text, '429');
  receiver.behave(() => undefined);
  await createUser(api);
  await advance(api, 3600);
  await createEndpoint(api, observer);
  await fund(api, 'USD', '1');
  await observer.until(() => observer.received.length >= 1, 'another endpoint gets its event');
  assert.equal(receiver.received.length, 1, 'nothing is sent before the time');
  await advance(api, 3700);
  await receiver.until(() => receiver.accepted().length >= 3, 'everything that waited');
  const [first = 0] = sequencesOf(receiver.received);
  const expected = new Set([first, first + 1, first + 2]);
  assert.deepEqual(new Set(sequencesOf(receiver.accepted())), expected);
});

test('410 disables an endpoint, with an event, and resuming it sends what waited', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  await using observer = await startReceiver();
  const endpoint = await createEndpoint(api, receiver);
  await createEndpoint(api, observer, { event_types: ['webhook.*'] });
  receiver.behave(() => 410);
  await createUser(api);
  const notice = (): Received | undefined =>
    observer.received.find(({ body }) => body.type === 'webhook.disabled');
  await observer.until(() => notice() !== undefined, 'the notice');
  assert.equal(notice()?.body.data['webhook_token'], endpoint.webhook_token);
  const disabled = await readEndpoint(api, endpoint);
  assert.equal(disabled.status, 'DISABLED');
  assert.equal(disabled.status_reason, 'the endpoint answered 410 Gone');
  assert.equal(disabled.next_attempt_on, '', 'nothing is sent until it is resumed');
  await fund(api, 'USD', '3');
  receiver.behave(() => undefined);
  assert.equal(ok(await api.post<Endpoint>(`${pathOf(endpoint)}/resume`, {})).status, 'ENABLED');
  await receiver.until(() => receiver.accepted().length >= 3, 'what waited');
  assert.deepEqual(
    new Set(receiver.accepted().map(({ body }) => body.type)),
    new Set(['user.created', 'webhook.disabled', 'balance.funded']),
  );
});

test('an endpoint without success for 14 days is paused, with an event', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  const endpoint = await createEndpoint(api, receiver);
  receiver.behave(() => 500);
  await createUser(api);
  await receiver.until(() => receiver.received.length >= 1, 'a failure');
  await eventually(
    () => readEndpoint(api, endpoint),
    ({ failing_since: since }) => since !== '',
  );
  await advance(api, 14 * daySeconds - 60);
  await receiver.until(() => receiver.received.length >= 2, 'a retry within 14 days');
  assert.equal((await readEndpoint(api, endpoint)).status, 'ENABLED');
  await advance(api, 2 * 3600);
  const paused = await eventually(
    () => readEndpoint(api, endpoint),
    ({ status }) => status !== 'ENABLED',
  );
  assert.equal(paused.status, 'PAUSED');
  assert.equal(paused.status_reason, 'every delivery has failed for 14 days');
  assert.match((await api.get('/events')).text, /webhook\.paused/);
});

test('an event that is refused for 14 days is abandoned, with an event, and a replay sends it', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  const endpoint = await createEndpoint(api, receiver);
  receiver.behave(() => 500);
  await createUser(api);
  await receiver.until(() => receiver.received.length >= 1, 'a failure');
  const [refused = 0] = sequencesOf(receiver.received);
  receiver.behave(({ sequence }) => (sequence === refused ? 500 : undefined));
  await createUser(api);
  await receiver.until(() => receiver.accepted().length >= 1, 'another event');
  await advance(api, 14 * daySeconds);
  const abandoned = (): Received | undefined =>
    receiver.accepted().find(({ body }) => body.type === 'webhook.delivery_abandoned');
  await receiver.until(() => abandoned() !== undefined, 'the notice');
  // The clock stops on its way wherever a payout is due, also of other tests; a retry may be due then.
  const { delivery_token: token, tries, ...data } = abandoned()?.body.data ?? {};
  assert.ok(Number(tries) >= 2, `${String(tries)} tries`);
  assert.deepEqual(data, {
    webhook_token: endpoint.webhook_token,
    sequence: refused,
    event_type: 'user.created',
    status_code: 500,
    error: 'status 500',
  });
  const [last] = await listDeliveries(api, endpoint, 'result=abandoned');
  assert.equal(last?.delivery_token, token);
  receiver.behave(() => undefined);
  ok(await api.post(`${pathOf(endpoint)}/replay`, { from: refused, to: refused }));
  await receiver.until(
    () => sequencesOf(receiver.accepted()).includes(refused),
    'the abandoned event',
  );
});

test('a paused endpoint gets its events in order when it is resumed', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  await using observer = await startReceiver();
  const endpoint = await createEndpoint(api, receiver);
  await createEndpoint(api, observer);
  assert.equal(ok(await api.post<Endpoint>(`${pathOf(endpoint)}/pause`, {})).status, 'PAUSED');
  await createUser(api);
  await fund(api, 'USD', '1');
  await observer.until(() => observer.received.length >= 2, 'another endpoint gets both events');
  // The turns in which the paused one would have got them are over.
  await fund(api, 'USD', '1');
  await observer.until(() => observer.received.length >= 3, 'another endpoint gets the last event');
  assert.equal(receiver.received.length, 0);
  ok(await api.post(`${pathOf(endpoint)}/resume`, {}));
  await receiver.until(() => receiver.received.length >= 3, 'all events');
});
