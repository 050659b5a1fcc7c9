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
import { verificationStateAnswer, writeVerificationState } from './verification-state-view.ts';

/** Three images of 10 MiB of Base64 and the JSON around them. */
export const uploadBytesMax = 32 * 1024 * 1024;

/** `readUpload` checks the items, because its faults must not repeat their content. */
export const uploadBody = z
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

/**
 * The verification routes. A verification link is a credential; its answers contain the state of the
 * session and no data of the user. The page behind it: recipient-pages/.
 */
export function createKycRoutes(): Route<BaseServices>[] {
  return [uploadRoute(), sessionsRoute(), linkStatusRoute(), linkUploadRoute()];
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
    response: verificationStateAnswer,
    refusals: [404],
    handle: async ({ env }, { params }) => {
      const nowMs = env.clock.nowMs();
      const linked = await getLinkedSession({ db: env.db, keys: env.keys, nowMs }, params.token);
      return writeVerificationState(env.db, linked);
    },
  });
}

/** @throws AppError not_found, and illegal_move where the session does not, or no longer, accept images. */
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
    response: verificationStateAnswer,
    refusals: [404, 409, 413, 503],
    handle: async ({ env }, { params, body }) => {
      const { db, keys } = env;
      const linked = await getOpenSession(env, params.token);
      const { accountId, userId, sessionId } = linked;
      const images = await prepareImages(readUpload(body), env.name);
      const session = await db.tenantTransaction(accountId, (sql) =>
        submitImages({ sql, keys }, { accountId, userId, images, link: { sessionId } }),
      );
      return writeVerificationState(db, {
        ...linked,
        submission: session.submission,
        status: session.status,
        takesImages: false,
      });
    },
  });
}
