import { z } from 'zod';
import type { Settings } from './config.ts';
import type { SignedRequest } from './payment.ts';
import { signMessage } from './signature.ts';

/** Messages of FSPIOP 1.1 that a payer's provider sends and receives. */

export type Resource = 'parties' | 'quotes' | 'transfers';

export type RequestDraft = {
  readonly resource: Resource;
  readonly uri: string;
  /** "" for a look-up. */
  readonly destination: string;
  /** Sent with POST; absent: GET. */
  readonly content?: unknown;
};

export function nameType(resource: Resource): string {
  return `application/vnd.interoperability.${resource}+json;version=1.1`;
}

/**
 * JSON without spaces and with the members of every object sorted by name. Mojaloop's library since
 * 19.19 verifies signatures over the parsed body serialized like this, older versions over the
 * received bytes; a body sent like this satisfies both.
 */
export function formatBody(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(compareNames))
      : part,
  );
}

/** By code units, as Mojaloop's library does. */
function compareNames([first]: [string, unknown], [second]: [string, unknown]): number {
  return first < second ? -1 : Number(first > second);
}

export async function formatRequest(
  { resource, uri, destination, content }: RequestDraft,
  { fspId: source, privateKey }: Pick<Settings, 'fspId' | 'privateKey'>,
  atMs: number,
): Promise<SignedRequest> {
  const method = content === undefined ? 'GET' : 'POST';
  const body = content === undefined ? '' : formatBody(content);
  const date = new Date(atMs).toUTCString();
  const head = { method, uri, source, destination, date };
  const headers = {
    accept: nameType(resource),
    'content-type': nameType(resource),
    date,
    'fspiop-source': source,
    ...(destination !== '' && { 'fspiop-destination': destination }),
    'fspiop-uri': uri,
    'fspiop-http-method': method,
    'fspiop-signature': await signMessage(head, body, privateKey),
  };
  return { method, uri, headers, body };
}

const fspId = z.string().min(1).max(32);
const money = z.object({
  currency: z.string().length(3),
  // Without leading and trailing zeros, at most four digits after the point.
  amount: z.string().regex(/^(0|[1-9]\d{0,17})(\.\d{0,3}[1-9])?$/),
});
export type Money = z.output<typeof money>;

const name = z.string().max(128).nullish();

export const partySchema = z.object({
  party: z.object({
    partyIdInfo: z.object({
      partyIdType: z.string().max(32),
      partyIdentifier: z.string().max(128),
      fspId: fspId.nullish(),
    }),
    name,
    personalInfo: z
      .object({
        complexName: z.object({ firstName: name, middleName: name, lastName: name }).nullish(),
      })
      .nullish(),
  }),
});
export type Party = z.output<typeof partySchema>['party'];

export const quoteSchema = z.object({
  transferAmount: money,
  payeeReceiveAmount: money.nullish(),
  payeeFspFee: money.nullish(),
  payeeFspCommission: money.nullish(),
  expiration: z.iso.datetime({ offset: true }),
  ilpPacket: z.string().min(1).max(32_768),
  condition: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
});
export type Quote = z.output<typeof quoteSchema>;

export const transferSchema = z.object({
  transferState: z.enum(['RECEIVED', 'RESERVED', 'COMMITTED', 'ABORTED']),
  fulfilment: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/)
    .nullish(),
});
export type TransferUpdate = z.output<typeof transferSchema>;

export const errorSchema = z.object({
  errorInformation: z.object({ errorCode: z.string().regex(/^[1-9]\d{3}$/) }),
});

export type CallbackSubject = {
  readonly resource: Resource;
  /** A telephone number, or the identifier of a quote or a transfer. */
  readonly id: string;
  readonly isError: boolean;
};

const callbackPath =
  /^\/(?:parties\/MSISDN\/(?<party>\d{3,15})|(?<resource>quotes|transfers)\/(?<id>[0-9a-f-]{36}))(?<error>\/error)?$/;

/** The subject of a callback; undefined for paths that the rail does not serve. */
export function readCallbackPath(path: string): CallbackSubject | undefined {
  const groups = callbackPath.exec(path)?.groups;
  if (groups === undefined) return undefined;
  const { party, resource, id = '', error } = groups;
  const isError = error !== undefined;
  if (party !== undefined) return { resource: 'parties', id: party, isError };
  return { resource: resource === 'quotes' ? 'quotes' : 'transfers', id, isError };
}
