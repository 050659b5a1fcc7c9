import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { findBarriers, startBrowser } from './chromium.ts';
import { type Service, startService } from './service.ts';

/** The reference page in a real browser: it shows the API without requests to other hosts. */

let service: Service;
let browser: Browser | undefined;

before(async () => {
  service = await startService();
  // Built for Linux on x64.
  if (process.platform === 'linux' && process.arch === 'x64') browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await service.stop();
});

type Visit = { page: Page; foreign: string[]; errors: string[] };

async function visit(on: Browser, path: string, width: number): Promise<Visit> {
  const page = await on.newPage({ viewport: { width, height: 900 } });
  const foreign: string[] = [];
  const errors: string[] = [];
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(service.baseUrl) && !/^(?:data|blob):/.test(url)) foreign.push(url);
  });
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(service.baseUrl + path, { waitUntil: 'networkidle' });
  return { page, foreign, errors };
}

test('the reference shows an operation, wide and narrow, from this host alone', async () => {
  if (browser === undefined) return;
  const { page, foreign, errors } = await visit(browser, '/docs#tag/payouts', 1360);
  for (const width of [1360, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await page.getByRole('heading', { name: 'Create a payout' }).first().waitFor();
    const text = await page.locator('body').innerText();
    assert.match(text, /client_transfer_id|payouts:create|\/payout\/\{user_token\}/);
  }
  assert.deepEqual({ foreign, errors }, { foreign: [], errors: [] });
  await page.close();
});

test('the front page and the pages of codes have no barrier, wide and narrow, light and dark', async () => {
  if (browser === undefined) return;
  const paths = ['/', '/docs', '/problems', '/problems/no_such_code'];
  for (const code of [
    'insufficient_funds',
    'unknown_parameter',
    'user_erased',
    'ex_rate_expired',
  ]) {
    paths.push(`/problems/${code}`);
  }
  const found: string[] = [];
  for (const width of [1360, 390]) {
    const colorScheme = width === 390 ? 'dark' : 'light';
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
    for (const path of paths) {
      await page.goto(service.baseUrl + path, { waitUntil: 'networkidle' });
      if (path === '/docs') await page.getByText('A payout in six calls').first().waitFor();
      const brands = await page.getByRole('link', { name: 'Outlay', exact: true }).count();
      if (brands !== 1) found.push(`${path} shows the brand ${brands} times`);
      const excess = await page.evaluate<number>(
        'document.documentElement.scrollWidth - innerWidth',
      );
      if (excess > 0) found.push(`${path} is ${excess} px too wide at ${width}`);
      found.push(...(await findBarriers(page)).map((barrier) => `${path}: ${barrier}`));
    }
    await page.close();
  }
  assert.deepEqual(found, []);
});

test('a problem page fits a phone', async () => {
  if (browser === undefined) return;
  const { page, foreign, errors } = await visit(browser, '/problems/user_exists', 390);
  assert.equal(await page.locator('h1').innerText(), 'The user already exists');
  const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
  assert.deepEqual({ isWide, foreign, errors }, { isWide: false, foreign: [], errors: [] });
  await page.close();
});
