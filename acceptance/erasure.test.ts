import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runCommand } from './commands.ts';
import { createRecipient, deliveryCases, pay, payoutPath } from './recipients.ts';
import {
  Api,
  advance,
  createAccount,
  daySeconds,
  ok,
  type Service,
  startService,
} from './service.ts';
import { assertProblem } from './shapes.ts';

/** The erasure of a person as clients and operators see it, and after a restore of a backup. */

const folder = await mkdtemp(join(tmpdir(), 'outlay-erasure-'));
const dataDirectory = join(folder, 'data');
let service: Service | undefined;
after(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

const start = (): Promise<Service> => startService({ isEmbedded: true, dataDirectory });

/** The backup takes the place of everything but the list of erasures, which lies elsewhere. */
async function restore(backup: string): Promise<void> {
  for (const name of await readdir(dataDirectory)) {
    if (name !== 'erasures') await rm(join(dataDirectory, name), { recursive: true });
  }
  for (const name of await readdir(backup)) {
    if (name === 'erasures') continue;
    await cp(join(backup, name), join(dataDirectory, name), { recursive: true });
  }
}

type User = { user_token: string; first_name: string; erased_at?: string };

test('an erased recipient stays erased after the restore of an older backup', async () => {
  service = await start();
  const { api } = await createAccount(service, { USD: '1000' });
  const recipient = await createRecipient(api, deliveryCases.bank);
  const held = await createRecipient(api, deliveryCases.bank);
  const payout = await pay(api, recipient);
  const path = `/user/${recipient.userToken}`;
  assertProblem(await api.post(`${path}/erasure`, undefined), 409, 'payouts_open');
  await advance(service.demo, 10 * daySeconds);
  assert.equal(
    ok(await api.get<{ status: string }>(payoutPath(recipient, payout.payout_token))).status,
    'COMPLETED',
  );
  await service.stop();
  const backup = join(folder, 'backup');
  await cp(dataDirectory, backup, { recursive: true });

  service = await start();
  const after = new Api(service.baseUrl, api.token);
  const words = ['--user', held.userToken, '--reason', 'court order 17'];
  await runCommand(service, ['user', 'hold', ...words, '--until', '2999-01-01']);
  assertProblem(await after.post(`/user/${held.userToken}/erasure`, undefined), 409, 'legal_hold');
  const erasing = ['user', 'erase', '--user', recipient.userToken, '--reason', 'letter 4'];
  assert.equal((await runCommand(service, erasing))['result'], 'erased');
  await assertErased();
  await service.stop();

  await restore(backup);
  service = await start();
  await assertErased();

  async function assertErased(): Promise<void> {
    assert.ok(service);
    const reader = new Api(service.baseUrl, api.token);
    assertProblem(await reader.get(path), 410, 'user_erased');
    const listed = ok(await reader.get<User[]>('/user'));
    const user = listed.find(({ user_token: token }) => token === recipient.userToken);
    assert.equal(user?.first_name, '');
    assert.match(user?.erased_at ?? '', /^\d{4}-/);
    const read = ok(
      await reader.get<{ status: string; attrs: object }>(
        payoutPath(recipient, payout.payout_token),
      ),
    );
    assert.deepEqual([read.status, read.attrs], ['COMPLETED', {}]);
    const receipt = await reader.get(payoutPath(recipient, payout.payout_token), {
      accept: 'application/pdf',
    });
    assert.equal(receipt.status, 200);
    for (const list of ['/user?name=ana', '/events', '/payout']) {
      ok(await reader.get(list));
    }
    const proof = await runCommand(service, ['ledger', 'verify']);
    assert.equal(proof['isSound'], true, JSON.stringify(proof));
  }
});
