import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import {
  createPayout,
  createRecipient,
  deliveryCases,
  pay,
  payoutPath,
  type Recipient,
} from '../recipients.ts';
import { ok } from '../service.ts';
import {
  actAndClose,
  ask,
  findProblems,
  followLink,
  openWindow,
  picture,
  prepareStage,
  settle,
  type Visitor,
} from './kit.ts';

/** Approval rules from the draft to the release by another operator, and a back-test of routing. */

const stage = prepareStage({ fill });
let recipient: Recipient;

async function fill(): Promise<void> {
  const { demo: api } = stage.service;
  recipient = await createRecipient(api, deliveryCases.bank);
  for (const amount of [20, 700]) {
    const paid = await pay(api, recipient, { source_amount: amount });
    ok(await api.post(`/sandbox/payout/${paid.payout_token}`, { outcome: 'completed' }));
  }
}

async function go(page: Page, path: string): Promise<void> {
  await page.goto(`${stage.service.baseUrl}/console/${path}`);
  await settle(page);
}

/** A look at what the page shows now on a phone, in the dark, and back. */
async function lookOnPhone(page: Page, name: string): Promise<string[]> {
  const size = page.viewportSize();
  assert.ok(size !== null);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: 'dark' });
  await picture(page, name);
  const problems = await findProblems(page, 'main');
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: 'light' });
  return problems;
}

test('rules are written, tried on the past, and put in force', async () => {
  const { page } = stage.owner;
  await go(page, 'rules');
  await page.getByText('No rules: no payout is held.').waitFor();
  await page.getByRole('button', { name: 'Add a rule' }).click();
  await page.getByLabel('Name').fill('large');
  await page.getByLabel('Amount above').fill('much');
  await page.getByLabel('Countries').fill('MEX, BRA');
  await page.getByLabel('Metadata').fill('team=payroll, sales');
  const document = page.getByLabel('Document');
  assert.deepEqual(JSON.parse(await document.inputValue()), {
    rules: [
      {
        name: 'large',
        when: {
          amount: { currency: 'USD', above: 'much' },
          country: ['MEX', 'BRA'],
          metadata: { team: ['payroll', 'sales'] },
        },
      },
    ],
  });
  await page.getByRole('button', { name: 'Try on the past' }).click();
  const entry = page.getByRole('region', { name: 'Rule large' });
  await entry.getByText('must be an amount in USD as text').waitFor();
  await picture(page, 'rules-fault');

  const amount = { currency: 'USD', above: '500' };
  await document.fill(JSON.stringify({ rules: [{ name: 'large', when: { amount } }] }));
  assert.equal(await entry.getByLabel('Amount above').inputValue(), '500');
  assert.equal(await entry.getByLabel('Countries').inputValue(), '');
  assert.equal(await page.getByRole('button', { name: 'Put in force' }).count(), 0, 'not tried');
  await page.getByRole('button', { name: 'Try on the past' }).click();
  await page.getByText('1 of 2 payouts of the last 30 days would have been held').waitFor();
  assert.deepEqual(await findProblems(page, 'main'), []);
  assert.deepEqual(await lookOnPhone(page, 'rules-tried'), []);
  await actAndClose(page, 'Put in force', { Reason: 'Policy of the board' });
  await page.getByText('Amount: above 500.00 USD').waitFor();
  await page.getByRole('cell', { name: 'Policy of the board' }).waitFor();
  await page.getByRole('link', { name: /^payout_/ }).click();
  await page.getByText('700.00').first().waitFor();
});

test('the operator who commits a payout cannot release it, and another one can', async () => {
  const { page } = stage.owner;
  const { demo: api } = stage.service;
  const quoted = await createPayout(api, recipient, { source_amount: 501 });
  const token = quoted['payout_token'] ?? '';
  await commitAsOperator(page, payoutPath(recipient, token));
  await go(page, `payouts/${recipient.userToken}/${token}`);
  await page.getByText('This payout waits for approval').waitFor();
  await page.getByText('0 of 1 operators').waitFor();
  assert.deepEqual(await lookOnPhone(page, 'approval-payout'), []);
  await page.getByRole('button', { name: 'Release', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('Mine');
  await dialog.getByRole('button', { name: 'Release', exact: true }).click();
  await dialog.getByText('Another operator can release it; you can refund it.').waitFor();
  await picture(page, 'own-payout');

  const another = await signInAs('vera');
  await go(another.page, 'exceptions');
  await another.page.getByLabel('Kind').selectOption('approval');
  const entry = another.page.getByRole('region', { name: 'Approval' });
  await entry.getByText('Canceled unless released by').waitFor();
  await picture(another.page, 'exception-approval');
  await actAndClose(another.page, 'Release', { Reason: 'Invoice seen' });
  await entry.waitFor({ state: 'detached' });
  await go(page, `payouts/${recipient.userToken}/${token}`);
  await page.locator('.payout-title').getByText('Processing').waitFor();
  await another.context.close();
});

/** By the session of the page, so that the operator is who committed it. */
async function commitAsOperator(page: Page, path: string): Promise<void> {
  const { account } = stage.service.credentials;
  const status = await page.evaluate<number>(`(async () => {
    const { csrf } = await (await fetch('/console/session')).json();
    const headers = { 'outlay-csrf': csrf, 'outlay-account': '${account}' };
    return (await fetch('/v0.1.4${path}', { method: 'PUT', headers })).status;
  })()`);
  assert.equal(status, 200);
}

/** A new approver, by a one-time link. */
async function signInAs(name: string): Promise<Visitor> {
  const reason = 'Joined';
  await ask(stage.owner.page, 'POST operators', { name, role: 'approver', reason });
  const invited = await ask<{ link: string }>(stage.owner.page, `POST operators/${name}/invite`, {
    reason,
  });
  return followLink(stage, invited.outcome.link);
}

test('a change of routing is replayed, with what moves and what is lost', async () => {
  const { page, context } = await openWindow(stage.owner, stage.service, {});
  await go(page, 'backtest');
  await page.getByRole('button', { name: 'Change a payer' }).click();
  const entry = page.getByRole('region', { name: /^Payer / });
  await entry.getByLabel('Rail').selectOption('sandbox');
  await entry.getByLabel('Country').fill('mex');
  await entry.getByLabel('Maximum (USD)').fill('5');
  await entry.getByLabel('Minimum (USD)').fill('10');
  await page.getByRole('button', { name: 'Replay the payouts' }).click();
  await entry.getByText(/minLimit must not exceed maxLimit/).waitFor();
  await entry.getByLabel('Minimum (USD)').fill('');
  await entry.getByLabel('Maximum (USD)').fill('100');
  await page.getByLabel('Who gets a payout').selectOption('cheapest');
  assert.deepEqual(JSON.parse(await page.getByLabel('Document').inputValue()), {
    payers: [{ rail: 'sandbox', countryCode: 'MEX', maxLimit: '100' }],
    routing: { choose: 'cheapest' },
  });
  await page.getByRole('button', { name: 'Replay the payouts' }).click();
  await page.getByRole('region', { name: 'Payouts that are lost' }).waitFor();
  await page.getByRole('region', { name: 'By corridor' }).getByText('USD to MEX').waitFor();
  assert.deepEqual(await findProblems(page, 'main'), []);
  assert.deepEqual(await lookOnPhone(page, 'backtest'), []);
  await context.close();
});
