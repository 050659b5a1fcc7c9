import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { createServer, type Server } from 'node:tls';
import { createAuthority } from '../../../testing/setups/certificates.ts';
import { createCertificateFetch } from './client-certificate.ts';

const authority = createAuthority();
let server: Server;
let answer: string;
let subject: ReturnType<typeof createCertificateFetch>;
const url = (): string => `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;

before(async () => {
  const { certificate: cert, privateKey: key } = authority.issue('partner');
  server = createServer({ cert, key }, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => socket.write(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const tls = { kind: 'tls', ...authority.issue('client'), authority: authority.certificate };
  subject = createCertificateFetch(tls as never, 2);
});
after(() => {
  subject.close();
  server.close();
});

test('an answer that `fetch` would not take is a failure, and ends nothing else', async () => {
  const unusable = {
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: a\r\nconnection: upgrade\r\n\r\n': /upgrade/,
    'HTTP/1.1 101 Switching Protocols\r\n\r\n': /status/,
    'HTTP/1.1 999 Strange\r\ncontent-length: 0\r\n\r\n': /status/,
    'SSH-2.0-OpenSSH_9\r\n': /HTTP/,
  };
  for (const [text, cause] of Object.entries(unusable)) {
    answer = text;
    await assert.rejects(subject.fetch(url()), (error: Error) => {
      assert.equal(error.message, 'fetch failed', text);
      assert.match(String(error.cause), cause);
      return true;
    });
  }
  for (const status of [200, 204, 205, 304]) {
    answer = `HTTP/1.1 ${status} Fine\r\ncontent-length: 0\r\n\r\n`;
    assert.equal((await subject.fetch(url())).status, status);
  }
});
