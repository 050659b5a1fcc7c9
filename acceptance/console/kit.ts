import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import packedChromium from '@sparticuz/chromium';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { Service } from '../service.ts';

/** The console in a real Chromium: signing in, looking at pages, and what no page may have. */

/** Where the pictures are kept, as artefacts of a run. */
const pictures =
  process.env['OUTLAY_PICTURES'] ?? join(import.meta.dirname, '../../.outlay/console');

const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

export const sizes = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

/** @throws Error where this machine has no browser: on others than Linux on x64. */
export async function startBrowser(): Promise<Browser> {
  const unwanted = new Set(['--single-process', '--no-zygote', '--disable-web-security']);
  return chromium.launch({
    executablePath: await packedChromium.executablePath(),
    args: packedChromium.args.filter((argument) => !unwanted.has(argument)),
  });
}

export type Visitor = {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors of the console and of scripts, and requests to other hosts. */
  readonly faults: string[];
};

/** Signs in by the one-time link that the service printed at its start. */
export async function signIn(browser: Browser, service: Service): Promise<Visitor> {
  const link = /http:\S+\/console#link=\S+/.exec(service.output())?.[0];
  assert.ok(link !== undefined, 'the service prints a link to the console');
  const visitor = await openVisitor(browser, service, {});
  const { page, faults } = visitor;
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  assert.ok(!page.url().includes('link='), 'the address keeps no link');
  // Without a session the first question is answered 401, which the browser reports.
  faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes('401')));
  return visitor;
}

type Look = { colorScheme?: 'light' | 'dark'; isPhone?: boolean };

/** Another window of the same session. */
export async function openWindow(
  { context: from }: Visitor,
  service: Service,
  look: Look,
): Promise<Visitor> {
  const browser = from.browser();
  assert.ok(browser !== null);
  const visitor = await openVisitor(browser, service, look);
  await visitor.context.addCookies(await from.cookies());
  return visitor;
}

/** A window without a session. */
export async function openVisitor(
  browser: Browser,
  service: Service,
  { colorScheme = 'light', isPhone = false }: Look,
): Promise<Visitor> {
  const context = await browser.newContext({
    viewport: isPhone ? sizes.phone : sizes.desk,
    hasTouch: isPhone,
    colorScheme,
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(service.baseUrl) && !/^(?:data|blob):/.test(url)) faults.push(url);
  });
  return { context, page, faults };
}

/** Ready when nothing is loading any more. @throws Error after 15 seconds. */
export async function settle(page: Page): Promise<void> {
  await page.locator('main h1').waitFor();
  for (let tries = 0; tries < 300; tries += 1) {
    if ((await page.locator('.skeleton').count()) === 0) return;
    await sleep(50);
  }
  throw new Error(`${page.url()} is still loading`);
}

export async function picture(page: Page, name: string): Promise<void> {
  await mkdir(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

type Violation = { id: string; nodes: { target: string[] }[] };

/** @throws AssertionError with what axe finds, and where the page is wider than its window. */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  // As an expression, because the page's policy allows no script that is added to it.
  const axe = await readFile(axeFile, 'utf8');
  const found = await page.evaluate<Violation[]>(
    `${axe};axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  );
  const words = found.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join()}`);
  assert.deepEqual(words, [], `${name}: axe`);
  const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  assert.ok(excess <= 0, `${name} is ${excess} px wider than its window`);
}
