import { assert } from '../../core/errors.ts';
import type { Instruction, RailAnswer, RailHost } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import type { AskedPrice } from '../contract/outcomes.ts';
import type { Reason } from '../contract/reasons.ts';
import type { Api, ApiResult } from './api.ts';
import type { WiseConfig } from './config.ts';
import type { Groups } from './groups.ts';
import type { Payments } from './payments.ts';
import type { Recipient } from './recipient-fields.ts';
import type { Requirements } from './requirements.ts';

/** The parts of the rail, which its calls share. */
export type Setup = {
  readonly config: WiseConfig;
  readonly host: RailHost;
  readonly api: Api;
  readonly payments: Payments;
  readonly groups: Groups;
  readonly requirements: Requirements;
};

type Refusal = {
  readonly reason: Reason;
  readonly code: string;
  readonly asked?: AskedPrice;
};

/** A step towards a payment that did not succeed, before any money can have moved. */
export type Stop =
  | ({ readonly kind: 'refused' } & Refusal)
  | { readonly kind: 'later'; readonly reason: Reason; readonly retryAfterMs?: number };

export type Step<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  | { readonly kind: 'stopped'; readonly stop: Stop };

export function done<Value>(value: Value): Step<Value> {
  return { kind: 'done', value };
}

export function refuse(
  reason: Reason,
  code: string,
  asked?: AskedPrice,
): { kind: 'stopped'; stop: Stop } {
  const price = asked === undefined ? {} : { asked };
  return { kind: 'stopped', stop: { kind: 'refused', reason, code, ...price } };
}

/** What a call without success means before the funding, where nothing can have been paid. */
export function readStop(
  result: Exclude<ApiResult<never>, { kind: 'answered' }>,
  reasonOfRefusal: Reason,
): { kind: 'stopped'; stop: Stop } {
  const later = (reason: Reason, retryAfterMs?: number) => {
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
    return { kind: 'stopped', stop: { kind: 'later', reason, ...wait } } as const;
  };
  switch (result.kind) {
    case 'refused':
      return refuse(
        reasonOfRefusal,
        [result.code, result.path].filter(Boolean).join(':') || 'refused',
      );
    case 'unauthorized':
      return later('not_configured');
    case 'missing':
      return later('not_understood');
    case 'unclear':
      return later(result.reason, result.retryAfterMs);
  }
}

/** @throws Error where no such payer is configured, which the service excludes. */
function getPayer(host: RailHost, key: string): PayerDeclaration {
  const payer = host.payers.find((one) => one.key === key);
  assert(payer !== undefined, 'the payer of an instruction is configured');
  return payer;
}

export function readRecipient(
  host: RailHost,
  {
    payerKey,
    countryCode,
    currency,
    attributes,
    beneficiary,
  }: Pick<Instruction, 'payerKey' | 'countryCode' | 'currency' | 'attributes' | 'beneficiary'>,
): Recipient {
  const payer = getPayer(host, payerKey);
  return { payer, countryCode, currency, attributes, beneficiary };
}

export function unknown(reason: Reason, retryAfterMs?: number): RailAnswer {
  return { outcome: 'unknown', reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}
