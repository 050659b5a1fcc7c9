import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import readCode from 'jsqr';
import { type TOTP, URI } from 'otpauth';
import type { Page, Request } from 'playwright-core';
import sharp from 'sharp';
import {
  ask,
  expectToStay,
  findProblems,
  followLink,
  openWindow,
  picture,
  prepareStage,
  settle,
} from './kit.ts';

/** From the first start to a completed payout, by hand, with texts that would like to be code. */

const stage = prepareStage();

const script = '<script>alert(1)</script>';
const image = '"><img src=x onerror=alert(1)>';
const long = `${'long'.repeat(20)} string`;

test('a newcomer pays a new recipient, and gets a receipt', async () => {
  const { page } = stage.owner;
  await page.getByRole('link', { name: 'New payout' }).first().click();
  await page.getByRole('button', { name: 'New recipient' }).click();
  await page.getByLabel('First name').fill(script);
  await page.getByLabel('Last name').fill(image);
  await page.getByLabel('Email').fill('first@example.com');
  await page.getByLabel('Address').fill(long);
  await page.getByLabel('Country').selectOption('MEX');
  await page.getByRole('button', { name: 'Create and continue' }).click();
  await page.getByLabel('Amount to send').fill('250.25');
  await picture(page, 'destinations');
  await page.getByText('Sandbox Savings Bank Mexico').first().click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Check and continue' }).click();
  await page.getByText('Required').waitFor();
  await page.getByLabel('CLABE').fill('032180000118359719');
  await page.getByRole('button', { name: 'Check and continue' }).click();
  await page.getByLabel('Your identifier').fill(script);
  await page.getByRole('button', { name: 'Get a quote' }).click();
  await page.getByText(/The price holds for 1\d min/).waitFor();
  await picture(page, 'quote');
  await page.getByRole('button', { name: 'Commit' }).click();
  await page.getByRole('link', { name: 'Open the payout and its receipt' }).click();
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  await page.getByText('250.25').first().waitFor();
  await page.getByRole('button', { name: 'Pay it' }).click();
  await page.locator('.payout-title').getByText('Completed').waitFor();
  const [receipt] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Receipt' }).click(),
  ]);
  const bytes = await readFile(await receipt.path());
  assert.equal(bytes.subarray(0, 5).toString(), '%PDF-');
});

test('the slider shows the payout as it was, and the proof is read', async () => {
  const { page } = stage.owner;
  const slider = page.getByRole('slider');
  await slider.focus();
  await page.keyboard.press('Home');
  await page.locator('.payout-title').getByText('Quoted').waitFor();
  await page.keyboard.press('End');
  await page.locator('.payout-title').getByText('Completed').waitFor();
  await page.getByRole('button', { name: 'Show the proof' }).click();
  await page
    .getByText(/^Ledger \d+$/)
    .first()
    .waitFor();
  await page.getByText('Chosen').waitFor();
  await picture(page, 'payout');
});

test('a payout is found by the keyboard alone', async () => {
  const { page } = stage.owner;
  await page.keyboard.press('Control+k');
  // The palette is loaded when it is first wanted.
  await page.getByRole('combobox', { name: /^Search/ }).waitFor();
  await page.keyboard.type(script);
  await page.getByRole('option', { name: script }).first().waitFor();
  await picture(page, 'palette');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
});

test('a file becomes a batch: columns are matched, a cell is fixed, and it is paid', async () => {
  const { page } = stage.owner;
  const { user_token: user } = (await stage.service.demo.get<{ user_token: string }[]>('/user'))
    .body[0] ?? {
    user_token: '',
  };
  const rows = ['Invoice,User,Amount,Currency,Method', `a-1,${user},10.50,MXN,BANK_DEPOSIT`];
  const csv = [...rows, `a-2,${user},ten,MXN,BANK_DEPOSIT`].join('\n');
  await page.getByRole('link', { name: 'Batches' }).click();
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('button', { name: 'Choose a file' }).click(),
  ]);
  const buffer = Buffer.from(csv);
  await chooser.setFiles({ name: 'payroll.csv', mimeType: 'text/csv', buffer });
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByText('1 row has faults').waitFor();
  await picture(page, 'batch-faults');
  await page.getByLabel('source_amount of row 2').fill('12.25');
  await page.getByRole('button', { name: 'Check again' }).click();
  await page.getByRole('button', { name: 'Get a quote' }).click();
  await page.getByRole('button', { name: 'Commit 2 payouts' }).click();
  await page.getByText('2 of 2 committed').waitFor();
  await picture(page, 'batch');
});

test('the view of the list is in its address, and is saved under a name', async () => {
  const { page } = stage.owner;
  await page.goto(`${stage.service.baseUrl}/console/payouts`);
  await page.getByRole('link', { name: 'Completed' }).first().click();
  await page.waitForURL(/status=COMPLETED/);
  // The rows of the earlier view stay until those of the new one have come.
  const others = page.getByRole('row').filter({ hasText: 'Processing' });
  await others.first().waitFor({ state: 'detached' });
  await settle(page);
  const [, ...rows] = await page.getByRole('row').allInnerTexts();
  assert.ok(rows.length > 0 && rows.every((row) => row.includes('Completed')), rows.join());
  await page.getByRole('button', { name: 'Save this view' }).click();
  await page.getByLabel('Name').fill(image);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.goto(`${stage.service.baseUrl}/console/payouts`);
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: image }).click();
  await page.waitForURL(/status=COMPLETED/);
  await page.getByRole('button', { name: 'Forget this view' }).waitFor();
  await picture(page, 'saved-view');
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export CSV' }).click(),
  ]);
  const text = await readFile(await file.path(), 'utf8');
  assert.match(text, /,250\.25,[\d.]+,[\d.]+,USD,/);
  // An account with more payouts than a file has: each page repeats the first one, and names a next one.
  let json: unknown[] = [];
  await page.route(/\/payout\?.*number_of_records=1000/, async (route) => {
    if (json.length === 0) {
      const listed = (await (await route.fetch()).json()) as unknown[];
      json = Array.from({ length: 1000 }, () => listed[0]);
    }
    const headers = { link: '</v0.1.4/payout?cursor=more>; rel="next"' };
    return route.fulfill({ json, headers });
  });
  const [cut] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export CSV' }).click(),
  ]);
  assert.equal((await readFile(await cut.path(), 'utf8')).trim().split('\n').length, 10_001);
  await page.getByText('The file has the newest 10,000 payouts only').waitFor();
  await picture(page, 'export-cut');
  await page.unrouteAll({ behavior: 'wait' });
});

test('a request for two people is approved by another operator, and not by the requester', async () => {
  const { page } = stage.owner;
  const reason = 'Booked twice';
  await ask(page, 'POST operators', { name: 'bob', role: 'owner', reason });
  const { outcome } = await ask<{ link: string }>(page, 'POST operators/bob/invite', { reason });
  const adjustment = { currency: 'USD', amount: '-50.00', reference: script, reason };
  const { account } = stage.service.credentials;
  const asked = await ask(page, `POST accounts/${account}/adjustments`, adjustment);
  assert.equal(asked.result, 'waiting');
  await page.getByRole('link', { name: 'Approvals' }).click();
  await page.getByText('You asked for it').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
  const bob = await followLink(stage, outcome.link);
  await bob.page.getByRole('link', { name: '1 request to approve' }).click();
  await bob.page.getByText(script).waitFor();
  await bob.page.getByRole('button', { name: 'Approve' }).click();
  await bob.page.getByLabel('Reason').fill('Seen in the statement');
  await picture(bob.page, 'approval');
  await bob.page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
  await bob.page.getByText('Done', { exact: true }).waitFor();
  await bob.page.getByRole('button', { name: 'Close' }).click();
  await bob.page.getByText('No request waits').waitFor();
  await ask(page, 'PUT policies/credential', { persons: '2', reason });
  await ask(page, `POST accounts/${account}/credentials`, { kind: 'api_key', reason });
  await bob.page.getByRole('button', { name: 'Approve' }).click();
  await bob.page.getByLabel('Reason').fill('Agreed');
  await bob.page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
  await expectToStay(bob.page, 'test_');
  await picture(bob.page, 'approval-secret');
  await bob.page.getByRole('button', { name: 'Close' }).click();
  await bob.page.getByText('No request waits').waitFor();
  await bob.page.getByRole('link', { name: 'Audit log' }).click();
  const entry = bob.page.getByRole('row').filter({ hasText: 'Seen in the statement' }).first();
  await entry.getByRole('button', { name: /^Entry \d+/ }).click();
  await bob.page.getByRole('dialog').getByText(script).waitFor();
  await picture(bob.page, 'audit-entry');
  assert.deepEqual(await findProblems(bob.page, '.dialog'), []);
  await bob.page.keyboard.press('Escape');
  await picture(bob.page, 'audit');
});

test('sending is stopped and resumed, each with a reason', async () => {
  const { page } = stage.owner;
  await page.getByRole('link', { name: 'Rails' }).click();
  for (const [label, after] of [
    ['Stop sending', 'Sending is stopped'],
    ['Resume sending', 'Nothing is stopped or frozen'],
  ] as const) {
    await page.getByRole('button', { name: label }).click();
    await page.getByLabel('Reason').fill('Drill');
    await page.getByRole('dialog').getByRole('button', { name: label }).click();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByText(after).waitFor();
    await picture(page, label.toLowerCase().replace(' ', '-'));
  }
  // Stopped by another person meanwhile: the dialog still says and does what it did when it was opened.
  await page.getByRole('button', { name: 'Stop sending' }).click();
  await ask(page, 'POST sending/stop', { reason: 'Outage' });
  await page.waitForTimeout(11_000);
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('heading', { name: 'Stop sending on all rails' }).waitFor();
  await dialog.getByRole('button', { name: 'Stop sending' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Resume sending' }).waitFor();
  await ask(page, 'POST sending/resume', { reason: 'Over' });
});

/** What an app reads from the picture of the code. */
async function readQrCode(page: Page): Promise<string | undefined> {
  const shot = await page.getByRole('img', { name: /^QR code/ }).screenshot();
  const { data, info } = await sharp(shot)
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return readCode.default(new Uint8ClampedArray(data), info.width, info.height)?.data;
}

test('an operator sets a password and an authenticator, and signs in with both', async () => {
  const { page } = stage.owner;
  const password = 'correct horse battery staple';
  await page.getByRole('link', { name: 'owner' }).click();
  await page.getByRole('textbox', { name: 'Password' }).fill(password);
  await page.getByRole('button', { name: 'Set the password' }).click();
  await page.getByText('The password is set').waitFor();
  await page.getByRole('button', { name: 'Set up an authenticator' }).click();
  const uri = await page.getByRole('link', { name: 'open it on this device' }).getAttribute('href');
  assert.equal(await readQrCode(page), uri);
  const totp = URI.parse(uri ?? '') as TOTP;
  // A code counts once, and half a minute before and after its own: this one and the next one last
  // for as long as the pages between them take.
  const now = Date.now();
  await page.getByLabel('Code that the app shows').fill(totp.generate({ timestamp: now }));
  await picture(page, 'access');
  // What the page asked about its session before the end arrives after it, and must not undo it.
  const isEnd = (request: Request): boolean => request.method() === 'DELETE';
  const ended = page.waitForResponse((response) => isEnd(response.request()));
  await page.route('**/console/session', async (route) => {
    if (isEnd(route.request())) return route.continue();
    const response = await route.fetch();
    await ended;
    return route.fulfill({ response });
  });
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByText('An authenticator is set up').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Operator').fill('owner');
  await page.unrouteAll({ behavior: 'wait' });
  await page.getByLabel('Password').fill(password);
  await page.getByLabel('Code').fill(totp.generate({ timestamp: now + 30_000 }));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Your access' }).waitFor();
});

test('the clock moves and a session ends', async () => {
  const { page } = stage.owner;
  await page.getByRole('link', { name: 'Sandbox' }).click();
  await page.getByRole('slider').focus();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('button', { name: 'Move the clock' }).click();
  await page.getByText('Move it forward').waitFor();
  const other = await openWindow(stage.owner, stage.service, { isPhone: true });
  await other.page.goto(`${stage.service.baseUrl}/console`);
  await other.page.getByRole('button', { name: 'Menu' }).click();
  await other.page.getByRole('button', { name: 'Sign out' }).click();
  await other.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.deepEqual(stage.owner.faults, [], 'no error, no dialog, no other host');
});
