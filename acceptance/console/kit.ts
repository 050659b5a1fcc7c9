import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { findBarriers, startBrowser } from '../chromium.ts';
import { type Service, type StartOptions, startService } from '../service.ts';

/** The console in a real Chromium: signing in, looking at pages, and what no page may have. */

/** Where the pictures are kept, as artefacts of a run. */
const pictures =
  process.env['OUTLAY_PICTURES'] ?? join(import.meta.dirname, '../../.outlay/console');

export const sizes = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

export type Visitor = {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors of the console and of scripts, and requests to other hosts. */
  readonly faults: string[];
};

export type Stage = {
  readonly service: Service;
  readonly browser: Browser;
  /** The first owner, signed in. */
  readonly owner: Visitor;
};

type Settings = NonNullable<StartOptions['settings']>;

type StageOptions = Pick<StartOptions, 'recovers'> & {
  settings?: Settings | (() => Promise<Settings>);
  /** Puts there what the suite looks at. Hooks of a file begin at the same time, so it is none. */
  fill?: () => Promise<void>;
};

/**
 * What every suite plays on: a service of its own, a browser, and its owner in the console. It is open
 * before the first test, and until the last one has ended.
 */
export function prepareStage({ settings = {}, fill, ...options }: StageOptions = {}): Stage {
  const parts = new AsyncDisposableStack();
  let opened: Stage | undefined;
  before(async () => {
    const given = typeof settings === 'function' ? await settings() : settings;
    const service = await startService({ isOwn: true, settings: given, ...options });
    parts.defer(() => service.stop());
    const browser = await startBrowser();
    parts.defer(() => browser.close());
    opened = { service, browser, owner: await signIn(browser, service) };
    await fill?.();
  });
  after(() => parts.disposeAsync());
  return new Proxy({} as Stage, {
    get: (_target, name) => {
      assert.ok(opened !== undefined, 'a hook opens the stage before the first test');
      return Reflect.get(opened, name);
    },
  });
}

type Answer<Outcome> = { result: string; outcome: Outcome };

/** Calls the operators' API (`POST operators`) by the session of the page, as its own scripts do. */
export async function ask<Outcome = unknown>(
  page: Page,
  request: string,
  body: object,
): Promise<Answer<Outcome>> {
  const [method = '', path = ''] = request.split(' ');
  const call = `(async () => {
    const { csrf } = await (await fetch('/console/session')).json();
    const headers = { 'content-type': 'application/json', 'outlay-csrf': csrf };
    const body = ${JSON.stringify(JSON.stringify(body))};
    const reply = await fetch('/v0.1.4/operator/${path}', { method: '${method}', headers, body });
    const answer = await reply.json();
    if (!reply.ok) throw new Error(answer.detail);
    return answer;
  })()`;
  return page.evaluate<Answer<Outcome>>(call);
}

/** Opens the dialog of a button, fills it, confirms, and closes what it says then. */
export async function actAndClose(
  page: Page,
  label: string,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  await page.getByRole('button', { name: label, exact: true }).first().click();
  const dialog = page.getByRole('dialog');
  for (const [name, value] of Object.entries(values)) {
    const field = dialog.getByLabel(name).first();
    const isList = (await field.and(page.locator('select')).count()) > 0;
    await (isList ? field.selectOption(value) : field.fill(value));
  }
  await dialog.getByRole('button', { name: label, exact: true }).click();
  await dialog.getByText(/^(?:Done|Waits for a second operator)$/).waitFor();
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
}

/** A secret that is shown once ends by its own button only, although the page behind it is read again. */
export async function expectToStay(page: Page, text: string): Promise<void> {
  const shown = page.getByRole('dialog').getByText(text);
  await shown.waitFor();
  // Lists are read every ten seconds.
  await page.waitForTimeout(11_000);
  assert.equal(await shown.count(), 1, 'it stays while the page is read again');
  await page.mouse.click(5, 5);
  await page.keyboard.press('Escape');
  await page.waitForTimeout(500);
  assert.equal(await shown.count(), 1, 'neither a click beside it nor Escape closes it');
}

/** Signs in by the one-time link that the service printed at its start. */
async function signIn(browser: Browser, service: Service): Promise<Visitor> {
  const link = /http:\S+\/console#link=\S+/.exec(service.output())?.[0];
  assert.ok(link !== undefined, 'the service prints a link to the console');
  const visitor = await followLink({ browser, service }, link);
  const { page, faults } = visitor;
  assert.ok(!page.url().includes('link='), 'the address keeps no link');
  // Without a session the first question is answered 401, which the browser reports.
  faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes('401')));
  return visitor;
}

/** A window of the operator who was given the link. */
export async function followLink(
  { browser, service }: Pick<Stage, 'browser' | 'service'>,
  link: string,
): Promise<Visitor> {
  const visitor = await openVisitor(browser, service, {});
  await visitor.page.goto(link);
  await visitor.page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await visitor.page.getByRole('heading', { name: 'Overview' }).waitFor();
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
  // Generous: only what never comes waits for it.
  page.setDefaultTimeout(60_000);
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`${message.text()} ${message.location().url}`);
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

/** Ready when nothing is loading. @throws Error after a minute. */
export async function settle(page: Page): Promise<void> {
  await page.locator('main h1').waitFor();
  for (let tries = 0; tries < 1_200; tries += 1) {
    if ((await page.locator('.skeleton').count()) === 0) return;
    await sleep(50);
  }
  throw new Error(`${page.url()} is still loading`);
}

export async function picture(page: Page, name: string): Promise<void> {
  await mkdir(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

/** What axe finds, and whether the page is wider than its window; empty where all is well. */
export async function findProblems(page: Page, within?: string): Promise<string[]> {
  const barriers = await findBarriers(page, within);
  const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  return excess <= 0 ? barriers : [...barriers, `${excess} px wider than its window`];
}
