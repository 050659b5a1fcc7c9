import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  assertTakesBatch,
  assertTakesImages,
  type Idle,
  type Line,
  openIdle,
  openMany,
  readLink,
} from './idle-uploads.ts';
import { createUser } from './recipients.ts';
import { serveTests } from './serve.ts';
import { type Account, createAccount, ok, type Service } from './service.ts';

/**
 * Bodies that arrive too slowly, with the limits of the service: `body-pace.test.ts` shows the same with
 * short ones.
 */

let service: Service;
let tenantA: Account;
let tenantB: Account;
serveTests({ USD: '10000' }, (served) => {
  ({ service } = served);
  tenantA = served;
});
before(async () => {
  tenantB = await createAccount(service);
});

async function closesWithin({ closed }: Idle, limitMs: number): Promise<boolean> {
  return Promise.race([closed.then(() => true), sleep(limitMs, false, { ref: false })]);
}

describe('connections that send hardly anything', { concurrency: true }, () => {
  test('a used verification link uses no upload slot, and its connection is closed', async () => {
    const { link, userToken } = await readLink(tenantA);
    ok(await tenantA.api.post(`/sandbox/kyc/${userToken}`, { decision: 'approved' }));
    await using held = await openMany(service.baseUrl, {
      count: 12,
      line: { path: link },
      refused: 12,
    });
    for (const idle of held.idles) assert.match(idle.received(), /^HTTP\/1\.1 409 /);
    await assertTakesBatch(tenantB.api);
    await assertTakesImages(tenantB.api);
    await assertTakesImages(tenantA.api);
    for (const idle of held.idles) assert.ok(await closesWithin(idle, 15_000));
  });

  test('a body below the minimum rate is 408, and its connection is closed', async () => {
    const { credentials, api } = tenantA;
    const userToken = await createUser(api);
    const token = credentials.api_key;
    const lines: Line[] = [
      { path: '/v0.1.4/batches', contentType: 'text/csv', token },
      { path: `/v0.1.4/user/${userToken}/kyc/id`, token },
    ];
    await Promise.all(
      lines.map(async (line) => {
        const idle = await openIdle(service.baseUrl, line);
        const trickle = setInterval(() => idle.socket.write('x'), 500);
        assert.ok(await closesWithin(idle, 25_000), line.path);
        clearInterval(trickle);
        assert.match(idle.received(), /^HTTP\/1\.1 408 /, line.path);
        assert.match(idle.received(), /\r\nconnection: close\r\n/i);
      }),
    );
    await assertTakesBatch(api);
  });

  test('an anonymous connection with a refused body is closed', async () => {
    const refused = ['/v0.1.4/batches', '/v0.1.4/user', '/nowhere', '/health/live'];
    await Promise.all(
      refused.map(async (path) => {
        const idle = await openIdle(service.baseUrl, { path });
        const trickle = setInterval(() => idle.socket.write('x'), 500);
        assert.ok(await closesWithin(idle, 15_000), path);
        clearInterval(trickle);
        assert.match(idle.received(), /^HTTP\/1\.1 4\d\d /, path);
      }),
    );
  });

  test('a refused body that trickles ends its connection', async () => {
    const { hostname, port } = new URL(service.baseUrl);
    const startedMs = performance.now();
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(
          'POST /v0.1.4/user HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
            'Content-Length: 200000\r\n\r\n{',
        );
      });
      const timer = setInterval(() => socket.write(' '), 500);
      socket.on('data', () => undefined).on('error', () => undefined);
      socket.once('close', () => {
        clearInterval(timer);
        resolve();
      });
    });
    assert.ok(performance.now() - startedMs < 60_000);
  });
});
