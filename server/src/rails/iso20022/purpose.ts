import { createHash } from 'node:crypto';
import { findCountry } from '../../core/country.ts';
import type { RecipientFault } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { findIn, findPurpose } from './codes.ts';
import { type Config, type Corridor, reportingCodePattern } from './config.ts';
import { toLatinText } from './latin-text.ts';
import type { PaymentOrder } from './orders.ts';

/** What banks and authorities want to know about a payment: purposes, reports, and its UETR. */

export type Purpose = { readonly code: string } | { readonly proprietary: string };

export type RegulatoryReport = {
  readonly indicator: 'CRED' | 'DEBT' | 'BOTH';
  readonly authority: string;
  /** ISO 3166-1 alpha-2, or "". */
  readonly authorityCountry: string;
  readonly type: string;
  /** ISO 3166-1 alpha-2: the country of the recipient. */
  readonly country: string;
  readonly code: string;
};

function getReason(order: PaymentOrder): string {
  return order.attributes['RemittanceReason'] ?? '';
}

export function readPurpose(
  order: PaymentOrder,
  { config, isSepa }: { config: Config; isSepa: boolean },
): Purpose | undefined {
  const given = getReason(order);
  if (given === '') return undefined;
  const code = findIn(config.purposeCodes, given) ?? findPurpose(given);
  if (code !== undefined) return { code };
  const proprietary = toLatinText(given, 35);
  // SEPA allows the codes of ISO alone.
  return isSepa || proprietary === '' ? undefined : { proprietary };
}

export function readCategory(order: PaymentOrder, config: Config): string {
  return findIn(config.categoryPurposes, getReason(order)) ?? '';
}

function findCorridor(order: PaymentOrder, config: Config): Corridor | undefined {
  return config.corridors.find(({ countries }) => countries.includes(order.countryCode));
}

/** The authority's code for the purpose, or "" where there is none. */
function findReportingCode(order: PaymentOrder, codes: Readonly<Record<string, string>>): string {
  const given = getReason(order);
  const listed = findIn(codes, given);
  if (listed !== undefined) return listed;
  // The purposes that every country has are no authority's codes.
  return findPurpose(given) === undefined && reportingCodePattern.test(given) ? given : '';
}

export function readRegulatoryReport(
  order: PaymentOrder,
  config: Config,
): RegulatoryReport | undefined {
  const report = findCorridor(order, config)?.regulatoryReporting;
  if (report === undefined) return undefined;
  const { indicator, authority, authorityCountry, type, codes } = report;
  return {
    indicator,
    authority: toLatinText(authority, 140),
    authorityCountry,
    type: toLatinText(type, 35),
    country: findCountry(order.countryCode)?.alpha2 ?? '',
    code: findReportingCode(order, codes),
  };
}

/** The faults of a payment to a country whose authorities want to know its purpose. */
export function listReportingFaults(
  order: PaymentOrder,
  config: Config,
): (RecipientFault & { readonly reason: Reason })[] {
  const corridor = findCorridor(order, config);
  if (corridor === undefined) return [];
  const field = 'RemittanceReason';
  const reason = 'invalid_details';
  const report = corridor.regulatoryReporting;
  const isRequired = corridor.isPurposeRequired || report !== undefined;
  if (isRequired && getReason(order) === '') {
    const detail = 'payments to this country need a purpose';
    return [{ field, code: 'missing', reason, detail }];
  }
  if (report === undefined || findReportingCode(order, report.codes) !== '') return [];
  const detail = "the purpose must be one for which this country's authority has a code";
  return [{ field, code: 'invalid', reason, detail }];
}

/**
 * A UUID of version 4 in form, and a function of the reference and of the rail: it is the same however
 * often the payment is written, and another one when the payout goes another way. "" in the SEPA form of
 * version 09 that German banks publish, which has no place for it.
 */
export function deriveUetr(
  reference: string,
  { service, config }: { service: string; config: Pick<Config, 'version' | 'messagePrefix'> },
): string {
  if (service !== 'cross_border' && config.version === 'pain.001.001.09') return '';
  const hash = createHash('sha256').update(`uetr/${config.messagePrefix}/${reference}`);
  const digits = hash.digest('hex');
  const variant = '89ab'[Number.parseInt(digits.slice(16, 17), 16) & 3];
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    `${variant}${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join('-');
}
