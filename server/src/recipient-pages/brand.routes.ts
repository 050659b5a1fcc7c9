import { z } from 'zod';
import { type BrandRow, getBrand, setBrand } from '../accounts/accounts.ts';
import type { EnvironmentName } from '../core/access.ts';
import { AppError, throwFaults } from '../core/errors.ts';
import { isHttpsUrl } from '../core/https-url.ts';
import { findCharacterFault } from '../core/plain-text.ts';
import { type BaseServices, defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { prepareLogo } from '../kyc/logo.ts';
import { makeTones } from './brand.ts';

/** The API of an account's brand: how receipts, notices and pages show the sender. */

type Context = RouteContext<BaseServices>;

const logoCharactersMax = 1_400_000;
const bodyBytesMax = 1_500_000;
const tag = 'Account';

const tonesAnswer = z
  .object({
    light: z.string().describe('#rrggbb of texts and lines on a light page, at least 4.5 to 1'),
    dark: z.string().describe('#rrggbb of texts and lines on a dark page, at least 4.5 to 1'),
    fill: z.string().describe('#rrggbb of filled buttons: the color itself'),
    on_fill: z.string().describe('#rrggbb of texts on them'),
  })
  .nullable()
  .describe('What pages make of the color; null for the default');

const brandAnswer = z
  .object({
    sender_name: z.string().describe('As recipients see it: display_name, or else the account'),
    display_name: z.string().describe('"" where none is set'),
    color: z.string().describe('#rrggbb, or "" for the default'),
    tones: tonesAnswer,
    logo: z.string().describe('PNG in Base64, or ""'),
    privacy_url: z.string().describe('"" where none is set'),
  })
  .meta({ id: 'Brand' });

const brandRequest = z
  .object({
    display_name: z
      .string()
      .max(200)
      .refine((name) => name === name.trim() && findCharacterFault(name) === undefined, {
        error: 'must be visible characters, without spaces around them',
      })
      .optional()
      .describe('The sender; "" for the name of the account'),
    color: z
      .string()
      .regex(/^(?:#[0-9a-f]{6})?$/, { error: 'must be # and six hexadecimal digits in lower case' })
      .optional()
      .describe('#rrggbb of buttons and lines; "" for the default'),
    logo: z
      .string()
      .max(logoCharactersMax)
      .optional()
      .describe(
        'A PNG, JPEG or SVG picture as padded Base64; "" removes it. It is drawn anew as a PNG of at most 600 by 200 pixels',
      ),
    privacy_url: z
      .string()
      .max(500)
      .refine((url) => url === '' || isHttpsUrl(url), { error: 'must be an address with https://' })
      .optional()
      .describe('Your notice about data protection; "" removes it'),
  })
  .meta({ id: 'BrandRequest' });

export function brandRoutes(): Route<BaseServices>[] {
  return [readRoute(), changeRoute()];
}

function writeBrand(row: BrandRow): z.infer<typeof brandAnswer> {
  return {
    sender_name: row.sender_name,
    display_name: row.display_name,
    color: row.brand_color,
    tones: makeTones(row.brand_color) ?? null,
    logo: row.brand_logo.toString('base64'),
    privacy_url: row.privacy_url,
  };
}

function readRoute(): Route<BaseServices> {
  return defineRoute({
    method: 'GET',
    path: '/account/brand',
    isVersioned: true,
    operationId: 'readBrand',
    tag,
    summary: 'Read how recipients see you',
    description: 'The sender of receipts, notices and pages.',
    access: 'bearer',
    response: brandAnswer,
    handle: async ({ env, accountId }: Context) =>
      writeBrand(await getBrand(env.db.tenant(accountId), accountId)),
  });
}

function changeRoute(): Route<BaseServices> {
  return defineRoute({
    method: 'PUT',
    path: '/account/brand',
    isVersioned: true,
    operationId: 'changeBrand',
    tag,
    summary: 'Change how recipients see you',
    description: 'What is absent stays as it is.',
    access: 'brand:write',
    body: brandRequest,
    bodyBytesMax,
    uploads: 'images',
    response: brandAnswer,
    refusals: [413, 503],
    handle: async ({ env, accountId, write }: Context, { body }) => {
      const logo = body.logo === undefined ? undefined : await readLogo(body.logo, env.name);
      return write(async (session) => {
        await setBrand(session, {
          accountId,
          displayName: body.display_name,
          color: body.color,
          logo,
          privacyUrl: body.privacy_url,
        });
        return writeBrand(await getBrand(session, accountId));
      });
    },
  });
}

/** @throws AppError invalid_request, unavailable. */
async function readLogo(text: string, environmentName: EnvironmentName): Promise<Buffer> {
  if (text === '') return Buffer.alloc(0);
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) {
    const detail = 'logo must be Base64 (RFC 4648 section 4), padded, without white space';
    throwFaults([{ pointer: '/logo', code: 'invalid_base64', detail }]);
  }
  const logo = await prepareLogo(bytes, environmentName);
  if (logo !== undefined) return logo;
  throw new AppError('invalid_request', 'logo must be a PNG, JPEG or SVG picture', {
    faults: [
      {
        pointer: '/logo',
        code: 'unsupported_image',
        detail: 'logo must be a PNG, JPEG or SVG picture, whole and of at most 40 megapixels',
      },
    ],
  });
}
