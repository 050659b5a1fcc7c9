import { type AttributeValues, openValues } from '../attributes/attribute-values.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { CheckedRow, CheckHit } from '../dispatch/dispatch.ts';
import type { PayoutScreening, PayoutToScreen } from '../screening/payout-screenings.ts';
import type { ScreenedPerson } from '../screening/screening.ts';
import { openPerson, type Person } from '../users/users.ts';

/** The data of a payout that is screened, and the result as a rule's hit. */

export type ScreenedRow = Pick<
  CheckedRow,
  | 'account_id'
  | 'payout_id'
  | 'user_id'
  | 'data_key'
  | 'person'
  | 'user_country'
  | 'attr_set_id'
  | 'attributes'
> & {
  /** Where it is delivered. */
  readonly country: string;
};

export function readScreenedPayout(keys: KeyRing, row: ScreenedRow): PayoutToScreen {
  const owner = { accountId: row.account_id, userId: row.user_id };
  const userKey = keys.unwrap(row.data_key, owner);
  const person = openPerson(userKey, { ...owner, sealed: row.person });
  const attributes: AttributeValues =
    row.attributes === null || row.attr_set_id === null
      ? {}
      : openValues(userKey, row.attributes, { ...owner, setId: row.attr_set_id });
  return {
    accountId: row.account_id,
    payoutId: row.payout_id,
    userId: row.user_id,
    destinationCountry: row.country,
    attributes,
    person: describePerson(person, row.user_country),
  };
}

/** The data of a recipient that are compared. */
export function describePerson(person: Person, countryCode: string): ScreenedPerson {
  return {
    firstName: person.first_name,
    middleName: person.middle_name,
    lastName: person.last_name,
    businessName: person.business_name,
    dateOfBirth: person.date_of_birth,
    countryCode,
  };
}

/** The entries and fields of a hit, without data of the person. */
export function describeScreening(screening: PayoutScreening): CheckHit | undefined {
  if (screening.isPassed) return undefined;
  const { recipient, hits } = screening;
  const found = [...(recipient.isBlocked ? recipient.hits : []), ...hits];
  const entries = found.slice(0, 4).map(({ list, entryId, scorePermille, matchedOn }) => {
    const field = matchedOn.field.replace('_', ' ');
    return `${list} ${entryId} (${scorePermille}/1000, ${field})`;
  });
  // A confirmed user stays held without hits in the present lists.
  const detail = entries.length === 0 ? 'confirmed by a person' : entries.join(', ');
  return { exception: 'screening', detail };
}
