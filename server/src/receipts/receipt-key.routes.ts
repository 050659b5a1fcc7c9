import { z } from 'zod';
import { formatKeySet } from '../core/verifying-keys.ts';
import { type BaseServices, defineRoute, type Route } from '../http/route.ts';

const keySet = z
  .object({
    keys: z
      .array(
        z.object({
          kty: z.literal('OKP').describe('The type of the key: an octet key pair (RFC 8037)'),
          crv: z.literal('Ed25519').describe('The curve'),
          use: z.literal('sig').describe('It signs'),
          alg: z.literal('EdDSA').describe('The algorithm of its signatures'),
          kid: z.string().describe('As the `key_id` of receipts and proofs'),
          x: z.string().describe('The public key, Base64url'),
          since: z.string().describe('From when on the environment signed with it (RFC 3339)'),
          until: z
            .string()
            .nullable()
            .describe(
              'Until when; null for the present key. A signature of a later date is forged',
            ),
        }),
      )
      .describe('The newest first'),
  })
  .meta({ id: 'ReceiptKeySet' });

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
        '`outlay receipt verify receipt.pdf --key receipt-key.pem`. Former keys are in ' +
        '`/.well-known/receipt-keys.json`.',
      access: 'public',
      response: null,
      produces: ['application/x-pem-file'],
      handle: async ({ env }) => ({
        status: 200,
        contentType: 'application/x-pem-file',
        body: Buffer.from(env.keys.signing.publicPem),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/.well-known/receipt-keys.json',
      isVersioned: false,
      operationId: 'listReceiptKeys',
      tag: 'Payouts',
      summary: 'The present and the former public keys of receipts',
      description:
        'A JSON Web Key Set (RFC 7517), the newest key first. Receipts and proofs name theirs in ' +
        '`key_id`, and the QR code of a receipt in `kid`. `outlay receipt verify receipt.pdf --key ' +
        'receipt-keys.json` takes the whole set.',
      access: 'public',
      response: keySet,
      handle: async ({ env }) => formatKeySet(env.keys.signingKeys),
    }),
  ];
}
