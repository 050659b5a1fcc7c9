import type { Destination } from '../attributes/attributes.ts';
import { AppError, throwFaults } from '../core/errors.ts';
import { hashSecret, newId, newSecret } from '../core/ids.ts';
import { idBytes, packId, unpackId } from '../core/link-token.ts';
import { findUserKey, type KeyRing, openBytes, rowContext, sealBytes } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import {
  findLinkRow,
  findUserState,
  hasSet,
  insertLink,
  type LinkId,
  type LinkPurpose,
  type LinkTerms,
  listLinkRows,
  revokeLinkRow,
  type StoredLink,
  type UserPage,
} from './links.sql.ts';

export {
  type LinkPurpose,
  linkPurposes,
  linkStatuses,
  useLinkRow as useLink,
} from './links.sql.ts';

/**
 * Links with which a recipient does one thing on a page, without a credential. The token is 256 random
 * bits after the account's id, which says where its hash is looked up.
 */

const daySeconds = 86_400;

/** How long a link lives unless its creator says otherwise. */
export const linkLifeSeconds: Readonly<Record<LinkPurpose, number>> = {
  payout_details: 3 * daySeconds,
  verification: 7 * daySeconds,
  payout_status: 30 * daySeconds,
};
export const linkSeconds = { min: 300, max: 30 * daySeconds };

const secretBytes = 32;
const tokenCharacters = ((idBytes + secretBytes) * 8) / 6;

export type LinkServices = { readonly session: Session; readonly keys: KeyRing };

/** `redirect_url`: "" for nowhere, and where the data of the user was erased. */
export type LinkRow = Omit<StoredLink, 'redirect_url' | 'data_key'> & {
  readonly redirect_url: string;
};

const urlContext = (accountId: string, id: string): string =>
  rowContext('recipient_links.redirect_url', accountId, id);

function openLink(keys: KeyRing, accountId: string, stored: StoredLink): LinkRow {
  const { redirect_url: sealed, data_key: dataKey, ...row } = stored;
  const userKey = findUserKey(keys, dataKey, { accountId, userId: row.user_id });
  if (sealed.length === 0 || userKey === undefined) return { ...row, redirect_url: '' };
  const url = openBytes(userKey, sealed, urlContext(accountId, row.id));
  return { ...row, redirect_url: url.toString() };
}

/**
 * A recipient does not know the token of a stored card, and would type its number.
 *
 * @throws AppError invalid_request.
 */
export function checkFormDestination({ payer }: Pick<Destination, 'payer'>): void {
  if (payer.accountForm !== 'stored_card') return;
  const detail =
    'destination_token must not be of a stored card: recipients do not know its token, which your checkout has';
  throwFaults([{ pointer: '/destination_token', code: 'invalid_value', detail }]);
}

export type NewLink = { readonly row: LinkRow; readonly token: string };

/** @throws AppError not_found, user_erased, invalid_request (attribute set). */
export async function createLink(services: LinkServices, terms: LinkTerms): Promise<NewLink> {
  const { session, keys } = services;
  if (terms.attrSetId !== undefined && !(await hasSet(session, terms))) {
    const detail = 'attr_set_token must be a set of this user for this destination and currency';
    throwFaults([{ pointer: '/attr_set_token', code: 'unknown_attr_set', detail }]);
  }
  const secret = Buffer.from(newSecret(), 'base64url');
  const token = Buffer.concat([packId(terms.accountId), secret]).toString('base64url');
  const id = newId();
  const sealedUrl = await sealUrl(services, id, terms);
  const row = await insertLink(session, { ...terms, id, tokenHash: hashSecret(token), sealedUrl });
  if (row === undefined) throw await explainAbsence(session, terms);
  return { row: openLink(keys, terms.accountId, row), token };
}

async function sealUrl(
  { session, keys }: LinkServices,
  id: string,
  terms: LinkTerms,
): Promise<Buffer> {
  const { accountId, userId, redirectUrl } = terms;
  if (redirectUrl === '') return Buffer.alloc(0);
  const user = await findUserState(session, terms);
  if (user === undefined || user.is_erased) throw await explainAbsence(session, terms);
  const userKey = keys.unwrap(user.data_key, { accountId, userId });
  return sealBytes(userKey, Buffer.from(redirectUrl), urlContext(accountId, id));
}

async function explainAbsence(
  session: Session,
  user: { accountId: string; userId: string },
): Promise<AppError> {
  const state = await findUserState(session, user);
  return state?.is_erased === true
    ? new AppError('user_erased', 'The data of the user was erased')
    : new AppError('not_found', 'User not found');
}

/** The path of a link, without host. */
export function formatLinkPath(token: string): string {
  return `/recipient/${token}`;
}

export type OpenedLink = { readonly accountId: string; readonly row: LinkRow };

/** Undefined for a token that was never issued. The status of the row says whether it is open. */
export async function findLink(
  { db, keys }: { readonly db: Database; readonly keys: KeyRing },
  token: string,
): Promise<OpenedLink | undefined> {
  if (token.length !== tokenCharacters || !/^[\w-]+$/.test(token)) return undefined;
  const accountId = unpackId(Buffer.from(token, 'base64url').subarray(0, idBytes));
  const tokenHash = hashSecret(token);
  const row = await findLinkRow(db.tenant(accountId), { accountId, tokenHash });
  return row === undefined ? undefined : { accountId, row: openLink(keys, accountId, row) };
}

/** Newest first. @throws AppError not_found. */
export async function listLinks(
  { session, keys }: LinkServices,
  page: UserPage,
): Promise<LinkRow[]> {
  if ((await findUserState(session, page)) === undefined) {
    throw new AppError('not_found', 'User not found');
  }
  const rows = await listLinkRows(session, page);
  return rows.map((row) => openLink(keys, page.accountId, row));
}

/** A link that has ended stays as it is. @throws AppError not_found. */
export async function revokeLink({ session, keys }: LinkServices, link: LinkId): Promise<LinkRow> {
  const row = await revokeLinkRow(session, link);
  if (row === undefined) throw new AppError('not_found', 'Link not found');
  return openLink(keys, link.accountId, row);
}
