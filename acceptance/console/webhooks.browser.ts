import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ok } from '../service.ts';
import { findProblems, picture, prepareStage, settle, sizes } from './kit.ts';

/** Which events an endpoint gets, on creating and on changing it. */

const stage = prepareStage();

async function readTypes(): Promise<Record<string, readonly string[]>> {
  const { demo: api } = stage.service;
  const endpoints = ok(await api.get<{ url: string; event_types: string[] }[]>('/webhooks'));
  return Object.fromEntries(endpoints.map(({ url, event_types: types }) => [url, types]));
}

test('an endpoint gets all events, or those of the chosen types and families', async () => {
  const { page } = stage.owner;
  await page.goto(`${stage.service.baseUrl}/console/webhooks`);
  await settle(page);
  const add = page.getByRole('region', { name: 'Add an endpoint' });
  const choose = (name: string) => add.getByRole('checkbox', { name, exact: true });
  await add.getByLabel('Address').fill('https://example.com/all');
  assert.equal(await choose('All events, also of types that are added later').isChecked(), true);
  await add.getByRole('button', { name: 'Add', exact: true }).click();
  await add.getByText('Copy its secret now').waitFor();

  await add.getByLabel('Address').fill('https://example.com/chosen');
  await choose('All events, also of types that are added later').uncheck();
  await add.getByText('Choose at least one type of event').waitFor();
  // Without a type the service would send all of them.
  assert.equal(await add.getByRole('button', { name: 'Add', exact: true }).isDisabled(), true);
  await choose('user.erased').check();
  await choose('payout.completed').check();
  await choose('payout.*').check();
  assert.equal(await choose('payout.hold').isChecked(), true);
  assert.equal(await choose('payout.hold').isDisabled(), true);
  await picture(page, 'webhook-events-desk');
  assert.deepEqual(await findProblems(page, 'main'), []);
  await page.setViewportSize(sizes.phone);
  await page.emulateMedia({ colorScheme: 'dark' });
  await picture(page, 'webhook-events-phone');
  assert.deepEqual(await findProblems(page, 'main'), []);
  await page.setViewportSize(sizes.desk);
  await page.emulateMedia({ colorScheme: 'light' });
  await add.getByRole('button', { name: 'Add', exact: true }).click();

  const chosen = page.getByRole('region', { name: 'https://example.com/chosen' });
  await chosen.getByText('payout.*, user.erased').waitFor();
  assert.deepEqual(await readTypes(), {
    'https://example.com/chosen': ['payout.*', 'user.erased'],
    'https://example.com/all': [],
  });
});

test('address and events of an endpoint are changed', async () => {
  const { page } = stage.owner;
  const endpoint = page.getByRole('region', { name: 'https://example.com/chosen' });
  await endpoint.getByRole('button', { name: 'Change', exact: true }).click();
  const choose = (name: string) => endpoint.getByRole('checkbox', { name, exact: true });
  assert.equal(await choose('payout.*').isChecked(), true);
  await choose('payout.*').uncheck();
  assert.equal(await choose('payout.hold').isChecked(), false);
  await choose('batch.committed').check();
  await picture(page, 'webhook-change-desk');
  await endpoint.getByRole('button', { name: 'Save', exact: true }).click();
  await endpoint.getByText('batch.committed, user.erased').waitFor();
  await endpoint.getByRole('button', { name: 'Change', exact: true }).click();
  await endpoint.getByLabel('Address').fill('https://example.com/moved');
  await choose('All events, also of types that are added later').check();
  await endpoint.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('region', { name: 'https://example.com/moved' }).waitFor();
  assert.deepEqual(await readTypes(), {
    'https://example.com/moved': [],
    'https://example.com/all': [],
  });
  assert.deepEqual(stage.owner.faults, []);
});
