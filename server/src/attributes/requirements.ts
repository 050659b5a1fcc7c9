import { createHash } from 'node:crypto';
import { findCurrency } from '../core/currency.ts';
import { assert } from '../core/errors.ts';
import { findHomeNetwork } from '../core/networks.ts';
import type {
  AccountForm,
  DeliveryType,
  PayerDeclaration,
} from '../rails/contract/declarations.ts';
import { getBankFields } from './bank-formats.ts';
import type { Field, Requirement } from './field.ts';
import {
  billFields,
  getCashFields,
  getHomeFields,
  getMobileWalletFields,
  getPaperCheckFields,
} from './other-formats.ts';
import { getProviderAccountFields, getStoredCardFields } from './provider-accounts.ts';
import { findWalletField } from './wallet-addresses.ts';

export type { AttributeType, InputType, Requirement } from './field.ts';

/** How the money is delivered; the source is irrelevant here. */
export type Corridor = {
  readonly countryCode: string;
  readonly deliveryType: DeliveryType;
  readonly currency: string;
  /** Of a payout on a chain; absent: the home network of the currency. */
  readonly network?: string | undefined;
  /** Absent: what the delivery type usually asks for. */
  readonly accountForm?: AccountForm | undefined;
};

type Deliverer = Pick<Corridor, 'deliveryType'> & {
  readonly country: { readonly code: string };
  readonly networks: Readonly<Record<string, string>>;
  readonly accountForm?: AccountForm | undefined;
};

/** Of a payer in one of its currencies. */
export function makeCorridor(payer: Deliverer, currency: string): Corridor {
  const { country, deliveryType, networks, accountForm } = payer;
  const network = networks[currency];
  return {
    countryCode: country.code,
    deliveryType,
    currency,
    ...(network !== undefined && { network }),
    ...(accountForm !== undefined && { accountForm }),
  };
}

/** As an operator declares it; the network of a chain is not known there. */
export function makeDeclaredCorridor(payer: PayerDeclaration, currency: string): Corridor {
  const { countryCode, deliveryType, accountForm } = payer;
  return { countryCode, deliveryType, currency, accountForm };
}

/** `id` is stable, `version` changes with the content. */
export type RequirementProfile = {
  readonly id: string;
  readonly version: string;
  readonly requirements: readonly Requirement[];
};

/** Added to a profile if the recipient must be verified; clients cannot store it. */
export const identityVerification: Requirement = {
  type: 'IDSelfieCollection',
  label: 'Identity verification',
  validation: '^https?://[^ ]{1,240}$',
  isOptional: false,
  expectedValue: 'Nothing to store: send the recipient the link in value',
  inputType: 'text',
  isReadOnly: true,
  alternatives: [],
};

/** The id of a corridor's profile, which corridors with equal requirements share. */
function nameProfile(corridor: Corridor): string {
  const { countryCode, deliveryType, currency, network, accountForm } = corridor;
  if (accountForm !== undefined) return `${accountForm}:${countryCode}`;
  switch (deliveryType) {
    case 'BANK_DEPOSIT':
      return `bank:${countryCode}:${currency}`;
    case 'CRYPTOCURRENCY':
      return network === undefined || network === findHomeNetwork(currency)?.name
        ? `crypto:${currency}`
        : `crypto:${currency}:${network}`;
    case 'BILL':
      return 'bill';
    case 'MOBILE_WALLET':
      return `mobile:${countryCode}`;
    case 'CASH_PICKUP':
      return `cash:${countryCode}`;
    case 'HOME_DELIVERY':
      return `home:${countryCode}`;
    case 'PAPER_CHECK':
      return `check:${countryCode}`;
  }
}

function makeFields(corridor: Corridor): readonly Field[] {
  const { countryCode, deliveryType, currency, accountForm } = corridor;
  if (accountForm === 'stored_card') return getStoredCardFields(countryCode);
  if (accountForm === 'provider_account') return getProviderAccountFields(countryCode);
  switch (deliveryType) {
    case 'BANK_DEPOSIT':
      return getBankFields(countryCode, { currency });
    case 'CRYPTOCURRENCY': {
      const wallet = findWalletField(corridor.network ?? findHomeNetwork(currency)?.name ?? '');
      assert(wallet !== undefined, `${currency} has an address format`);
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
  assert(findCurrency(corridor.currency) !== undefined, 'the currency of a corridor is known');
  const fields = makeFields(corridor);
  const requirements = fields.map((one) => one.requirement);
  const types = new Set(requirements.map((one) => one.type));
  assert(types.size === requirements.length, `each attribute type occurs once in ${id}`);
  const hash = createHash('sha256').update(JSON.stringify(requirements)).digest('hex');
  const profile = { id, version: hash.slice(0, 16), requirements };
  const entry = { fields, profile };
  entries.set(id, entry);
  return entry;
}

/** What a corridor requires: the same object for the same id. */
export function getProfile(corridor: Corridor): RequirementProfile {
  return getEntry(corridor).profile;
}

/** The fields of a corridor's profile, with their checks. */
export function getFields(corridor: Corridor): readonly Field[] {
  return getEntry(corridor).fields;
}
