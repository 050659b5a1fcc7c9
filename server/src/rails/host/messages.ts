import { AppError } from '../../core/errors.ts';
import {
  findUserKey,
  joinUserKeys,
  type KeyRing,
  openBytes,
  rowContext,
  sealBytes,
} from '../../core/sealing.ts';
import type { Session } from '../../db/postgres/pool.ts';
import { defineProtectedTable, reseal } from '../../db/protected-tables.ts';
import { column } from '../../db/rows.ts';
import type { InboundMessage } from '../contract/contract.ts';
import { findMessage, findMessageIds, findRecipients, type Recipient } from './rail-memory.sql.ts';

/**
 * The archive of inbound messages. A message is sealed under the keys of all persons together whose
 * payments it reports on, so that the erasure of one of them shreds it, in backups too: its reports are
 * applied and stay. One that no payment matches is sealed under the environment's keys.
 */

type MessageName = { rail: string; id: string };

/** A message whose reports contradict earlier ones is stored under a name of its own. */
const suffix = /~[0-9a-f]{12}$/;

const nameMessage = ({ rail, id }: MessageName): string =>
  rowContext('rail_messages', rail, id.replace(suffix, ''));

/** Those that no payment matches. */
export const protectedMessages = defineProtectedTable({
  table: 'rail_messages',
  key: { rail: 'text', id: 'text' },
  values: ['sealed'],
  where: `user_ids = '{}'`,
  columns: { rail: column.text, id: column.text },
  portion: 20,
  renew: (keys, { sealed, ...name }) => ({ sealed: reseal(keys, sealed, nameMessage(name)) }),
});

/** The keys of all persons; undefined where the data of one was erased. */
function findKeys(keys: KeyRing, persons: readonly Recipient[]): Buffer[] | undefined {
  const found: Buffer[] = [];
  for (const { account_id: accountId, user_id: userId, data_key: dataKey } of persons) {
    const key = findUserKey(keys, dataKey, { accountId, userId });
    if (key === undefined) return undefined;
    found.push(key);
  }
  return found;
}

/** The ciphertext, empty where the data of one of its persons was erased, and those persons. */
export async function sealMessage(
  { session, keys }: { session: Session; keys: KeyRing },
  rail: string,
  message: InboundMessage,
): Promise<{ sealed: Buffer; users: string[] }> {
  const { id, raw, observations } = message;
  const references = observations.map(({ reference }) => reference);
  const persons = await findRecipients(session, rail, references);
  const users = persons.map((person) => person.user_id);
  const plain = Buffer.from(raw);
  const context = nameMessage({ rail, id });
  if (persons.length === 0) return { sealed: keys.seal(plain, context), users };
  const found = findKeys(keys, persons);
  const sealed =
    found === undefined ? Buffer.alloc(0) : sealBytes(joinUserKeys(found), plain, context);
  return { sealed, users };
}

/**
 * A message as it arrived, by its id, or by the beginning of its id (twelve characters or more).
 *
 * @throws AppError not_found, user_erased; invalid_request where several ids begin so.
 */
export async function readMessage(
  { session, keys }: { session: Session; keys: KeyRing },
  given: MessageName,
): Promise<Buffer> {
  const [id, another] = await findMessageIds(session, given);
  if (another !== undefined) {
    throw new AppError('invalid_request', 'Several messages have an id that begins so');
  }
  const name = { rail: given.rail, id: id ?? given.id };
  const row = await findMessage(session, name);
  if (row === undefined) throw new AppError('not_found', 'No message with this id has arrived');
  const context = nameMessage(name);
  if (row.sealed.length > 0 && row.users.length === 0) return keys.open(row.sealed, context);
  const found = row.sealed.length === 0 ? undefined : findKeys(keys, row.users);
  if (found === undefined) {
    throw new AppError('user_erased', 'The data of a person in this message was erased');
  }
  return openBytes(joinUserKeys(found), row.sealed, context);
}
