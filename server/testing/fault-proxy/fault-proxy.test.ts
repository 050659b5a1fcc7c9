import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Decide,
  type Fault,
  type FaultProxy,
  faultMatching,
  faultNth,
  formatHttpAnswer,
  openFaultProxy,
} from './fault-proxy.ts';

const body = JSON.stringify({ text: 'x'.repeat(500) });
let server: Server;
let port = 0;
let requests = 0;

before(async () => {
  server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      requests += 1;
      response.setHeader('content-type', 'application/json');
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});

after(() => {
  server.closeAllConnections();
  server.close();
});

test('without fault, requests and answers pass as they are, on kept connections too', async () => {
  await withProxy(undefined, async (proxy) => {
    for (let count = 0; count < 3; count += 1) {
      assert.deepEqual(await call(proxy), { status: 200, text: body, requests: 1 });
    }
    assert.equal(proxy.exchanges, 3);
  });
});

test('a reset and a swallowed request never reach the server', async () => {
  await withProxy(faultNth(1, { kind: 'reset' }), async (proxy) => {
    assert.deepEqual(await call(proxy), { status: 'failed', text: '', requests: 0 });
    assert.deepEqual(await call(proxy), { status: 200, text: body, requests: 1 });
  });
  await withProxy(faultNth(1, { kind: 'drop_request' }), async (proxy) => {
    await expectSilence(proxy, 0);
  });
});

test('an answer that the proxy drops was given by the server', async () => {
  await withProxy(faultNth(1, { kind: 'drop_answer' }), async (proxy) => {
    await expectSilence(proxy, 1);
  });
});

test('an answer is cut, replaced or made up', async () => {
  const answer = formatHttpAnswer(500, '<p>no</p>');
  await expectFault(
    { kind: 'truncate_answer', afterBytes: 10 },
    { status: 'failed', text: '', requests: 1 },
  );
  await expectFault(
    { kind: 'truncate_answer', afterBytes: 300 },
    { status: 'failed', text: '', requests: 1 },
  );
  await expectFault(
    { kind: 'replace_answer', answer },
    { status: 500, text: '<p>no</p>', requests: 1 },
  );
  await expectFault(
    { kind: 'forge_answer', answer },
    { status: 500, text: '<p>no</p>', requests: 0 },
  );
});

test('bytes are corrupted, trickle or are held back', async () => {
  await withProxy(
    faultNth(1, { kind: 'corrupt_answer', fromByte: 250, everyBytes: 7 }),
    async (proxy) => {
      const answer = await call(proxy);
      assert.equal(answer.requests, 1);
      assert.notEqual(answer.text, body);
    },
  );
  await withProxy(faultNth(1, { kind: 'slow_answer', everyMs: 10 }), async (proxy) => {
    await expectSilence(proxy, 1);
  });
  let release: (how: 'go' | 'reset') => void = () => undefined;
  const until = new Promise<'go' | 'reset'>((resolve) => {
    release = resolve;
  });
  await withProxy(faultNth(1, { kind: 'hold_answer', until: () => until }), async (proxy) => {
    await expectSilence(proxy, 1);
    release('go');
    assert.equal((await call(proxy)).status, 200);
  });
});

test('a delayed request arrives although its sender has given up', async () => {
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  let arrive: () => void = () => undefined;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const fault: Fault = { kind: 'delay_request', until: () => until, arrived: () => arrive() };
  await withProxy(faultNth(1, fault), async (proxy) => {
    const before = requests;
    await expectSilence(proxy, 0);
    release();
    await arrived;
    assert.equal(requests, before + 1);
  });
});

test('fault can wait for a pattern in the request', async () => {
  await withProxy(faultMatching(/^POST \/pay/, { kind: 'reset' }), async (proxy) => {
    assert.equal((await call(proxy, 'GET /')).status, 200);
    assert.equal((await call(proxy, 'POST /pay')).status, 'failed');
    assert.equal((await call(proxy, 'POST /pay')).status, 200);
  });
});

test('a decision may wait, and everything open may be reset', async () => {
  let decided: (fault: Fault) => void = () => undefined;
  const wait = new Promise<Fault>((resolve) => {
    decided = resolve;
  });
  await withProxy(
    () => wait,
    async (proxy) => {
      const answer = call(proxy);
      decided({ kind: 'none' });
      assert.equal((await answer).status, 200);
      const client = connect(proxy.address.port, proxy.address.host);
      await new Promise((resolve) => {
        client.once('connect', resolve);
      });
      const ended = new Promise((resolve) => {
        client.once('error', resolve);
        client.once('close', resolve);
      });
      // The connection is known to the proxy when the next one has been served.
      assert.equal((await call(proxy)).status, 200);
      proxy.reset();
      await ended;
    },
  );
});

async function expectFault(
  fault: Fault,
  expected: Awaited<ReturnType<typeof call>>,
): Promise<void> {
  await withProxy(faultNth(1, fault), async (proxy) => {
    assert.deepEqual(await call(proxy), expected, fault.kind);
    // Only that one exchange got a fault.
    assert.equal((await call(proxy)).status, 200, fault.kind);
  });
}

async function withProxy(
  decide: Decide | undefined,
  run: (proxy: FaultProxy) => Promise<void>,
): Promise<void> {
  const proxy = await openFaultProxy({ host: '127.0.0.1', port });
  try {
    if (decide !== undefined) proxy.decide(decide);
    await run(proxy);
  } finally {
    await proxy.close();
  }
}

/** What came of a request, and how often the server had it. */
async function call(
  proxy: FaultProxy,
  request = 'GET /',
  signal?: AbortSignal,
): Promise<{ status: number | 'failed'; text: string; requests: number }> {
  const startRequests = requests;
  const [method = '', path = ''] = request.split(' ');
  try {
    const answer = await fetch(`http://127.0.0.1:${proxy.address.port}${path}`, {
      method,
      ...(signal && { signal }),
    });
    const text = await answer.text();
    return { status: answer.status, text, requests: requests - startRequests };
  } catch {
    return { status: 'failed', text: '', requests: requests - startRequests };
  }
}

/** Sends a request that gets no whole answer; the server has it as often as expected. */
async function expectSilence(proxy: FaultProxy, expected: 0 | 1): Promise<void> {
  const start = { requests, exchanges: proxy.exchanges };
  const impatience = new AbortController();
  let isSilent = true;
  const answer = call(proxy, 'GET /', impatience.signal).then(() => {
    isSilent = impatience.signal.aborted;
  });
  while (proxy.exchanges === start.exchanges || requests - start.requests < expected)
    await sleep(1);
  // An answer that passes comes at once.
  await sleep(20);
  impatience.abort();
  await answer;
  assert.deepEqual([isSilent, requests - start.requests], [true, expected]);
}
