import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { ask, picture, prepareStage, settle } from './kit.ts';

/** What a person meets when something goes wrong: answers that are lost, sessions that end. */

const stage = prepareStage();

/** As far as the quote, for a new recipient. */
async function quote(page: Page): Promise<void> {
  await page.goto(`${stage.service.baseUrl}/console/pay`);
  await page.getByRole('button', { name: 'New recipient' }).click();
  await page.getByLabel('First name').fill('Ana');
  await page.getByLabel('Last name').fill('G\u202Emez');
  await page.getByLabel('Email').fill('ana@example.com');
  await page.getByLabel('Country').selectOption('MEX');
  await page.getByRole('button', { name: 'Create and continue' }).click();
  // The mark reverses what follows it on a screen.
  await page
    .getByText(/must not contain invisible characters/)
    .first()
    .waitFor();
  await page.getByLabel('Last name').fill('Gómez');
  await page.getByRole('button', { name: 'Create and continue' }).click();
  const amount = page.getByLabel('Amount to send');
  await amount.fill('10,50');
  await page.getByText('The amount must have its decimals behind a point').waitFor();
  await picture(page, 'amount-refused');
  await amount.fill('10.50');
  await page.getByText('Sandbox Savings Bank Mexico').first().click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('CLABE').fill('032180000118359719');
  await page.getByRole('button', { name: 'Check and continue' }).click();
  await page.getByRole('button', { name: 'Get a quote' }).click();
  await page.getByText(/The price holds for/).waitFor();
}

type Listed = { status: string; source_amount: unknown };

test('a commit whose answer is lost is looked up, and pays once', async () => {
  const { page } = stage.owner;
  const { demo } = stage.service;
  await quote(page);
  let isLost = true;
  const commits: string[] = [];
  // The service does its work, and nothing of its answers arrives.
  await page.route(/\/payout\/[^/?]+\/[^/?]+$/, async (route) => {
    const request = route.request();
    if (request.method() !== 'GET') commits.push(request.url());
    if (!isLost) return route.continue();
    if (request.method() !== 'GET') await route.fetch();
    return route.abort('connectionreset');
  });
  await page.getByRole('button', { name: 'Commit', exact: true }).click();
  await page.getByText('The outcome is not known').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Get a new quote' }).count(), 0);
  await picture(page, 'outcome-unknown');
  isLost = false;
  await page.getByRole('button', { name: 'Look up the outcome' }).click();
  await page.getByRole('link', { name: 'Open the payout and its receipt' }).waitFor();
  assert.equal(new Set(commits).size, 1, 'always the same payout');
  const { body } = await demo.get<Listed[]>('/payout');
  const paid = body.filter(({ status }) => status !== 'PENDING');
  assert.equal(paid.length, 1);
  await page.unrouteAll({ behavior: 'wait' });
});

test('a session that ended leads to the form to sign in, and back to the page', async () => {
  const { page, context } = stage.owner;
  const { baseUrl } = stage.service;
  // A page of the operators' part, and one of the clients' part of the API.
  for (const path of ['/rails', '/payouts?status=COMPLETED']) {
    await page.goto(`${baseUrl}/console${path}`);
    await settle(page);
    const cookies = await context.cookies();
    await context.clearCookies();
    await page.getByRole('link', { name: 'Audit' }).first().hover();
    await page.getByRole('link', { name: 'Exceptions' }).first().click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.match(page.url(), /\/console\/exceptions$/);
    assert.equal(await page.getByRole('alert').count(), 0);
    await picture(page, 'session-ended');
    await context.addCookies(cookies);
    await page.reload();
    await page.getByRole('heading', { name: 'Exceptions', exact: true }).waitFor();
  }
});

test('a page of a list that is lost says so, and is read again', async () => {
  const { page } = stage.owner;
  for (const country of ['KEN', 'MEX']) {
    await ask(page, 'POST freezes/corridor', { country, reason: `Drill of ${country}` });
  }
  let isLost = true;
  await page.route(/\/operator\/freezes\b/, async (route) => {
    const url = route.request().url();
    if (isLost && url.includes('cursor=')) return route.abort('connectionreset');
    return route.continue({ url: `${url}${url.includes('?') ? '&' : '?'}limit=1` });
  });
  await page.goto(`${stage.service.baseUrl}/console/freezes`);
  await page.getByText('Drill of MEX').waitFor();
  await page.getByRole('button', { name: 'Show more' }).click();
  await page.getByText('The service did not answer').waitFor();
  await page.getByText('Drill of MEX').waitFor();
  await picture(page, 'more-lost');
  isLost = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Drill of KEN').waitFor();
  assert.equal(await page.getByText('The service did not answer').count(), 0);
  await page.unrouteAll({ behavior: 'wait' });
});

test('an act whose answer is lost says that it may have been done', async () => {
  const { page } = stage.owner;
  await page.route(/\/operator\/sending\/stop$/, async (route) => {
    await route.fetch();
    return route.abort('connectionreset');
  });
  await page.goto(`${stage.service.baseUrl}/console/freezes`);
  await page.getByRole('button', { name: 'Stop sending' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('Drill');
  await dialog.getByRole('button', { name: 'Stop sending' }).click();
  await dialog.getByText('It may have been done all the same').waitFor();
  await picture(page, 'act-lost');
  assert.equal(await dialog.getByText('paid once').count(), 0, 'it is no payout');
  await dialog.getByRole('button', { name: 'Back' }).click();
  await page.getByText('Sending is stopped').first().waitFor();
  await page.unrouteAll({ behavior: 'wait' });
  // Without a network an act fails at once: it is not kept, and done when the network is back.
  await page.context().setOffline(true);
  await page.getByRole('button', { name: 'Resume sending' }).click();
  await dialog.getByLabel('Reason').fill('Over');
  await dialog.getByRole('button', { name: 'Resume sending' }).click();
  await dialog.getByText('The service did not answer').waitFor();
  await page.context().setOffline(false);
  await page.keyboard.press('Escape');
  await page.getByText('Sending is stopped').first().waitFor();
});

test('a sign-out that the service did not confirm says so, and is tried again', async () => {
  const { page } = stage.owner;
  await page.goto(`${stage.service.baseUrl}/console`);
  await settle(page);
  await page.route('**/console/session', (route) =>
    route.request().method() === 'DELETE'
      ? route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' })
      : route.continue(),
  );
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You may still be signed in').waitFor();
  await picture(page, 'sign-out-failed');
  await page.unrouteAll({ behavior: 'wait' });
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
});
