import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { parseJson, readText } from '../read-request.ts';
import { type Form, firstForms } from './forms.ts';
import { openWise } from './wise-simulator.ts';

/**
 * The simulated Wise as a process of its own, for tests that know a service by its interface alone. It
 * settles by itself, prints where it is as one line of JSON, and has a second address at which a test
 * changes a form (`PUT /forms/PHP`) and the price (`PUT /pricing`), and reads the recipients (`GET
 * /recipients`) and the transfers (`GET /transfers`).
 */
const wise = await openWise({ settleMs: 200 });

/** Of every route: a fixed fee in minor units, perhaps another one at the order, and a share of the amount. */
const pricingSchema = z
  .strictObject({
    fixedMinor: z.int().min(0),
    basisPoints: z.int().min(0),
    orderFixedMinor: z.int().min(0).optional(),
  })
  .transform(({ fixedMinor, basisPoints, orderFixedMinor: ordered }) => ({
    fixedMinor: BigInt(fixedMinor),
    basisPoints: BigInt(basisPoints),
    orderFixedMinor: ordered === undefined ? undefined : BigInt(ordered),
  }));

const listTransfers = (): unknown[] =>
  wise.transfers.map(({ reference, status, fundings, quote }) => ({
    reference,
    status,
    fundings,
    currency: quote.targetCurrency,
    amountMinor: String(quote.targetMinor),
  }));

const control = createServer((request, response) => {
  const [, noun, currency = ''] = (request.url ?? '').split('/');
  const answer = (status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const change = (act: (body: unknown) => void): void => {
    readText(request)
      .then((text) => {
        act(parseJson(text));
        answer(200, {});
      })
      .catch(() => response.destroy());
  };
  if (noun === 'recipients') return answer(200, wise.recipients);
  if (noun === 'transfers') return answer(200, listTransfers());
  if (noun === 'pricing') return change((body) => wise.setPricing(pricingSchema.parse(body)));
  const first = firstForms[currency];
  if (noun !== 'forms' || first === undefined) return answer(404, {});
  if (request.method === 'GET') return answer(200, first);
  // Written by the test itself.
  change((body) => wise.setForm(currency, body as Form));
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
