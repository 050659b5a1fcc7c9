import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseJson, readText } from '../read-request.ts';
import { type Form, firstForms } from './forms.ts';
import { openWise } from './wise-simulator.ts';

/**
 * The simulated Wise as a process of its own, for tests that know a service by its interface alone. It
 * settles by itself, prints where it is as one line of JSON, and has a second address at which a test
 * changes a form (`PUT /forms/PHP`) and reads the recipients (`GET /recipients`).
 */
const wise = await openWise({ settleMs: 200 });
const control = createServer((request, response) => {
  const [, noun, currency = ''] = (request.url ?? '').split('/');
  const answer = (status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  if (noun === 'recipients') return answer(200, wise.recipients);
  const first = firstForms[currency];
  if (noun !== 'forms' || first === undefined) return answer(404, {});
  if (request.method === 'GET') return answer(200, first);
  readText(request)
    .then((text) => {
      // Written by the test itself.
      wise.setForm(currency, parseJson(text) as Form);
      answer(200, {});
    })
    .catch(() => response.destroy());
});
control.listen(0, '127.0.0.1', () => {
  const { port } = control.address() as AddressInfo;
  const { url, token, profileId, webhookKey } = wise;
  const place = { url, token, profileId, webhookKey, control: `http://127.0.0.1:${port}` };
  process.stdout.write(`${JSON.stringify(place)}\n`);
});
process.once('SIGTERM', () => {
  control.close();
  control.closeAllConnections();
  void wise.close();
});
