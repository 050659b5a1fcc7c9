import { AppError, type Fault, throwFaults } from '../core/errors.ts';
import { findTokenId, formatToken, nameId, newId } from '../core/ids.ts';
import { type KeyRing, sealBytes } from '../core/sealing.ts';
import { createTenantBatcher, held, type TenantBatcher } from '../db/batcher.ts';
import {
  createKeyedBatcher,
  type KeyedAnswer,
  type KeyedBatcher,
  type StoreAnswers,
} from '../db/keyed-batcher.ts';
import { placeByOrdinal } from '../db/ordinals.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import type { Payer } from '../destinations/catalog.ts';
import {
  type AttributeValues,
  fingerprintValues,
  openValues,
  sealContext,
} from './attribute-values.ts';
import {
  findAttributeContext,
  findEqualSet,
  findRecipients,
  insertSet,
  insertSetVersion,
  lockAccount,
  lockSet,
  type NewSet,
  type RecipientQuery,
  type RecipientRow,
  type SetOwner,
  storeSets,
  touchSet,
} from './attributes.sql.ts';
import { checkValues } from './checks.ts';
import {
  describeMissingIdentity,
  describeMissingValue,
  type IdentityState,
  type MissingDetail,
  readIdentityCode,
} from './missing.ts';
import {
  type AttributeType,
  describeUnlisted,
  getProfile,
  identityVerification,
  makeCorridor,
  type Requirement,
  type RequirementProfile,
} from './requirements.ts';

/** The attributes that a destination needs of a recipient, and the sets of values stored for it. */

export { sessionStatus } from './attributes.sql.ts';

/** Never changed, because every attribute token is derived from it. */
const tokenNamespace = '5b0c1f4e-6f0a-4d53-9a2b-2f1f3f0f6f11';

export type AttributeContext = { session: Session; keys: KeyRing; accountId: string };

export type Destination = { payer: Payer; currency: string };

export type ReadAttribute = Requirement & {
  token: string;
  attrSetToken: string;
  value: string;
  isLastValueUsed: boolean;
};

/** The token of an attribute: stable for an attribute type of a profile. */
export function formatAttributeToken(profile: RequirementProfile, type: AttributeType): string {
  return formatToken('attribute', nameId(`${profile.id}/${type}`, tokenNamespace));
}

export const corridorOf = ({ payer, currency }: Destination) => makeCorridor(payer, currency);

/**
 * The attributes of a destination, with the values of the default set: the newest complete one,
 * else the newest. If the user has yet to be verified, the verification is one of them, with the
 * link from `createLink` as its value.
 *
 * @throws AppError not_found if the account has no such user.
 */
export async function readAttributes(
  context: AttributeContext,
  request: { userId: string; destination: Destination; createLink: () => Promise<string> },
): Promise<ReadAttribute[]> {
  const { destination, userId } = request;
  const owner = ownerOf(context.accountId, userId, destination);
  const row = await findAttributeContext(context.session, owner);
  if (row === undefined) throw new AppError('not_found', 'User not found');
  const profile = getProfile(corridorOf(destination));
  const values =
    row.sealed === null || row.set_id === null
      ? {}
      : openValues(context.keys.unwrap(row.data_key, owner), row.sealed, {
          ...owner,
          setId: row.set_id,
        });
  const attrSetToken = row.set_id === null ? '' : formatToken('attributeSet', row.set_id);
  const attributes = profile.requirements.map((requirement) => {
    const value = values[requirement.type];
    return {
      ...requirement,
      token: formatAttributeToken(profile, requirement.type),
      attrSetToken,
      value: value ?? '',
      isLastValueUsed: value !== undefined,
    };
  });
  if (isVerificationMissing(destination, row)) {
    attributes.push({
      ...identityVerification,
      token: formatAttributeToken(profile, identityVerification.type),
      attrSetToken,
      value: await request.createLink(),
      isLastValueUsed: false,
    });
  }
  return attributes;
}

function isVerificationMissing({ payer }: Destination, user: RecipientRow): boolean {
  const isNeeded = payer.verifiedAboveUsdMinor === 0n || user.is_verification_needed;
  return isNeeded && user.kyc_status !== 'approved';
}

export type StoreRequest = {
  userId: string;
  destination: Destination;
  values: readonly { token: string; value: string }[];
  /**
   * The set that gets a new version. Without it equal values return their set, others a new one.
   */
  attrSetToken: string | undefined;
  /** The new version has these values only; otherwise those that the request omits stay. */
  isWhole?: true;
  today: string;
};

/** `missing`: what a payout to the destination still needs; `values`: as they are stored. */
export type StoredSet = {
  setId: string;
  missing: readonly MissingDetail[];
  values: readonly { token: string; value: string }[];
};

/**
 * Stores values as a set, which may be partial; nothing is stored if a value is invalid.
 *
 * @throws AppError not_found (user), invalid_request with every fault.
 */
export async function storeAttributes(
  context: AttributeContext,
  request: StoreRequest,
): Promise<StoredSet> {
  const { session, keys, accountId } = context;
  const { destination, userId } = request;
  const owner = ownerOf(accountId, userId, destination);
  await lockAccount(session, accountId);
  const row = await findAttributeContext(session, owner);
  if (row === undefined) throw new AppError('not_found', 'User not found');
  const userKey = keys.unwrap(row.data_key, owner);
  const named = await lockNamedSet(context, owner, request.attrSetToken);
  const before =
    named === undefined || request.isWhole === true
      ? {}
      : openValues(userKey, named.sealed, { ...owner, setId: named.set_id });
  const checked = checkRequest(request, before);
  const missing = listMissing(destination, checked, row);
  const fingerprint = fingerprintValues(keys, owner, checked.values);
  const equal = named?.fingerprint.equals(fingerprint)
    ? named
    : named === undefined
      ? await findEqualSet(session, { ...owner, fingerprint })
      : undefined;
  if (equal !== undefined) {
    await touchSet(session, { accountId, setId: equal.set_id });
    return { setId: equal.set_id, missing, values: listValues(destination, checked) };
  }
  const setId = named?.set_id ?? newId();
  if (named === undefined) await insertSet(session, { ...owner, setId });
  const version = (named?.version ?? 0) + 1;
  await insertSetVersion(session, {
    accountId,
    version,
    profileVersion: getProfile(corridorOf(destination)).version,
    ...sealSet({ keys, userKey, owner, setId, version }, checked),
  });
  return { setId, missing, values: listValues(destination, checked) };
}

function listValues(destination: Destination, { values }: Checked): StoredSet['values'] {
  const profile = getProfile(corridorOf(destination));
  return Object.entries(values).map(([type, value]) => ({
    token: formatAttributeToken(profile, type as AttributeType),
    value,
  }));
}

function listMissing(
  destination: Destination,
  checked: Checked,
  user: RecipientRow,
): MissingDetail[] {
  const profile = getProfile(corridorOf(destination));
  const missing = describeMissingTypes(profile, checked.missing);
  if (isVerificationMissing(destination, user)) {
    const code = readIdentityCode(user.session_status ?? undefined);
    missing.push(describeIdentity(profile, { code, reason: '' }));
  }
  return missing;
}

export function describeMissingTypes(
  profile: RequirementProfile,
  types: readonly AttributeType[],
): MissingDetail[] {
  const options = profile.requirements.flatMap(({ alternatives }) => alternatives);
  const known = new Set(profile.requirements.map(({ type }) => type));
  const others = types.filter((type) => !known.has(type)).map(describeUnlisted);
  return [...profile.requirements, ...others]
    .filter(({ type }) => types.includes(type))
    .map((one) => {
      const own = new Set(one.alternatives.map(({ name }) => name));
      const groups = new Set(one.alternatives.map(({ group }) => group));
      const elsewhere = options.filter(({ group, name }) => groups.has(group) && !own.has(name));
      return describeMissingValue(one, {
        token: formatAttributeToken(profile, one.type),
        others: [...new Set(elsewhere.map(({ label }) => label))],
      });
    });
}

export function describeIdentity(profile: RequirementProfile, state: IdentityState): MissingDetail {
  const token = formatAttributeToken(profile, identityVerification.type);
  return describeMissingIdentity(identityVerification, token, state);
}

/** Batchers for storing values: one reads the users, one stores the sets. */
export type AttributeGroup = {
  readonly recipients: TenantBatcher<RecipientQuery, RecipientRow | undefined>;
  readonly sets: KeyedBatcher<NewSet, string>;
};

export function createAttributeGroup(db: Database, storeAnswers: StoreAnswers): AttributeGroup {
  return {
    recipients: createTenantBatcher((accountId, queries) =>
      findRecipients(db.tenant(accountId), accountId, queries),
    ),
    sets: createKeyedBatcher<NewSet, string>({
      name: 'store attributes',
      db,
      storeAnswers,
      // The second of two equal sets of a user and destination finds the first.
      keyOf: (set) => `${set.userId} ${set.destinationToken} ${set.currency}`,
      run: async (session, sets, mayWait) => {
        const rows = await storeSets(session, sets, mayWait);
        return placeByOrdinal(sets, rows, (row) => row.set_id ?? held);
      },
    }),
  };
}

/** Builds the answer about a stored set, which is sealed with the key of its user. */
type PreparedSet<Content> = {
  readonly keyed: KeyedAnswer<string> | undefined;
  readonly toContent: (setId: string) => Content;
};

/**
 * Stores values through `AttributeGroup.sets`; undefined if the request names a set, which
 * `storeAttributes` handles.
 *
 * @throws AppError not_found (user), invalid_request with every fault.
 */
export async function storeAttributesInGroup<Content>(
  context: { keys: KeyRing; accountId: string; group: AttributeGroup },
  request: StoreRequest,
  prepare: (dataKey: Buffer, stored: Omit<StoredSet, 'setId'>) => PreparedSet<Content>,
): Promise<Content | undefined> {
  const { keys, accountId, group } = context;
  const { destination, userId } = request;
  if (request.attrSetToken !== undefined) return undefined;
  const owner = ownerOf(accountId, userId, destination);
  const { destinationToken, currency } = owner;
  const user = await group.recipients.submit(accountId, { userId, destinationToken, currency });
  if (user === undefined) throw new AppError('not_found', 'User not found');
  const checked = checkRequest(request, {});
  const userKey = keys.unwrap(user.data_key, owner);
  const setId = newId();
  const set: NewSet = {
    ...owner,
    ...sealSet({ keys, userKey, owner, setId, version: 1 }, checked),
    profileVersion: getProfile(corridorOf(destination)).version,
  };
  const { keyed, toContent } = prepare(user.data_key, {
    missing: listMissing(destination, checked, user),
    values: listValues(destination, checked),
  });
  const storedId = await group.sets.submit({ command: set, keyed });
  return storedId === undefined ? undefined : toContent(storedId);
}

/** A set as it is stored: a fingerprint to find equal ones, and the values sealed. */
function sealSet(
  context: { keys: KeyRing; userKey: Buffer; owner: SetOwner; setId: string; version: number },
  { values, missing }: Checked,
): Pick<NewSet, 'setId' | 'fingerprint' | 'sealed' | 'isComplete'> {
  const { keys, userKey, owner, setId, version } = context;
  return {
    setId,
    fingerprint: fingerprintValues(keys, owner, values),
    sealed: sealBytes(
      userKey,
      Buffer.from(JSON.stringify(values)),
      sealContext({ ...owner, setId }, version),
    ),
    isComplete: missing.length === 0,
  };
}

/** Whether a payout to the destination needs stored attributes at all. */
export function needsAttributes(destination: Destination): boolean {
  return getProfile(corridorOf(destination)).requirements.some((one) => !one.isOptional);
}

function ownerOf(accountId: string, userId: string, { payer, currency }: Destination): SetOwner {
  return { accountId, userId, destinationToken: payer.destinationToken, currency };
}

async function lockNamedSet(context: AttributeContext, owner: SetOwner, token: string | undefined) {
  if (token === undefined) return undefined;
  const setId = findTokenId('attributeSet', token);
  const set = setId === undefined ? undefined : await lockSet(context.session, { ...owner, setId });
  if (set !== undefined) return set;
  const detail = 'attr_set_token must be a set of this user for this destination and currency';
  throw new AppError('invalid_request', detail, {
    faults: [{ pointer: '/attr_set_token', code: 'unknown_attr_set', detail }],
  });
}

type Checked = {
  values: AttributeValues;
  /** Required attributes without a value. */
  missing: readonly AttributeType[];
};

/** @throws AppError invalid_request with every fault. */
function checkRequest(request: StoreRequest, before: AttributeValues): Checked {
  const corridor = corridorOf(request.destination);
  const profile = getProfile(corridor);
  const types = new Map<string, AttributeType>();
  for (const { type } of profile.requirements) types.set(formatAttributeToken(profile, type), type);
  const faults: Fault[] = [];
  const given = new Map<AttributeType, number>();
  const values = new Map(Object.entries(before) as [AttributeType, string][]);
  const readOnlyToken = formatAttributeToken(profile, identityVerification.type);
  for (const [index, { token, value }] of request.values.entries()) {
    if (token === readOnlyToken) {
      const detail = 'IDSelfieCollection is read-only: an approved verification satisfies it';
      faults.push({ pointer: `/values/${index}/token`, token, code: 'read_only', detail });
      continue;
    }
    const type = types.get(token);
    if (type === undefined || given.has(type)) {
      const code = type === undefined ? 'unknown_attribute' : 'repeated_attribute';
      const detail =
        type === undefined
          ? 'token must be an attribute of this destination'
          : 'token must occur once';
      faults.push({ pointer: `/values/${index}/token`, token, code, detail });
      continue;
    }
    given.set(type, index);
    values.set(type, value);
  }
  const result = checkValues(profile, corridor, { values, today: request.today });
  for (const { type, code, detail } of result.faults) {
    const index = given.get(type);
    // A stored value can be inconsistent with those of the request.
    const pointer = index === undefined ? '/values' : `/values/${index}/value`;
    faults.push({ pointer, token: formatAttributeToken(profile, type), code, detail });
  }
  throwFaults(faults);
  return {
    values: Object.fromEntries(result.normalized),
    missing: result.missing,
  };
}
