import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { findBarriers, startBrowser as startChromium } from '../chromium.ts';

/** A real browser for the pages: Chromium from npm, with a camera that shows a test picture. */

/** Where pictures of the pages are kept. */
const pictures =
  process.env['OUTLAY_SCREENSHOTS'] ?? join(import.meta.dirname, '../../.outlay/recipient-pages');
mkdirSync(pictures, { recursive: true });

export const startBrowser = (): Promise<Browser> =>
  startChromium(['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream']);

export const phone: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 2,
  hasTouch: true,
  isMobile: true,
};
export const desktop: BrowserContextOptions = { viewport: { width: 1280, height: 900 } };

export type Visit = {
  page: Page;
  /** Requests to other hosts. */
  foreign: string[];
  /** Errors of scripts and of the content security policy. */
  errors: string[];
  /** Bytes of the answers, as they were sent. */
  bytes: () => number;
  [Symbol.asyncDispose](): Promise<void>;
};

export async function visit(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = phone,
): Promise<Visit> {
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  const page = await context.newPage();
  // Generous: only what never comes waits for it.
  page.setDefaultTimeout(60_000);
  const foreign: string[] = [];
  const errors: string[] = [];
  let bytes = 0;
  page.on('request', (request) => {
    const { origin } = new URL(url);
    if (!request.url().startsWith(origin) && !/^(?:data|blob):/.test(request.url())) {
      foreign.push(request.url());
    }
  });
  page.on('response', (response) => {
    void response.body().then(
      (body) => {
        bytes += body.length;
      },
      () => undefined,
    );
  });
  page.on('console', (message) => {
    // A refused request is no error of a script.
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) {
      errors.push(message.text());
    }
  });
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(url, { waitUntil: 'networkidle' });
  return {
    page,
    foreign,
    errors,
    bytes: () => bytes,
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/**
 * Keeps a picture of the page in both color schemes, and asserts that it is accessible in both (axe,
 * WCAG 2.2 A and AA), that nothing is wider than the screen, and that nothing failed.
 */
export async function inspect(visited: Visit, name: string): Promise<void> {
  const { page, errors, foreign } = visited;
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.screenshot({ path: join(pictures, `${name}-${colorScheme}.png`), fullPage: true });
    assert.deepEqual(await findBarriers(page), [], `${name} ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
  assert.deepEqual({ isWide, errors, foreign }, { isWide: false, errors: [], foreign: [] }, name);
}
