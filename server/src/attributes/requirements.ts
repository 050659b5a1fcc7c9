import { createHash } from 'node:crypto';
import { findCurrency } from '../core/currency.ts';
import { assert } from '../core/errors.ts';
import type { DeliveryType } from '../rails/contract/declarations.ts';
import { getBankFields } from './bank-formats.ts';
import type { Field, Requirement } from './field.ts';
import {
  billFields,
  getCashFields,
  getHomeFields,
  getMobileWalletFields,
  getPaperCheckFields,
} from './other-formats.ts';
import { walletFields } from './wallet-addresses.ts';

export type { AttributeType, InputType, Requirement } from './field.ts';

/** From where to where is not asked here: only how the money arrives. Codes as in `core`. */
export type Corridor = {
  readonly countryCode: string;
  readonly deliveryType: DeliveryType;
  readonly currency: string;
};

/** `id` names the profile for ever, `version` changes with its content. */
export type RequirementProfile = {
  readonly id: string;
  readonly version: string;
  readonly requirements: readonly Requirement[];
};

/** Added to a profile where the recipient's identity must be verified; clients cannot store it. */
export const identityVerification: Requirement = {
  type: 'IDSelfieCollection',
  label: 'Verification of identity',
  validation: '^https?://[^ ]{1,240}$',
  isOptional: false,
  expectedValue: 'Open the link in value and follow it; nothing is stored for this attribute',
  inputType: 'text',
  isReadOnly: true,
};

/** The name of a corridor's profile: corridors that must ask the same share one. */
function nameProfile(corridor: Corridor): string {
  const { countryCode, deliveryType, currency } = corridor;
  switch (deliveryType) {
    case 'BANK_DEPOSIT':
      return `bank:${countryCode}:${currency}`;
    case 'CRYPTOCURRENCY':
      return `crypto:${currency}`;
    case 'BILL':
      return 'bill';
    case 'MOBILE_WALLET':
      return `mobile:${countryCode}`;
    case 'CASH_PICKUP':
      return `cash:${countryCode}`;
    case 'HOME_DELIVERY':
      return `home:${countryCode}`;
    case 'PAPER_CHECK':
      // Attribute tokens are derived from this name, so it keeps the former word.
      return `cheque:${countryCode}`;
  }
}

function makeFields(corridor: Corridor): readonly Field[] {
  const { countryCode, deliveryType, currency } = corridor;
  switch (deliveryType) {
    case 'BANK_DEPOSIT':
      return getBankFields(countryCode, { currency });
    case 'CRYPTOCURRENCY': {
      const wallet = walletFields[currency];
      assert(wallet !== undefined, `a wallet for ${currency}, which has no address format`);
      return [wallet];
    }
    case 'BILL':
      return billFields;
    case 'MOBILE_WALLET':
      return getMobileWalletFields(countryCode);
    case 'CASH_PICKUP':
      return getCashFields(countryCode);
    case 'HOME_DELIVERY':
      return getHomeFields(countryCode);
    case 'PAPER_CHECK':
      return getPaperCheckFields(countryCode);
  }
}

type Entry = { readonly fields: readonly Field[]; readonly profile: RequirementProfile };
const entries = new Map<string, Entry>();

function getEntry(corridor: Corridor): Entry {
  const id = nameProfile(corridor);
  const found = entries.get(id);
  if (found !== undefined) return found;
  assert(findCurrency(corridor.currency) !== undefined, 'a corridor in an unknown currency');
  const fields = makeFields(corridor);
  const requirements = fields.map((one) => one.requirement);
  const types = new Set(requirements.map((one) => one.type));
  assert(types.size === requirements.length, `an attribute type occurs twice in ${id}`);
  const hash = createHash('sha256').update(JSON.stringify(requirements)).digest('hex');
  const profile = { id, version: hash.slice(0, 16), requirements };
  const entry = { fields, profile };
  entries.set(id, entry);
  return entry;
}

/** What a corridor requires. The same object for the same name, for the life of the process. */
export function getProfile(corridor: Corridor): RequirementProfile {
  return getEntry(corridor).profile;
}

/** The fields behind a profile, with their checks. */
export function getFields(corridor: Corridor): readonly Field[] {
  return getEntry(corridor).fields;
}
