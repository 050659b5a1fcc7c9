import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { readValues } from '../documented-values.ts';
import { createRecipient, deliveryCases, pay, payoutPath } from '../recipients.ts';
import { advance, daySeconds, ok } from '../service.ts';
import {
  createIncidents,
  drawFaces,
  hostileName,
  type Incidents,
  prepareCounterparties,
  waitForAttempt,
} from './incidents.ts';
import {
  actAndClose,
  ask,
  expectToStay,
  followLink,
  picture,
  prepareStage,
  settle,
  type Visitor,
} from './kit.ts';

/** What operators decide and control, with real hits, images, files of a bank and lost answers. */

const counterparties = prepareCounterparties();
const stage = prepareStage({
  settings: { ...counterparties.settings, OUTLAY_FACE_SIMILARITY: 'shown' },
  fill,
});
let incidents: Incidents;

async function fill(): Promise<void> {
  const { demo: api } = stage.service;
  const bank = await createRecipient(api, deliveryCases.bank);
  const paid = await pay(api, bank, { source_amount: 20 });
  ok(await api.post(`/sandbox/payout/${paid.payout_token}`, { outcome: 'completed' }));
  incidents = await createIncidents(stage.service, counterparties);
}
after(() => counterparties.remove());

async function go(label: string): Promise<Visitor['page']> {
  const { page } = stage.owner;
  await page.goto(`${stage.service.baseUrl}/console`);
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: label }).click();
  await page.getByRole('heading', { level: 1, name: label }).waitFor();
  await settle(page);
  return page;
}

test('an identity is decided after a look at the images, beside each other and larger', async () => {
  const page = await go('Identities');
  await page.getByRole('link', { name: 'Anna Eriksson' }).click();
  await page.getByLabel('Why you look at the images').fill('Review of today');
  await page.getByRole('button', { name: 'Show the images' }).click();
  const images = page.getByRole('img', { name: /^(?:Document|Face)/ });
  await images.nth(2).waitFor();
  const places = await Promise.all([0, 1, 2].map((at) => images.nth(at).boundingBox()));
  const [first, second, third] = places.map((box) => box?.x ?? 0);
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  assert.ok(first < second && second < third, 'beside each other');
  await picture(page, 'identity-side-by-side');
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await page.getByText('150 %').waitFor();
  const readWidth = async () => (await images.first().boundingBox())?.width ?? 0;
  const wanted = (places[0]?.width ?? 0) * 1.4;
  let width = await readWidth();
  for (let tries = 0; width <= wanted && tries < 40; tries += 1) {
    await page.waitForTimeout(50);
    width = await readWidth();
  }
  assert.ok(width > wanted, 'larger');
  await page.getByRole('button', { name: 'Turn: Document front' }).click();
  await picture(page, 'identity-images');
  await actAndClose(page, 'Ask for other images', {
    'Message to the recipient': 'glare',
    Reason: 'Glare hides the number',
  });
  await page.getByText('Resubmission requested').first().waitFor();
  await page.getByText('Glare hides the number').waitFor();
  const log = await go('Audit log');
  await log.getByText('identity view').first().waitFor();
});

const inDays = (days: number): string =>
  new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

test('the similarity of faces is shown and does not decide; a later upload is not decided unseen', async () => {
  const { demo: api } = stage.service;
  const { userToken } = await createRecipient(api, deliveryCases.cash);
  const upload = async () => ok(await api.post(`/user/${userToken}/kyc/id`, await drawFaces()));
  await upload();
  const { page } = stage.owner;
  const panel = page.locator('section', { hasText: 'Face and portrait, by a model' }).last();
  const load = () => page.goto(`${stage.service.baseUrl}/console/identities/${userToken}`);
  for (let tries = 0; tries < 60; tries += 1) {
    await load();
    await panel.getByText('This does not decide').waitFor();
    if ((await panel.getByText('The faces are being compared').count()) === 0) break;
    await page.waitForTimeout(2_000);
  }
  await panel.getByText('High', { exact: true }).waitFor();
  await picture(page, 'identity-faces');
  await page.getByText('Upload 1, changed').waitFor();
  await upload();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('The same face');
  await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
  await dialog.getByText('number 2, not 1').waitFor();
  const refusals = stage.owner.faults.splice(0);
  assert.equal(refusals.length, 1, refusals.join('; '));
  assert.match(refusals[0] ?? '', /409 .*\/decision$/);
  await page.keyboard.press('Escape');
  await page.getByText('The recipient has uploaded other images since').waitFor();
  await load();
  await page.getByText('Upload 2, changed').waitFor();
  await actAndClose(page, 'Decline', { Reason: 'Another person' });
  await page.getByText('Declined').first().waitFor();
});

test('a sanctions hit shows its evidence, and the payout goes on once it is cleared', async () => {
  const page = await go('Screening');
  await page.getByText('Timofey Arkadyevich ZVEROVSKY').first().waitFor();
  await page.getByText('ofac_sdn', { exact: true }).waitFor();
  await picture(page, 'screening-evidence');
  await page.getByRole('link', { name: 'Look at the hits' }).first().waitFor();
  await actAndClose(page, 'Clear until a date', { Until: inDays(30), Reason: 'Another person' });
  await page.getByText('ofac_sdn/101').first().waitFor();
  await page.getByRole('button', { name: 'End', exact: true }).waitFor();
  await page.getByText('No recipient waits').waitFor();
  await actAndClose(page, 'Release', { Reason: 'Another date of birth' });
  await page.getByText('No hit waits').waitFor();
  await page.goto(`${stage.service.baseUrl}/console/recipients/${incidents.listed}`);
  await page.getByRole('link', { name: 'Screening' }).last().click();
  await page.getByText('Results, newest first').waitFor();
});

test('an exception is decided, and a name with markup stays text', async () => {
  const page = await go('Exceptions');
  const entry = page.getByRole('region', { name: 'Unknown outcome' });
  await entry.getByText(hostileName).waitFor();
  await actAndClose(page, 'It was not paid', { Reason: 'The payer wrote so' });
  await entry.waitFor({ state: 'detached' });
  await page.getByLabel('State').selectOption('closed');
  await page.getByText('The payer wrote so').waitFor();
  await page
    .getByRole('link', { name: /^payout_/ })
    .first()
    .click();
  await page.locator('.payout-title').getByText('Canceled').waitFor();
});

test('what has changed since the dialog was opened is not decided', async () => {
  const { demo: api } = stage.service;
  const address = readValues('Wallet addresses', 'LTC').get('unknown');
  assert.ok(address !== undefined);
  const lost = { BankAccountNumber: address };
  const recipient = await createRecipient(api, deliveryCases.crypto, { chosen: lost });
  const { payout_token: token } = await pay(api, recipient, { source_amount: 15 });
  await waitForAttempt(stage.service, payoutPath(recipient, token));
  await advance(api, daySeconds + 7_200);
  const page = await go('Exceptions');
  const entry = page.getByRole('region', { name: 'Unknown outcome' });
  await entry.getByRole('button', { name: 'It was not paid', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('The payer wrote so');
  ok(await api.post(`/sandbox/payout/${token}`, { outcome: 'completed' }));
  await dialog.getByRole('button', { name: 'It was not paid', exact: true }).click();
  await dialog.getByText('Your decision was not recorded').waitFor();
  await picture(page, 'decision-outdated');
  const refusals = stage.owner.faults.splice(0);
  assert.equal(refusals.length, 1, refusals.join('; '));
  assert.match(refusals[0] ?? '', /409 .*\/decision$/);
  await page.keyboard.press('Escape');
  await entry.waitFor({ state: 'detached' });
});

test('inputs of a bank that nothing matches, or that cannot be read, are closed', async () => {
  const page = await go('Bank inputs');
  await page.getByText('it is a payment that this rail did not send').waitFor();
  const detail = (await page.getByText(/in message [0-9a-f]{12}/).textContent()) ?? '';
  const id = /in message ([0-9a-f]{12})/.exec(detail)?.[1] ?? '';
  await page.getByRole('button', { name: 'See a message' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Message').first().fill(id);
  await dialog.getByLabel('Reason').fill('Inquiry of the bank');
  await dialog.getByRole('button', { name: 'See a message' }).click();
  await dialog.getByText('T1NOBODYSPAYMENT').waitFor();
  await picture(page, 'inbound-message');
  await dialog.getByRole('button', { name: 'Close' }).click();
  await actAndClose(page, 'Close', { Reason: 'Of our payroll' });
  await page.getByText('Nothing is open').waitFor();
  await page.getByLabel('Kind').selectOption('unreadable');
  await page.getByText('it is not well-formed XML').waitFor();
  await actAndClose(page, 'Close all of bank_eu', { Reason: 'Sent again by the bank' });
  await page.getByText('Nothing is open').waitFor();
});

test('what came back in excess is cleared by two people', async () => {
  const page = await go('Suspense');
  const row = page.getByRole('row').filter({ hasText: 'Brandt' });
  await row.getByText('4.50').waitFor();
  await picture(page, 'suspense');
  await actAndClose(page, 'Clear', { Reference: 'letter 12', Reason: 'Sent back to the bank' });
  const reason = 'Second person';
  await ask(page, 'POST operators', { name: 'sue', role: 'owner', reason });
  const { outcome } = await ask<{ link: string }>(page, 'POST operators/sue/invite', { reason });
  const sue = await followLink(stage, outcome.link);
  await sue.page.goto(`${stage.service.baseUrl}/console/approvals`);
  await settle(sue.page);
  await picture(sue.page, 'suspense-approval');
  await actAndClose(sue.page, 'Approve', { Reason: 'Seen in the statement' });
  await sue.page.goto(`${stage.service.baseUrl}/console/suspense`);
  await sue.page.getByText('Nothing is in suspense').waitFor();
  assert.deepEqual(sue.faults, []);
  await sue.context.close();
});

test('a statement is read and downloaded', async () => {
  await advance(stage.service.demo, daySeconds);
  const page = await go('Statements');
  await page.getByText('Commit').first().waitFor();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV' }).click(),
  ]);
  assert.match(await readFile(await file.path(), 'utf8'), /closing_balance/);
  await picture(page, 'statement');
});

test('a bank statement is imported, and what matches nothing is explained', async () => {
  const page = await go('Reconciliation');
  await page.getByLabel('Rail').selectOption('sandbox');
  await page.getByLabel('Reason').fill('Statement of today');
  const rows = [
    'booking_date,amount,currency,bank_reference',
    '2026-11-20,-1.50,USD,FEE-2041',
    '2026-11-20,-2.50,USD,CARD-77',
  ];
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('button', { name: 'Choose a file' }).click(),
  ]);
  const buffer = Buffer.from(rows.join('\n'));
  await chooser.setFiles({ name: 'statement.csv', mimeType: 'text/csv', buffer });
  await page.getByText('2 new entries, 0 known ones, 0 matched.').waitFor();
  // One by one: what has been explained is not chosen any more.
  for (const reference of ['FEE', 'CARD']) {
    const entry = page.getByRole('row').filter({ hasText: reference });
    await entry.getByRole('checkbox').check();
    await page.getByText('Chosen: 1 of the bank, 0 of the ledger').waitFor();
    await picture(page, 'reconciliation');
    await actAndClose(page, 'Explain them', { Reason: 'A fee of the account' });
    await entry.waitFor({ state: 'detached' });
  }
  await page.getByRole('button', { name: 'Close a period' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('First day').fill('2026-11-20');
  await dialog.getByLabel('Last day').fill('2026-11-20');
  await dialog.getByLabel('Reason').fill('End of the day');
  await dialog.getByRole('button', { name: 'Close a period' }).click();
  await dialog.getByText('4.00USD').waitFor();
  await picture(page, 'period-closed');
  await dialog.getByRole('button', { name: 'Close', exact: true }).click();
});

test('a corridor is frozen and a limit is set, each with a reason', async () => {
  const page = await go('Stops and freezes');
  await actAndClose(page, 'Freeze a corridor', { Country: 'KEN', Reason: 'Outage' });
  await page.getByText('Corridor Kenya').waitFor();
  await actAndClose(page, 'Lift', { Reason: 'Over' });
  await page.getByText('Nothing is stopped').waitFor();
  await go('Limits');
  await actAndClose(page, 'Set a limit', {
    Name: 'daily',
    'Maximum amount': '5000',
    Reason: 'New',
  });
  await page.getByText('5,000.00').waitFor();
  await actAndClose(page, 'Remove', { Reason: 'Contract' });
  await page.getByText('No limit of its own').waitFor();
});

test('a key is made, works, is replaced and ends', async () => {
  const page = await go('API keys');
  const values = { 'What it may do': { label: 'Only look' }, Reason: 'Dashboard' };
  await page.getByRole('button', { name: 'New credential' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('What it may do').selectOption(values['What it may do']);
  await dialog.getByLabel('Reason').fill(values.Reason);
  await dialog.getByRole('button', { name: 'New credential' }).click();
  const key = (await dialog.getByText(/^test_/).textContent()) ?? '';
  await picture(page, 'api-key');
  const api = stage.service.demo.withToken(key);
  assert.equal((await api.get('/account/balance')).status, 200);
  assert.equal((await api.post('/user', {})).status, 403);
  await dialog.getByRole('button', { name: 'Close' }).click();
  const row = page.getByRole('row').filter({ hasText: '4 scopes' }).first();
  await row.getByRole('button', { name: 'Rotate' }).click();
  await dialog.getByLabel('Reason').fill('Yearly');
  await dialog.getByRole('button', { name: 'Rotate' }).click();
  const next = (await dialog.getByText(/^test_/).textContent()) ?? '';
  await expectToStay(page, next);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByText(/^Replaced, until/).waitFor();
  const renewed = stage.service.demo.withToken(next);
  assert.equal((await renewed.get('/account/balance')).status, 200);
  await row.getByRole('button', { name: 'Revoke' }).click();
  await dialog.getByLabel('Reason').fill('Lost');
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await dialog.getByText('Done', { exact: true }).waitFor();
  // A process may know a credential for a second longer, and a busy one takes its time.
  for (const endMs = performance.now() + 60_000; ; await page.waitForTimeout(100)) {
    const { status } = await renewed.get('/account/balance');
    if (status === 401) break;
    assert.ok(performance.now() < endMs, `${status}`);
  }
  api.close();
  renewed.close();
});

test('an operator is invited by a link, looks without buttons, and is revoked', async () => {
  const page = await go('Operators');
  await actAndClose(page, 'New operator', { Name: 'vera', Role: 'viewer', Reason: 'Joined' });
  const row = page.getByRole('row').filter({ hasText: 'vera' });
  await row.getByRole('button', { name: 'Invite' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('First login');
  await dialog.getByRole('button', { name: 'Invite' }).click();
  const link = (await dialog.getByText(/#link=/).textContent()) ?? '';
  await dialog.getByRole('button', { name: 'Close' }).click();
  const vera = await followLink(stage, link);
  const pages = ['operators', 'api-keys', 'limits', 'freezes', 'reconciliation', 'screening'];
  for (const path of [...pages, `identities/${incidents.verified}`]) {
    await vera.page.goto(`${stage.service.baseUrl}/console/${path}`);
    await settle(vera.page);
    const acts = vera.page
      .getByRole('main')
      .getByRole('button', { name: /new|revoke|set|freeze|import|approve|show the images|close/i });
    assert.equal(await acts.count(), 0, path);
  }
  await row.getByRole('button', { name: 'Revoke' }).click();
  await dialog.getByLabel('Reason').fill('Left');
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await dialog.getByText('Done', { exact: true }).waitFor();
  await vera.page.goto(`${stage.service.baseUrl}/console`);
  await vera.page.getByRole('heading', { name: 'Sign in' }).waitFor();
});

test('a policy is changed', async () => {
  const page = await go('Policies');
  const row = page.getByRole('row').filter({ hasText: 'Deciding about a payout' });
  await row.getByText('10,000.00').waitFor();
  await row.getByRole('button', { name: 'Change' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Two from just above').fill('2500');
  await dialog.getByLabel('Reason').fill('Smaller payouts');
  await dialog.getByRole('button', { name: 'Change' }).click();
  await dialog.getByText('Done', { exact: true }).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await row.getByText('2,500.00').waitFor();
  await picture(page, 'policies');
});

test('a recipient under a legal hold is not erased, and is once the hold ended', async () => {
  const { demo: api } = stage.service;
  const { userToken } = await createRecipient(api, deliveryCases.cash, {
    person: { first_name: 'Held', last_name: 'Person' },
  });
  const { page } = stage.owner;
  const open = async () => {
    await page.goto(`${stage.service.baseUrl}/console/recipients/${userToken}`);
    await settle(page);
  };
  await open();
  await actAndClose(page, 'Place a hold', { Until: '2199-01-01', Reason: 'Inquiry 12' });
  await page.getByText('Inquiry 12').waitFor();
  await page.getByRole('button', { name: 'Erase' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('Asked for it');
  await dialog.getByRole('button', { name: 'Erase' }).click();
  await dialog.getByRole('alert').waitFor();
  await picture(page, 'erasure-refused');
  await dialog.getByRole('button', { name: 'Back' }).click();
  await go('Legal holds');
  const row = page.getByRole('row').filter({ hasText: 'Held Person' });
  await row.getByText('Inquiry 12').waitFor();
  await actAndClose(page, 'End', { Reason: 'Closed' });
  await row.waitFor({ state: 'detached' });
  await open();
  await actAndClose(page, 'Erase', { Reason: 'Asked for it' });
  await page.getByRole('heading', { name: 'Erased recipient' }).waitFor();
  await settle(page);
  await picture(page, 'recipient-erased');
  stage.owner.faults.splice(
    0,
    stage.owner.faults.length,
    ...stage.owner.faults.filter((f) => !/40[49]|410/.test(f)),
  );
});

test('the sandbox plays an outcome by one click', async () => {
  const { demo: api } = stage.service;
  const bank = await createRecipient(api, deliveryCases.bank);
  await pay(api, bank, { source_amount: 15, client_transfer_id: hostileName });
  const page = await go('Sandbox');
  const row = page.getByRole('row').filter({ hasText: hostileName });
  await row.getByRole('button', { name: 'Reject it' }).click();
  await row.waitFor({ state: 'detached' });
  assert.deepEqual(stage.owner.faults, [], 'no error, no dialog, no other host');
});
