import { createHash } from 'node:crypto';
import { nameId } from '../../core/ids.ts';
import type { ReferenceRule } from './instruction.ts';

/**
 * The reference of a payment at the counterparty, in an encoding that the rail can carry whole. It is
 * a function of the account, the client's own identifier and the try: a database that was restored to
 * an earlier moment derives the same one, so that a client's retry meets the counterparty's duplicate
 * check.
 */
export type ReferenceEncoding = 'digits' | 'dashed';

const encodings: readonly ReferenceEncoding[] = ['digits', 'dashed'];

/** Identifiers that together have every hexadecimal digit at every place that varies. */
const samples = Array.from('0123456789abcdef', (digit) => {
  const run = (length: number): string => digit.repeat(length);
  return `${run(8)}-${run(4)}-5${run(3)}-8${run(3)}-${run(12)}`;
});

/** @throws Error where the rail can carry no encoding: a reference is never shortened. */
export function chooseEncoding(railName: string, rule: ReferenceRule): ReferenceEncoding {
  const found = encodings.find((encoding) =>
    samples.every((sample) => {
      const reference = encodeReference(encoding, sample);
      return reference.length <= rule.lengthMax && rule.charset.test(reference);
    }),
  );
  if (found === undefined) {
    throw new Error(
      `rail ${railName}: references must fit ${rule.lengthMax} characters of ${rule.charset.source}, ` +
        'and no encoding of a payment does',
    );
  }
  return found;
}

const observations = '5b0a7c1e-4a0e-4b6f-9a73-0f3d1b1f6a55';

/** The identifier of an observation that a rail reports under a name of its own. */
export function nameObservation(rail: string, id: string): string {
  return nameId(`${rail}/${id}`, observations);
}

/** The same as `payment_reference` in SQL, dashed. `attempt`: 1, and one more after each refusal. */
export function derivePaymentId(payment: {
  accountId: string;
  clientTransferId: string;
  attempt: number;
}): string {
  const { accountId, clientTransferId, attempt } = payment;
  const hash = createHash('sha256').update(`${accountId}/${attempt}/${clientTransferId}`);
  const digits = hash.digest('hex');
  const variant = '89ab'[Number.parseInt(digits.slice(16, 17), 16) & 3];
  return formatUuid(
    `${digits.slice(0, 12)}5${digits.slice(13, 16)}${variant}${digits.slice(17, 32)}`,
  );
}

export function encodeReference(encoding: ReferenceEncoding, paymentId: string): string {
  return encoding === 'dashed' ? paymentId : paymentId.replaceAll('-', '');
}

/** The payment that a reference names, in either encoding; undefined where it has another form. */
export function decodeReference(reference: string): string | undefined {
  const digits = reference.toLowerCase().replaceAll('-', '');
  return /^[0-9a-f]{32}$/.test(digits) ? formatUuid(digits) : undefined;
}

function formatUuid(digits: string): string {
  const parts = [0, 8, 12, 16, 20].map((from, index, all) => digits.slice(from, all[index + 1]));
  return parts.join('-');
}
