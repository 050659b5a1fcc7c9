import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

/** One file of the hosted page as an answer. */
export type PageFile = {
  status: number;
  contentType: string;
  body: Buffer;
  headers: Record<string, string>;
};

/** The page and its assets by file name, in memory. */
export type PageFiles = { page: PageFile; assets: ReadonlyMap<string, PageFile> };

/** Allows the page's own files and images in its memory; nothing external and no framing. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const safeHeaders = {
  'content-security-policy': contentSecurityPolicy,
  // The address is the secret, so it must not be sent as a referrer.
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

const contentTypes: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

const folder = join(import.meta.dirname, 'page');

/** Reads the folder `page`. Throws when it is incomplete, so that a broken installation does not start. */
export function readPageFiles(): PageFiles {
  const assets = new Map<string, PageFile>();
  for (const name of readdirSync(folder)) {
    const contentType = contentTypes[extname(name)];
    if (contentType === undefined || name.includes('.test.')) continue;
    assets.set(name, {
      status: 200,
      contentType,
      body: readFileSync(join(folder, name)),
      headers: { ...safeHeaders, 'cache-control': 'public, max-age=300' },
    });
  }
  const page: PageFile = {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    body: readFileSync(join(folder, 'verify.html')),
    headers: {
      ...safeHeaders,
      'cache-control': 'no-store',
      'x-robots-tag': 'noindex, nofollow',
      'permissions-policy': 'camera=(self), microphone=(), geolocation=()',
    },
  };
  return { page, assets };
}
