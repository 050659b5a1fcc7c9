import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readRows, uploadRows } from './batch-kit.ts';
import { runCommand } from './commands.ts';
import type { ExactNumber } from './exact.ts';
import {
  attributePath,
  type CommitResult,
  type CountryLookup,
  commitPayout,
  createPayout,
  createUser,
  fillAttributes,
  listPayers,
  type Payout,
  pay,
  type Recipient,
  readAttributes,
  readPayout,
} from './recipients.ts';
import { type Account, createAccount, ok, type Service, startService } from './service.ts';

/** Payouts to stored cards and to wallets, from their attributes to the ledger, by a simulated Adyen. */

type Row = Record<string, unknown>;

const folder = mkdtempSync(join(tmpdir(), 'outlay-stored-cards-'));
const secrets = {
  apiKey: 'AQEyhmfxK4.simulated.key.of.the.test',
  webhookKey: '44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056',
  balanceAccountId: 'BA00000000000000000000001',
};
const cardNumber = '4111 1111 1111 1111';
const card = { CardNumber: 'ZMV627QSCQVDKG66', BillReferenceNumber: 'customer 42' };
const wallet = { BankAccountNumber: 'BA00000000000000000000777' };
const fee = { value: 35, currency: 'EUR', by: 'event' };
let adyen: ChildProcess;
let adyenUrl: string;
let service: Service;
let account: Account;

before(async () => {
  writeFileSync(join(folder, 'keys.json'), JSON.stringify(secrets));
  const program = '../server/testing/counterparties/adyen/adyen-program.ts';
  const words = [join(import.meta.dirname, program), '--secret-file', join(folder, 'keys.json')];
  const options = JSON.stringify({ settleMs: 50, fee, retryMs: 50 });
  adyen = spawn(process.execPath, [...words, '--options', options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const line = await new Promise<string>((resolve) => {
    adyen.stdout?.once('data', (text) => resolve(String(text)));
  });
  adyenUrl = `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`;
  const rails = join(folder, 'rails.json');
  writeFileSync(rails, JSON.stringify({ rails: [describeRail()] }));
  service = await startService({ isOwn: true, settings: { OUTLAY_RAILS: rails } });
  await control('webhooks', { url: new URL('/rails/adyen_eu', service.baseUrl).href });
  account = await createAccount(service, { EUR: '100000' });
});
after(async () => {
  adyen.kill();
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

function describeRail(): Row {
  const payer = {
    companyKey: 'adyen',
    payerName: 'Adyen',
    countryCode: 'ESP',
    deliveryType: 'BANK_DEPOSIT',
    currencies: ['EUR'],
    tariffs: [{ fee: [{ upTo: null, fixed: '0.50', basisPoints: 0 }], marginBasisPoints: 0 }],
    availability: { delay: { minutes: 5 } },
  };
  return {
    kind: 'adyen',
    name: 'adyen_eu',
    config: {
      environment: 'test',
      balanceAccountId: secrets.balanceAccountId,
      apiKey: { file: writeSecret('api', secrets.apiKey) },
      webhookKeys: [{ file: writeSecret('webhook', secrets.webhookKey) }],
      apiUrl: adyenUrl,
      reportsUrl: adyenUrl,
      pollSeconds: 1,
    },
    companies: [{ key: 'adyen', name: 'Adyen' }],
    payers: [
      { ...payer, key: 'bank' },
      { ...payer, key: 'card', accountForm: 'stored_card' },
      {
        ...payer,
        key: 'wallet',
        accountForm: 'provider_account',
        deliveryType: 'MOBILE_WALLET',
      },
    ],
    dailyLimits: { EUR: '900000' },
  };
}

function writeSecret(name: string, value: string): string {
  const file = join(folder, name);
  writeFileSync(file, value);
  return file;
}

async function control(name: string, body: Row): Promise<void> {
  const answer = await fetch(`${adyenUrl}/control/${name}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  assert.equal(answer.status, 200, await answer.text());
}

async function createCardholder(): Promise<string> {
  const place = { city: 'Sevilla', address1: 'Calle Mayor 5', postal_code: '41001' };
  return createUser(account.api, { country: 'ESP', ...place });
}

/** By the label of its first attribute, since all payers have the same name. */
async function findRecipient(deliveryType: string, firstLabel: string) {
  const { api } = account;
  const userToken = await createCardholder();
  const delivery = { country: 'ESP', deliveryType, currency: 'EUR' };
  const lookup = ok(await api.get<CountryLookup>('/country/ESP/cheapest?source_currency=EUR'));
  for (const payer of listPayers(lookup, delivery)) {
    if (payer.payer_name !== 'Adyen') continue;
    const destination = {
      userToken,
      destinationToken: payer.destination_token,
      currency: 'EUR',
    };
    const attributes = await readAttributes(api, destination);
    if (attributes[0]?.label === firstLabel) {
      return { userToken, payer, delivery, destination, attributes };
    }
  }
  throw new Error(`nobody asks for ${firstLabel}`);
}

async function createRecipient(
  deliveryType: string,
  firstLabel: string,
  chosen: Record<string, string>,
): Promise<Recipient> {
  const { attributes: _attributes, ...found } = await findRecipient(deliveryType, firstLabel);
  return { ...found, attrSetToken: await fillAttributes(account.api, { ...found, chosen }) };
}

const tokenLabel = 'Token of the card';
const createCardRecipient = () => createRecipient('BANK_DEPOSIT', tokenLabel, card);
const createWalletRecipient = () =>
  createRecipient('MOBILE_WALLET', 'Account ID at the payment provider', wallet);

const amount = {
  source_currency_code: 'EUR',
  source_amount: undefined,
  destination_amount: 100,
};

/** Reads the payout until it has the status. */
async function waitFor(recipient: Recipient, token: string, status: string): Promise<Payout> {
  let payout: Payout;
  let tries = 0;
  do {
    await sleep(100);
    payout = await readPayout(account.api, recipient, token);
    tries += 1;
  } while (payout['status'] !== status && tries < 600);
  assert.equal(payout['status'], status, payout['status_reason']);
  return payout;
}

type Margin = { charges: { rail: string; kind: string; currency: string; amount: string }[] };

/** A charge has a report of its own, which may come after the one that ends the payout. */
async function waitForCharges(token: string): Promise<Margin['charges']> {
  let charges: Margin['charges'] = [];
  for (let tries = 0; tries < 600 && charges.length === 0; tries += 1) {
    if (tries > 0) await sleep(100);
    const margin = await runCommand(service, ['payout', 'margin', '--payout', token]);
    ({ charges } = margin as unknown as Margin);
  }
  return charges;
}

test('a card is paid by its token, and the fee of Adyen is a charge of the payout', async () => {
  const recipient = await createCardRecipient();
  const { payout_token: token } = await pay(account.api, recipient, amount);
  const payout = await waitFor(recipient, token, 'COMPLETED');
  assert.deepEqual(payout.attrs, { ...card, CardNumber: '****KG66' });
  const charges = await waitForCharges(token);
  assert.deepEqual(charges, [
    { rail: 'adyen_eu', kind: 'partner', currency: 'EUR', amount: '0.35' },
  ]);
});

test('the look-up says what identifies the recipient of each payer', async () => {
  const lookup = ok(
    await account.api.get<CountryLookup>('/country/ESP/cheapest?source_currency=EUR'),
  );
  const forms = lookup.companies
    .filter(({ company_name: name }) => name === 'Adyen')
    .flatMap(({ services }) => services)
    .flatMap(({ payers }) => payers as unknown as { account_form: string }[])
    .map(({ account_form: form }) => form);
  assert.deepEqual(forms.toSorted(), ['', 'provider_account', 'stored_card']);
});

test('a card number is refused, and neither stored nor logged', async () => {
  const { destination, attributes } = await findRecipient('BANK_DEPOSIT', tokenLabel);
  const values = attributes.map(({ token }) => ({ token, value: cardNumber }));
  const refused = await account.api.post<Row>(attributePath(destination), { values });
  assert.equal(refused.status, 400);
  const { errors } = refused.body as { errors: { code: string; pointer: string }[] };
  assert.deepEqual(
    errors.map(({ code, pointer }) => [code, pointer]),
    [
      ['card_number', '/values/0/value'],
      ['card_number', '/values/1/value'],
    ],
  );
  const told = JSON.stringify(refused.body) + service.output();
  assert.ok(!told.includes(cardNumber) && !told.includes(cardNumber.replaceAll(' ', '')));
  const stored = await readAttributes(account.api, destination);
  assert.ok(stored.every(({ value }) => value === ''));
});

test('a payout without a token names what it lacks, and recipients get no link for it', async () => {
  const found = await findRecipient('BANK_DEPOSIT', tokenLabel);
  const recipient = { ...found, attrSetToken: '' };
  const { payout_token: token = '' } = await createPayout(account.api, recipient, amount);
  const answer: CommitResult & { missing?: Row[] } = await commitPayout(
    account.api,
    recipient,
    token,
  );
  assert.equal(answer.status, 'addtl_attr_req');
  assert.deepEqual(
    answer.missing?.map(({ type, token: attribute }) => [type, attribute]),
    found.attributes.map(({ type, token: attribute }) => [type, attribute]),
  );
  const link = await account.api.post<Row>(`/user/${found.userToken}/link`, {
    purpose: 'payout_details',
    destination_token: found.payer.destination_token,
    currency: 'EUR',
  });
  assert.equal(link.status, 400);
  assert.match(JSON.stringify(link.body), /must not be of a stored card/);
  const words = ['link', 'details', '--user', found.userToken, '--currency', 'EUR'];
  const command = runCommand(service, [...words, '--destination', found.payer.destination_token]);
  await assert.rejects(command, /must not be of a stored card/);
});

test('a row of a batch without a token names the attributes of its own destination', async () => {
  const found = await findRecipient('BANK_DEPOSIT', tokenLabel);
  const batch = await uploadRows(account.api, [
    {
      client_transfer_id: 'card-of-a-batch',
      user_token: found.userToken,
      destination_token: found.payer.destination_token,
      source_currency_code: 'EUR',
      destination_currency_code: 'EUR',
      source_amount: '12.50',
    },
  ]);
  const [row] = await readRows(account.api, batch);
  const { faults } = row as unknown as { faults: { code: string; missing: Row[] }[] };
  const lack = faults.find(({ code }) => code === 'addtl_attr_req');
  assert.deepEqual(
    lack?.missing.map(({ type, token }) => [type, token]),
    found.attributes.map(({ type, token }) => [type, token]),
  );
});

test('a wallet sends back a part, which the sender gets back in proportion', async () => {
  const recipient = await createWalletRecipient();
  const { payout_token: token } = await pay(account.api, recipient, amount);
  const paid = await waitFor(recipient, token, 'COMPLETED');
  assert.deepEqual(paid.attrs, { BankAccountNumber: '****0777' });
  const { transfers } = (await (await fetch(`${adyenUrl}/records`)).json()) as {
    transfers: { reference: string; value: number }[];
  };
  const reference = transfers.at(-1)?.reference ?? '';
  // Adyen takes it after the booking, and from nothing that came back before.
  assert.equal((await waitForCharges(token)).length, 1);
  await control('force', { reference, status: 'returned', value: 2_500 });
  const returned = await waitFor(recipient, token, 'CANCELLED');
  assert.match(returned['status_reason'] ?? '', /^returned/);
  const refund = returned['refund'] as unknown as { amount: ExactNumber };
  assert.equal(refund.amount.text, '25');
  const charges = await waitForCharges(token);
  assert.equal(charges.length, 1, 'the fee stays');
});

test('fees of payouts that were refused or came back are charges, and ask nothing of a person', async () => {
  const recipient = await createCardRecipient();
  await control('options', { failPattern: '.', fee: { ...fee, value: 7, by: 'transfer' } });
  const refused = await pay(account.api, recipient, amount);
  await waitFor(recipient, refused.payout_token, 'CANCELLED');
  await control('options', { failPattern: '$^', returnPattern: '.', fee });
  const returned = await pay(account.api, recipient, amount);
  const { status_reason: reason = '' } = await waitFor(
    recipient,
    returned.payout_token,
    'CANCELLED',
  );
  await control('options', { returnPattern: '$^' });
  assert.match(reason, /^returned/);
  for (const [token, taken] of [
    [refused.payout_token, '0.07'],
    [returned.payout_token, '0.35'],
  ] as const) {
    const charges = await waitForCharges(token);
    assert.deepEqual(
      charges.map(({ amount: charged }) => charged),
      [taken],
    );
  }
  const open = await runCommand(service, ['exception', 'list']);
  assert.equal(String(open['matching']), '0', JSON.stringify(open));
});

test('the ledger balances, and the log has no token and no ID of a recipient', async () => {
  const proof = await runCommand(service, ['ledger', 'verify']);
  assert.equal(String(proof['isSound']), 'true', JSON.stringify(proof));
  for (const value of [card.CardNumber, wallet.BankAccountNumber]) {
    assert.ok(!service.output().includes(value));
  }
});
