import { createHash } from 'node:crypto';
import { findCurrency } from '../core/currency.ts';
import { assert } from '../core/errors.ts';
import { findHomeNetwork } from '../core/networks.ts';
import type {
  AccountForm,
  DeliveryType,
  PayerDeclaration,
} from '../rails/contract/declarations.ts';
import type { PayerRequirements } from '../rails/contract/requirements.ts';
import { getBankFields } from './bank-formats.ts';
import { addCounterpartyFields } from './counterparty-fields.ts';
import type { AttributeType, Field, Requirement } from './field.ts';
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
  /** What the counterparty of the payer asks for; absent: nothing beyond the formats of the corridor. */
  readonly requirements?: PayerRequirements | undefined;
};

type Deliverer = Pick<Corridor, 'deliveryType'> & {
  readonly country: { readonly code: string };
  readonly networks: Readonly<Record<string, string>>;
  readonly accountForm?: AccountForm | undefined;
  readonly requirements?: Readonly<Record<string, PayerRequirements>> | undefined;
};

/** Of a payer in one of its currencies. */
export function makeCorridor(payer: Deliverer, currency: string): Corridor {
  const { country, deliveryType, networks, accountForm } = payer;
  const network = networks[currency];
  const requirements = payer.requirements?.[currency];
  return {
    countryCode: country.code,
    deliveryType,
    currency,
    ...(network !== undefined && { network }),
    ...(accountForm !== undefined && { accountForm }),
    ...(requirements !== undefined && { requirements }),
  };
}

/** As an operator declares it; the network of a chain is not known there. */
export function makeDeclaredCorridor(payer: PayerDeclaration, currency: string): Corridor {
  const { countryCode, deliveryType, accountForm } = payer;
  return { countryCode, deliveryType, currency, accountForm };
}

/**
 * `id` is stable, `version` changes with the content. Where a counterparty asks for more, the version ends
 * with the number of its requirements (`rail_requirement_versions`), such as `3f2a9c0d1e5b7a46@7`.
 */
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

/** Of corridors with requirements of a counterparty, as long as these are in use. */
const entriesOfPayers = new WeakMap<PayerRequirements, Entry>();

function getEntry(corridor: Corridor): Entry {
  const id = nameProfile(corridor);
  const { requirements } = corridor;
  const found = requirements === undefined ? entries.get(id) : entriesOfPayers.get(requirements);
  if (found !== undefined) return found;
  const entry = makeEntry(id, corridor);
  if (requirements === undefined) entries.set(id, entry);
  else entriesOfPayers.set(requirements, entry);
  return entry;
}

function makeEntry(id: string, corridor: Corridor): Entry {
  assert(findCurrency(corridor.currency) !== undefined, 'the currency of a corridor is known');
  const asked = corridor.requirements;
  const base = makeFields(corridor);
  const fields = asked === undefined ? base : addCounterpartyFields(base, asked);
  const requirements = fields.map((one) => one.requirement);
  const types = new Set(requirements.map((one) => one.type));
  assert(types.size === requirements.length, `each attribute type occurs once in ${id}`);
  const hash = createHash('sha256').update(JSON.stringify(requirements)).digest('hex');
  const suffix = asked === undefined ? '' : `@${asked.version}`;
  return { fields, profile: { id, version: `${hash.slice(0, 16)}${suffix}`, requirements } };
}

/** What a corridor requires: the same object for the same id. */
export function getProfile(corridor: Corridor): RequirementProfile {
  return getEntry(corridor).profile;
}

/** The fields of a corridor's profile, with their checks. */
export function getFields(corridor: Corridor): readonly Field[] {
  return getEntry(corridor).fields;
}

/** An attribute that a counterparty asked for beyond the formats of a corridor, where its form is not at hand. */
export function describeUnlisted(type: AttributeType): Requirement {
  const words = type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ');
  return {
    type,
    label: words.charAt(0) + words.slice(1).toLowerCase(),
    validation: '',
    isOptional: false,
    expectedValue: 'The attributes of the destination say in which form',
    inputType: 'text',
    isReadOnly: false,
    alternatives: [],
  };
}
