import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createRecipient, deliveryCases, pay, payoutPath } from '../recipients.ts';
import type { Service } from '../service.ts';
import { createIncidents, prepareCounterparties, waitForAttempt } from './incidents.ts';
import {
  ask,
  findProblems,
  openVisitor,
  openWindow,
  picture,
  prepareStage,
  settle,
} from './kit.ts';

/** Every page, wide and narrow, light and dark: axe finds nothing, and nothing is cut off. */

const counterparties = prepareCounterparties();
const stage = prepareStage({ settings: counterparties.settings, fill });
let paths: Record<string, string>;

async function fill(): Promise<void> {
  const { demo: api } = stage.service;
  const bank = await createRecipient(api, deliveryCases.bank);
  const wallet = await createRecipient(api, deliveryCases.wallet);
  const paid = await pay(api, bank, { metadata: { invoice: '<b>2041</b>' } });
  const rejected = await pay(api, wallet);
  await waitForAttempt(stage.service, payoutPath(bank, paid.payout_token));
  await api.post(`/sandbox/payout/${paid.payout_token}`, { outcome: 'completed' });
  await api.post(`/sandbox/payout/${rejected.payout_token}`, { outcome: 'rejected' });
  await pay(api, bank, { source_amount: 12.5 });
  const incidents = await createIncidents(stage.service, counterparties);
  await prepareControls(stage.owner.page, stage.service);
  const hold = { until: '2199-01-01', reason: 'Inquiry 7' };
  await ask(stage.owner.page, `POST recipients/${incidents.verified}/holds`, hold);
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
    rules: '/rules',
    backtest: '/backtest',
    identities: '/identities',
    identity: `/identities/${incidents.verified}`,
    'identity-none': `/identities/${bank.userToken}`,
    screening: '/screening',
    'screening-of': `/screening?of=${incidents.listed}`,
    inbound: '/inbound',
    statements: '/statements',
    reconciliation: '/reconciliation',
    rails: '/rails',
    freezes: '/freezes',
    suspense: '/suspense',
    limits: '/limits',
    prices: '/prices',
    holds: '/holds',
    policies: '/policies',
    recovery: '/recovery',
    operators: '/operators',
    'api-keys': '/api-keys',
    audit: '/audit',
    access: '/access',
    webhooks: '/webhooks',
    sandbox: '/sandbox',
    'not-found': '/nothing-here',
  };
}
after(() => counterparties.remove());

/** A freeze, a limit, a second operator, a key with a budget, and a request for a second operator. */
async function prepareControls(page: Page, { credentials: { account } }: Service): Promise<void> {
  const reason = 'Drill';
  await ask(page, 'POST freezes/corridor', {
    country: 'KEN',
    delivery_type: 'MOBILE_WALLET',
    reason,
  });
  await ask(page, 'POST operators', { name: 'bob', role: 'compliance', reason });
  const made = { kind: 'api_key', scopes: 'payouts:propose payouts:read', reason };
  const budget = { currency: 'USD', per_proposal: '250', per_day: '1000' };
  await ask(page, `POST accounts/${account}/credentials`, { ...made, ...budget });
  const adjustment = { currency: 'USD', amount: '-50.00', reference: 'case 7', reason };
  await ask(page, `POST accounts/${account}/adjustments`, adjustment);
  const limit = { per: 'account', usd: '50000', count: '500', reason };
  await ask(page, `PUT accounts/${account}/limits/daily`, limit);
}

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
    const { page, context, faults } = await openWindow(stage.owner, stage.service, look);
    const problems: string[] = [];
    const wanted = Object.entries(paths).filter(([name]) => look.isWhole || shown.has(name));
    for (const [name, path] of wanted) {
      await page.goto(`${stage.service.baseUrl}/console${path}`);
      await settle(page);
      await picture(page, `${name}-${look.name}`);
      if (!look.isWhole) continue;
      // The frame is the same on every page, and is looked at once.
      const within = name === 'overview' ? 'html' : 'main';
      const found = await findProblems(page, within);
      problems.push(...found.map((problem) => `${name}: ${problem}`));
    }
    assert.deepEqual(problems, []);
    // A payout that does not exist, and a kind of work that the role may not see.
    assert.deepEqual(
      faults.filter((fault) => !/40[34]/.test(fault)),
      [],
    );
    await context.close();
  });
}

for (const { name, colorScheme, isPhone } of looks.filter(({ isWhole }) => isWhole)) {
  test(`every step of a payout holds: ${name}`, async () => {
    const { page, context, faults } = await openWindow(stage.owner, stage.service, {
      colorScheme,
      isPhone,
    });
    const problems: string[] = [];
    const look = async (step: string): Promise<void> => {
      await settle(page);
      await picture(page, `pay-${step}-${name}`);
      problems.push(...(await findProblems(page, 'main')).map((found) => `${step}: ${found}`));
    };
    await page.goto(`${stage.service.baseUrl}/console/pay`);
    await page.getByText('Ana Gómez').first().click();
    await page.getByLabel('Country').selectOption('MEX');
    await page.getByLabel('Amount to send').fill('250.25');
    await page.getByText('Sandbox Savings Bank Mexico').first().waitFor();
    await look('destinations');
    await page.getByText('Sandbox Savings Bank Mexico').first().click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('CLABE').waitFor();
    await look('details');
    await page.getByLabel('CLABE').fill('123');
    await page.getByRole('button', { name: 'Check and continue' }).click();
    await page.locator('.fault').first().waitFor();
    await look('faults');
    await page.getByLabel('CLABE').fill('032180000118359719');
    await page.getByRole('button', { name: 'Check and continue' }).click();
    await page.getByRole('button', { name: 'Get a quote' }).click();
    await page.getByText(/The price holds for 1\d min/).waitFor();
    await look('quote');
    assert.deepEqual(problems, []);
    assert.deepEqual(
      faults.filter((fault) => !/40[034]|422/.test(fault)),
      [],
    );
    await context.close();
  });
}

for (const look of looks) {
  test(`a payout shows what other ways would pay, the first of them at once: ${look.name}`, async () => {
    const { page, context, faults } = await openWindow(stage.owner, stage.service, look);
    await page.goto(`${stage.service.baseUrl}/console${paths['completed']}`);
    await settle(page);
    const fold = page.locator('details', { hasText: 'Other ways to pay, at the prices of' });
    const table = fold.getByRole('group', { name: 'Other ways to pay' });
    assert.equal(await table.isVisible(), false, 'folded');
    await fold.locator('summary').click();
    const rows = table.locator('tbody tr');
    await rows.nth(7).waitFor();
    assert.equal(await rows.count(), 8);
    await rows.last().scrollIntoViewIfNeeded();
    await picture(page, `other-ways-${look.name}`);
    const button = fold.getByRole('button', { name: /^Show all \d+$/ });
    const total = Number(/\d+/.exec((await button.textContent()) ?? '')?.[0]);
    await button.click();
    await button.waitFor({ state: 'detached' });
    await rows.nth(8).waitFor();
    assert.equal(await rows.count(), total);
    await rows.last().scrollIntoViewIfNeeded();
    await picture(page, `other-ways-all-${look.name}`);
    const chain = rows.filter({ hasText: 'Cryptocurrency' }).first();
    assert.match(await chain.innerText(), /\bon \w+/, 'with the network of its token');
    assert.deepEqual(await findProblems(page, 'main'), []);
    assert.deepEqual(faults, []);
    await context.close();
  });
}

test('the sign-in holds, and without a session nothing else is shown', async () => {
  const { page } = await openVisitor(stage.browser, stage.service, {});
  await page.goto(`${stage.service.baseUrl}/console/payouts`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await picture(page, 'sign-in');
  assert.deepEqual(await findProblems(page), []);
  await page.getByLabel('Operator').fill('<script>alert(1)</script>');
  await page.getByLabel('Password').fill('not the password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').waitFor();
  await picture(page, 'sign-in-refused');
});

test('the page allows no script but its own', async () => {
  const reply = await fetch(`${stage.service.baseUrl}/console`);
  const policy = reply.headers.get('content-security-policy') ?? '';
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
  const again = await fetch(`${stage.service.baseUrl}/console`);
  assert.notEqual(again.headers.get('content-security-policy'), policy, 'a nonce is used once');
});
