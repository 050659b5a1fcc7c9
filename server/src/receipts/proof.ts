import type { SigningKey } from '../core/environment-keys.ts';
import {
  findSigner,
  type PublicKey,
  PublicKeyFault,
  readPublicKeys,
} from '../core/verifying-keys.ts';
import { readAttachments } from './attachments.ts';
import type { ReceiptData } from './document.ts';

/**
 * Proves a receipt offline, without trust in the file or its sender:
 * - the PDF has `receipt.json` attached, and the Ed25519 signature over its bytes;
 * - its QR code is a signed short form (JWS, RFC 7515, with EdDSA, RFC 8037), for a printed receipt;
 * - its last line is a signature over all bytes before it, so that the page cannot be exchanged.
 */
export type ReceiptProof = {
  /** The bytes of receipt.json, as text. */
  record: string;
  /** Base64. */
  signature: string;
  /** What the QR code says. */
  code: string;
};

export function createProof(data: ReceiptData, key: SigningKey): ReceiptProof {
  const record = `${JSON.stringify(describeRecord(data, key.id), null, 2)}\n`;
  return {
    record,
    signature: key.sign(Buffer.from(record)).toString('base64'),
    code: createCode(data, key),
  };
}

/** Members without a value are left out; amounts are decimal texts. */
function describeRecord({ brand: _, ...data }: ReceiptData, keyId: string) {
  const record = {
    type: 'outlay.receipt',
    version: 1,
    key_id: keyId,
    environment: data.environment,
    issued_at: data.issuedOn,
    payout_token: data.payoutToken,
    client_transfer_id: data.clientTransferId,
    status: data.status,
    status_reason: data.statusReason,
    sender: data.senderName,
    recipient: data.recipientName,
    recipient_address: data.recipientAddressLines,
    internal_user_id: data.internalUserId,
    country: data.countryName,
    delivery_type: data.deliveryType,
    payer_name: data.payerName,
    destination: data.destination,
    source_amount: data.sourceAmount,
    fee: data.fee,
    total_debit: data.totalDebited,
    refund_amount: data.refundAmount,
    source_currency_code: data.sourceCurrency,
    destination_amount: data.destinationAmount,
    returned_amount: data.returnedAmount,
    destination_currency_code: data.destinationCurrency,
    exchange_rate: data.exchangeRate,
    mid_rate: data.midRate,
    margin: data.margin,
    created_at: data.createdOn,
    expiration: data.expiresOn,
    committed_at: data.committedOn,
    completed_at: data.completedOn,
    canceled_at: data.canceledOn,
    estimated_availability: data.estimatedAvailability,
    pickup_code: data.pickupCode,
    network: data.network,
    rail_reference: data.railReference,
    transaction_hash: data.transactionHash,
  };
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== ''));
}

/** Short, so that its squares stay large; without the recipient, because anyone can scan it. */
function createCode(data: ReceiptData, key: SigningKey): string {
  const claims = {
    payout_token: data.payoutToken,
    status: data.status,
    amount: `${data.destinationAmount} ${data.destinationCurrency}`,
    issued_at: data.issuedOn,
  };
  const signed = `${encode({ alg: 'EdDSA', kid: key.id })}.${encode(claims)}`;
  return `${signed}.${key.sign(Buffer.from(signed)).toString('base64url')}`;
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

const linePrefix = '%outlay-signature ';
const linePattern = new RegExp(`${linePrefix}([A-Za-z0-9+/]{86}==)\n$`);

/** Appends the signature of the file as a comment, near enough to the end for every reader of PDF. */
export function signFile(pdf: Uint8Array, key: SigningKey): Buffer {
  const signed = Buffer.concat([pdf, Buffer.from('\n')]);
  return Buffer.concat([
    signed,
    Buffer.from(`${linePrefix}${key.sign(signed).toString('base64')}\n`),
  ]);
}

/** Why a receipt does not verify; the message is for its reader. */
export class ProofFault extends Error {}

export type Verified = { key_id: string; receipt: unknown };

/**
 * Verifies a receipt's file: that not one byte was changed since the key's owner made it.
 *
 * @param keys the published key (PEM), or the set of all published keys
 * @throws ProofFault
 */
export function verifyReceipt(file: Buffer, keys: string): Verified {
  const known = readKeys(keys);
  const { record, signature } = readAttachments(file);
  if (record === undefined || signature === undefined) {
    throw new ProofFault('this is not a signed receipt: it has no receipt.json with a signature');
  }
  const signer = findSigner(known, record, signature);
  if (signer === undefined) {
    throw new ProofFault('the data of the receipt was changed, or another key has signed it');
  }
  const line = linePattern.exec(file.subarray(-200).toString('latin1'));
  const signed = file.subarray(0, file.length - (line?.[0].length ?? 0));
  if (line === null || !findSigner([signer], signed, Buffer.from(line[1] ?? '', 'base64'))) {
    throw new ProofFault(
      'the file was changed after it was signed: do not trust its page. Only the data attached as ' +
        `receipt.json is genuine: ${record.toString('utf8')}`,
    );
  }
  return { key_id: signer.id, receipt: JSON.parse(record.toString('utf8')) as unknown };
}

/**
 * Verifies the text of a receipt's QR code.
 *
 * @throws ProofFault
 */
export function verifyCode(code: string, keys: string): Verified {
  const known = readKeys(keys);
  const [header = '', claims = '', signature = '', ...more] = code.trim().split('.');
  const signed = Buffer.from(`${header}.${claims}`);
  const signer = findSigner(known, signed, Buffer.from(signature, 'base64url'));
  if (more.length > 0 || signer === undefined)
    throw new ProofFault('the code was changed, or another key has signed it');
  const text = Buffer.from(claims, 'base64url').toString('utf8');
  return { key_id: signer.id, receipt: JSON.parse(text) as unknown };
}

function readKeys(text: string): PublicKey[] {
  try {
    return readPublicKeys(text);
  } catch (cause) {
    if (!(cause instanceof PublicKeyFault)) throw cause;
    throw new ProofFault(cause.message, { cause });
  }
}
