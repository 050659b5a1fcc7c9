import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import packedChromium from '@sparticuz/chromium';
import { type Browser, chromium, type Page } from 'playwright-core';
import { type Service, startService } from './service.ts';

/** The reference page in a real browser: it shows the interface, and asks nobody else for anything. */

let service: Service;
let browser: Browser | undefined;

before(async () => {
  service = await startService();
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await service.stop();
});

/** Undefined where the packed browser does not run: it is built for Linux on x64. */
async function startBrowser(): Promise<Browser | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const unwanted = new Set(['--single-process', '--no-zygote', '--disable-web-security']);
  return chromium.launch({
    executablePath: await packedChromium.executablePath(),
    args: packedChromium.args.filter((argument) => !unwanted.has(argument)),
  });
}

type Visit = { page: Page; foreign: string[]; complaints: string[] };

async function visit(on: Browser, path: string, width: number): Promise<Visit> {
  const page = await on.newPage({ viewport: { width, height: 900 } });
  const foreign: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(service.baseUrl) && !/^(?:data|blob):/.test(url)) foreign.push(url);
  });
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(service.baseUrl + path, { waitUntil: 'networkidle' });
  return { page, foreign, complaints };
}

for (const width of [1360, 390]) {
  test(`the reference shows an operation at a width of ${width}, from this host alone`, async () => {
    if (browser === undefined) return;
    const { page, foreign, complaints } = await visit(browser, '/docs#tag/payouts', width);
    await page.getByRole('heading', { name: 'Create a payout' }).first().waitFor();
    const text = await page.locator('body').innerText();
    assert.match(text, /client_transfer_id|payouts:create|\/payout\/\{user_token\}/);
    assert.deepEqual({ foreign, complaints }, { foreign: [], complaints: [] });
    await page.close();
  });
}

test('a problem page fits a telephone', async () => {
  if (browser === undefined) return;
  const { page, foreign, complaints } = await visit(browser, '/problems/user_exists', 390);
  assert.equal(await page.locator('h1').innerText(), 'The user exists');
  const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
  assert.deepEqual({ isWide, foreign, complaints }, { isWide: false, foreign: [], complaints: [] });
  await page.close();
});
