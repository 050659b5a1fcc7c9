import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { createRecipient, deliveryCases, pay } from '../recipients.ts';
import { type Service, startService } from '../service.ts';
import {
  assertAccessible,
  openVisitor,
  openWindow,
  picture,
  settle,
  signIn,
  startBrowser,
  type Visitor,
} from './kit.ts';

/** Every page, wide and narrow, light and dark: axe finds nothing, and nothing is cut off. */

let service: Service;
let browser: Browser;
let owner: Visitor;
let paths: Record<string, string>;

before(async () => {
  service = await startService({ isOwn: true });
  browser = await startBrowser();
  owner = await signIn(browser, service);
  const { demo: api } = service;
  const bank = await createRecipient(api, deliveryCases.bank);
  const wallet = await createRecipient(api, deliveryCases.wallet);
  const paid = await pay(api, bank, { metadata: { invoice: '<b>2041</b>' } });
  const rejected = await pay(api, wallet);
  await api.post(`/sandbox/payout/${paid.payout_token}`, { outcome: 'completed' });
  await api.post(`/sandbox/payout/${rejected.payout_token}`, { outcome: 'rejected' });
  await pay(api, bank, { source_amount: 12.5 });
  paths = {
    overview: '',
    payouts: '/payouts',
    'payouts-none': '/payouts?status=HOLD',
    completed: `/payouts/${bank.userToken}/${paid.payout_token}`,
    canceled: `/payouts/${wallet.userToken}/${rejected.payout_token}`,
    'payout-unknown': `/payouts/${bank.userToken}/payout_unknown`,
    pay: '/pay',
    recipients: '/recipients',
    recipient: `/recipients/${bank.userToken}`,
    batches: '/batches',
    exceptions: '/exceptions',
    approvals: '/approvals',
    rails: '/rails',
    audit: '/audit',
    access: '/access',
    webhooks: '/webhooks',
    sandbox: '/sandbox',
    'not-found': '/nothing-here',
  };
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** Both widths and both palettes are checked once; of the other pairs there are pictures. */
const looks = [
  { name: 'desk-light', colorScheme: 'light', isPhone: false, isWhole: true },
  { name: 'phone-dark', colorScheme: 'dark', isPhone: true, isWhole: true },
  { name: 'desk-dark', colorScheme: 'dark', isPhone: false, isWhole: false },
  { name: 'phone-light', colorScheme: 'light', isPhone: true, isWhole: false },
] as const;

const shown = new Set(['overview', 'payouts', 'completed', 'pay']);

for (const look of looks) {
  test(`every page holds: ${look.name}`, async () => {
    const { page, context, faults } = await openWindow(owner, service, look);
    const wanted = Object.entries(paths).filter(([name]) => look.isWhole || shown.has(name));
    for (const [name, path] of wanted) {
      await page.goto(`${service.baseUrl}/console${path}`);
      await settle(page);
      await picture(page, `${name}-${look.name}`);
      if (look.isWhole) await assertAccessible(page, `${name}, ${look.name}`);
    }
    // A payout that does not exist, and a kind of work that the role may not see.
    assert.deepEqual(
      faults.filter((fault) => !/40[34]/.test(fault)),
      [],
    );
    await context.close();
  });
}

test('the sign-in holds, and without a session nothing else is shown', async () => {
  const { page } = await openVisitor(browser, service, {});
  await page.goto(`${service.baseUrl}/console/payouts`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await picture(page, 'sign-in');
  await assertAccessible(page, 'sign-in');
  await page.getByLabel('Operator').fill('<script>alert(1)</script>');
  await page.getByLabel('Password').fill('not the password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  await picture(page, 'sign-in-refused');
});

test('the page allows no script but its own', async () => {
  const reply = await fetch(`${service.baseUrl}/console`);
  const policy = reply.headers.get('content-security-policy') ?? '';
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
  const again = await fetch(`${service.baseUrl}/console`);
  assert.notEqual(again.headers.get('content-security-policy'), policy, 'a nonce is used once');
});
