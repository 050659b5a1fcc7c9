import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  actAndClose,
  ask,
  findProblems,
  followLink,
  openWindow,
  picture,
  prepareStage,
  settle,
} from './kit.ts';

/** After a restore: nothing is sent until two operators have released it. */

const stage = prepareStage({ recovers: true });

test('a recovery is shown, and released by two operators', async () => {
  const { service, owner } = stage;
  const { page } = owner;
  const reason = 'Restored';
  await ask(page, 'POST operators', { name: 'bob', role: 'approver', reason });
  const { outcome } = await ask<{ link: string }>(page, 'POST operators/bob/invite', { reason });
  await page.getByRole('link', { name: 'Recovery' }).click();
  await page.getByText('Two operators have to release it').waitFor();
  await settle(page);
  await picture(page, 'recovery-open');
  assert.deepEqual(await findProblems(page, 'main'), []);
  const phone = await openWindow(owner, service, { isPhone: true, colorScheme: 'dark' });
  await phone.page.goto(`${service.baseUrl}/console/recovery`);
  await phone.page.getByText('Two operators have to release it').waitFor();
  await picture(phone.page, 'recovery-open-phone');
  assert.deepEqual(await findProblems(phone.page, 'main'), []);
  await actAndClose(page, 'Release', { 'Rails that cannot list': 'true', Reason: 'Compared' });
  const bob = await followLink(stage, outcome.link);
  await bob.page.getByRole('link', { name: 'Recovery' }).click();
  await bob.page.getByText('Compared', { exact: true }).waitFor();
  await actAndClose(bob.page, 'Release', { 'Rails that cannot list': 'true', Reason: 'Seen' });
  await bob.page.getByText(/^(?:Released|No recovery is open)$/).waitFor();
  assert.deepEqual(owner.faults, [], 'no error, no dialog, no other host');
});
