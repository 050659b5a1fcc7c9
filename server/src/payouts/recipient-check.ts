import { type AttributeValues, openValues } from '../attributes/attribute-values.ts';
import { formatAttributeToken } from '../attributes/attributes.ts';
import { type Corridor, getProfile } from '../attributes/requirements.ts';
import type { Fault, FaultCode } from '../core/errors.ts';
import { type KeyRing, readVersion } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import type { Payer } from '../destinations/catalog.ts';
import type {
  Beneficiary,
  Rail,
  RecipientDraft,
  RecipientFault,
} from '../rails/contract/contract.ts';
import { openPerson, type Person } from '../users/users.ts';
import { describeRecipientFaults, type Obstacle } from './obstacles.ts';
import { openPayee, type PayeeResult, type PayeeVersions } from './payee-result.ts';
import {
  findRecipientOfPayout,
  findRecipientOfScheduled,
  findRecipientsOfRows,
  type PendingRecipientRow,
  type RecipientOfRow,
  type RecipientQuery,
  type RecipientRow,
} from './recipient-check.sql.ts';
import { findStoredCorridor } from './stored-corridor.ts';

export { findRecipientOfCommitted } from './recipient-check.sql.ts';

/** Whether the rail of a payout can pay its recipient, judging by the recipient's data. */

export type RecipientServices = { readonly keys: KeyRing; readonly rails: readonly Rail[] };

export type FindRecipient = (
  accountId: string,
  query: RecipientQuery,
) => Promise<RecipientRow | undefined>;

type QuotedRecipient = {
  accountId: string;
  userId: string;
  payer: Payer;
  currency: string;
  amountMinor: bigint;
  attrSetId: string | undefined;
};

/** All faults of a quote; none if the rail has no check. */
export async function listRecipientFaults(
  services: RecipientServices,
  find: FindRecipient,
  quote: QuotedRecipient,
): Promise<Fault[]> {
  return (await checkQuotedRecipient(services, find, quote)).map(describeFault);
}

/** What the rail of a quote objects to; none if it has no check. */
export async function checkQuotedRecipient(
  services: RecipientServices,
  find: FindRecipient,
  quote: QuotedRecipient,
): Promise<readonly RecipientFault[]> {
  const { accountId, userId, payer, currency, amountMinor, attrSetId } = quote;
  const rail = services.rails.find(({ name }) => name === payer.railName);
  if (rail?.checkRecipient === undefined) return [];
  const { destinationToken } = payer;
  const row = await find(accountId, { userId, destinationToken, currency, attrSetId });
  if (row === undefined) return [];
  return rail.checkRecipient(draftRecipient(services.keys, row, { payer, currency, amountMinor }));
}

/** A payment through a payer to a recipient. */
export function draftRecipient(
  keys: KeyRing,
  row: RecipientRow,
  { payer, currency, amountMinor }: Pick<QuotedRecipient, 'payer' | 'currency' | 'amountMinor'>,
): RecipientDraft & OpenedRecipient {
  return {
    payerKey: payer.key,
    countryCode: payer.country.code,
    deliveryType: payer.deliveryType,
    currency,
    amountMinor,
    ...openRecipient(keys, row),
  };
}

export type PricedRow = RecipientOfRow & { payer: Payer; currency: string; amountMinor: bigint };

/** What the rails of rows of a batch object to, in the order of the rows. */
export async function listRowFaults(
  { keys, rails }: RecipientServices,
  { session, accountId }: { session: Session; accountId: string },
  rows: readonly PricedRow[],
): Promise<readonly (readonly RecipientFault[])[]> {
  const checks = new Map(rails.map(({ name, checkRecipient }) => [name, checkRecipient]));
  const checked = rows.filter(({ payer }) => checks.get(payer.railName) !== undefined);
  if (checked.length === 0) return rows.map(() => []);
  const recipients = await findRecipientsOfRows(session, accountId, checked);
  const faults = new Map<PricedRow, readonly RecipientFault[]>();
  for (const [index, row] of checked.entries()) {
    const recipient = recipients[index];
    if (recipient === undefined) continue;
    const found = checks.get(row.payer.railName)?.(draftRecipient(keys, recipient, row));
    faults.set(row, found ?? []);
  }
  return rows.map((row) => faults.get(row) ?? []);
}

/** Why the rail would not pay a payout that is to be committed; none if it would. */
export async function listPayoutFaults(
  { keys, rails }: RecipientServices,
  session: Session,
  payout: { accountId: string; userId: string; payoutId: string },
): Promise<RefusedRecipient | undefined> {
  if (rails.every(({ checkRecipient }) => checkRecipient === undefined)) return undefined;
  return checkStored({ keys, rails }, await findRecipientOfPayout(session, payout));
}

/** The same of a scheduled payout, at the amount that it would deliver now. */
export async function listScheduledFaults(
  { keys, rails }: RecipientServices,
  session: Session,
  payout: { accountId: string; userId: string; payoutId: string; amountMinor: bigint },
): Promise<RefusedRecipient | undefined> {
  if (rails.every(({ checkRecipient }) => checkRecipient === undefined)) return undefined;
  const row = await findRecipientOfScheduled(session, payout);
  return checkStored(
    { keys, rails },
    row === undefined ? undefined : { ...row, destination_amount: payout.amountMinor },
  );
}

function checkStored(
  { keys, rails }: RecipientServices,
  row: PendingRecipientRow | undefined,
): RefusedRecipient | undefined {
  const rail = rails.find(({ name }) => name === row?.rail);
  if (row === undefined || rail?.checkRecipient === undefined) return undefined;
  const recipient = openRecipient(keys, row);
  // The commit itself requires missing values.
  if (recipient.attributes === undefined) return undefined;
  const faults = rail.checkRecipient({
    payerKey: row.payer_key,
    countryCode: row.country,
    deliveryType: row.delivery_type,
    currency: row.destination_currency,
    amountMinor: row.destination_amount,
    ...recipient,
  });
  if (faults.length === 0) return undefined;
  return { faults, corridor: findStoredCorridor(rails, row) };
}

/** The faults that a rail found, and the corridor whose attributes they may name. */
export type RefusedRecipient = { faults: readonly RecipientFault[]; corridor: Corridor };

export function describeRefusedRecipient({ faults, corridor }: RefusedRecipient): Obstacle[] {
  const profile = getProfile(corridor);
  return describeRecipientFaults(faults, (field) => {
    const requirement = profile.requirements.find(({ type }) => type === field);
    if (requirement === undefined) return undefined;
    const { type, label } = requirement;
    return { token: formatAttributeToken(profile, type), type, label };
  });
}

type OpenedRecipient = Pick<RecipientDraft, 'beneficiary' | 'attributes' | 'sender'> & {
  readonly payee: PayeeResult | undefined;
};

/** The versions of the details in a row; undefined without attribute values. */
export function versionsOf(row: RecipientRow): PayeeVersions | undefined {
  if (row.attributes === null || row.set_id === null) return undefined;
  return {
    accountId: row.account_id,
    userId: row.user_id,
    setId: row.set_id,
    attrVersion: readVersion(row.attributes),
    userVersion: readVersion(row.person),
  };
}

export function openRecipient(keys: KeyRing, row: RecipientRow): OpenedRecipient {
  const owner = { accountId: row.account_id, userId: row.user_id };
  const userKey = keys.unwrap(row.data_key, owner);
  const attributes: AttributeValues | undefined =
    row.attributes === null || row.set_id === null
      ? undefined
      : openValues(userKey, row.attributes, { ...owner, setId: row.set_id });
  const person = openPerson(userKey, { ...owner, sealed: row.person });
  const beneficiary = describeBeneficiary(person, row.user_country);
  const versions = versionsOf(row);
  const payee =
    row.payee === null || versions === undefined
      ? undefined
      : openPayee(userKey, row.payee, versions);
  return { attributes, beneficiary, sender: row.sender ?? undefined, payee };
}

export function describeBeneficiary(person: Person, countryCode: string): Beneficiary {
  return {
    firstName: person.first_name,
    middleName: person.middle_name,
    lastName: person.last_name,
    businessName: person.business_name,
    address1: person.address1,
    address2: person.address2,
    city: person.city,
    stateProvince: person.state_province,
    postalCode: person.postal_code,
    countryCode,
    email: person.email,
    mobileNumber: person.mobile_number,
    dateOfBirth: person.date_of_birth,
  };
}

/** The fields are not part of the request body, so the detail names them. */
function describeFault(fault: RecipientFault): Fault {
  const pointer = fault.field === 'amount' ? '/destination_amount' : '/destination_token';
  return { pointer, ...describeRowFault(fault) };
}

export function describeRowFault({ field, code, detail }: RecipientFault): {
  code: FaultCode;
  detail: string;
} {
  const isData = code === 'missing' || code === 'invalid';
  return { code: isData ? `recipient_${code}` : code, detail: `${field}: ${detail}` };
}
