import type { Reason } from '../contract/reasons.ts';

/**
 * Why an entry came back (Nacha Operating Rules, Appendix Four), in our words.
 *
 * `stage`: `posted` are returns by the receiving bank; `edit` are format errors, returned by the
 * operator or the gateway before the entry reached an account; `dishonored` and `contested` are
 * exchanges between the banks about an earlier return. Most codes are for debits; they are listed
 * because some bank will use them for credits.
 */
export type ReturnCode = {
  readonly text: string;
  readonly reason: Reason;
  readonly stage: 'posted' | 'edit' | 'dishonored' | 'contested';
};

type Row = readonly [text: string, reason: Reason, stage?: ReturnCode['stage']];

const rows: Readonly<Record<string, Row>> = {
  R01: ['too little money in the account (debits)', 'sent_back'],
  R02: ['the account is closed', 'account_closed'],
  R03: ['no such account, or not of this name', 'account_not_found'],
  R04: ['no account number of the bank looks like this', 'account_not_found'],
  R05: ['a consumer did not allow this company debit (debits)', 'sent_back'],
  R06: ['our bank asked for it back', 'recalled'],
  R07: ['the permission was withdrawn (debits)', 'recipient_refused'],
  R08: ['the recipient stopped the payment', 'recipient_refused'],
  R09: ['the money in the account is not collected yet (debits)', 'sent_back'],
  R10: ['the recipient does not know the sender', 'recipient_refused'],
  R11: ['not as the recipient had allowed it', 'recipient_refused'],
  R12: ['the branch now belongs to another bank', 'account_not_found'],
  R13: ['the bank takes no ACH, or there is no such routing number', 'invalid_details', 'edit'],
  R14: ['the payee who acted for the recipient has died or cannot act', 'recipient_deceased'],
  R15: ['the recipient or holder of the account has died', 'recipient_deceased'],
  R16: ['the account is frozen, or an authority forbids it', 'account_blocked'],
  R17: ['the bank cannot process a field, or suspects the entry', 'invalid_details'],
  R18: ['the effective date is not possible', 'payer_error', 'edit'],
  R19: ['the amount is not in its form', 'payer_error', 'edit'],
  R20: ['the account takes no such payments', 'account_not_creditable'],
  R21: ['the company identification is not valid', 'payer_error'],
  R22: ["the recipient's identification number is not valid", 'invalid_details'],
  R23: ['the recipient refused the credit', 'recipient_refused'],
  R24: ['the bank takes it for a duplicate', 'duplicate'],
  R25: ['the addenda is not in its form', 'payer_error', 'edit'],
  R26: ['a mandatory field is missing or wrong', 'payer_error', 'edit'],
  R27: ['the trace number is wrong', 'payer_error', 'edit'],
  R28: ['the check digit of the routing number is wrong', 'invalid_details', 'edit'],
  R29: ['a company did not allow it (debits)', 'recipient_refused'],
  R30: ['the bank does not take truncated checks', 'payer_refused', 'edit'],
  R31: ['returned late with the consent of our bank', 'sent_back'],
  R32: ['the receiving bank cannot settle', 'payer_unavailable', 'edit'],
  R33: ['return of a destroyed check entry (debits)', 'sent_back'],
  R34: ['an authority limits what the bank may take', 'payer_unavailable', 'edit'],
  R35: ['such a debit is not allowed', 'payer_error', 'edit'],
  R36: ['such a credit is not allowed', 'payer_error', 'edit'],
  R37: ['the source document was presented, too (debits)', 'duplicate'],
  R38: ['the source document was stopped (debits)', 'recipient_refused'],
  R39: ['the source document is not fit for it (debits)', 'sent_back'],
  R40: ['a federal agency returns the enrollment', 'payer_refused'],
  R41: ['enrollment: wrong transaction code', 'payer_error'],
  R42: ['enrollment: wrong routing number', 'invalid_details'],
  R43: ['enrollment: wrong account number', 'invalid_details'],
  R44: ['enrollment: wrong identification number', 'invalid_details'],
  R45: ['enrollment: wrong name', 'name_mismatch'],
  R46: ['enrollment: wrong mark of a representative payee', 'invalid_details'],
  R47: ['enrollment: there is one already', 'duplicate'],
  R50: ['a state does not allow represented checks (debits)', 'payer_refused'],
  R51: ['the represented check is not fit for it (debits)', 'sent_back'],
  R52: ['the represented check was stopped (debits)', 'recipient_refused'],
  R53: ['check and entry were both presented (debits)', 'duplicate'],
  R61: ['dishonored: the return went to the wrong bank', 'other', 'dishonored'],
  R62: ['dishonored: return of an erroneous or reversing entry', 'other', 'dishonored'],
  R63: ['dishonored: the amount of the return is wrong', 'other', 'dishonored'],
  R64: ['dishonored: the identification in the return is wrong', 'other', 'dishonored'],
  R65: ['dishonored: the transaction code of the return is wrong', 'other', 'dishonored'],
  R66: ['dishonored: the company in the return is wrong', 'other', 'dishonored'],
  R67: ['dishonored: the entry had been returned before', 'other', 'dishonored'],
  R68: ['dishonored: the return came too late', 'other', 'dishonored'],
  R69: ['dishonored: fields of the return are wrong', 'other', 'dishonored'],
  R70: ['dishonored: our bank had not agreed to the return', 'other', 'dishonored'],
  R71: ['contested: the dishonored return went to the wrong bank', 'other', 'contested'],
  R72: ['contested: the dishonored return came too late', 'other', 'contested'],
  R73: ['contested: the return had been in time', 'other', 'contested'],
  R74: ['contested: the return, corrected', 'other', 'contested'],
  R75: ['contested: the return was no duplicate', 'other', 'contested'],
  R76: ['contested: the return had no errors', 'other', 'contested'],
  R77: ['contested: the dishonored return is not accepted', 'other', 'contested'],
  R80: ['the coding of the IAT is wrong', 'payer_error', 'edit'],
  R81: ['the bank does not take part in IAT', 'payer_unavailable', 'edit'],
  R82: ['the number of the foreign bank is wrong', 'invalid_details', 'edit'],
  R83: ['the foreign bank cannot settle', 'payer_unavailable', 'edit'],
  R84: ['the gateway did not process it', 'payer_refused', 'edit'],
  R85: ['it should have been an IAT', 'payer_error', 'edit'],
};

const returnCodes: ReadonlyMap<string, ReturnCode> = new Map(
  Object.entries(rows).map(([code, [text, reason, stage = 'posted']]) => [
    code,
    { text, reason, stage },
  ]),
);

export function isReturnCode(code: string): boolean {
  return returnCodes.has(code);
}

/** An unknown code is a return for another reason. */
export function readReturnCode(code: string): ReturnCode {
  return returnCodes.get(code) ?? { text: 'unknown return code', reason: 'other', stage: 'posted' };
}
