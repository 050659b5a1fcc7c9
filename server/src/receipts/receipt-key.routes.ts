import { type BaseServices, defineRoute, type Route } from '../http/route.ts';

export function receiptKeyRoutes(): Route<BaseServices>[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/.well-known/receipt-key.pem',
      isVersioned: false,
      operationId: 'getReceiptKey',
      tag: 'Payouts',
      summary: 'The public key of receipts',
      description:
        "The Ed25519 key (SPKI, PEM) with which this environment's receipts verify: " +
        '`outlay receipt verify receipt.pdf --key receipt-key.pem`. It changes with the master ' +
        'key of the environment only.',
      access: 'public',
      response: null,
      produces: ['application/x-pem-file'],
      handle: async ({ env }) => ({
        status: 200,
        contentType: 'application/x-pem-file',
        body: Buffer.from(env.keys.signing.publicPem),
      }),
    }),
  ];
}
