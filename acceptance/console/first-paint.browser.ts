import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { heads } from '../../web/console/src/shell/heads.ts';
import { createRecipient, deliveryCases, pay } from '../recipients.ts';
import { findProblems, openVisitor, openWindow, picture, prepareStage, settle } from './kit.ts';

/** What a page shows before its program runs, and that nothing moves when the program takes over. */

const stage = prepareStage({ fill });
let payout: string;

async function fill(): Promise<void> {
  const bank = await createRecipient(stage.service.demo, deliveryCases.bank);
  const { payout_token: token } = await pay(stage.service.demo, bank);
  await stage.service.demo.post(`/sandbox/payout/${token}`, { outcome: 'completed' });
  payout = `/payouts/${bank.userToken}/${token}`;
}

type Box = { text: string; left: number; top: number; height: number };

/** The heading, the line below it, and the brand, which is in the bar of a phone. */
function readHead(page: Page): Promise<Box[]> {
  return page.evaluate<Box[]>(`[...document.querySelectorAll('main h1, .page-head p, .brand')]
    .filter((node) => node.offsetParent !== null)
    .map((node) => {
    const { left, top, height } = node.getBoundingClientRect();
    return { text: node.textContent, left, top, height };
  })`);
}

const pages = Object.values(heads).flatMap(({ path, ...head }) =>
  'lead' in head && !path.includes('$') ? [path] : [],
);

for (const isPhone of [false, true]) {
  test(`headings are there before the program, and stay: ${isPhone ? 'phone' : 'desk'}`, async () => {
    const early = await openWindow(stage.owner, stage.service, { isPhone });
    await early.page.route(/assets\/.*\.js$/, (route) => route.abort());
    const late = await openWindow(stage.owner, stage.service, { isPhone });
    for (const path of pages) {
      await early.page.goto(`${stage.service.baseUrl}/console${path}`);
      await early.page.evaluate('document.fonts.ready.then(() => undefined)');
      await late.page.goto(`${stage.service.baseUrl}/console${path}`);
      await settle(late.page);
      const painted = await readHead(early.page);
      assert.equal(painted.length, 3, path);
      assert.deepEqual(painted, (await readHead(late.page)).slice(0, 3), path);
    }
    await picture(early.page, `first-paint-${isPhone ? 'phone' : 'desk'}`);
    assert.equal(await early.page.locator('.frame[data-environment="staging"]').count(), 1);
    await early.context.close();
    await late.context.close();
  });
}

test('without a session the first paint is the sign-in', async () => {
  const { page, context } = await openVisitor(stage.browser, stage.service, { isPhone: true });
  await page.route(/assets\/.*\.js$/, (route) => route.abort());
  await page.goto(`${stage.service.baseUrl}/console/payouts`);
  await page.getByText('Every payout, from quote to proof.').waitFor();
  await picture(page, 'first-paint-sign-in');
  assert.equal(await page.locator('main h1').count(), 0);
  await context.close();
});

test('what the page asked for early is not asked for again', async () => {
  const { page, context } = await openWindow(stage.owner, stage.service, {});
  const asked: string[] = [];
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (/^\/(?:v0|console\/session)/.test(pathname)) asked.push(pathname + search);
  });
  for (const path of ['', '/payouts', payout]) {
    asked.length = 0;
    await page.goto(`${stage.service.baseUrl}/console${path}`);
    await settle(page);
    const early = await page.evaluate<string[]>(
      `(document.querySelector('meta[name="outlay-reads"]')?.content ?? '').split(' ')`,
    );
    assert.ok(early.length > 0);
    assert.equal(await page.evaluate<number>('outlayReads.size'), 0, `${path}: all were taken`);
    assert.deepEqual(asked.toSorted(), [...new Set(asked)].toSorted(), `${path}: each once`);
  }
  await context.close();
});

test('a phone loads the map of the overview when it comes into sight', async () => {
  const { page, context } = await openWindow(stage.owner, stage.service, { isPhone: true });
  const maps: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/corridor-map-')) maps.push(request.url());
  });
  await page.goto(`${stage.service.baseUrl}/console`);
  await settle(page);
  const place = page.getByRole('region', { name: 'Where the money goes' });
  await place.waitFor();
  assert.deepEqual(maps, []);
  await place.scrollIntoViewIfNeeded();
  await place.locator('svg path').first().waitFor();
  assert.equal(maps.length, 1);
  await context.close();
});

test('nothing moves while a page is loaded', async () => {
  const moved: string[] = [];
  for (const isPhone of [false, true]) {
    const { page, context } = await openWindow(stage.owner, stage.service, { isPhone });
    await page.addInitScript(`globalThis.shift = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) globalThis.shift += entry.value;
      }).observe({ type: 'layout-shift', buffered: true });`);
    for (const path of [...pages, payout]) {
      await page.goto(`${stage.service.baseUrl}/console${path}`);
      await settle(page);
      const shift = await page.evaluate<number>('globalThis.shift');
      if (shift > 0.05) moved.push(`${path} ${isPhone ? 'phone' : 'desk'} ${shift}`);
    }
    await context.close();
  }
  assert.deepEqual(moved, []);
});

test('live is marked by word, edge and title, and has no sandbox', async () => {
  for (const isPhone of [false, true]) {
    const { page, context } = await openWindow(stage.owner, stage.service, { isPhone });
    await page.route('**/console/session', async (route) => {
      const response = await route.fetch();
      const session = (await response.json()) as Record<string, unknown>;
      await route.fulfill({ response, json: { ...session, environment: 'live' } });
    });
    for (const path of ['', '/payouts', '/pay']) {
      await page.goto(`${stage.service.baseUrl}/console${path}`);
      await settle(page);
      const bar = page.locator(isPhone ? '.topbar' : '.sidebar').first();
      await bar.getByText('LIVE', { exact: true }).waitFor();
      assert.equal(await page.locator('.frame[data-environment="live"]').count(), 1);
      assert.match(await page.title(), /^LIVE · /);
      const edge = `getComputedStyle(document.querySelector('.frame')).borderTopColor`;
      assert.equal(await page.evaluate<string>(edge), 'rgb(179, 32, 44)');
      assert.equal(await page.getByRole('link', { name: 'Sandbox' }).count(), 0);
      assert.equal(await page.getByText('Staging').count(), 0);
    }
    await picture(page, `live-${isPhone ? 'phone' : 'desk'}`);
    assert.deepEqual(await findProblems(page, 'html'), []);
    await context.close();
  }
});

test('the names of a page of payouts are one request', async () => {
  for (let count = 0; count < 3; count += 1) {
    await pay(stage.service.demo, await createRecipient(stage.service.demo, deliveryCases.bank));
  }
  const { page, context } = await openWindow(stage.owner, stage.service, {});
  const asked: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (/^\/v[\d.]+\/user\b/.test(pathname)) asked.push(pathname);
  });
  await page.goto(`${stage.service.baseUrl}/console/payouts`);
  await settle(page);
  assert.equal(await page.locator('tbody').getByText('Ana').count(), 4);
  assert.deepEqual(
    asked.map((path) => path.replace(/^\/v[\d.]+/, '')),
    ['/user'],
  );
  await context.close();
});

test('the steps of a payout stay where they are while recipients are read', async () => {
  for (const isPhone of [false, true]) {
    const { page, context } = await openWindow(stage.owner, stage.service, { isPhone });
    await page.addInitScript(`globalThis.shift = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) globalThis.shift += entry.value;
      }).observe({ type: 'layout-shift', buffered: true });`);
    await page.route(/\/user\?/, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      await route.continue();
    });
    await page.goto(`${stage.service.baseUrl}/console/pay`);
    await page.getByRole('list', { name: 'Recipients' }).getByText('Ana').nth(3).waitFor();
    await page.waitForTimeout(200);
    assert.equal(await page.evaluate<number>('globalThis.shift'), 0, isPhone ? 'phone' : 'desk');
    await picture(page, `pay-recipients-${isPhone ? 'phone' : 'desk'}`);
    await context.close();
  }
});
