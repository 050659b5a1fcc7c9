import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { type Batch, pathOf, quote, uploadRows } from '../batch-kit.ts';
import { createRecipient, deliveryCases } from '../recipients.ts';
import { advance, ok } from '../service.ts';
import { picture, prepareStage } from './kit.ts';

/** The quote of a batch as its page shows it: how long it holds, and that no other one is committed. */

const stage = prepareStage();

async function createQuoted(): Promise<Batch> {
  const { demo } = stage.service;
  const { userToken, payer } = await createRecipient(demo, deliveryCases.bank);
  const row = {
    client_transfer_id: randomUUID(),
    user_token: userToken,
    destination_token: payer.destination_token,
    destination_currency_code: 'MXN',
    source_amount: '20.10',
  };
  return quote(demo, await uploadRows(demo, [row]));
}

const open = async (batch: Batch): Promise<void> => {
  await stage.owner.page.goto(`${stage.service.baseUrl}/console/batches/${batch.batch_token}`);
};

test('a quote that expired before the page was opened is renewed', async () => {
  const { page } = stage.owner;
  const batch = await createQuoted();
  await open(batch);
  await page.getByText(/Rates hold for 1\d min/).waitFor();
  await advance(stage.service.demo, 24 * 3600);
  await open(batch);
  const renew = page.getByRole('button', { name: 'Get a quote' });
  await renew.waitFor();
  await page.getByText('The quote has expired').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Commit 1 payout' }).count(), 0);
  await picture(page, 'batch-quote-expired');
  await renew.click();
  await page.getByText(/Rates hold for 1\d min/).waitFor();
  await page.getByRole('button', { name: 'Commit 1 payout' }).click();
  await page.getByText('1 of 1 committed').waitFor();
});

test('a batch that was quoted again is not committed at prices that the page does not show', async () => {
  const { page } = stage.owner;
  const { demo } = stage.service;
  const batch = await createQuoted();
  await open(batch);
  const commit = page.getByRole('button', { name: 'Commit 1 payout' });
  await commit.waitFor();
  // The page does not read the batch again until the commit.
  let isHeld = true;
  await page.route(/\/batches\/batch_[^/]+$/, (route) =>
    isHeld && route.request().method() === 'GET' ? route.abort() : route.continue(),
  );
  await quote(demo, batch);
  await commit.click();
  await page.getByText('the batch was quoted again').waitFor();
  assert.equal(ok(await demo.get<Batch>(pathOf(batch))).status, 'QUOTED');
  isHeld = false;
  await picture(page, 'batch-quoted-again');
  await page.unrouteAll({ behavior: 'wait' });
  await page.reload();
  await commit.click();
  await page.getByText('1 of 1 committed').waitFor();
});
