import type { Reason } from '../contract/reasons.ts';

/**
 * Error codes of "API Definition" 1.1, section 7.6: four digits, of which the first one says whose
 * fault it is. What is more exact than its class stands in the second table.
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

/** The hub does not know the transfer it was asked about. */
export const unknownTransferCode = '3208';
/** The same identifier was used with another content: it says nothing of what came first. */
const modifiedRequestCode = '3106';

/**
 * What an error says about a transfer.
 * - `dead`: this transfer was refused, aborted or ran out, for good.
 * - `request`: one request was refused. Where another one of the same transfer may have arrived,
 *   that says nothing.
 * - `absent`: the hub does not know it, at that moment.
 * - `nothing`: a failure on the way; the transfer may live.
 */
export type Weight = 'dead' | 'request' | 'absent' | 'nothing';

export function weighTransferError(code: string): Weight {
  if (code === unknownTransferCode) return 'absent';
  if (code === modifiedRequestCode) return 'nothing';
  if (code === '4001' || /^(33|41|42|44|5)/.test(code)) return 'dead';
  // What is left of 4 are permissions, which a question may lack as well.
  return /^[34]/.test(code) ? 'request' : 'nothing';
}

/** Of a look-up or a quote, which move nothing: whether asking again may help. */
export function isPassing(code: string): boolean {
  return /^[12]/.test(code) || code === modifiedRequestCode;
}
