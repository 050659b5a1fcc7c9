import type { Reason } from '../contract/reasons.ts';

/**
 * Error codes of "API Definition" 1.1, section 7.6. The first one or two digits are the class; codes
 * with a reason of their own are in the second table.
 */
const classReasons: Readonly<Record<string, Reason>> = {
  '1': 'unreachable',
  '2': 'payer_error',
  '30': 'payer_refused',
  '31': 'payer_refused',
  '32': 'payer_unavailable',
  '33': 'payer_unavailable',
  '40': 'payer_refused',
  '41': 'payer_refused',
  '42': 'amount_refused',
  '43': 'payer_refused',
  '44': 'payer_refused',
  '50': 'payer_error',
  '51': 'payer_refused',
  '52': 'amount_refused',
  '53': 'account_not_creditable',
  '54': 'account_blocked',
};

const codeReasons: Readonly<Record<string, Reason>> = {
  '2003': 'payer_unavailable',
  '2004': 'payer_unavailable',
  '2005': 'busy',
  '3204': 'account_not_found',
  '4001': 'no_funds',
  '4103': 'currency_refused',
  '5001': 'payer_unavailable',
  '5100': 'recipient_refused',
  '5101': 'recipient_refused',
  '5104': 'recipient_refused',
  '5106': 'currency_refused',
};

export function getReason(code: string): Reason {
  return (
    codeReasons[code] ?? classReasons[code.slice(0, 2)] ?? classReasons[code.slice(0, 1)] ?? 'other'
  );
}

/** The hub does not know the transfer. */
const unknownTransferCode = '3208';
/** The identifier was used with other content, which says nothing about the first request. */
const modifiedRequestCode = '3106';

/**
 * What an error means for a transfer.
 * - `final`: the transfer was refused, aborted or expired for good.
 * - `request`: one request was refused; another one for the same transfer may have arrived.
 * - `absent`: the hub does not know the transfer at present.
 * - `transient`: a failure on the way; the transfer may be carried out.
 */
export type ErrorClass = 'final' | 'request' | 'absent' | 'transient';

export function classifyTransferError(code: string): ErrorClass {
  if (code === unknownTransferCode) return 'absent';
  if (code === modifiedRequestCode) return 'transient';
  if (code === '4001' || /^(33|41|42|44|5)/.test(code)) return 'final';
  // The rest of class 4 are permissions, which a query may lack as well.
  return /^[34]/.test(code) ? 'request' : 'transient';
}

/** Whether a look-up or a quote, which move no money, may succeed when repeated. */
export function isTransient(code: string): boolean {
  return /^[12]/.test(code) || code === modifiedRequestCode;
}
