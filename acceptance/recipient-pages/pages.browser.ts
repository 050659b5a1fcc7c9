import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import readCode from 'jsqr';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { waitUntilTrue } from '../chromium.ts';
import { runCommand } from '../commands.ts';
import {
  chooseValues,
  commitPayout,
  createPayout,
  createRecipient,
  createUser,
  type DeliveryCase,
  deliveryCases,
  findPayer,
  pay,
  readAttributes,
} from '../recipients.ts';
import {
  type Account,
  Api,
  advance,
  createAccount,
  ok,
  type Service,
  startService,
} from '../service.ts';
import { desktop, inspect, phone, startBrowser, visit } from './browser-kit.ts';

/** The pages of recipients in a real browser, with the fake camera of Chromium. */

let service: Service;
let account: Account;
let api: Api;
let browser: Browser;

const hostile = '<img src=x onerror="document.title=1">{{data}} "Sender" & Söhne';

before(async () => {
  service = await startService({ isOwn: true });
  account = await createAccount(service, { USD: '5000' });
  ({ api } = account);
  browser = await startBrowser();
  ok(
    await api.put('/account/brand', {
      display_name: 'Aurelia Remit',
      color: '#ffd400',
      privacy_url: 'https://example.org/privacy',
      logo: Buffer.from(
        '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="40"><rect width="40" height="40" rx="8" fill="#ffd400"/><path d="M8 30 20 8l12 22" fill="none" stroke="#222" stroke-width="4"/></svg>',
      ).toString('base64'),
    }),
  );
});
after(async () => {
  await browser?.close();
  await service.stop();
});

/** A credential that may decide about identities, as operators give it to reviewers. */
async function createReviewer(): Promise<Api> {
  const words = ['credential', 'create', '--kind', 'api_key', '--scopes', 'kyc:decide'];
  const { api_key: key = '' } = await runCommand(service, [
    ...words,
    '--account',
    account.credentials.account,
  ]);
  return new Api(service.baseUrl, key);
}

type Link = { url: string; link_token: string };

async function createLink(userToken: string, request: Record<string, unknown>): Promise<Link> {
  return ok(await api.post<Link>(`/user/${userToken}/link`, request));
}

async function createDetailsLink(delivery: DeliveryCase, more: Record<string, unknown> = {}) {
  const userToken = await createUser(api, { country: delivery.country });
  const payer = await findPayer(api, delivery);
  const destination = {
    userToken,
    destinationToken: payer.destination_token,
    currency: delivery.currency,
  };
  const link = await createLink(userToken, {
    purpose: 'payout_details',
    destination_token: payer.destination_token,
    currency: delivery.currency,
    ...more,
  });
  return { ...destination, ...link };
}

/** The token of an attribute is the name of its field. */
const field = (page: Page, token: string) => page.locator(`[id="${token}"]`);

test('a recipient corrects every fault at its field, by keyboard alone, and is done', async () => {
  const target = await createDetailsLink(deliveryCases.bank, {
    redirect_url: 'https://shop.example/done',
  });
  const attributes = await readAttributes(api, target);
  const values = chooseValues(deliveryCases.bank, attributes);
  await using visited = await visit(browser, target.url);
  const { page } = visited;
  await inspect(visited, 'details-phone');
  assert.ok(visited.bytes() < 100_000, `${visited.bytes()} bytes, not compressed`);
  await page.getByRole('button', { name: 'Send my details' }).press('Enter');
  await page.locator('#summary').waitFor();
  assert.equal(await page.evaluate('document.activeElement.id'), 'summary');
  await inspect(visited, 'details-faults-phone');
  const clabe = attributes.find(({ type }) => type === 'BankAccountNumber');
  assert.ok(clabe);
  await field(page, clabe.token).fill('002180751413798300');
  await page.keyboard.press('Tab');
  const fault = page.locator(`[id="${clabe.token}-fault"]`);
  await fault.filter({ hasText: 'check digit' }).waitFor();
  assert.equal(await field(page, clabe.token).getAttribute('aria-invalid'), 'true');
  await page.getByLabel('Language').selectOption('es');
  await page.getByRole('heading', { level: 1, name: /datos/i }).waitFor();
  // What was typed survives the change of language.
  assert.equal(await field(page, clabe.token).inputValue(), '002180751413798300');
  await page.getByLabel('Idioma').selectOption('en');
  for (const { token, value } of values) {
    const input = field(page, token);
    const isSelect = await input.evaluate((node) => node.nodeName === 'SELECT');
    await (isSelect ? input.selectOption(value) : input.fill(value));
  }
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Thank you' }).waitFor();
  assert.equal(await page.locator('main a').getAttribute('href'), 'https://shop.example/done');
  await inspect(visited, 'details-done-phone');
  const stored = await readAttributes(api, target);
  const kept = stored.find(({ token }) => token === clabe.token);
  assert.equal(kept?.value, values.find(({ token }) => token === clabe.token)?.value);
  await page.reload();
  await page.getByText('already used').waitFor();
  await inspect(visited, 'gone-phone');
});

test('every kind of destination has a form without barriers, in both directions', async () => {
  for (const [name, delivery, lang] of [
    ['cash', deliveryCases.cash, 'fr'],
    ['wallet', deliveryCases.wallet, 'hi'],
    ['crypto', deliveryCases.crypto, 'ja'],
    ['pix', { country: 'BRA', deliveryType: 'BANK_DEPOSIT', currency: 'BRL' }, 'pt'],
    ['arabic', { country: 'ARE', deliveryType: 'BANK_DEPOSIT', currency: 'AED' }, 'ar'],
  ] as const) {
    const { url } = await createDetailsLink(delivery);
    for (const [size, options] of Object.entries({ phone, desktop })) {
      await using visited = await visit(browser, `${url}?lang=${lang}`, options);
      await visited.page.getByRole('button').first().click();
      await visited.page.locator('#summary').waitFor();
      assert.equal(
        await visited.page.evaluate('document.documentElement.dir'),
        lang === 'ar' ? 'rtl' : 'ltr',
      );
      await inspect(visited, `details-${name}-${lang}-${size}`);
    }
  }
});

/** What a reviewer names in a decision. */
async function findUpload(reviewer: Api, userToken: string) {
  type Pending = { user_token: string; session_id: string; submission: number };
  const pending = ok(await reviewer.get<Pending[]>('/identity/pending'));
  const found = pending.find(({ user_token: token }) => token === userToken);
  return { session_id: found?.session_id, submission: found?.submission };
}

async function takeAll(page: Page): Promise<void> {
  for (const step of [1, 2, 3]) {
    await page.getByText(`Step ${step} of 3`).waitFor();
    await page.getByRole('button', { name: 'Open the camera' }).click();
    await page.locator('.keep').waitFor();
    await page.getByRole('button', { name: 'Take the picture' }).click();
    await page.getByRole('button', { name: 'Use this picture' }).click();
  }
}

test('a recipient takes three pictures, is declined with a reason, and tries again', async () => {
  const reviewer = await createReviewer();
  const userToken = await createUser(api);
  const { url } = await createLink(userToken, { purpose: 'verification' });
  await using visited = await visit(browser, url);
  const { page } = visited;
  await inspect(visited, 'verification-start-phone');
  await page.getByLabel('Passport').check();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Picture page of your passport' }).waitFor();
  await inspect(visited, 'verification-step-phone');
  await page.getByRole('button', { name: 'Open the camera' }).click();
  await page.locator('video').waitFor();
  await page.getByRole('button', { name: 'Take the picture' }).isEnabled();
  await inspect(visited, 'verification-camera-phone');
  const shown = await page.locator('.keep').boundingBox();
  await page.getByRole('button', { name: 'Take the picture' }).click();
  await waitUntilTrue(page, "document.querySelector('.frame img')?.naturalWidth > 0");
  const kept = await page
    .locator('.frame img')
    .evaluate((image: { naturalWidth: number; naturalHeight: number }) => [
      image.naturalWidth,
      image.naturalHeight,
    ]);
  // The picture has the form of the frame, because it is what the frame showed.
  const [width = 0, height = 1] = kept;
  assert.ok(shown !== null && Math.abs(width / height - shown.width / shown.height) < 0.02);
  await inspect(visited, 'verification-preview-phone');
  await page.goBack();
  await page.getByRole('heading', { name: 'Picture page of your passport' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'Verify your identity' }).waitFor();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('Step 2 of 3').waitFor();
  for (const step of [2, 3]) {
    await page.getByText(`Step ${step} of 3`).waitFor();
    await page.getByRole('button', { name: 'Open the camera' }).click();
    await page.getByRole('button', { name: 'Take the picture' }).click();
    await page.getByRole('button', { name: 'Use this picture' }).click();
  }
  await page.getByRole('heading', { name: 'Check your pictures' }).waitFor();
  await inspect(visited, 'verification-review-phone');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('heading', { name: 'Under review' }).waitFor();
  await inspect(visited, 'verification-submitted-phone');
  ok(
    await reviewer.post(`/user/${userToken}/kyc/id/decision`, {
      ...(await findUpload(reviewer, userToken)),
      decision: 'declined',
      decided_by: 'Ada',
      reason: 'the corner is missing',
      recipient_reason: 'cut',
    }),
  );
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByText('Part of the document was cut off').waitFor();
  assert.doesNotMatch(await page.locator('main').innerText(), /corner is missing/);
  await inspect(visited, 'verification-declined-phone');
  await page.getByRole('button', { name: 'Continue' }).click();
  await takeAll(page);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('heading', { name: 'Under review' }).waitFor();
  ok(
    await reviewer.post(`/user/${userToken}/kyc/id/decision`, {
      ...(await findUpload(reviewer, userToken)),
      decision: 'approved',
      decided_by: 'Ada',
      reason: 'matches',
    }),
  );
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByRole('heading', { name: 'You are verified' }).waitFor();
  await inspect(visited, 'verification-approved-phone');
});

test('a camera that opens after the recipient went back is switched off at once', async () => {
  const userToken = await createUser(api);
  const { url } = await createLink(userToken, { purpose: 'verification' });
  await using visited = await visit(browser, url);
  const { page } = visited;
  await page.getByRole('button', { name: 'Continue' }).click();
  const heading = page.getByRole('heading', { name: 'Front of your document' });
  await heading.waitFor();
  await page.evaluate(`{
    const { mediaDevices } = navigator;
    const open = mediaDevices.getUserMedia.bind(mediaDevices);
    mediaDevices.getUserMedia = async (wanted) => {
      const stream = await open(wanted);
      await new Promise((resolve) => { window.answerQuestion = resolve; });
      window.opened = stream;
      return stream;
    };
  }`);
  await page.getByRole('button', { name: 'Open the camera' }).click();
  await waitUntilTrue(page, 'window.answerQuestion !== undefined');
  await page.goBack();
  await page.evaluate('window.answerQuestion()');
  await waitUntilTrue(
    page,
    "window.opened?.getTracks().every(({ readyState }) => readyState === 'ended') === true",
  );
  assert.equal(await page.locator('video').count(), 0);
  await heading.waitFor();
});

test('the camera is switched off while the page is not seen', async () => {
  const userToken = await createUser(api);
  const { url } = await createLink(userToken, { purpose: 'verification' });
  await using visited = await visit(browser, url);
  const { page } = visited;
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Open the camera' }).click();
  await page.locator('video').waitFor();
  await page.evaluate(`{
    window.opened = document.querySelector('video').srcObject;
    Object.defineProperty(document, 'visibilityState', { value: 'hidden' });
    document.dispatchEvent(new Event('visibilitychange'));
  }`);
  await waitUntilTrue(
    page,
    "window.opened.getTracks().every(({ readyState }) => readyState === 'ended')",
  );
  await page.getByRole('button', { name: 'Open the camera' }).waitFor();
});

test('a computer hands over to a phone by a code, and notices when the phone is done', async () => {
  const userToken = await createUser(api);
  const { url } = await createLink(userToken, { purpose: 'verification' });
  await using visited = await visit(browser, url, desktop);
  const { page } = visited;
  await inspect(visited, 'verification-start-desktop');
  await page.getByRole('button', { name: 'Use my phone instead' }).click();
  await page.locator('.qr svg').waitFor();
  await inspect(visited, 'verification-handoff-desktop');
  const shot = sharp(await page.locator('.qr').screenshot()).ensureAlpha();
  const { data, info } = await shot.raw().toBuffer({ resolveWithObject: true });
  const code = readCode.default(new Uint8ClampedArray(data), info.width, info.height);
  assert.equal(code?.data, url);
  await using other = await visit(browser, code.data);
  await other.page.getByRole('button', { name: 'Continue' }).click();
  await takeAll(other.page);
  await other.page.getByRole('button', { name: 'Send' }).click();
  await other.page.getByRole('heading', { name: 'Under review' }).waitFor();
  await page.getByRole('heading', { name: 'Under review' }).waitFor();
});

test('the old verification link leads to the same page, also without a camera', async () => {
  const recipient = await createRecipient(api, deliveryCases.cash, { query: 'amount=1500' });
  const payout = await createPayout(api, recipient, { source_amount: 1500 });
  const asked = await commitPayout(api, recipient, payout['payout_token']);
  assert.equal(asked.status, 'addtl_attr_req');
  const attributes = await readAttributes(api, {
    userToken: recipient.userToken,
    destinationToken: recipient.payer.destination_token,
    currency: 'MXN',
  });
  const link = attributes.find(({ type }) => type === 'IDSelfieCollection')?.value ?? '';
  assert.match(link, /\/verify\//);
  await using visited = await visit(browser, link);
  const { page } = visited;
  await page.getByRole('button', { name: 'Continue' }).click();
  const dark = sharp({ create: { width: 900, height: 600, channels: 3, background: '#101010' } });
  await page.locator('#file').setInputFiles({
    name: 'dark.png',
    mimeType: 'image/png',
    buffer: await dark.png().toBuffer(),
  });
  await page.getByText('looks too dark').waitFor();
  await inspect(visited, 'verification-hint-phone');
  await page.getByRole('button', { name: 'Take another' }).waitFor();
});

test('a recipient follows a payment to the counter, and the code is shown only where wanted', async () => {
  const recipient = await createRecipient(api, deliveryCases.cash);
  const { payout_token: payoutToken } = await pay(api, recipient);
  const request = { purpose: 'payout_status', payout_token: payoutToken };
  const plain = await createLink(recipient.userToken, request);
  const open = await createLink(recipient.userToken, { ...request, shows_pickup_code: true });
  await using visited = await visit(browser, `${plain.url}?lang=ar`);
  await visited.page.getByRole('heading', { level: 1 }).waitFor();
  await inspect(visited, 'status-processing-ar-phone');
  await advance(api, 3600);
  ok(await api.get(`/payout/${recipient.userToken}/${payoutToken}?force_status_update=true`));
  const { pickup_code: code } = ok(
    await api.get<{ pickup_code: string }>(`/payout/${recipient.userToken}/${payoutToken}`),
  );
  await visited.page.reload({ waitUntil: 'networkidle' });
  await inspect(visited, 'status-ready-ar-phone');
  const digits = async (page: Page) => (await page.locator('main').innerText()).replace(/\D/g, '');
  assert.ok(code.length === 8 && !(await digits(visited.page)).includes(code));
  for (const [size, options] of Object.entries({ phone, desktop })) {
    await using second = await visit(browser, open.url, options);
    assert.ok((await digits(second.page)).includes(code));
    assert.equal(await second.page.getByText('Expected by').count(), 0, 'it is there already');
    await inspect(second, `status-ready-${size}`);
  }
  const receipt = await fetch(`${plain.url}/receipt`, { headers: { accept: 'application/pdf' } });
  assert.equal(receipt.headers.get('content-type'), 'application/pdf');
  ok(await api.post(`/sandbox/payout/${payoutToken}`, { outcome: 'completed' }));
  ok(await api.post(`/sandbox/payout/${payoutToken}`, { outcome: 'returned' }));
  await using returned = await visit(browser, plain.url);
  const { page } = returned;
  await page.getByRole('heading', { level: 1, name: 'Returned', exact: true }).waitFor();
  await page.getByText('The money went back to the sender').waitFor();
  await inspect(returned, 'status-returned-phone');
});

test('a recipient sees which part of a payment went back', async () => {
  const recipient = await createRecipient(api, deliveryCases.cash);
  const { payout_token: payoutToken } = await pay(api, recipient);
  const request = { purpose: 'payout_status', payout_token: payoutToken };
  const { url } = await createLink(recipient.userToken, request);
  await using visited = await visit(browser, url);
  const { page } = visited;
  // The sandbox returns whole payments only.
  await page.route('**/state', async (route) => {
    const response = await route.fetch();
    const data = (await response.json()) as { payout: object };
    const payout = { ...data.payout, status: 'CANCELLED', returned_amount: '7.5' };
    await route.fulfill({ response, json: { ...data, payout } });
  });
  await page.getByRole('button', { name: 'Refresh' }).click();
  await page.getByRole('heading', { level: 1, name: 'Returned in part' }).waitFor();
  await page.getByText(/A part of the money went back: .*7\.50/).waitFor();
  await inspect(visited, 'status-returned-in-part-phone');
});

test('hostile names of senders and recipients stay text, in the page and in its title', async () => {
  ok(await api.put('/account/brand', { display_name: hostile }));
  const { url } = await createDetailsLink(deliveryCases.bank);
  await using visited = await visit(browser, `${url}?lang=%3Cscript%3E`);
  const { page } = visited;
  assert.ok((await page.title()).includes('{{data}}'));
  assert.ok((await page.locator('.sender').innerText()).includes('<img src=x'));
  assert.equal(await page.locator('main img, header img[src="x"]').count(), 0);
  await inspect(visited, 'hostile-phone');
});
