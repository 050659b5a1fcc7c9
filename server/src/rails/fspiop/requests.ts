import { getCurrency } from '../../core/currency.ts';
import { formatAmount } from '../../core/money.ts';
import type { Settings } from './config.ts';
import { formatRequest } from './messages.ts';
import { nameTransaction, type Payment, type SignedRequest, type Terms } from './payment.ts';

/** The signed requests of a payment. */

/** Names of the payer that the API accepts; others are omitted. */
const namePattern = /^(?!\s*$)[\p{L}\p{M}\d .,'-]{1,128}$/u;

/** Carries the reference into the records of the hub and the provider. */
function listExtensions({ reference }: Payment) {
  return { extension: [{ key: 'payoutReference', value: reference }] };
}

export function formatLookup(
  { msisdn }: Payment,
  settings: Settings,
  atMs: number,
): Promise<SignedRequest> {
  const uri = `/parties/MSISDN/${msisdn}`;
  return formatRequest({ resource: 'parties', uri, destination: '' }, settings, atMs);
}

export function formatQuote(
  payment: Payment,
  settings: Settings,
  atMs: number,
): Promise<SignedRequest> {
  const { quoteId, reference, msisdn, payeeFsp, currency, amountMinor, originatorName } = payment;
  const { idType, id } = settings.payer;
  const content = {
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
    amount: { currency, amount: formatAmount(amountMinor, getCurrency(currency)) },
    transactionType: { scenario: 'TRANSFER', initiator: 'PAYER', initiatorType: 'BUSINESS' },
    extensionList: listExtensions(payment),
  };
  const draft = { resource: 'quotes', uri: '/quotes', destination: payeeFsp, content } as const;
  return formatRequest(draft, settings, atMs);
}

export function formatTransfer(
  payment: Payment & { readonly terms: Terms },
  settings: Settings,
  atMs: number,
): Promise<SignedRequest> {
  const { transferId, payeeFsp, currency, terms, expiresAtMs } = payment;
  const content = {
    transferId,
    payeeFsp,
    payerFsp: settings.fspId,
    amount: { currency, amount: terms.transferAmount },
    ilpPacket: terms.ilpPacket,
    condition: terms.condition,
    expiration: new Date(expiresAtMs).toISOString(),
    extensionList: listExtensions(payment),
  };
  const draft = {
    resource: 'transfers',
    uri: '/transfers',
    destination: payeeFsp,
    content,
  } as const;
  return formatRequest(draft, settings, atMs);
}

export function formatTransferQuery(
  { transferId, payeeFsp }: Payment,
  settings: Settings,
  atMs: number,
): Promise<SignedRequest> {
  const uri = `/transfers/${transferId}`;
  return formatRequest({ resource: 'transfers', uri, destination: payeeFsp }, settings, atMs);
}
