import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A process that answers every request with the bytes it was given, and ends with its parent. */

const body = process.env['BENCH_BODY'] ?? '';

const server = createServer((_request, response) => {
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.once('disconnect', () => process.exit());
