import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import sharp from 'sharp';
import { createTestDatabase, type TestDatabase } from '../../server/testing/setups/database.ts';
import { pathOf as batchPath, quote, upload, waitUntilCommitted, writeCsv } from '../batch-kit.ts';
import { runCommand } from '../commands.ts';
import { decide, propose } from '../proposal-kit.ts';
import {
  createPayout,
  deliveryCases,
  fillAttributes,
  findPayer,
  pay,
  type Recipient,
} from '../recipients.ts';
import {
  type Api,
  advance,
  createAccount,
  daySeconds,
  ok,
  type Service,
  startService,
} from '../service.ts';
import { eventually } from '../webhook-kit.ts';
import { type Receiver, startReceiver, webhookSettings } from '../webhook-receiver.ts';
import { findInTables } from './stored-texts.ts';

/**
 * Personal data at rest: every field that can tell of a person gets a text of its own, and none of these
 * texts may stand in clear in any column of the database or in the log.
 */

const marks = {
  internal_user_id: 'crew-Chimalpopocatl',
  first_name: 'Quetzalin',
  middle_name: 'Ehecatlin',
  last_name: 'Tlacaelelzin',
  business_name: 'Panaderia Huitzilihuitl',
  address1: '77 Avenida Xochimilcotl',
  address2: 'Piso Tepeyollotl',
  city: 'Azcapotzalconco',
  state_province: 'Coyoacanicalco',
  postal_code: '07733-91',
  email: 'citlalmina.izel@example.org',
  mobile_number: '+525512345977',
  date_of_birth: '1977-03-19',
  'metadata of the user': 'vip-of-Tenochtitlanco',
  'metadata of a payout': 'gift-for-Nezahualcoyotlin',
  'metadata of a row': 'row-about-Cuauhtemocin',
  'column of a file': 'note-on-Moctezumaxin',
  'name of a file': 'Ixtlilxochitlpay.csv',
  'account of a payout': '032180000118359719',
  'document number': 'GX8812093Z',
  'reason of a proposal': 'because Malinalxochin asked',
  'reason of an operator': 'letter of Acamapichtlin',
  'redirect of a link': 'customer-Tezozomoctlin',
  'fault in an amount': 'Itzcoatlamount',
  'fault in a currency': 'AxayacatlinCurrency',
  'fault in a user': 'user_Cuitlahuacin',
  'fault in a destination': 'destination_Ahuitzotlin',
  'fault in a metadata value': 'Tizocicatzin',
  'fault in a new user': 'Huemacinvalue',
} as const;

/**
 * By design (docs/guides/erasure.md): labels that a client gives to files, and reasons of operators, which
 * name documents and not persons.
 */
const inClear = [
  'audit_entries.reason: reason of an operator',
  'batches.name: name of a file',
  'events.payload: name of a file',
  'legal_holds.reason: reason of an operator',
];

let database: TestDatabase;
let receiver: Receiver;
let service: Service;
let api: Api;
before(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver();
  service = await startService({
    isOwn: true,
    settings: {
      ...webhookSettings,
      DATABASE_URL: database.url,
      OUTLAY_MASTER_KEY: randomBytes(32).toString('base64'),
    },
  });
  ({ api } = await createAccount(service, { USD: '100000' }));
});
after(async () => {
  await service.stop();
  await receiver[Symbol.asyncDispose]();
  await database.drop();
});

const keyed = (): Record<string, string> => ({ 'idempotency-key': randomUUID() });

async function createMarkedUser(): Promise<string> {
  const user = {
    ...Object.fromEntries(Object.entries(marks).filter(([name]) => /^[a-z0-9_]+$/.test(name))),
    country: 'MEX',
    metadata: { note: marks['metadata of the user'] },
  };
  const created = ok(await api.post<{ user_token: string }>('/user', user, keyed()));
  const wrong = { ...user, internal_user_id: randomUUID(), email: marks['fault in a new user'] };
  assert.equal((await api.post('/user', wrong, keyed())).status, 400);
  // The same again is a duplicate, whose answer is stored too.
  assert.equal((await api.post('/user', user, keyed())).status, 409);
  return created.user_token;
}

async function payMarked(userToken: string): Promise<Recipient> {
  const bank = deliveryCases.bank;
  const payer = await findPayer(api, bank);
  const chosen = { BankAccountNumber: marks['account of a payout'] };
  const attrSetToken = await fillAttributes(api, { userToken, payer, delivery: bank, chosen });
  const recipient = { userToken, payer, delivery: bank, attrSetToken };
  await pay(api, recipient, { metadata: { note: marks['metadata of a payout'] } });
  const cash = deliveryCases.cash;
  const cashPayer = await findPayer(api, cash);
  const document = { IdentificationNumber: marks['document number'] };
  const options = { userToken, payer: cashPayer, delivery: cash, chosen: document };
  const cashSet = await fillAttributes(api, options);
  await pay(api, { userToken, payer: cashPayer, delivery: cash, attrSetToken: cashSet });
  const quoted = await createPayout(api, recipient);
  const payoutToken = quoted['payout_token'] ?? '';
  const reason = marks['reason of a proposal'];
  ok(await decide(api, ok(await propose(api, recipient, { payoutToken, reason })), 'DECLINED'));
  return recipient;
}

async function uploadMarked({ userToken, payer }: Recipient): Promise<void> {
  const row = {
    user_token: userToken,
    destination_token: payer.destination_token,
    destination_currency_code: 'MXN',
    source_amount: '20.10',
    'metadata.note': marks['metadata of a row'],
    Remark: marks['column of a file'],
  };
  const good = writeCsv([{ ...row, client_transfer_id: 'row-1' }]);
  const batch = await quote(api, ok(await upload(api, good)));
  ok(await api.put(batchPath(batch), { mode: 'all' }));
  await waitUntilCommitted(api, batch);
  const changes = [
    { source_amount: marks['fault in an amount'] },
    { destination_currency_code: marks['fault in a currency'] },
    { user_token: marks['fault in a user'] },
    { user_token: '', internal_user_id: marks['fault in a user'] },
    { destination_token: marks['fault in a destination'] },
    { 'metadata.note': marks['fault in a metadata value'].repeat(600) },
    { client_transfer_id: '' },
  ];
  const rows = changes.map((change, index) => ({
    ...row,
    client_transfer_id: `bad-${index}`,
    ...change,
  }));
  const path = `/batches?name=${encodeURIComponent(marks['name of a file'])}`;
  const headers = { 'content-type': 'text/csv', ...keyed() };
  ok(await api.call('POST', path, { body: writeCsv(rows), headers }));
}

async function verifyMarked(userToken: string): Promise<void> {
  const plain = { width: 320, height: 200, channels: 3, background: '#8899aa' } as const;
  const jpeg = (await sharp({ create: plain }).jpeg().toBuffer()).toString('base64');
  const types = ['face', 'document-front', 'document-back'];
  const images = types.map((type) => ({ type, content: jpeg }));
  ok(await api.post(`/user/${userToken}/kyc/id`, images, keyed()));
  const redirect = `https://shop.example/${marks['redirect of a link']}`;
  const link = { purpose: 'verification', redirect_url: redirect };
  ok(await api.post(`/user/${userToken}/link`, link, keyed()));
  const reason = marks['reason of an operator'];
  const words = ['--user', userToken, '--decision', 'approved', '--reason', reason];
  const shown: unknown = await runCommand(service, ['identity', 'show', '--user', userToken]);
  const [session] = (shown as { sessions: { session_id: string; submission: number }[] }).sessions;
  const looked = ['--session', session?.session_id ?? '', '--submission', `${session?.submission}`];
  await runCommand(service, ['identity', 'decide', ...words, ...looked]);
}

test('personal data stands in clear neither in the database nor in the log, nor after erasure', async () => {
  ok(await api.post('/webhooks', { url: receiver.url }));
  const userToken = await createMarkedUser();
  const recipient = await payMarked(userToken);
  await uploadMarked(recipient);
  await verifyMarked(userToken);
  await api.get(`/user?email=${encodeURIComponent(marks.email)}`);
  await api.get(`/user?name=${marks.last_name}`);
  await api.get(`/user?internal_user_id=${marks.internal_user_id}`);
  const hold = ['user', 'hold', '--user', userToken, '--until', '2999-01-01'];
  const held = await runCommand(service, [...hold, '--reason', marks['reason of an operator']]);
  await advance(service.demo, 10 * daySeconds);
  assert.deepEqual(await findInTables(database.url, marks), inClear);
  assert.deepEqual(listInLog(), []);

  const lift = ['user', 'release-hold', '--hold', held['hold'] ?? held['id'] ?? ''];
  await runCommand(service, [...lift, '--reason', marks['reason of an operator']]);
  await eventually(
    async () => {
      await advance(service.demo, daySeconds);
      return (await api.post(`/user/${userToken}/erasure`, undefined)).status;
    },
    (status) => status === 200,
  );
  assert.deepEqual(await findInTables(database.url, marks), inClear);
  assert.deepEqual(listInLog(), []);
});

const listInLog = (): string[] =>
  Object.entries(marks).flatMap(([name, text]) => (service.output().includes(text) ? [name] : []));
