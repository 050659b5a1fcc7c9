import { getBrand } from '../accounts/accounts.ts';
import { AppError } from '../core/errors.ts';
import {
  type Answer,
  type BaseServices,
  defineRoute,
  type Route,
  type RouteContext,
} from '../http/route.ts';
import { findLinkSession } from '../kyc/verification-link.ts';
import { findLink } from './links.ts';
import { pageHeaders } from './page-files.ts';
import { linkParams, page, verifyParams } from './page-paths.ts';

/** The sender's picture on the pages. A link that has ended still names its sender. */

type Context = RouteContext<BaseServices>;

export function logoRoutes(): Route<BaseServices>[] {
  const logo = {
    ...page,
    method: 'GET' as const,
    summary: "The sender's picture on the page",
    description: 'A PNG.',
    response: null,
    produces: ['image/png'],
    refusals: [404],
  };
  return [
    defineRoute({
      ...logo,
      path: '/recipient/{token}/logo',
      operationId: 'getLogoByRecipientLink',
      params: linkParams,
      handle: async ({ env }: Context, { params }) =>
        answerLogo(env, (await findLink(env, params.token))?.accountId),
    }),
    defineRoute({
      ...logo,
      path: '/verify/{token}/logo',
      operationId: 'getLogoByVerificationLink',
      params: verifyParams,
      handle: async ({ env }: Context, { params }) =>
        answerLogo(env, findLinkSession(env.keys, params.token)?.accountId),
    }),
  ];
}

/** @throws AppError not_found for an unknown link, and where there is no picture. */
async function answerLogo(env: BaseServices, accountId: string | undefined): Promise<Answer> {
  const brand =
    accountId === undefined ? undefined : await getBrand(env.db.tenant(accountId), accountId);
  const body = brand?.brand_logo;
  if (body === undefined || body.length === 0) throw new AppError('not_found', 'Logo not found');
  const headers = { ...pageHeaders, 'cache-control': 'private, max-age=3600' };
  return { status: 200, contentType: 'image/png', body, headers };
}
