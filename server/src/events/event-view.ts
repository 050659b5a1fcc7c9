import { z } from 'zod';
import { maskValues } from '../attributes/attribute-values.ts';
import { openVersions } from '../attributes/attribute-versions.ts';
import { type AttributeContext } from '../attributes/attributes.ts';
import { writeStoredBatch } from '../batches/batches-view.ts';
import type { Scope } from '../core/access.ts';
import { formatSeconds } from '../core/clock.ts';
import { JsonNumber, parseExactObject } from '../core/exact-json.ts';
import { findTokenId, formatToken, isUuid, type TokenKind } from '../core/ids.ts';
import { restoredType } from '../core/restored-account.ts';
import { findUserKey } from '../core/sealing.ts';
import type { Catalog } from '../destinations/catalog.ts';
import { writeBalance } from '../ledger/ledger.routes.ts';
import { listPayoutsAfterEvents } from '../payouts/payout-history.ts';
import { findNetwork, writePayout } from '../payouts/payout-view.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { writeUser } from '../users/users.routes.ts';
import { openStoredUsers } from '../users/users.ts';
import type { EventAnswer } from './event-types-view.ts';
import type { EventRow } from './events.sql.ts';

/** Events in the API: the same for a list, a stream and a webhook. */

/** `canRead` tells whether the reader has a scope. */
export type EventContext = AttributeContext & {
  readonly catalog: Catalog;
  readonly rails: readonly Rail[];
  canRead(scope: Scope): boolean;
};

type Data = { readonly [key: string]: unknown };

/** Events as a client reads them, each with its object as it was after the change. */
export async function renderEvents(
  context: EventContext,
  rows: readonly EventRow[],
): Promise<EventAnswer[]> {
  const families = Map.groupBy(rows, ({ type }) => type.split('.', 1)[0] ?? '');
  const data = new Map<bigint, Data>();
  for (const [family, events] of families) {
    const described = await describeFamily(context, family, events);
    for (const [sequence, one] of described) data.set(sequence, one);
  }
  return rows.map((row) => {
    const event: Readonly<Record<keyof EventAnswer, unknown>> = {
      sequence: new JsonNumber(row.sequence.toString()),
      type: row.type,
      created_on: formatSeconds(row.created_at),
      schema_version: 1,
      object: nameObject(row),
      object_sequence: new JsonNumber(row.object_sequence.toString()),
      data: data.get(row.sequence) ?? {},
    };
    return event as EventAnswer;
  });
}

const objectKinds: Readonly<Record<string, TokenKind>> = {
  payout: 'payout',
  user: 'user',
  attributes: 'attributeSet',
  batch: 'batch',
  webhook: 'webhook',
  proposal: 'proposal',
};

function nameObject({ type, subject_id: id }: EventRow): string {
  const kind = objectKinds[type.split('.', 1)[0] ?? ''];
  return kind === undefined ? id : formatToken(kind, id);
}

/** The id in the token of an event's object; of a malformed one an id that nothing has. */
export function readObjectToken(token: string): string {
  const kinds = Object.values(objectKinds);
  const ids = kinds.map((kind) => findTokenId(kind, token)).filter((id) => id !== undefined);
  return ids[0] ?? (isUuid(token) ? token : '00000000-0000-0000-0000-000000000000');
}

type Described = Iterable<readonly [sequence: bigint, data: Data]>;

async function describeFamily(
  context: EventContext,
  family: string,
  events: readonly EventRow[],
): Promise<Described> {
  switch (family) {
    case 'payout':
      return describePayouts(context, events);
    case 'user':
      return describeUsers(context, events);
    case 'attributes':
      return describeSets(context, events);
    case 'balance':
      return events.map((event) => [event.sequence, describeBalance(context, event)] as const);
    case 'account':
      return events.map((event) => [event.sequence, describeAccount(event)] as const);
    case 'batch':
      return events.map((event) => [event.sequence, describeBatch(event)] as const);
    case 'credential':
      return events.map((event) => [event.sequence, describeCredential(event)] as const);
    default:
      return events.map((event) => [event.sequence, readPayload(event)] as const);
  }
}

function readPayload({ payload }: EventRow): Data {
  return parseExactObject(payload ?? '{}');
}

async function describePayouts(
  { session, keys, accountId, rails }: EventContext,
  events: readonly EventRow[],
): Promise<Described> {
  const sequences = events.map(({ sequence }) => sequence);
  const rows = await listPayoutsAfterEvents(session, accountId, sequences);
  const details = new Map(events.map((event) => [event.sequence, event]));
  return rows.map((row) => {
    const owner = { accountId, userId: row.user_id };
    const isErased = findUserKey(keys, row.data_key, owner) === undefined;
    const network = findNetwork(rails, row);
    const shown = isErased ? { ...row, sealed: null } : row;
    const payout = writePayout(shown, { keys, payerLogo: '', network });
    const event = details.get(row.event_sequence);
    const reason = event?.payload === null ? event.detail : row.status_reason;
    return [row.event_sequence, { ...payout, status_reason: reason }] as const;
  });
}

async function describeUsers(
  context: EventContext,
  events: readonly EventRow[],
): Promise<Described> {
  const stored = events.map(({ subject_id: userId, payload }) => ({
    userId,
    payload: payload ?? '{}',
  }));
  const users = context.canRead('users:read') ? await openStoredUsers(context, stored) : [];
  return events.map((event, index) => {
    const user = users[index];
    const { status = 'ACTIVE' } = readPayload(event);
    const named = { user_token: formatToken('user', event.subject_id), status };
    return [event.sequence, user === undefined ? named : writeUser(user)] as const;
  });
}

async function describeSets(
  context: EventContext,
  events: readonly EventRow[],
): Promise<Described> {
  const versions = events.map(({ subject_id: setId, object_sequence: version }) => ({
    setId,
    version: Number(version),
  }));
  const stored = await openVersions(context, versions);
  const found = new Map(stored.map((one) => [`${one.setId} ${one.version}`, one]));
  return events.map((event) => {
    const set = found.get(`${event.subject_id} ${event.object_sequence}`);
    const named = {
      attr_set_token: formatToken('attributeSet', event.subject_id),
      user_token: set === undefined ? '' : formatToken('user', set.userId),
      version: new JsonNumber(event.object_sequence.toString()),
    };
    if (set === undefined || !context.canRead('users:read'))
      return [event.sequence, named] as const;
    const payer = context.catalog.findPayer(set.destinationToken);
    const data: Data = {
      ...named,
      destination_token: set.destinationToken,
      currency_code: set.currency,
      is_complete: set.isComplete,
      stored_on: formatSeconds(set.storedAt),
      attrs: maskValues(set.values ?? {}, payer?.deliveryType ?? 'BANK_DEPOSIT'),
    };
    return [event.sequence, data] as const;
  });
}

const storedBalance = z.object({ currency: z.string(), balance: z.string().transform(BigInt) });

function describeBalance({ canRead }: EventContext, event: EventRow): Data {
  const stored = storedBalance.parse(JSON.parse(event.payload ?? '{}'));
  const answer = writeBalance({ ...stored, token: event.subject_id });
  if (canRead('balance:read')) return answer;
  return { token: answer.token, currency_code: answer.currency_code };
}

function describeBatch(event: EventRow): Data {
  const token = formatToken('batch', event.subject_id);
  const batch = writeStoredBatch(event.payload ?? '{}', `/batches/${token}`);
  return event.type === 'batch.removed' ? { ...batch, status: 'REMOVED' } : batch;
}

const storedTime = z.coerce
  .date()
  .nullable()
  .transform((time) => (time === null ? '' : formatSeconds(time)));
const storedFreeze = z.object({ since: storedTime, lifted_at: storedTime });

function describeAccount(event: EventRow): Data {
  if (event.type === restoredType) return readPayload(event);
  const stored = storedFreeze.parse(JSON.parse(event.payload ?? '{}'));
  return { frozen_on: stored.since, unfrozen_on: stored.lifted_at };
}

const storedCredential = z.object({
  kind: z.string(),
  scopes: z.array(z.string()),
  allowed_addresses: z.array(z.string()),
  created_at: storedTime,
  expires_at: storedTime,
  revoked_at: storedTime,
});

function describeCredential(event: EventRow): Data {
  const stored = storedCredential.parse(JSON.parse(event.payload ?? '{}'));
  return {
    credential_id: event.subject_id,
    kind: stored.kind,
    scopes: stored.scopes,
    allowed_addresses: stored.allowed_addresses,
    created_on: stored.created_at,
    expires_on: stored.expires_at,
    revoked_on: stored.revoked_at,
  };
}
