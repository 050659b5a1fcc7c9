import { z } from 'zod';
import { readDestination } from '../attributes/attributes.routes.ts';
import { AppError, type Fault, throwFaults } from '../core/errors.ts';
import { type ExactJson, isExactObject } from '../core/exact-json.ts';
import { isHttpsUrl } from '../core/https-url.ts';
import { findTokenId } from '../core/ids.ts';
import type { Session } from '../db/postgres/pool.ts';
import type { DestinationServices } from '../destinations/destinations.routes.ts';
import { cursorOf, pageQuery, readCursor, toPage } from '../http/paging.ts';
import { defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { integerField } from '../http/schema.ts';
import { findPayoutPreview } from '../payouts/payout-preview.ts';
import { readPayoutToken } from '../payouts/payouts.routes.ts';
import { readUserToken } from '../users/users.routes.ts';
import {
  checkFormDestination,
  createLink,
  formatLinkPath,
  linkLifeSeconds,
  linkPurposes,
  linkSeconds,
  listLinks,
  revokeLink,
} from './links.ts';
import { linkAnswer, newLinkAnswer, writeLink } from './links-view.ts';

/** The API of recipient links. The pages behind them: page.routes.ts. */

type Context = RouteContext<DestinationServices>;

const tag = 'Recipient links';
const userParams = z.object({ user_token: z.string().max(100) });

const linkRequest = z
  .object({
    purpose: z
      .enum(linkPurposes)
      .describe(
        '`payout_details`: the attributes of a destination; needs users:write. `verification`: the identity check; needs kyc:write. `payout_status`: one payout; needs payouts:read',
      ),
    destination_token: z.string().max(100).optional().describe('Required for payout_details'),
    currency: z.string().max(20).optional().describe('Required for payout_details'),
    attr_set_token: z
      .string()
      .max(100)
      .optional()
      .describe('For payout_details: the set that gets a new version; a new set without it'),
    payout_token: z.string().max(100).optional().describe('Required for payout_status'),
    shows_pickup_code: z
      .boolean()
      .default(false)
      .describe(
        'For payout_status: anyone with the link sees the code with which the money can be collected',
      ),
    expires_in_seconds: integerField(linkSeconds)
      .optional()
      .describe('Default: 3 days for payout_details, 7 for verification, 30 for payout_status'),
    redirect_url: z
      .string()
      .max(2000)
      .refine((url) => url === '' || isHttpsUrl(url), { error: 'must be an address with https://' })
      .default('')
      .describe('Where the page leads the recipient when all is done'),
  })
  .meta({ id: 'RecipientLinkRequest' });
type LinkRequest = z.infer<typeof linkRequest>;

const neededScopes = {
  payout_details: 'users:write',
  verification: 'kyc:write',
  payout_status: 'payouts:read',
} as const;

export function recipientLinkRoutes(): Route<DestinationServices>[] {
  return [createRoute(), listRoute(), revokeRoute()];
}

function createRoute(): Route<DestinationServices> {
  return defineRoute({
    method: 'POST',
    path: '/user/{user_token}/link',
    isVersioned: true,
    operationId: 'createRecipientLink',
    tag,
    summary: 'Create a link for a recipient',
    description:
      'Leads to a page that names you and lets the recipient do one thing, without a credential. Send it to the recipient only: anyone who has it can use it. A link for details ends when they are stored; every link ends with its time, when you revoke it, and when the user is erased.',
    access: 'bearer',
    params: userParams,
    body: linkRequest,
    findFaults: findPurposeFaults,
    response: newLinkAnswer,
    refusals: [404, 410],
    handle: (context: Context, { params, body }) => {
      const { accountId, principal, request, env, write } = context;
      const scope = neededScopes[body.purpose];
      if (!principal.scopes.has(scope)) {
        throw new AppError('insufficient_scope', `The credential must have the scope ${scope}`);
      }
      const userId = readUserToken(params.user_token);
      const destination = readTarget(env, body);
      return write(
        async (session) => {
          const payoutId = await readPayout(session, { accountId, userId, body });
          const { row, token } = await createLink(
            { session, keys: env.keys },
            {
              accountId,
              userId,
              purpose: body.purpose,
              ...destination,
              payoutId,
              showsPickupCode: body.shows_pickup_code,
              redirectUrl: body.redirect_url,
              credentialId: principal.credentialId,
              lifeSeconds: body.expires_in_seconds ?? linkLifeSeconds[body.purpose],
            },
          );
          return { ...writeLink(row), url: request.baseUrl + formatLinkPath(token) };
        },
        { aboutUser: userId },
      );
    },
  });
}

const fieldsOf = {
  payout_details: ['destination_token', 'currency'],
  verification: [],
  payout_status: ['payout_token'],
} as const;
const targetFields = ['destination_token', 'currency', 'payout_token', 'attr_set_token'] as const;

/** Every field that the purpose lacks or excludes. */
function findPurposeFaults(_env: unknown, json: ExactJson): Fault[] {
  if (!isExactObject(json)) return [];
  const { purpose } = json;
  if (typeof purpose !== 'string' || !isPurpose(purpose)) return [];
  const needed: readonly string[] = fieldsOf[purpose];
  const faults: Fault[] = [];
  for (const field of targetFields) {
    const isOptional = field === 'attr_set_token' && purpose === 'payout_details';
    const isGiven = (json[field] ?? '') !== '';
    if (isOptional || isGiven === needed.includes(field)) continue;
    const detail = isGiven
      ? `${field} must not be given for ${purpose}`
      : `${field} is required for ${purpose}`;
    faults.push({ pointer: `/${field}`, code: isGiven ? 'invalid_value' : 'required', detail });
  }
  if (json['shows_pickup_code'] === true && purpose !== 'payout_status') {
    const detail = `shows_pickup_code must not be given for ${purpose}`;
    faults.push({ pointer: '/shows_pickup_code', code: 'invalid_value', detail });
  }
  return faults;
}

function isPurpose(text: string): text is keyof typeof fieldsOf {
  return Object.hasOwn(fieldsOf, text);
}

/** @throws AppError invalid_request (attribute set), not_found (destination). */
function readTarget(env: DestinationServices, body: LinkRequest) {
  const nothing = { destinationToken: undefined, currency: undefined, attrSetId: undefined };
  if (body.purpose !== 'payout_details') return nothing;
  const {
    destination_token: destinationToken = '',
    currency = '',
    attr_set_token: set = '',
  } = body;
  checkFormDestination(readDestination(env, { destination_token: destinationToken, currency }));
  const attrSetId = findTokenId('attributeSet', set);
  if (set !== '' && attrSetId === undefined) {
    const detail = 'attr_set_token must be a set of this user for this destination and currency';
    throwFaults([{ pointer: '/attr_set_token', code: 'unknown_attr_set', detail }]);
  }
  return { destinationToken, currency, attrSetId };
}

/** @throws AppError not_found. */
async function readPayout(
  session: Session,
  link: { accountId: string; userId: string; body: LinkRequest },
): Promise<string | undefined> {
  const { accountId, userId, body } = link;
  if (body.purpose !== 'payout_status') return undefined;
  const payoutId = readPayoutToken(body.payout_token ?? '');
  const row = await findPayoutPreview(session, { accountId, userId, payoutId });
  if (row === undefined) throw new AppError('not_found', 'Payout not found');
  return payoutId;
}

function listRoute(): Route<DestinationServices> {
  return defineRoute({
    method: 'GET',
    path: '/user/{user_token}/link',
    isVersioned: true,
    operationId: 'listRecipientLinks',
    tag,
    summary: 'List the links of a recipient',
    description: 'Newest first, without the addresses, which are not kept.',
    access: 'users:read',
    params: userParams,
    query: z.object(pageQuery),
    response: z.array(linkAnswer),
    refusals: [404],
    handle: async ({ env, accountId }: Context, { params, query }) => {
      const userId = readUserToken(params.user_token);
      const count = query.number_of_records;
      const [before] = readCursor(query.cursor, ['uuid']) ?? [];
      const page = { accountId, userId, before, rowsMax: count + 1 };
      const rows = await listLinks({ session: env.db.tenant(accountId), keys: env.keys }, page);
      return toPage(rows, count, { cursor: (row) => cursorOf([row.id]), write: writeLink });
    },
  });
}

function revokeRoute(): Route<DestinationServices> {
  return defineRoute({
    method: 'POST',
    path: '/user/{user_token}/link/{link_token}/revoke',
    isVersioned: true,
    operationId: 'revokeRecipientLink',
    tag,
    summary: 'Revoke a link of a recipient',
    description: 'Its page says that it was withdrawn. A link that has ended stays as it is.',
    access: 'users:write',
    params: userParams.extend({
      link_token: z.string().max(100).describe('From the answer that created it'),
    }),
    response: linkAnswer,
    refusals: [404],
    handle: ({ env, accountId, write }: Context, { params }) => {
      const userId = readUserToken(params.user_token);
      const id = findTokenId('link', params.link_token);
      if (id === undefined) throw new AppError('not_found', 'Link not found');
      return write(
        async (session) =>
          writeLink(await revokeLink({ session, keys: env.keys }, { accountId, userId, id })),
        {
          isOneEffect: true,
        },
      );
    },
  });
}
