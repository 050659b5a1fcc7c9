import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import {
  type CountryLookup,
  createUser,
  type Destination,
  listPayers,
  readAttributes,
} from '../recipients.ts';
import { ok } from '../service.ts';
import { startWiseRequirements, type WiseRequirements } from '../wise-requirements-kit.ts';
import { findProblems, openWindow, picture, prepareStage, settle } from './kit.ts';

/** The form of a provider that asks for more beside some values, and changes while the stage.service runs. */

let wise: WiseRequirements;
let destination: Destination;

const stage = prepareStage({
  settings: async () => {
    wise = await startWiseRequirements();
    return wise.settings;
  },
  fill,
});

const delivery = { country: 'PHL', deliveryType: 'BANK_DEPOSIT', currency: 'PHP' } as const;

async function fill(): Promise<void> {
  await wise.notify(stage.service);
  const { demo: api } = stage.service;
  const userToken = await createUser(api, { country: 'PHL' });
  const destinationToken = await waitFor('no payer of Wise', async () => {
    const lookup = ok(await api.get<CountryLookup>('/country/PHL/cheapest?'));
    const payers = listPayers(lookup, delivery);
    return payers.find(({ payer_name: name }) => name === 'Wise')?.destination_token;
  });
  destination = { userToken, destinationToken, currency: 'PHP' };
  await waitForAttribute('BankRoutingNumber', (one) => one.input_type === 'options');
}
after(() => wise?.stop());

async function waitFor<Value>(what: string, find: () => Promise<Value | undefined>) {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const found = await find();
    if (found !== undefined) return found;
    await sleep(100);
  }
  throw new Error(`${what}\n${stage.service.output().slice(-4000)}`);
}

type Attribute = Awaited<ReturnType<typeof readAttributes>>[number];

/** The provider's forms are read by a loop of the stage.service. */
const waitForAttribute = (type: string, fits: (attribute: Attribute) => boolean = () => true) =>
  waitFor(`${type} is not asked for`, async () => {
    const attributes = await readAttributes(stage.service.demo, destination);
    return attributes.find((one) => one.type === type && fits(one));
  });

/** The form of details for the payer of the provider. */
async function openForm(page: Page): Promise<void> {
  await page.goto(`${stage.service.baseUrl}/console/pay`);
  await page.getByText('Ana Gómez').first().click();
  await page.getByLabel('Country').selectOption('PHL');
  await page.getByLabel('Amount to send').fill('250.25');
  await page.getByText('Wise', { exact: true }).first().click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Account number').waitFor();
  await settle(page);
}

const press = (page: Page, name: string) => page.getByRole('button', { name }).click();

async function getQuote(page: Page): Promise<void> {
  await press(page, 'Get a quote');
  await page.getByText(/The price holds for 1\d min/).waitFor();
}

test('the fields of the provider have labels, choices, hints and faults', async () => {
  const { page } = stage.owner;
  await openForm(page);
  const banks = page.getByLabel('Bank name').getByRole('option');
  assert.deepEqual(await banks.allTextContents(), [
    'Choose one',
    'BDO: Banco de Oro BDO',
    'BPI: Bank of the Philippine Islands',
  ]);
  await page.getByLabel('Account number').fill('12345678901234567');
  await press(page, 'Check and continue');
  await page.getByText('Required', { exact: true }).waitFor();
  await page.getByText('Must be: 6 to 16 digits').waitFor();
  await picture(page, 'requirements-faults');
  assert.deepEqual(await findProblems(page, 'main'), []);
});

test('a field that is required beside a value is shown where it is missing', async () => {
  const { page } = stage.owner;
  await page.getByLabel('Bank name').selectOption('BPI');
  await page.getByLabel('Account number').fill('1234567890');
  await press(page, 'Check and continue');
  // The first recipient of this bank makes the stage.service ask the provider about it.
  await getQuote(page);
  await waitForAttribute('BankAccountBranchNumber');
  await press(page, 'Commit');
  const refusal = page.locator('.notice', { hasText: 'no money has moved' });
  await refusal.getByText('Branch: the payer requires it').waitFor();
  assert.doesNotMatch(await refusal.innerText(), /BankAccountBranchNumber/, 'said once');
  await picture(page, 'requirements-refused');
  await press(page, 'Change details');
  await page
    .getByText(/The payer requires it where Bank name is Bank of the Philippine Islands/)
    .waitFor();
  await press(page, 'Check and continue');
  await page.getByText('Required beside these details').waitFor();
  await picture(page, 'requirements-missing');
  assert.deepEqual(await findProblems(page, 'main'), []);
  await page.getByLabel('Branch').selectOption('002');
  await press(page, 'Check and continue');
  await getQuote(page);
});

test('a form that changed after the quote refuses the commit, and shows the new field', async () => {
  const { page } = stage.owner;
  await wise.requireTaxId();
  await waitForAttribute('IdentificationNumber', (one) => !one.is_optional);
  await press(page, 'Commit');
  await page.getByText(/^Tax identification number: /).waitFor();
  await press(page, 'Change details');
  const phone = await openWindow(stage.owner, stage.service, {
    isPhone: true,
    colorScheme: 'dark',
  });
  await openForm(phone.page);
  await phone.page.getByLabel('Tax identification number').scrollIntoViewIfNeeded();
  await picture(phone.page, 'requirements-phone-dark');
  assert.deepEqual(await findProblems(phone.page, 'main'), []);
  await phone.context.close();
  await page.getByLabel('Tax identification number').fill('12');
  await press(page, 'Check and continue');
  await page.getByText('Must be: 9 digits').waitFor();
  await page.getByLabel('Tax identification number').fill('123456789');
  await picture(page, 'requirements-changed');
  await press(page, 'Check and continue');
  await getQuote(page);
  await press(page, 'Commit');
  await page.getByText('Committed', { exact: true }).waitFor();
  assert.deepEqual(stage.owner.faults, [], 'no error, no dialog, no other host');
});
