import { z } from 'zod';
import type { Destination } from '../attributes/attributes.ts';
import { formatSecondsZ } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { type Answer, defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { nestedObject } from '../http/schema.ts';
import { prepareImages, readUpload } from '../kyc/intake.ts';
import { uploadBody, uploadBytesMax } from '../kyc/kyc.routes.ts';
import { findLinkedSession, getUserVerification, submitImages } from '../kyc/kyc.ts';
import { verificationStateAnswer, writeVerificationState } from '../kyc/verification-state-view.ts';
import { findPayoutPreview } from '../payouts/payout-preview.ts';
import { makeReceipt } from '../payouts/payout-reads.routes.ts';
import type { PayoutServices } from '../payouts/payouts.routes.ts';
import { findUser } from '../users/users.ts';
import { checkForm } from './details.ts';
import { storeDetails } from './details-store.ts';
import { findLanguage, type Language, readLanguages } from './languages.ts';
import { findLink, formatLinkPath, type OpenedLink } from './links.ts';
import { createPageWriter, pageHeaders, readAssets } from './page-files.ts';
import { linkParams, page, verifyParams } from './page-paths.ts';
import {
  emptyPage,
  type PageData,
  pageAnswer,
  writeForm,
  writePayoutState,
  writeSender,
} from './page-view.ts';
import { createProblemPage } from './problem-page.ts';

/**
 * The pages behind recipient links and verification links. The link is the credential. A GET changes
 * nothing, because programs that preview links send it too.
 */

type Context = RouteContext<PayoutServices>;
type Services = PayoutServices;

/** The routes of the pages. Their files are read once, here. */
export function recipientPageRoutes(): Route<Services>[] {
  return [
    ...showRoutes(),
    stateRoute(),
    checkRoute(),
    detailsRoute(),
    imagesRoute(),
    receiptRoute(),
  ];
}

function showRoutes(): Route<Services>[] {
  const languages = readLanguages();
  const writePage = createPageWriter();
  const problemPage = createProblemPage(languages);
  const listed = [...languages.values()].map(({ code, name, dir }) => ({ code, name, dir }));
  const show = async (context: Context, data: PageData, wanted: string): Promise<Answer> => {
    const { request } = context;
    const language = findLanguage(languages, request, wanted);
    const title = language.texts[`title.${data.kind}`] ?? '';
    const { texts, code } = language;
    const body = writePage({
      language,
      title: data.sender === null ? title : `${title} – ${data.sender.name}`,
      data: { page: data, path: request.path, language: code, languages: listed, texts },
    });
    const status = data.reason === 'invalid' ? 404 : 200;
    return { status, contentType: 'text/html; charset=utf-8', body, headers: pageHeaders };
  };
  return [
    defineRoute({
      ...page,
      method: 'GET',
      path: '/recipient/{token}',
      operationId: 'showRecipientPage',
      summary: 'The page behind a recipient link',
      description:
        'Asks for the details of a destination, verifies an identity, or shows a payout, in the language of the browser. It changes nothing.',
      params: linkParams,
      response: null,
      produces: ['text/html'],
      problemPage,
      handle: async (context: Context, { params }) => {
        const { env } = context;
        const opened = await findLink(env, params.token);
        const data = await describePage(context, opened, formatLinkPath(params.token));
        return show(context, data, opened === undefined ? '' : await findUserLanguage(env, opened));
      },
    }),
    defineRoute({
      ...page,
      method: 'GET',
      path: '/verify/{token}',
      operationId: 'showVerificationPage',
      summary: 'The page behind a verification link',
      description:
        'The page that the link in an IDSelfieCollection attribute leads to, for the recipient.',
      params: verifyParams,
      response: null,
      produces: ['text/html'],
      problemPage,
      handle: async (context: Context, { params }) =>
        show(context, await describeVerification(context, params.token), ''),
    }),
    fileRoute(languages),
  ];
}

function fileRoute(languages: ReadonlyMap<string, Language>): Route<Services> {
  const assets = readAssets(languages);
  return defineRoute({
    ...page,
    method: 'GET',
    path: '/recipient/assets/{file}',
    operationId: 'getRecipientPageFile',
    summary: 'A file of the recipient pages',
    description: 'A script, a style sheet, or the texts of a language.',
    params: z.object({ file: z.string().max(100) }),
    response: null,
    produces: ['text/css', 'text/javascript', 'image/svg+xml'],
    handle: async (_context: Context, { params }) => {
      const asset = assets.get(params.file);
      if (asset === undefined) throw new AppError('not_found', 'File not found');
      return asset;
    },
  });
}

/** The language of the recipient as the client stored it; "" after an erasure. */
async function findUserLanguage(env: Services, { accountId, row }: OpenedLink): Promise<string> {
  const session = env.db.tenant(accountId);
  const user = await findUser({ session, keys: env.keys, accountId }, row.user_id);
  return user === undefined || user.erasedAt !== null ? '' : user.person.language;
}

async function describeVerification({ env }: Context, token: string): Promise<PageData> {
  const { db, keys, clock } = env;
  const linked = await findLinkedSession({ db, keys, nowMs: clock.nowMs() }, token);
  if (linked === undefined) return emptyPage(env.name);
  const { accountId } = linked;
  return {
    ...emptyPage(env.name),
    kind: 'verification',
    reason: '',
    sender: await writeSender(db.tenant(accountId), { accountId, path: `/verify/${token}` }),
    verification: await writeVerificationState(db, linked),
  };
}

const goneReasons = { EXPIRED: 'expired', REVOKED: 'revoked', USED: 'used' } as const;

async function describePage(
  { env }: Context,
  opened: OpenedLink | undefined,
  path: string,
): Promise<PageData> {
  if (opened === undefined) return emptyPage(env.name);
  const { accountId, row } = opened;
  const { db, keys, clock } = env;
  const session = db.tenant(accountId);
  const data: PageData = {
    ...emptyPage(env.name),
    sender: await writeSender(session, { accountId, path }),
    redirect_url: row.redirect_url,
    expiration: formatSecondsZ(row.expires_at),
    read_on: formatSecondsZ(new Date(clock.nowMs())),
  };
  if (row.status !== 'OPEN') return { ...data, reason: goneReasons[row.status] };
  const open = { ...data, kind: row.purpose, reason: '' as const };
  switch (row.purpose) {
    case 'payout_details': {
      const destination = findDestination(env, opened);
      if (destination === undefined) return { ...data, reason: 'not_offered' };
      return { ...open, details: writeForm(destination) };
    }
    case 'verification': {
      const state = await getUserVerification(
        { db, nowMs: clock.nowMs() },
        { accountId, userId: row.user_id },
      );
      return { ...open, verification: await writeVerificationState(db, state) };
    }
    case 'payout_status': {
      const id = { accountId, userId: row.user_id, payoutId: row.payout_id ?? '' };
      const preview = await findPayoutPreview(session, id);
      if (preview === undefined) throw new Error('a link to a payout that does not exist');
      const shown = { keys, showsCode: row.shows_pickup_code };
      return { ...open, payout: writePayoutState(preview, shown) };
    }
  }
}

/** Undefined where it is no longer offered, or its payer takes stored cards since the link was made. */
function findDestination(
  env: Services,
  { row: { destination_token: token, currency } }: OpenedLink,
): Destination | undefined {
  const payer = env.catalog.findPayer(token ?? '');
  if (payer === undefined || currency === null || !payer.currencies.includes(currency)) return;
  return payer.accountForm === 'stored_card' ? undefined : { payer, currency };
}

/** @throws AppError not_found. */
function getDestination(env: Services, opened: OpenedLink): Destination {
  const destination = findDestination(env, opened);
  if (destination !== undefined) return destination;
  throw new AppError('not_found', 'The destination of this link is no longer offered');
}

/** @throws AppError not_found, and illegal_move where the link has ended. */
async function getOpenLink(
  env: Services,
  token: string,
  purpose: OpenedLink['row']['purpose'],
): Promise<OpenedLink> {
  const opened = await findLink(env, token);
  if (opened === undefined || opened.row.purpose !== purpose) {
    throw new AppError('not_found', 'This link is not valid');
  }
  if (opened.row.status === 'OPEN') return opened;
  throw new AppError('illegal_move', 'This link was used already, or has ended');
}

function stateRoute(): Route<Services> {
  return defineRoute({
    ...page,
    method: 'GET',
    path: '/recipient/{token}/state',
    operationId: 'readRecipientPage',
    summary: 'What the page behind a recipient link shows',
    description: 'For the page itself, which reads it again while something is under way.',
    params: linkParams,
    response: pageAnswer,
    refusals: [404],
    handle: async (context: Context, { params }) => {
      const opened = await findLink(context.env, params.token);
      if (opened === undefined) throw new AppError('not_found', 'This link is not valid');
      return describePage(context, opened, formatLinkPath(params.token));
    },
  });
}

const detailsRequest = z
  .object({
    values: z
      .array(
        nestedObject(
          z.object({
            token: z.string().max(100).describe('The field'),
            value: z.string().max(1000).describe('What was typed; "" for an empty field'),
          }),
        ),
      )
      .max(50)
      .describe('The fields that the form shows'),
  })
  .meta({ id: 'RecipientDetails' });

const checkedAnswer = z
  .object({
    errors: z
      .array(
        z.object({
          token: z.string().describe('The field'),
          code: z.string().describe('The code of the fault; `required` for an empty field'),
        }),
      )
      .describe('Empty if everything is there and right'),
  })
  .meta({ id: 'CheckedDetails' });

const readToday = (env: Services): string => new Date(env.clock.nowMs()).toISOString().slice(0, 10);

function checkRoute(): Route<Services> {
  return defineRoute({
    ...page,
    method: 'POST',
    path: '/recipient/{token}/check',
    operationId: 'checkRecipientDetails',
    summary: 'Check the details of a form that is being filled in',
    description: 'Answers every fault and stores nothing.',
    params: linkParams,
    body: detailsRequest,
    response: checkedAnswer,
    refusals: [404, 409],
    handle: async ({ env }: Context, { params, body }) => {
      const opened = await getOpenLink(env, params.token, 'payout_details');
      const { values } = body;
      const faults = checkForm(getDestination(env, opened), { values, today: readToday(env) });
      return { errors: faults.map(({ token = '', code }) => ({ token, code })) };
    },
  });
}

function detailsRoute(): Route<Services> {
  return defineRoute({
    ...page,
    method: 'POST',
    path: '/recipient/{token}/details',
    operationId: 'storeRecipientDetails',
    summary: 'Store the details that a recipient gave',
    description:
      'As attribute values of the destination, by the same checks; all or none. It ends the link, and answers nothing of what is stored.',
    params: linkParams,
    body: detailsRequest,
    response: pageAnswer,
    refusals: [404, 409],
    handle: async (context: Context, { params, body }) => {
      const { env } = context;
      const opened = await getOpenLink(env, params.token, 'payout_details');
      const { accountId, row } = opened;
      const destination = getDestination(env, opened);
      const given = { row, destination, values: body.values, today: readToday(env) };
      await env.db.tenantTransaction(accountId, (session) =>
        storeDetails({ session, keys: env.keys, accountId }, given),
      );
      const used = await findLink(env, params.token);
      return describePage(context, used, formatLinkPath(params.token));
    },
  });
}

/** @throws AppError not_found, and illegal_move where no images are taken now. */
async function getOpenVerification(env: Services, token: string) {
  const { accountId, row } = await getOpenLink(env, token, 'verification');
  const { db, clock } = env;
  const user = { accountId, userId: row.user_id };
  const state = await getUserVerification({ db, nowMs: clock.nowMs() }, user);
  if (state.takesImages) return { ...state, linkId: row.id };
  throw new AppError('illegal_move', 'this link accepts no images now');
}

function imagesRoute(): Route<Services> {
  return defineRoute({
    ...page,
    method: 'POST',
    path: '/recipient/{token}/images',
    operationId: 'uploadImagesByRecipientLink',
    summary: 'Send the three images of a verification',
    description: 'What the page sends: three images, with the link as credential.',
    params: linkParams,
    admit: async (env, params) => {
      const { token } = params as z.infer<typeof linkParams>;
      const { accountId, linkId } = await getOpenVerification(env, token);
      return { accountId, linkId };
    },
    body: uploadBody,
    bodyBytesMax: uploadBytesMax,
    uploads: 'images',
    response: verificationStateAnswer,
    refusals: [404, 409, 413, 503],
    handle: async ({ env }: Context, { params, body }) => {
      const { db, keys } = env;
      const open = await getOpenVerification(env, params.token);
      const { accountId, userId, sessionId } = open;
      const images = await prepareImages(readUpload(body), env.name);
      const session = await db.tenantTransaction(accountId, (sql) =>
        submitImages({ sql, keys }, { accountId, userId, images, link: { sessionId } }),
      );
      const { id, submission, status } = session;
      const after = { ...open, sessionId: id, submission, status, takesImages: false };
      return writeVerificationState(db, after);
    },
  });
}

function receiptRoute(): Route<Services> {
  return defineRoute({
    ...page,
    method: 'GET',
    path: '/recipient/{token}/receipt',
    operationId: 'getReceiptByRecipientLink',
    summary: 'The receipt of the payout of a recipient link',
    description: 'A PDF. It has the pickup code only where the link shows it.',
    params: linkParams,
    response: null,
    produces: ['application/pdf'],
    refusals: [404, 409, 410],
    handle: async ({ env }: Context, { params }): Promise<Answer> => {
      const { accountId, row } = await getOpenLink(env, params.token, 'payout_status');
      const id = { accountId, userId: row.user_id, payoutId: row.payout_id ?? '' };
      const preview = await findPayoutPreview(env.db.tenant(accountId), id);
      if (preview === undefined) throw new AppError('not_found', 'Receipt not found');
      const shown = row.shows_pickup_code ? preview.row : { ...preview.row, pickup_code: '' };
      return {
        status: 200,
        contentType: 'application/pdf',
        body: Buffer.from(await makeReceipt({ env, accountId }, shown)),
        headers: {
          ...pageHeaders,
          'content-disposition': 'inline; filename="receipt.pdf"',
        },
      };
    },
  });
}
