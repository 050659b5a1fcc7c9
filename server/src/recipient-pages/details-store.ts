import {
  type AttributeContext,
  type Destination,
  type StoredSet,
  storeAttributes,
} from '../attributes/attributes.ts';
import { AppError, throwFaults } from '../core/errors.ts';
import { formatToken } from '../core/ids.ts';
import { checkForm, type GivenValue } from './details.ts';
import { type LinkRow, useLink } from './links.ts';

/**
 * Stores the values that a recipient gave by a link, as the API stores them, and ends the link, in the
 * caller's transaction.
 *
 * @throws AppError invalid_request with every fault, illegal_move where the link is open no longer.
 */
export async function storeDetails(
  context: AttributeContext,
  given: { row: LinkRow; destination: Destination; values: readonly GivenValue[]; today: string },
): Promise<StoredSet> {
  const { row, destination, today } = given;
  const values = given.values.filter(({ value }) => value.trim() !== '');
  throwFaults(checkForm(destination, { values: given.values, today }));
  const { session, accountId } = context;
  const stored = await storeAttributes(context, {
    userId: row.user_id,
    destination,
    values,
    attrSetToken:
      row.attr_set_id === null ? undefined : formatToken('attributeSet', row.attr_set_id),
    // The recipient does not see what is stored, and cannot mean to keep a part of it: a new account
    // would keep the SWIFT/BIC of the old one.
    isWhole: true,
    today,
  });
  // After the account's row was locked, as by every writer, so that two requests cannot both use it.
  if (await useLink(session, { accountId, id: row.id, setId: stored.setId })) return stored;
  throw new AppError('illegal_move', 'This link was used already, or has ended');
}
