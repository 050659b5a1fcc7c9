import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  attributePath,
  type CommitResult,
  commitPayout,
  createPayout,
  createUser,
  fillAttributes,
  listPayers,
  type Payer,
  type Recipient,
} from './recipients.ts';
import { type Account, advance, createAccount, ok, type Service, startService } from './service.ts';

/** Verification of Payee: what the bank of an account says of the name, before the commit. */

type Row = Record<string, unknown>;

const delivery = { country: 'DEU', deliveryType: 'BANK_DEPOSIT', currency: 'EUR' } as const;
const iban = 'DE89370400440532013000';
const folder = mkdtempSync(join(tmpdir(), 'outlay-payee-check-'));
mkdirSync(join(folder, 'bank'));
let bank: ChildProcess;
const services: Service[] = [];
/** The same bank, with either setting. */
let shown: { service: Service; account: Account };
let refusing: { service: Service; account: Account };

before(async () => {
  const simulator = '../server/testing/counterparties/iso20022/payee-simulator.ts';
  const words = [join(import.meta.dirname, simulator), '--folder', folder, '--token', 'secret'];
  bank = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise<string>((resolve) => {
    bank.stdout?.once('data', (line) => resolve(String(line).trim()));
  });
  const rails = join(folder, 'rails.json');
  writeFileSync(rails, JSON.stringify({ rails: [describeRail(url)] }));
  const start = async (choice: string) => {
    const settings = { OUTLAY_RAILS: rails, OUTLAY_PAYEE_CHECK: choice };
    const service = await startService({ isOwn: true, settings });
    services.push(service);
    return { service, account: await createAccount(service, { USD: '100000' }) };
  };
  shown = await start('shown');
  refusing = await start('refuse');
});
after(async () => {
  bank.kill();
  for (const service of services) await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

function describeRail(url: string): Row {
  const party = { name: 'Outlay Tests GmbH' };
  return {
    kind: 'iso20022',
    name: 'bank_eu',
    config: {
      messagePrefix: 'T1',
      initiatingParty: party,
      schedule: { everySeconds: 2, weekend: [] },
      debtors: [
        { key: 'main', ...party, country: 'DE', town: 'Berlin', iban, currencies: ['EUR'] },
      ],
      verificationOfPayee: { url, token: 'secret' },
      exchange: { mode: 'directory', folder },
    },
    companies: [{ key: 'bank', name: 'The bank' }],
    payers: [
      {
        key: 'sepa',
        companyKey: 'bank',
        payerName: 'SEPA',
        countryCode: 'DEU',
        deliveryType: 'BANK_DEPOSIT',
        currencies: ['EUR'],
        tariffs: [{ fee: [{ upTo: null, fixed: '0', basisPoints: 0 }], marginBasisPoints: 0 }],
        availability: { delay: { minutes: 5 } },
      },
    ],
    dailyLimits: { EUR: '900000' },
  };
}

function setBank(payees: Row): void {
  writeFileSync(join(folder, 'bank', 'payees.json'), JSON.stringify(payees));
}

async function createRecipient({ api }: Account): Promise<Recipient> {
  const userToken = await createUser(api, { country: 'DEU', city: 'Berlin' });
  const lookup = ok(await api.get<Parameters<typeof listPayers>[0]>('/country/DEU/cheapest?'));
  const payer = listPayers(lookup, delivery).find((one: Payer) => one.payer_name === 'SEPA');
  assert.ok(payer !== undefined);
  const attrSetToken = await fillAttributes(api, { userToken, payer, delivery });
  return { userToken, payer, delivery, attrSetToken };
}

function pathOf({ userToken, payer }: Recipient): string {
  const destinationToken = payer.destination_token;
  return `${attributePath({ userToken, destinationToken, currency: 'EUR' })}/payee-check`;
}

const check = async ({ api }: Account, recipient: Recipient): Promise<Row> =>
  ok(await api.post<Row>(pathOf(recipient), undefined));

async function readReadiness({ api }: Account, { userToken, payer }: Recipient) {
  const query = `destination_token=${payer.destination_token}&currency=EUR&amount=10`;
  const path = `/user/${userToken}/readiness?${query}`;
  const { obstacles, warnings } = ok(await api.get<{ obstacles: Row[]; warnings: Row[] }>(path));
  const codes = (rows: Row[]) => rows.map(({ code }) => code);
  return { obstacles: codes(obstacles), warnings: codes(warnings) };
}

test('the answer of the bank is returned, kept, and requested again for other details', async () => {
  const { account } = shown;
  const recipient = await createRecipient(account);
  setBank({ holders: { [iban]: 'Ana Gómez' } });
  const match = await check(account, recipient);
  assert.deepEqual([match['outcome'], match['suggested_name']], ['match', '']);

  setBank({ holders: { [iban]: 'Ana María Gómez' } });
  assert.deepEqual(await check(account, recipient), match, 'a match is kept');
  ok(await account.api.put(`/user/${recipient.userToken}`, { first_name: 'Anna' }));
  const renamed = await readReadiness(account, recipient);
  assert.deepEqual(renamed, { obstacles: [], warnings: [] }, 'the match was of another name');
  setBank({ holders: { [iban]: 'Ana Gómez' } });
  const close = await check(account, recipient);
  assert.deepEqual([close['outcome'], close['suggested_name']], ['close_match', 'Ana Gómez']);
  assert.deepEqual((await readReadiness(account, recipient)).warnings, ['payee_close_match']);

  const destination = {
    userToken: recipient.userToken,
    destinationToken: recipient.payer.destination_token,
    currency: 'EUR',
  };
  const chosen = { BankAccountNumber: 'DE02120300000000202051' };
  const { userToken, payer } = recipient;
  await fillAttributes(account.api, { userToken, payer, delivery, chosen });
  setBank({ holders: { [chosen.BankAccountNumber]: 'Somebody Else' } });
  assert.equal((await check(account, recipient))['outcome'], 'no_match');
  const named = `${attributePath(destination)}/payee-check?attr_set_token=${recipient.attrSetToken}`;
  assert.equal(
    ok(await account.api.post<Row>(named, undefined))['outcome'],
    'close_match',
    'the other set',
  );

  assert.deepEqual((await readReadiness(account, recipient)).warnings, ['payee_no_match']);
  const { payout_token: token = '' } = await createPayout(account.api, {
    ...recipient,
    attrSetToken: '',
  });
  assert.equal((await commitPayout(account.api, recipient, token)).status, 'success');
});

test('an answer that is not a match is asked for again after an hour, and ages', async () => {
  const { account } = shown;
  const recipient = await createRecipient(account);
  setBank({ holders: { [iban]: 'Somebody Else' } });
  const first = await check(account, recipient);
  setBank({ holders: { [iban]: 'Ana Gómez' } });
  assert.deepEqual(await check(account, recipient), first, 'within the hour');
  await advance(account.api, 3_601);
  setBank({ mode: 'down' });
  assert.deepEqual(await check(account, recipient), first, 'the bank does not answer');
  await advance(account.api, 7 * 86_400);
  assert.equal((await check(account, recipient))['outcome'], 'not_possible');
  assert.deepEqual((await readReadiness(account, recipient)).warnings, []);
  setBank({ holders: { [iban]: 'Ana Gómez' } });
  assert.equal((await check(account, recipient))['outcome'], 'match');
});

test('a client is answered about its own recipients and their stored details only', async () => {
  const recipient = await createRecipient(shown.account);
  setBank({ holders: { [iban]: 'Ana Gómez' } });
  const other = await createAccount(shown.service);
  assert.equal((await other.api.post(pathOf(recipient), undefined)).status, 404);
  const unknown = `${pathOf(recipient)}?attr_set_token=${recipient.userToken}`;
  assert.equal((await shown.account.api.post(unknown, undefined)).status, 404);
  const userToken = await createUser(shown.account.api, { country: 'DEU', city: 'Berlin' });
  const empty = await check(shown.account, { ...recipient, userToken });
  assert.equal(empty['outcome'], 'not_possible', 'nothing is stored');
});

test('where the operator refuses, an account of another name is refused until it is corrected', async () => {
  const { account } = refusing;
  const recipient = await createRecipient(account);
  setBank({ holders: { [iban]: 'Anna Lena Meier' } });
  const { payout_token: token = '' } = await createPayout(account.api, recipient);
  assert.equal((await check(account, recipient))['outcome'], 'no_match');
  const expected = { obstacles: ['payee_no_match'], warnings: [] };
  assert.deepEqual(await readReadiness(account, recipient), expected);

  const refused: CommitResult & Row = await commitPayout(account.api, recipient, token);
  assert.equal(refused.status, 'addtl_attr_req');
  assert.deepEqual([refused['code'], refused['actor']], ['payee_no_match', 'client']);
  const quoted = await account.api.post<Row>(`/payout/${recipient.userToken}`, {
    destination_token: recipient.payer.destination_token,
    destination_currency_code: 'EUR',
    source_amount: 10,
  });
  assert.equal(quoted.status, 400);
  assert.match(JSON.stringify(quoted.body), /payee_no_match/);

  const name = { first_name: 'Anna Lena', last_name: 'Meier' };
  ok(await account.api.put(`/user/${recipient.userToken}`, name));
  assert.equal((await check(account, recipient))['outcome'], 'match');
  assert.equal((await commitPayout(account.api, recipient, token)).status, 'success');
});

test('a bank that does not answer blocks nothing', async () => {
  const { account } = refusing;
  const recipient = await createRecipient(account);
  setBank({ mode: 'down' });
  assert.equal((await check(account, recipient))['outcome'], 'not_possible');
  const { payout_token: token = '' } = await createPayout(account.api, recipient);
  assert.equal((await commitPayout(account.api, recipient, token)).status, 'success');
});
