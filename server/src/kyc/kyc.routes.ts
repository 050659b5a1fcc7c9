import { z } from 'zod';
import { formatSeconds } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { cursorOf, pageQuery, readCursor, toPage } from '../http/paging.ts';
import { type BaseServices, defineRoute, type Route } from '../http/route.ts';
import { readUserToken } from '../users/users.routes.ts';
import { imageCharactersMax } from './image-limits.ts';
import { imageTypes, prepareImages, readUpload } from './intake.ts';
import { sessionStatuses } from './kyc.sql.ts';
import {
  getLinkedSession,
  getSessions,
  type LinkedSession,
  statusAt,
  submitImages,
} from './kyc.ts';
import { readPageFiles } from './page-files.ts';

/** Three images of 10 MiB of Base64 and the JSON around them. */
const uploadBytesMax = 32 * 1024 * 1024;

/** `readUpload` checks the items, because its faults must not repeat their content. */
const uploadBody = z
  .custom<unknown>(() => true)
  .meta({
    id: 'IdImages',
    jsonSchema: {
      type: 'array',
      minItems: imageTypes.length,
      maxItems: imageTypes.length,
      description: 'Three images, one of each type.',
      items: {
        type: 'object',
        required: ['type', 'content'],
        properties: {
          type: { type: 'string', enum: [...imageTypes] },
          content: {
            type: 'string',
            contentEncoding: 'base64',
            maxLength: imageCharactersMax,
            description: 'A PNG or JPEG image as padded Base64 (RFC 4648 section 4).',
          },
        },
      },
    },
  });

const userParams = z.object({ user_token: z.string().max(100) });
const linkParams = z.object({
  token: z.string().max(500).describe('The secret part of a verification link'),
});
const fileParams = z.object({ file: z.string().max(100) });

const sessionAnswer = z
  .object({
    provider: z
      .string()
      .meta({ description: 'The provider of the verification.', examples: ['outlay'] }),
    session_id: z.string(),
    session_time: z.string().meta({ description: 'When it started, UTC: YYYY-MM-DDThh:mm:ss.' }),
    status: z.enum(sessionStatuses),
  })
  .meta({ id: 'VerificationSession' });

const listQuery = z.object(pageQuery);

const linkStatusAnswer = z
  .object({
    status: z.enum(sessionStatuses),
    takes_images: z.boolean().meta({ description: 'Whether three images can be sent now.' }),
  })
  .meta({ id: 'VerificationLink' });

/** The verification routes. The files of the page are read once, here. */
export function createKycRoutes(): Route<BaseServices>[] {
  return [uploadRoute(), sessionsRoute(), ...createLinkRoutes()];
}

function uploadRoute(): Route<BaseServices> {
  return defineRoute({
    method: 'POST',
    path: '/user/{user_token}/kyc/id',
    isVersioned: true,
    operationId: 'uploadIdImages',
    tag: 'Verification',
    summary: 'Upload ID images',
    description:
      'Accepts a selfie and both sides of an identity document, and starts the review of the user.',
    access: 'kyc:write',
    params: userParams,
    body: uploadBody,
    bodyBytesMax: uploadBytesMax,
    uploads: 'images',
    response: null,
    refusals: [404, 413, 503],
    handle: async ({ env, accountId, write }, { params, body }) => {
      const userId = readUserToken(params.user_token);
      // Rejects an unknown user before images are decoded; the transaction checks it again.
      await getSessions(env, { accountId, userId, before: undefined, rowsMax: 1 });
      const images = await prepareImages(readUpload(body), env.name);
      return write((sql) => submitImages({ sql, keys: env.keys }, { accountId, userId, images }));
    },
  });
}

function sessionsRoute(): Route<BaseServices> {
  return defineRoute({
    method: 'GET',
    path: '/user/{user_token}/kyc/id',
    isVersioned: true,
    operationId: 'listVerificationSessions',
    tag: 'Verification',
    summary: 'List the verification sessions of a user',
    description: 'The identity verifications of the user, newest first.',
    access: 'users:read',
    params: userParams,
    query: listQuery,
    response: z.array(sessionAnswer),
    refusals: [404],
    handle: async ({ env, accountId }, { params, query }) => {
      const userId = readUserToken(params.user_token);
      const count = query.number_of_records;
      const [before] = readCursor(query.cursor, ['uuid']) ?? [];
      const rows = await getSessions(env, { accountId, userId, before, rowsMax: count + 1 });
      const now = new Date(env.clock.nowMs());
      return toPage(rows, count, {
        cursor: (session) => cursorOf([session.id]),
        write: (session) => ({
          provider: session.provider,
          session_id: session.id,
          session_time: formatSeconds(session.createdAt),
          status: statusAt(session, now),
        }),
      });
    },
  });
}

/**
 * The routes of a verification link. The link is the credential; the answers contain the state of the
 * session and no data of the user.
 */
function createLinkRoutes(): Route<BaseServices>[] {
  const { page, assets } = readPageFiles();
  const showPage: Route<BaseServices> = defineRoute({
    method: 'GET',
    path: '/verify/{token}',
    isVersioned: false,
    operationId: 'showVerificationPage',
    tag: 'Verification page',
    summary: 'The hosted page behind a verification link',
    description:
      'The page that the link in an IDSelfieCollection attribute leads to, for the recipient.',
    access: 'public',
    params: linkParams,
    unknownParameters: 'ignored',
    response: null,
    produces: ['text/html'],
    handle: async ({ env }, { params }) => {
      const link = { db: env.db, keys: env.keys, nowMs: env.clock.nowMs() };
      const isKnown = await isKnownLink(link, params.token);
      return isKnown ? page : { ...page, status: 404 };
    },
  });
  const showFile: Route<BaseServices> = defineRoute({
    method: 'GET',
    path: '/verify/assets/{file}',
    isVersioned: false,
    operationId: 'getVerificationPageFile',
    tag: 'Verification page',
    summary: 'A style sheet or script of the hosted page',
    description: 'A script or style of the hosted page.',
    access: 'public',
    params: fileParams,
    unknownParameters: 'ignored',
    response: null,
    produces: ['text/css', 'text/javascript'],
    handle: async (_context, { params }) => {
      const asset = assets.get(params.file);
      if (asset === undefined) throw new AppError('not_found', 'file not found');
      return asset;
    },
  });
  return [showPage, showFile, linkStatusRoute(), linkUploadRoute()];
}

async function isKnownLink(
  services: Parameters<typeof getLinkedSession>[0],
  token: string,
): Promise<boolean> {
  try {
    await getLinkedSession(services, token);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return false;
    throw error;
  }
}

function linkStatusRoute(): Route<BaseServices> {
  return defineRoute({
    method: 'GET',
    path: '/verify/{token}/status',
    isVersioned: false,
    operationId: 'getVerificationLinkStatus',
    tag: 'Verification page',
    summary: 'The state of the session behind a verification link',
    description: 'What the hosted page shows while the images are checked.',
    access: 'public',
    params: linkParams,
    unknownParameters: 'ignored',
    response: linkStatusAnswer,
    refusals: [404],
    handle: async ({ env }, { params }) => {
      const nowMs = env.clock.nowMs();
      const linked = await getLinkedSession({ db: env.db, keys: env.keys, nowMs }, params.token);
      return { status: linked.status, takes_images: linked.takesImages };
    },
  });
}

/** @throws AppError not_found, and illegal_move where the session accepts no images (any more). */
async function getOpenSession(env: BaseServices, token: string): Promise<LinkedSession> {
  const { db, keys, clock } = env;
  const linked = await getLinkedSession({ db, keys, nowMs: clock.nowMs() }, token);
  if (!linked.takesImages) {
    throw new AppError('illegal_move', 'this verification link no longer accepts images');
  }
  return linked;
}

function linkUploadRoute(): Route<BaseServices> {
  return defineRoute({
    method: 'POST',
    path: '/verify/{token}',
    isVersioned: false,
    operationId: 'uploadImagesByLink',
    tag: 'Verification page',
    summary: 'Send the three images of a verification link',
    description: 'What the hosted page sends: three images, with the link as credential.',
    access: 'public',
    params: linkParams,
    admit: async (env, params) => {
      const { token } = params as z.infer<typeof linkParams>;
      const { accountId, sessionId } = await getOpenSession(env, token);
      return { accountId, linkId: sessionId };
    },
    body: uploadBody,
    bodyBytesMax: uploadBytesMax,
    uploads: 'images',
    response: linkStatusAnswer,
    refusals: [404, 409, 413, 503],
    handle: async ({ env }, { params, body }) => {
      const { db, keys } = env;
      const linked = await getOpenSession(env, params.token);
      const { accountId, userId, sessionId: linkSessionId } = linked;
      const images = await prepareImages(readUpload(body), env.name);
      const session = await db.tenantTransaction(accountId, (sql) =>
        submitImages({ sql, keys }, { accountId, userId, images, linkSessionId }),
      );
      return { status: session.status, takes_images: false };
    },
  });
}
