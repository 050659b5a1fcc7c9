import type { Settings } from './config.ts';
import { formatBody, formatRequest, type SignedRequest } from './messages.ts';
import { nameTransaction, type Payment, type Terms } from './payment.ts';

/** The requests of a payment, signed and ready to go out. */

/** What the API takes for a name of the payer; another one is left out. */
const namePattern = /^(?!\s*$)[\p{L}\p{M}\d .,'-]{1,128}$/u;

/** Where our own reference is to be found in the hub's and the provider's books. */
function listExtensions({ reference }: Payment) {
  return { extension: [{ key: 'payoutReference', value: reference }] };
}

export function formatLookup(payment: Payment, settings: Settings, atMs: number): Promise<SignedRequest> {
  return formatRequest(
    {
      resource: 'parties',
      method: 'GET',
      uri: `/parties/MSISDN/${payment.msisdn}`,
      source: settings.fspId,
      destination: '',
      atMs,
      body: '',
    },
    settings.privateKey,
  );
}

export function formatQuote(
  payment: Payment & { readonly amount: string },
  settings: Settings,
  atMs: number,
): Promise<SignedRequest> {
  const { quoteId, reference, msisdn, payeeFsp, currency, amount, originatorName } = payment;
  const { idType, id } = settings.payer;
  const body = {
    quoteId,
    transactionId: nameTransaction(reference),
    payee: {
      partyIdInfo: { partyIdType: 'MSISDN', partyIdentifier: msisdn, fspId: payeeFsp },
    },
    payer: {
      partyIdInfo: { partyIdType: idType, partyIdentifier: id, fspId: settings.fspId },
      ...(namePattern.test(originatorName) && { name: originatorName }),
    },
    amountType: 'RECEIVE',
    amount: { currency, amount },
    transactionType: { scenario: 'TRANSFER', initiator: 'PAYER', initiatorType: 'BUSINESS' },
    extensionList: listExtensions(payment),
  };
  return formatRequest(
    {
      resource: 'quotes',
      method: 'POST',
      uri: '/quotes',
      source: settings.fspId,
      destination: payeeFsp,
      atMs,
      body: formatBody(body),
    },
    settings.privateKey,
  );
}

export function formatTransfer(
  payment: Payment & { readonly terms: Terms },
  settings: Settings,
  atMs: number,
): Promise<SignedRequest> {
  const { transferId, payeeFsp, currency, terms, expiresAtMs } = payment;
  const body = {
    transferId,
    payeeFsp,
    payerFsp: settings.fspId,
    amount: { currency, amount: terms.transferAmount },
    ilpPacket: terms.ilpPacket,
    condition: terms.condition,
    expiration: new Date(expiresAtMs).toISOString(),
    extensionList: listExtensions(payment),
  };
  return formatRequest(
    {
      resource: 'transfers',
      method: 'POST',
      uri: '/transfers',
      source: settings.fspId,
      destination: payeeFsp,
      atMs,
      body: formatBody(body),
    },
    settings.privateKey,
  );
}

export function formatTransferQuery(
  { transferId, payeeFsp }: Payment,
  settings: Settings,
  atMs: number,
): Promise<SignedRequest> {
  return formatRequest(
    {
      resource: 'transfers',
      method: 'GET',
      uri: `/transfers/${transferId}`,
      source: settings.fspId,
      destination: payeeFsp,
      atMs,
      body: '',
    },
    settings.privateKey,
  );
}
