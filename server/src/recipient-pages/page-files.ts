import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { escapeMarkup } from '../core/markup.ts';
import type { Language } from './languages.ts';

/** One file of the pages as an answer. */
export type PageFile = {
  status: number;
  contentType: string;
  body: Buffer | string;
  headers: Record<string, string>;
};

/** Allows the page's own files and images in its memory; nothing external, nothing inline. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
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

export const pageHeaders = {
  ...safeHeaders,
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
  'permissions-policy': 'camera=(self), microphone=(), geolocation=()',
};

const contentTypes: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const folder = join(import.meta.dirname, 'page');
const assetHeaders = { ...safeHeaders, 'cache-control': 'public, max-age=300' };

/**
 * The files that the page loads, by name, in memory. Throws when one is missing, so that a broken
 * installation does not start.
 */
export function readAssets(
  languages: ReadonlyMap<string, Language>,
): ReadonlyMap<string, PageFile> {
  const assets = new Map<string, PageFile>();
  const add = (name: string, contentType: string, body: Buffer): void => {
    assets.set(name, { status: 200, contentType, body, headers: assetHeaders });
  };
  for (const name of readdirSync(folder)) {
    const contentType = contentTypes[extname(name)];
    if (contentType !== undefined) add(name, contentType, readFileSync(join(folder, name)));
  }
  for (const { code, texts } of languages.values()) {
    const body = Buffer.from(JSON.stringify(texts));
    add(`${code}.json`, 'application/json; charset=utf-8', body);
  }
  // Draws the code that leads from a computer to a phone; as the package publishes it.
  const codes = readFileSync(
    createRequire(import.meta.url)
      .resolve('uqr')
      .replace(/cjs$/, 'mjs'),
  );
  add('uqr.js', 'text/javascript; charset=utf-8', codes);
  return assets;
}

/** Writes the page with its data inside, which nothing in them can leave. */
export function createPageWriter(): (page: {
  language: Language;
  title: string;
  data: object;
}) => string {
  const template = readFileSync(join(folder, 'page.html'), 'utf8');
  return ({ language, title, data }) => {
    const values: Readonly<Record<string, string>> = {
      lang: language.code,
      dir: language.dir,
      title: escapeMarkup(title),
      noscript: escapeMarkup(language.texts['needsScript'] ?? ''),
      data: JSON.stringify(data).replaceAll('<', '\\u003c'),
    };
    // In one pass, so that a value that looks like a place stays what it is.
    return template.replaceAll(/"\{\{(data)\}\}"|\{\{([a-z]+)\}\}/g, (_match, inner, name) => {
      return values[String(inner ?? name)] ?? '';
    });
  };
}
