import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { exchange } from './exchange.ts';

/** What a lost, foreign or incomplete answer says about the act that it answers. */

const problem = { code: 'payout_changed', detail: 'It has changed', title: 'Changed' };

const answers: Record<string, (response: ServerResponse) => void> = {
  done: (response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"result":"done"}');
  },
  nothing: (response) => response.writeHead(204).end(),
  refused: (response) => {
    response.writeHead(409, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify(problem));
  },
  proxy: (response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad'),
  foreign: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hi'),
  lost: (response) => response.destroy(),
  cut: (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '99' });
    response.write('{"result":', () => response.destroy());
  },
};

const server = createServer((request, response) => {
  request.resume().on('end', () => answers[request.url?.slice(1) ?? '']?.(response));
});
let base = '';
before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => server.close());

const act = { method: 'POST', csrf: 'c', body: { reason: 'a test' } } as const;

test('an answer is read, and one without content is none', async () => {
  assert.deepEqual(await exchange(`${base}/done`, act), { result: 'done' });
  assert.equal(await exchange(`${base}/nothing`, act), undefined);
});

for (const [name, error, isUnknown] of [
  ['refused', 'ConflictError', false],
  ['proxy', 'UnexpectedAnswerError', true],
  ['foreign', 'UnexpectedAnswerError', true],
  ['lost', 'ConnectionError', true],
  ['cut', 'ConnectionError', true],
] as const) {
  test(`${name}: the act ${isUnknown ? 'may have been done' : 'was not done'}`, async () => {
    const path = `${base}/${name}`;
    await assert.rejects(exchange(path, act), { name: error, outcomeUnknown: isUnknown });
    await assert.rejects(exchange(path), { name: error, outcomeUnknown: false });
  });
}
