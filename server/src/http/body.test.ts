import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { pino } from 'pino';
import { createServer } from './server.ts';

const { app } = createServer({
  environments: {},
  defaultEnvironment: 'staging',
  log: pino({ level: 'silent' }),
  logEvery: 1,
  trustedProxies: [],
});
app.post('/echo', async (request, reply) =>
  reply.type('text/plain').send(`<${String(request.body as Buffer | undefined)}>`),
);
before(() => app.listen({ host: '127.0.0.1', port: 0 }));
after(() => app.close());

/** Two requests on one connection, of which the first one is the given. */
async function send(request: string): Promise<string> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString();
  });
  socket.write(
    `${request}POST /echo HTTP/1.1\r\nhost: a\r\nconnection: close\r\n` +
      'content-type: text/plain\r\ncontent-length: 6\r\n\r\nsecond',
  );
  await once(socket, 'close');
  return text;
}

test('a request that names the type of a body and brings none has an empty one', async () => {
  const head = 'POST /echo HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\n';
  for (const length of ['', 'content-length: 0\r\n']) {
    const text = await send(`${head}${length}\r\n`);
    assert.match(text, /^HTTP\/1\.1 200 [^]*\r\n\r\n<>HTTP\/1\.1 200 [^]*<second>$/);
  }
});

test('a request with neither type nor body has none', async () => {
  const text = await send('POST /echo HTTP/1.1\r\nhost: a\r\n\r\n');
  assert.match(text, /\r\n\r\n<undefined>HTTP\/1\.1 200 [^]*<second>$/);
});

test('a body in pieces is read to its end', async () => {
  const head = 'POST /echo HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\n';
  const text = await send(
    `${head}transfer-encoding: chunked\r\n\r\n3\r\nfir\r\n2\r\nst\r\n0\r\n\r\n`,
  );
  assert.match(text, /<first>HTTP\/1\.1 200 [^]*<second>$/);
});
