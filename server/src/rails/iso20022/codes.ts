import type { Reason } from '../contract/reasons.ts';

/** Code lists of ISO 20022 (External Code Sets), as far as payouts need them. */

/**
 * Why a payment was refused or sent back (ExternalStatusReason1Code, ExternalReturnReason1Code).
 * A code that is not listed is `other`.
 */
const reasonByCode: Readonly<Record<string, Reason>> = {
  // Accounts.
  AC01: 'account_not_found',
  AC02: 'payer_error',
  AC03: 'account_not_found',
  AC04: 'account_closed',
  AC05: 'payer_error',
  AC06: 'account_blocked',
  AC07: 'account_closed',
  AC08: 'invalid_details',
  AC09: 'currency_refused',
  AC10: 'payer_error',
  AC11: 'currency_refused',
  AC12: 'account_not_creditable',
  AC13: 'account_not_creditable',
  AC14: 'account_not_creditable',
  AG01: 'account_not_creditable',
  AG02: 'payer_refused',
  AG03: 'account_not_creditable',
  AG10: 'payer_unavailable',
  AG11: 'payer_unavailable',
  // Amounts.
  AM01: 'amount_refused',
  AM02: 'amount_refused',
  AM03: 'currency_refused',
  AM04: 'no_funds',
  AM05: 'duplicate',
  AM06: 'amount_refused',
  AM07: 'account_blocked',
  AM09: 'amount_refused',
  AM10: 'payer_refused',
  AM12: 'amount_refused',
  AM13: 'amount_refused',
  AM14: 'amount_refused',
  AM19: 'payer_refused',
  AM20: 'payer_refused',
  AM23: 'no_funds',
  // Parties.
  BE01: 'name_mismatch',
  BE04: 'invalid_details',
  BE05: 'payer_refused',
  BE06: 'account_not_found',
  BE07: 'payer_refused',
  BE08: 'payer_refused',
  BE09: 'invalid_details',
  BE10: 'payer_refused',
  BE11: 'invalid_details',
  BE12: 'invalid_details',
  BE17: 'invalid_details',
  BE21: 'name_mismatch',
  BE22: 'invalid_details',
  // Agents.
  AGNT: 'invalid_details',
  RC01: 'invalid_details',
  RC03: 'payer_refused',
  RC04: 'invalid_details',
  RC05: 'payer_refused',
  RC06: 'payer_refused',
  RC07: 'invalid_details',
  RC08: 'invalid_details',
  RC10: 'invalid_details',
  RC11: 'payer_refused',
  // Compliance.
  FRAD: 'compliance',
  FR01: 'compliance',
  RR01: 'compliance',
  RR02: 'compliance',
  RR03: 'compliance',
  RR04: 'compliance',
  RR05: 'compliance',
  RR06: 'compliance',
  RR07: 'compliance',
  RR08: 'compliance',
  RR09: 'compliance',
  LEGL: 'compliance',
  // Decisions of the parties.
  MD07: 'recipient_deceased',
  MS01: 'other',
  MS02: 'recipient_refused',
  MS03: 'other',
  CUST: 'recalled',
  FOCR: 'recalled',
  DS02: 'recalled',
  RUTA: 'sent_back',
  UPAY: 'sent_back',
  SVNR: 'sent_back',
  ARDT: 'sent_back',
  NOAS: 'no_answer',
  NOOR: 'sent_back',
  // Service and format.
  CURR: 'currency_refused',
  CNOR: 'payer_unavailable',
  DNOR: 'payer_refused',
  ED01: 'payer_refused',
  ED05: 'payer_error',
  ED06: 'payer_error',
  // Instant schemes: aborted or timed out before the settlement, or a bank that is not online.
  AB01: 'payer_error',
  AB02: 'payer_error',
  AB03: 'payer_error',
  AB04: 'payer_error',
  AB05: 'payer_error',
  AB06: 'payer_error',
  AB07: 'payer_unavailable',
  AB08: 'payer_unavailable',
  AB09: 'payer_error',
  AB10: 'payer_error',
  TM01: 'payer_refused',
  DT01: 'payer_refused',
  FF01: 'payer_refused',
  FF05: 'payer_refused',
  TECH: 'payer_error',
  NARR: 'other',
};

export function getReason(code: string): Reason {
  return findIn(reasonByCode, code) ?? 'other';
}

/** By own members only: a code may be the name of a member that every object has. */
export function findIn<Value>(
  table: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/**
 * The bank rejects a second copy. The first one may well be paid, so that such a rejection is never a
 * rejection of the payment.
 */
export function isDuplicateCode(code: string): boolean {
  return ['AM05', 'DUPL', 'DU01', 'DU02', 'DU03', 'DU04', 'DU05'].includes(code);
}

/** The code, or "" where the text is none: a proprietary text may hold anything. */
export function cleanCode(code: string): string {
  return /^[A-Za-z0-9_.-]{1,12}$/.test(code) ? code : '';
}

/** What a status means for a payment (ExternalPaymentTransactionStatus1Code and the group's list). */
export type StatusOutcome = 'accepted' | 'paid' | 'rejected';

const outcomeByStatus: Readonly<Record<string, StatusOutcome>> = {
  RCVD: 'accepted',
  ACTC: 'accepted',
  ACCP: 'accepted',
  ACFC: 'accepted',
  ACSP: 'accepted',
  ACWC: 'accepted',
  ACWP: 'accepted',
  ACIS: 'accepted',
  ACPD: 'accepted',
  PATC: 'accepted',
  PDNG: 'accepted',
  PRES: 'accepted',
  // A verification of payee, or the release of the order by the sender, is pending or has a result:
  // the bank executes or rejects the payment afterwards.
  ACFW: 'accepted',
  RCVC: 'accepted',
  RVCM: 'accepted',
  RVMC: 'accepted',
  RVNA: 'accepted',
  RVNC: 'accepted',
  RVNM: 'accepted',
  // The money neither arrives nor comes back until an authority decides: not final.
  BLCK: 'accepted',
  // Settled on the account of the debtor, and of the creditor.
  ACSC: 'paid',
  ACCC: 'paid',
  RJCT: 'rejected',
  CANC: 'rejected',
};

/** Some parts were accepted and some rejected, as the lower levels say. */
export function isMixedStatus(status: string): boolean {
  return status === 'PART' || status === 'PARTNC';
}

/** Undefined for a mixed status and for an unknown one. */
export function findStatusOutcome(status: string): StatusOutcome | undefined {
  return findIn(outcomeByStatus, status);
}

/** ExternalPurpose1Code by the values of the attribute RemittanceReason. */
const purposeByReason: Readonly<Record<string, string>> = {
  FAMILY_SUPPORT: 'DEPD',
  SALARY: 'SALA',
  SERVICES: 'SCVE',
  GOODS: 'GDDS',
  EDUCATION: 'EDUC',
  MEDICAL: 'MDCS',
  GIFT: 'GIFT',
  SAVINGS: 'SAVG',
  PROPERTY: 'OTHR',
  OTHER: 'OTHR',
};

/** Undefined where the purpose is an authority's own code, which goes unchanged as a proprietary one. */
export function findPurpose(remittanceReason: string): string | undefined {
  return findIn(purposeByReason, remittanceReason);
}

type ClearingSystem = {
  /** ExternalClearingSystemIdentification1Code. */
  readonly code: string;
  readonly member: RegExp;
  /** Precedes the routing number where routing number and branch are two attributes. */
  readonly lead?: string;
};

/** By alpha-3: how banks are named inside a country. */
const clearingSystems: Readonly<Record<string, ClearingSystem>> = {
  AUS: { code: 'AUBSB', member: /^[0-9]{6}$/ },
  // The electronic form of a routing number: 0, institution (3), transit (5).
  CAN: { code: 'CACPA', member: /^0[0-9]{8}$/, lead: '0' },
  CHN: { code: 'CNAPS', member: /^[0-9]{12}$/ },
  GBR: { code: 'GBDSC', member: /^[0-9]{6}$/ },
  GGY: { code: 'GBDSC', member: /^[0-9]{6}$/ },
  HKG: { code: 'HKNCC', member: /^[0-9]{3}$/ },
  IMN: { code: 'GBDSC', member: /^[0-9]{6}$/ },
  IND: { code: 'INFSC', member: /^[A-Z0-9]{11}$/ },
  JEY: { code: 'GBDSC', member: /^[0-9]{6}$/ },
  JPN: { code: 'JPZGN', member: /^[0-9]{7}$/ },
  NZL: { code: 'NZNCC', member: /^[0-9]{6}$/ },
  PRI: { code: 'USABA', member: /^[0-9]{9}$/ },
  RUS: { code: 'RUCBC', member: /^[0-9]{9}$/ },
  SGP: { code: 'SGIBG', member: /^[0-9]{3,4}$|^[0-9]{7}$/ },
  TWN: { code: 'TWNCC', member: /^[0-9]{7}$/ },
  USA: { code: 'USABA', member: /^[0-9]{9}$/ },
  ZAF: { code: 'ZANCC', member: /^[0-9]{6}$/ },
};

export type ClearingMember = { readonly system: string; readonly member: string };

/** The identifier of the account's bank in its country's clearing, from the attributes. */
export function findClearingMember(
  countryCode: string,
  attributes: Readonly<Record<string, string>>,
): ClearingMember | undefined {
  const system = findIn(clearingSystems, countryCode);
  if (system === undefined) return undefined;
  const routing = (attributes['BankRoutingNumber'] ?? '').replaceAll(/[ -]/g, '');
  const branch = (attributes['BankAccountBranchNumber'] ?? '').replaceAll(/[ -]/g, '');
  const candidates = [routing, `${system.lead ?? ''}${routing}${branch}`];
  const member = candidates.find((candidate) => system.member.test(candidate));
  return member === undefined ? undefined : { system: system.code, member };
}
