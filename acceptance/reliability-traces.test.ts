import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../server/testing/setups/database.ts';
import { partnerRail } from '../server/testing/setups/live.ts';
import {
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
} from '../server/testing/setups/otlp-receiver.ts';
import { openPartner } from '../server/testing/setups/partner.ts';
import { findFreePort } from './rails-trial/processes.ts';
import { createRecipient, deliveryCases, readPayout } from './recipients.ts';
import { type Account, createAccount, type Service, startService } from './service.ts';
import { createEndpoint, eventually } from './webhook-kit.ts';
import { type Receiver, startReceiver } from './webhook-receiver.ts';

/** Two processes on one database, a partner, a webhook endpoint and an OTLP receiver. */

const waitMsMax = 60_000;
const caller = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' };

let folder: string;
let database: TestDatabase;
let otlp: OtlpReceiver;
let partner: Awaited<ReturnType<typeof openPartner>>;
let proxy: RecordingProxy;
let first: Service;
let second: Service;
let account: Account;
let webhooks: Receiver;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'outlay-traces-'));
  database = await createTestDatabase();
  otlp = await startOtlpReceiver();
  partner = await openPartner({});
  proxy = await startRecordingProxy(partner.port);
  const rails = join(folder, 'rails.json');
  writeFileSync(rails, JSON.stringify({ rails: [describeRail()] }));
  const settings = {
    DATABASE_URL: database.url,
    OUTLAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    OUTLAY_RAILS: rails,
    OUTLAY_WEBHOOK_LOOPBACK: 'allowed',
    OUTLAY_LOG_EVERY: '1',
    OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=s%20p',
    OTEL_BSP_SCHEDULE_DELAY: '200',
  };
  const start = async (name: string, role?: 'serve'): Promise<Service> => {
    // The partner needs the address for its callbacks, so the port must be known before.
    const own = { ...settings, OTEL_SERVICE_NAME: name, PORT: String(await findFreePort()) };
    return startService({ isProcess: true, settings: own, ...(role !== undefined && { role }) });
  };
  first = await start('one', 'serve');
  second = await start('two');
  account = await createAccount(first, { USD: '100000' });
  webhooks = await startReceiver();
  await createEndpoint(account.api, webhooks);
});
after(async () => {
  for (const service of [first, second]) await service.stop();
  await webhooks[Symbol.asyncDispose]();
  await proxy.close();
  await partner.close();
  await otlp.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Cheaper than the simulated network, so that look-ups list it first. */
function describeRail(): object {
  const tariffs = [{ fee: [{ upTo: null, fixed: '0', basisPoints: 0 }] }];
  return partnerRail(
    {
      config: {
        baseUrl: proxy.url,
        signingKey: partner.keys.outlay,
        partnerKeys: [partner.keys.partner],
      },
    },
    { tariffs },
  );
}

type RecordingProxy = {
  url: string;
  headers: IncomingHttpHeaders[];
  close(): Promise<void>;
};

/** Passes requests to the partner and records their headers. */
async function startRecordingProxy(port: number): Promise<RecordingProxy> {
  const headers: IncomingHttpHeaders[] = [];
  const server: Server = createServer((request, response) => {
    headers.push(request.headers);
    const pass = async (): Promise<void> => {
      const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
      const { connection: _connection, ...kept } = request.headers;
      const { method = 'GET', url: path } = request;
      // With the Host of the request, which its signature covers.
      const sent = httpRequest({ host: '127.0.0.1', port, method, path, headers: kept });
      const answered = once(sent, 'response');
      sent.end(body);
      const [answer] = (await answered) as [IncomingMessage];
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    };
    pass().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

const ofTrace = (traceId: string): ReceivedSpan[] =>
  otlp.spans.filter((span) => span.traceId === traceId);

async function waitFor(holds: () => boolean, what: string): Promise<void> {
  const endMs = performance.now() + waitMsMax;
  while (!holds()) {
    const names = () => new Set(otlp.spans.map(({ name, service }) => `${service} ${name}`));
    if (performance.now() > endMs) throw new Error(`${what}: ${[...names()].join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('a trace leads from the commit to the rail and to the webhook, over processes', async () => {
  const recipient = await createRecipient(account.api, deliveryCases.cash);
  assert.equal(recipient.payer.payer_name, 'Plaza');
  const api = account.api.withVersion('v0.1.4');
  const created = await api.post<{ payout_token: string }>(`/payout/${recipient.userToken}`, {
    destination_token: recipient.payer.destination_token,
    destination_currency_code: 'MXN',
    attr_set_token: recipient.attrSetToken,
    source_amount: 100,
  });
  const { payout_token: token } = created.body;
  const path = `/payout/${recipient.userToken}/${token}`;
  const traceparent = `00-${caller.trace}-${caller.span}-01`;
  const committed = await api.put(path, undefined);
  assert.equal(committed.status, 200);
  const again = await api.call('PUT', path, { headers: { traceparent, tracestate: 'a=1' } });
  assert.equal(again.status, 200);
  await waitFor(
    () => ofTrace(caller.trace).some(({ name }) => name.startsWith('PUT /payout')),
    'the request in the trace of its caller',
  );
  const own = ofTrace(caller.trace).find(({ name }) => name.startsWith('PUT /payout'));
  assert.equal(own?.parentId, caller.span);
  assert.equal(own?.attributes['http.response.status_code'], '200');
  assert.equal(own?.kind, 2);
});

test('the trace of a commit contains its batch, statements, dispatch, rail call and webhook', async () => {
  const recipient = await createRecipient(account.api, deliveryCases.cash);
  const trace = '1af7651916cd43dd8448eb211c80319d';
  const payout = await payTraced(recipient, trace);
  await eventually(
    () => readPayout(account.api, recipient, payout),
    ({ status }) => status !== 'PROCESSING',
  );
  const expected = [
    'PUT /payout/{user_token}/{payout_token}',
    'batch commit payouts',
    'commit_payouts',
    'dispatch send',
    'rail send',
    'apply report of a rail',
    'deliver webhook',
  ];
  const names = (): Set<string> => new Set(ofTrace(trace).map(({ name }) => name));
  await waitFor(() => expected.every((name) => names().has(name)), 'all spans of a payout');
  const spans = ofTrace(trace);
  const [request] = spans.filter(({ name }) => name === expected[0]);
  const [dispatch] = spans.filter(({ name }) => name === 'dispatch send');
  assert.equal(dispatch?.parentId, request?.spanId);
  assert.equal(dispatch?.attributes['outlay.rail'], 'cash_mx');
  assert.deepEqual([request?.service, dispatch?.service], ['one', 'two']);
  const [batch] = spans.filter(({ name }) => name === 'batch commit payouts');
  assert.equal(batch?.parentId, request?.spanId);
  const [statement] = spans.filter(({ name }) => name === 'commit_payouts');
  assert.equal(statement?.parentId, batch?.spanId);
  const [report] = spans.filter(({ name }) => name === 'apply report of a rail');
  assert.equal(report?.parentId, request?.spanId);
  const callback = otlp.spans.find(({ traceId, spanId }) =>
    report?.links.includes(`${traceId}-${spanId}`),
  );
  assert.equal(callback?.name, 'POST /rails/{name}');
  const [call] = spans.filter(({ name }) => name === 'rail send');
  const sent = spans.filter(({ parentId, kind }) => parentId === call?.spanId && kind === 3);
  const header = proxy.headers.find(({ traceparent }) => String(traceparent).includes(trace));
  assert.ok(sent.some(({ spanId }) => String(header?.['traceparent']).includes(spanId)));
  const delivered = webhooks.received.filter(({ headers }) =>
    String(headers['traceparent']).includes(trace),
  );
  assert.ok(delivered.length > 0, 'the webhook carries traceparent');
});

async function payTraced(
  recipient: Awaited<ReturnType<typeof createRecipient>>,
  trace: string,
): Promise<string> {
  const created = await account.api.post<{ payout_token: string }>(
    `/payout/${recipient.userToken}`,
    {
      destination_token: recipient.payer.destination_token,
      destination_currency_code: 'MXN',
      attr_set_token: recipient.attrSetToken,
      source_amount: 100,
    },
  );
  const { payout_token: token } = created.body;
  const headers = { traceparent: `00-${trace}-${caller.span}-01` };
  const committed = await account.api.call('PUT', `/payout/${recipient.userToken}/${token}`, {
    headers,
  });
  assert.equal(committed.status, 200, committed.text);
  return token;
}

test('log lines of a traced request name its trace', async () => {
  const trace = '2af7651916cd43dd8448eb211c80319e';
  const headers = { traceparent: `00-${trace}-${caller.span}-01` };
  await account.api.get('/account/balance', headers);
  await eventually(
    async () => first.output(),
    (text) => text.includes(`"trace_id":"${trace}"`),
  );
});

test('a malformed traceparent begins a new trace', async () => {
  const count = otlp.spans.length;
  const answer = await account.api.get('/account/balance', { traceparent: '00-xyz-1-01' });
  assert.equal(answer.status, 200);
  const isRoot = ({ name, parentId }: ReceivedSpan): boolean =>
    name === 'GET /account/balance' && parentId === '';
  await waitFor(() => otlp.spans.slice(count).some(isRoot), 'the request in a trace of its own');
});

test('exported spans name no person and hold no secret', async () => {
  const bytes = otlp.bytes().toString('latin1');
  assert.equal(otlp.headers()['x-api-key'], 's p');
  const secrets = [account.credentials.api_key, first.credentials.api_key];
  for (const text of ['Gómez', 'Ana', 'example.org', 'G12345678', ...secrets]) {
    assert.ok(!bytes.includes(Buffer.from(text).toString('latin1')), text);
  }
});
