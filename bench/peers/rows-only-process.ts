import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newId } from '../../server/src/core/ids.ts';
import { type Model, openInserter } from './rows-only.ts';

/** A process that inserts for every request, answers as a commit is answered, and ends with its parent. */

const model: Model = process.env['BENCH_MODEL'] === 'row' ? 'row' : 'rows';
const inserter = await openInserter(process.env['BENCH_URL'] ?? '', model);

const server = createServer((_request, response) => {
  void inserter.insert().then(() => {
    const body = `{"payout_token":"payout_${newId()}","status":"success","pickup_code":"","errors":""}`;
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': body.length,
    });
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.once('disconnect', () => {
  void inserter.close().finally(() => process.exit());
});
