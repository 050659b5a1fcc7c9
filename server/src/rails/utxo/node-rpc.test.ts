import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import { after, test } from 'node:test';
import { z } from 'zod';
import {
  createNodeRpc,
  jsonCoins,
  NodeRefusal,
  type NodeRpc,
  NodeUnavailable,
} from './node-rpc.ts';

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

async function openRpc(listener: RequestListener): Promise<NodeRpc> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  assert.ok(bound !== null && typeof bound === 'object');
  const url = `http://127.0.0.1:${bound.port}/`;
  return createNodeRpc({ url, credentials: 'user:word', timeoutMs: 2000, fetch });
}

const { signal } = new AbortController();
const call = { method: 'getbalance', params: [], result: jsonCoins };

test('amounts are read exactly', async () => {
  const rpc = await openRpc((request, response) => {
    assert.equal(request.headers.authorization, `Basic ${btoa('user:word')}`);
    assert.equal(request.url, '/wallet/a%2Fb');
    response.end('{"result":20999999.97690001,"error":null,"id":1}');
  });
  assert.equal(await rpc.call({ ...call, wallet: 'a/b' }, signal), 2_099_999_997_690_001n);
});

test('an error with status 500 is a refusal', async () => {
  const rpc = await openRpc((_, response) => {
    response.statusCode = 500;
    response.end('{"result":null,"error":{"code":-5,"message":"no such thing"},"id":1}');
  });
  await assert.rejects(
    rpc.call(call, signal),
    (error) => error instanceof NodeRefusal && error.code === -5,
  );
});

test('an invalid answer counts as unavailable', async () => {
  const answers = [
    '',
    '{}',
    '<html>',
    '{"result":1,"error":null,"id":7}',
    '{"result":"one","error":null,"id":1}',
    '{"result":0.123456789,"error":null,"id":1}',
    '{"result":null,"error":{"code":-28,"message":"Loading block index"},"id":1}',
  ];
  for (const answer of answers) {
    const rpc = await openRpc((_, response) => response.end(answer));
    await assert.rejects(rpc.call(call, signal), NodeUnavailable, answer);
  }
  const cut = await openRpc((_, response) => {
    response.setHeader('content-length', '100');
    response.write('{"result":');
    response.destroy();
  });
  await assert.rejects(cut.call({ ...call, result: z.unknown() }, signal), NodeUnavailable);
  const closed = createNodeRpc({
    url: 'http://127.0.0.1:1',
    credentials: 'a:b',
    timeoutMs: 1000,
    fetch,
  });
  await assert.rejects(closed.call(call, signal), NodeUnavailable);
});
