import { z } from 'zod';
import { isAdult, isRealDate } from '../core/calendar-date.ts';
import { formatSeconds } from '../core/clock.ts';
import { AppError, describeFaults, type Fault, readTogether } from '../core/errors.ts';
import { type ExactJson, isExactObject, parseExactJson } from '../core/exact-json.ts';
import { findTokenId, formatToken } from '../core/ids.ts';
import { cursorOf, pageQuery, readCursor, readRange, toPage } from '../http/paging.ts';
import { type BaseServices, defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { momentQuery, objectAnswer } from '../http/schema.ts';
import { readNameParts } from './name-terms.ts';
import { countryField, userChanges, userRequest, userStatuses } from './user-request.routes.ts';
import { listTakenFaults, listUsers, lookUpUser, type UserLookup } from './user-search.ts';
import {
  createUser,
  findUser,
  prepareUser,
  type User,
  type UserContext,
  type UserData,
  type UserGroup,
  updateUser,
} from './users.ts';

export const userAnswer = z
  .object({
    user_token: z.string(),
    status: z.enum(userStatuses),
    created_on: z.string().describe('UTC, without offset'),
    internal_user_id: z.string(),
    address1: z.string(),
    address2: z.string(),
    city: z.string(),
    state_province: z.string(),
    postal_code: z.string(),
    country: z.string(),
    first_name: z.string(),
    middle_name: z.string(),
    last_name: z.string(),
    email: z.string(),
    language: z.string(),
    mobile_number: z.string().describe('Digits only'),
    business_name: z.string(),
    timezone: z.string().describe('An IANA time zone name'),
    date_of_birth: z.string().describe('YYYY-MM-DD; "" if unknown'),
    metadata: objectAnswer,
    erased_at: z
      .string()
      .optional()
      .describe('UTC, without offset. Of an erased user only: its other texts are "" then'),
  })
  .meta({ id: 'User' });

const lookupAnswer = z
  .object({
    user_token: z.string(),
    first_name: z.string(),
    last_name: z.string(),
    internal_user_id: z.string(),
  })
  .meta({ id: 'UserLookup' });

export function writeUser(user: Omit<User, 'kycStatus'>) {
  return {
    ...user.person,
    user_token: formatToken('user', user.id),
    status: user.status,
    created_on: formatSeconds(user.createdAt),
    internal_user_id: user.erasedAt === null ? user.internalUserId : '',
    country: user.country,
    metadata: parseExactJson(user.metadata),
    ...(user.erasedAt !== null && { erased_at: formatSeconds(user.erasedAt) }),
  };
}

type Fields = z.infer<typeof userChanges>;

/** The age depends on the environment's date, which the schema does not know. */
function findAgeFault(env: BaseServices, json: ExactJson): Fault[] {
  const born = isExactObject(json) ? json['date_of_birth'] : undefined;
  if (typeof born !== 'string' || !isRealDate(born)) return [];
  const today = new Date(env.clock.nowMs()).toISOString().slice(0, 10);
  if (isAdult(born, today)) return [];
  const detail = 'date_of_birth must be at least eighteen years ago';
  return [{ pointer: '/date_of_birth', code: 'too_young', detail }];
}

function readUserData(fields: Fields): Partial<UserData> {
  const { metadata, ...rest } = fields;
  return {
    ...(rest as Partial<UserData>),
    metadata: metadata === undefined ? undefined : JSON.stringify(metadata),
  };
}

/** @throws AppError not_found if the text is not a user token. */
export function readUserToken(token: string): string {
  const id = findTokenId('user', token);
  if (id === undefined) throw new AppError('not_found', 'User not found');
  return id;
}

const userParams = z.object({ user_token: z.string() });

function contextOf(context: RouteContext<BaseServices>): UserContext {
  const { env, accountId } = context;
  return { session: env.db.tenant(accountId), keys: env.keys, accountId };
}

/**
 * The database names one taken identifier; a client learns of all at once.
 *
 * @throws AppError user_exists, and what `work` throws.
 */
async function nameConflicts<T>(
  context: RouteContext<BaseServices>,
  user: { userId: string } & Partial<Pick<UserData, 'internal_user_id' | 'email'>>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'user_exists') throw error;
    const { userId, internal_user_id: internalUserId, email } = user;
    const taken = await listTakenFaults(contextOf(context), { userId, internalUserId, email });
    throw taken.length > 1 ? describeFaults(taken, 'user_exists') : error;
  }
}

export type UserServices = BaseServices & { readonly userGroup: UserGroup };

export function userRoutes(): Route<UserServices>[] {
  return [
    createRoute(),
    listRoute(),
    lookUpRoute(),
    defineRoute({
      method: 'GET',
      path: '/user/{user_token}',
      isVersioned: true,
      operationId: 'getUser',
      tag: 'Users',
      summary: 'Read a recipient',
      description: 'The recipient as stored, with every field.',
      access: 'users:read',
      params: userParams,
      response: userAnswer,
      refusals: [404, 410],
      handle: async (context, { params }) => {
        const user = await findUser(contextOf(context), readUserToken(params.user_token));
        if (user === undefined) throw new AppError('not_found', 'User not found');
        if (user.erasedAt !== null) {
          const at = formatSeconds(user.erasedAt);
          throw new AppError('user_erased', `The data of this user was erased at ${at}Z`);
        }
        return writeUser(user);
      },
    }),
    defineRoute({
      method: 'PUT',
      path: '/user/{user_token}',
      isVersioned: true,
      operationId: 'updateUser',
      tag: 'Users',
      summary: 'Update a recipient',
      description: 'Fields that are absent keep their values.',
      access: 'users:write',
      params: userParams,
      body: userChanges,
      unknownMembers: 'ignored',
      findFaults: findAgeFault,
      response: userAnswer,
      refusals: [404, 409],
      handle: (context, { params, body }) => {
        const userId = readUserToken(params.user_token);
        const changes = readUserData(body);
        return nameConflicts(context, { userId, ...changes }, () =>
          context.write(
            async (session) =>
              writeUser(await updateUser({ ...contextOf(context), session }, userId, changes)),
            { aboutUser: userId },
          ),
        );
      },
    }),
  ];
}

/** A page of recipients whose tokens are known, and a URL that every proxy takes. */
const tokensMax = 100;
const tokenLengthMax = 41;

const listQuery = z.object({
  ...pageQuery,
  internal_user_id: z
    .string()
    .min(1)
    .max(75)
    .optional()
    .describe('Your own identifier of the user'),
  email: z.string().min(1).max(254).optional().describe('Case is ignored'),
  name: z
    .string()
    .max(100)
    .transform(readNameParts)
    .refine((parts) => parts.length > 0, { error: 'must have a letter or a digit' })
    .optional()
    .meta({ jsonSchema: { type: 'string', maxLength: 100 } })
    .describe(
      'Parts of first and last name, all of which must match, without regard to case, marks and ' +
        'script. Three to eight letters match the beginning of a part, fewer or more a whole part',
    ),
  user_tokens: z
    .string()
    .transform((text) => text.split(','))
    .refine((tokens) => tokens.length <= tokensMax, {
      error: `must be at most ${tokensMax} tokens, separated by commas`,
    })
    .optional()
    .meta({ jsonSchema: { type: 'string', maxLength: tokensMax * tokenLengthMax } })
    .describe(`Only these recipients: up to ${tokensMax} tokens, separated by commas`),
  country: countryField.optional(),
  status: z.enum(userStatuses).optional(),
  from: momentQuery.describe('Created then or later, UTC'),
  to: momentQuery.describe('Created by then, the day or second included'),
});

function listRoute(): Route<BaseServices> {
  return defineRoute({
    method: 'GET',
    path: '/user',
    isVersioned: true,
    operationId: 'listUsers',
    tag: 'Users',
    summary: 'List recipients',
    access: 'users:read',
    description: 'Newest first. `internal_user_id` and `email` find one recipient at most.',
    query: listQuery,
    response: z.array(userAnswer),
    handle: async (context, { query }) => {
      const count = query.number_of_records;
      const [cursor, range] = readTogether(
        () => readCursor(query.cursor, ['uuid']),
        () => readRange(query, ['from', 'to']),
      );
      const [beforeId] = cursor ?? [];
      const users = await listUsers(
        contextOf(context),
        { beforeId, count: count + 1 },
        {
          internalUserId: query.internal_user_id,
          email: query.email,
          nameParts: query.name ?? [],
          ids: query.user_tokens?.flatMap((token) => findTokenId('user', token) ?? []),
          country: query.country,
          status: query.status,
          ...range,
        },
      );
      return toPage(users, count, { cursor: ({ id }) => cursorOf([id]), write: writeUser });
    },
  });
}

function createRoute(): Route<UserServices> {
  return defineRoute({
    method: 'POST',
    path: '/user',
    isVersioned: true,
    operationId: 'createUser',
    tag: 'Users',
    summary: 'Create a recipient',
    description: 'The recipient of payouts, created once and paid any number of times.',
    access: 'users:write',
    body: userRequest,
    unknownMembers: 'ignored',
    findFaults: findAgeFault,
    response: userAnswer,
    refusals: [409],
    handle: (context: RouteContext<UserServices>, { body }) => {
      const user = prepareUser(contextOf(context), readUserData(body) as UserData);
      const { id: userId, dataKey } = user.stored;
      const create = (): Promise<unknown> =>
        context.write(async (session) => writeUser(await createUser(session, user)), {
          isOneEffect: true,
          aboutUser: userId,
          tryGrouped: async (builder) => {
            const answer = builder.prepare(
              (at: Date) => writeUser(user.describe(at)),
              () => ({ userId, dataKey }),
            );
            const { keyed } = answer;
            const at = await context.env.userGroup.submit({ command: user.stored, keyed });
            return at === undefined ? undefined : answer.toContent(at);
          },
        });
      return nameConflicts(context, { userId, ...body }, create);
    },
  });
}

function lookUpRoute(): Route<BaseServices> {
  return defineRoute({
    method: 'GET',
    path: '/user/lookup',
    isVersioned: true,
    operationId: 'lookUpUser',
    tag: 'Users',
    summary: 'Find a recipient by your own identifier, or by email and first name',
    description:
      'Finds the recipient that you know by your own identifier, or by e-mail and first name. All that is given must match.',
    access: 'users:read',
    query: z.object({
      internal_user_id: z.string().min(1).max(75).optional(),
      email: z.string().min(1).max(254).optional(),
      first_name: z.string().min(1).max(100).optional(),
    }),
    response: lookupAnswer,
    refusals: [404],
    handle: async (context, { query }) => {
      const user = await lookUpUser(contextOf(context), readLookup(query));
      if (user === undefined) throw new AppError('not_found', 'User not found');
      return {
        user_token: formatToken('user', user.id),
        first_name: user.person.first_name,
        last_name: user.person.last_name,
        internal_user_id: user.internalUserId,
      };
    },
  });
}

function readLookup(query: {
  internal_user_id?: string | undefined;
  email?: string | undefined;
  first_name?: string | undefined;
}): UserLookup {
  const { internal_user_id: internalUserId, email, first_name: firstName } = query;
  if (internalUserId !== undefined || (email !== undefined && firstName !== undefined)) {
    return { internalUserId, email, firstName };
  }
  const detail = 'internal_user_id, or email and first_name, is required';
  throw new AppError('invalid_request', detail, {
    faults: [{ parameter: 'internal_user_id', code: 'required', detail }],
  });
}
