import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathOf as batchPath, quote, upload, waitUntilCommitted, writeCsv } from './batch-kit.ts';
import { runCommand } from './commands.ts';
import { decide, propose } from './proposal-kit.ts';
import {
  createPayout,
  createRecipient,
  createUser,
  deliveryCases,
  fillAttributes,
  findPayer,
  pay,
  payoutPath,
  type Recipient,
} from './recipients.ts';
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

/**
 * The backup takes the place of everything but the list of erasures, which lies elsewhere. Thousands of
 * small files take a fraction of the processor time where each is not a promise.
 */
function restore(backup: string): void {
  for (const name of readdirSync(dataDirectory)) {
    if (name !== 'erasures') rmSync(join(dataDirectory, name), { recursive: true });
  }
  for (const name of readdirSync(backup)) {
    if (name === 'erasures') continue;
    cpSync(join(backup, name), join(dataDirectory, name), { recursive: true });
  }
}

/** What tells of the person, in every place that takes text. */
const marks = {
  first_name: 'Quetzalin',
  last_name: 'Tlacaelelzin',
  address1: '77 Avenida Xochimilcotl',
  phone: '525512345977',
  'metadata of the user': 'vip-of-Tenochtitlanco',
  'metadata of a payout': 'gift-for-Nezahualcoyotlin',
  'column of a file': 'note-on-Moctezumaxin',
  'metadata of a row': 'row-about-Cuauhtemocin',
  'reason of a proposal': 'because Malinalxochin asked',
  account: '032180000118359719',
};

/** A recipient with all of it: a payout of its own, one from a file, and a declined proposal. */
async function payMarked(api: Api): Promise<Recipient> {
  const delivery = deliveryCases.bank;
  const { first_name, last_name, address1, phone, account } = marks;
  const names = { first_name, last_name, address1, mobile_number: phone };
  const metadata = { note: marks['metadata of the user'] };
  const userToken = await createUser(api, { ...names, country: delivery.country, metadata });
  const payer = await findPayer(api, delivery);
  const chosen = { BankAccountNumber: account };
  const attrSetToken = await fillAttributes(api, { userToken, payer, delivery, chosen });
  const recipient = { userToken, payer, delivery, attrSetToken };
  await pay(api, recipient, { metadata: { note: marks['metadata of a payout'] } });
  const listed = await api.get<unknown[]>(
    `/payout?metadata[note]=${marks['metadata of a payout']}`,
  );
  assert.equal(ok(listed).length, 1);
  const proposed = await proposeMarked(api, recipient);
  ok(await decide(api, proposed, 'DECLINED'));
  const file = writeCsv([
    {
      user_token: userToken,
      destination_token: payer.destination_token,
      destination_currency_code: delivery.currency,
      client_transfer_id: 'row-1',
      source_amount: '20.10',
      'metadata.note': marks['metadata of a row'],
      Remark: marks['column of a file'],
    },
  ]);
  const batch = await quote(api, ok(await upload(api, file)));
  ok(await api.put(batchPath(batch), { mode: 'all' }));
  await waitUntilCommitted(api, batch);
  const result = await api.get(`${batchPath(batch)}/result`, { accept: 'text/csv' });
  assert.match(result.text, new RegExp(marks['column of a file']));
  return recipient;
}

async function proposeMarked(api: Api, recipient: Recipient) {
  const payoutToken = (await createPayout(api, recipient))['payout_token'] ?? '';
  const reason = marks['reason of a proposal'];
  return ok(await propose(api, recipient, { payoutToken, reason }));
}

/** The marks that files below a folder have, those of the database and its log of changes included. */
function listMarksIn(place: string): string[] {
  const found = new Set<string>();
  for (const entry of readdirSync(place, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = readFileSync(join(entry.parentPath, entry.name));
    for (const [name, text] of Object.entries(marks)) {
      if (bytes.includes(text)) found.add(`${name} in ${entry.name}`);
    }
  }
  return [...found];
}

type User = { user_token: string; first_name: string; erased_at?: string };

test('an erased recipient stays erased after the restore of an older backup', async () => {
  service = await start();
  const { api } = await createAccount(service, { USD: '1000' });
  const recipient = await createRecipient(api, deliveryCases.bank);
  const held = await createRecipient(api, deliveryCases.bank);
  const marked = await payMarked(api);
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
  cpSync(dataDirectory, backup, { recursive: true });
  // Never in clear, so that it ends with the key, in backups too.
  assert.deepEqual(listMarksIn(backup), []);

  service = await start();
  const after = new Api(service.baseUrl, api.token);
  const words = ['--user', held.userToken, '--reason', 'court order 17'];
  await runCommand(service, ['user', 'hold', ...words, '--until', '2999-01-01']);
  assertProblem(await after.post(`/user/${held.userToken}/erasure`, undefined), 409, 'legal_hold');
  const erasing = ['user', 'erase', '--user', recipient.userToken, '--reason', 'letter 4'];
  assert.equal((await runCommand(service, erasing))['result'], 'erased');
  await assertErased();
  ok(await after.post(`/user/${marked.userToken}/erasure`, undefined));
  const query = `metadata[note]=${marks['metadata of a payout']}`;
  assert.deepEqual(ok(await after.get(`/payout?${query}`)), []);
  await service.stop();
  assert.deepEqual(listMarksIn(dataDirectory), []);

  restore(backup);
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
