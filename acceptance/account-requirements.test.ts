import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import {
  type Attribute,
  attributePath,
  type CommitResult,
  type CountryLookup,
  commitPayout,
  createPayout,
  createUser,
  type Destination,
  listPayers,
  type Payer,
  type Payout,
  readAttributes,
} from './recipients.ts';
import {
  type Account,
  type Api,
  createAccount,
  ok,
  type Service,
  startService,
} from './service.ts';
import { startWiseRequirements, type WiseRequirements } from './wise-requirements-kit.ts';

/**
 * What a provider asks for of its recipients, as a client sees it: among the attributes of the
 * destination, in what is missing, and in what the provider finally gets.
 */

type Row = Record<string, unknown>;
type Missing = { token: string; type: string; field: string; code: string };

const delivery = { country: 'PHL', deliveryType: 'BANK_DEPOSIT', currency: 'PHP' } as const;
const account = '1234567890';

let wise: WiseRequirements;
let service: Service;
let owner: Account;
let api: Api;

before(async () => {
  wise = await startWiseRequirements();
  service = await startService({ isOwn: true, settings: wise.settings });
  await wise.notify(service);
  owner = await createAccount(service, { USD: '100000' });
  ({ api } = owner);
});
after(async () => {
  await service?.stop();
  wise?.stop();
});

/** The other loops of the service do their part within seconds, on a busy machine within a minute. */
async function waitFor<Value>(what: string, find: () => Promise<Value | undefined>) {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const found = await find();
    if (found !== undefined) return found;
    await sleep(100);
  }
  throw new Error(`${what}\n${service.output().slice(-4000)}`);
}

async function findWise(): Promise<Payer> {
  return waitFor('no payer of Wise', async () => {
    const lookup = ok(await api.get<CountryLookup>('/country/PHL/cheapest?'));
    return listPayers(lookup, delivery).find((payer) => payer.payer_name === 'Wise');
  });
}

async function createDestination(person: Row = {}): Promise<Destination & { payer: Payer }> {
  const payer = await findWise();
  const userToken = await createUser(api, { country: 'PHL', ...person });
  return { userToken, destinationToken: payer.destination_token, currency: 'PHP', payer };
}

const findType = (attributes: readonly Attribute[], type: string) =>
  attributes.find((one) => one.type === type);

/** By attribute type. */
async function store(destination: Destination, values: Readonly<Record<string, string>>) {
  const attributes = await readAttributes(api, destination);
  const given = Object.entries(values).map(([type, value]) => ({
    token: findType(attributes, type)?.token ?? '',
    value,
  }));
  return api.post<Row & { attr_set_token: string }>(attributePath(destination), { values: given });
}

async function listMissing({ userToken, destinationToken }: Destination) {
  const query = `destination_token=${destinationToken}&currency=PHP&amount=1000`;
  const path = `/user/${userToken}/readiness?${query}`;
  const { obstacles } = ok(await api.get<{ obstacles: { missing?: Missing[] }[] }>(path));
  return obstacles.flatMap(({ missing = [] }) => missing.map(({ type, field }) => type || field));
}

const waitForMissing = (destination: Destination, expected: readonly string[]) =>
  waitFor(`missing is not ${expected.join()}`, async () => {
    const found = await listMissing(destination);
    return JSON.stringify(found) === JSON.stringify(expected) ? found : undefined;
  });

const findAsked = (destination: Destination, type: string) =>
  waitFor(`${type} is not asked for`, async () =>
    findType(await readAttributes(api, destination), type),
  );

async function quote(destination: Destination & { payer: Payer }, attrSetToken: string) {
  const { userToken, payer } = destination;
  return createPayout(api, { userToken, payer, delivery, attrSetToken }, { source_amount: 100 });
}

/** With which version of the requirements the newest details of a set were checked. */
async function readProfileVersion(attrSetToken: string): Promise<string> {
  // A service on a database of its own, as without `npm test`, has no address for others.
  const connectionString = service.settings['DATABASE_URL'];
  if (connectionString === undefined) return `${'0'.repeat(16)}@1`;
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ profile_version: string }>(
      'select profile_version from attribute_set_versions where set_id = $1 order by version desc',
      [attrSetToken.replace('attr_set_', '')],
    );
    return rows[0]?.profile_version ?? '';
  } finally {
    await client.end();
  }
}

const commit = async (destination: Destination, payout: Payout) =>
  (await commitPayout(api, destination, payout['payout_token'])) as CommitResult & {
    missing: Missing[];
  };

test('the fields of a provider are attributes, in the schema and on the page of the recipient', async () => {
  const destination = await createDestination();
  const bank = await waitFor('the banks are not listed', async () => {
    const found = findType(await readAttributes(api, destination), 'BankRoutingNumber');
    return found?.input_type === 'options' ? found : undefined;
  });
  assert.equal(bank.label, 'Bank name');
  assert.equal(bank.validation, 'BDO|BPI');
  assert.equal(
    bank.expected_value,
    'One of: BDO (Banco de Oro BDO), BPI (Bank of the Philippine Islands)',
  );
  assert.equal(bank.is_optional, false);
  const schema = ok(await api.get<Row>(`${attributePath(destination)}/schema`));
  const properties = schema['properties'] as Record<string, Row>;
  assert.deepEqual(properties[bank.token]?.['enum'], ['BDO', 'BPI']);
  const { userToken, destinationToken, currency } = destination;
  const link = ok(
    await api.post<{ url: string }>(`/user/${userToken}/link`, {
      purpose: 'payout_details',
      destination_token: destinationToken,
      currency,
    }),
  );
  const page = await fetch(link.url);
  assert.equal(page.status, 200);
  const text = await page.text();
  assert.match(text, /Bank of the Philippine Islands/);
  const refused = await store(destination, { BankRoutingNumber: 'BNORPHMM' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /pattern_mismatch/);
});

test('what depends on a value is missing before the commit, and is sent as the form has it', async () => {
  const destination = await createDestination();
  await findAsked(destination, 'BankRoutingNumber');
  const values = { BankRoutingNumber: 'bpi', BankAccountNumber: account };
  const first = ok(await store(destination, values));
  assert.deepEqual(first['missing'], []);
  // The first recipient of this bank makes the rail ask; the next one finds it among the attributes.
  await waitForMissing(destination, ['BankAccountBranchNumber']);
  const branch = await findAsked(destination, 'BankAccountBranchNumber');
  assert.equal(branch.validation, '001|002');
  assert.match(
    branch.expected_value,
    /requires it where Bank name is Bank of the Philippine Islands/,
  );
  const incomplete = await quote(destination, first.attr_set_token).catch((error: Error) => error);
  assert.ok(incomplete instanceof Error, 'the quote is refused');
  assert.match(incomplete.message, /BankAccountBranchNumber/);
  const partial = ok(await store(await createDestination(), values))['missing'] as Missing[];
  assert.deepEqual(
    partial.map(({ type, code }) => [type, code]),
    [['BankAccountBranchNumber', 'value_missing']],
  );
  const second = ok(await store(destination, { ...values, BankAccountBranchNumber: '002' }));
  assert.deepEqual(await listMissing(destination), []);
  assert.match(await readProfileVersion(second.attr_set_token), /^[0-9a-f]{16}@\d+$/);
  const payout = await quote(destination, second.attr_set_token);
  const result = await commit(destination, payout);
  assert.equal(result.status, 'success', result.errors);
  await waitFor('the payout is not paid', async () => {
    const { userToken } = destination;
    const path = `/payout/${userToken}/${payout['payout_token']}`;
    const found = ok(await api.get<Payout>(path));
    return found['status'] === 'COMPLETED' ? found : undefined;
  });
  const { email: _email, ...details } = (await wise.listRecipients()).at(-1)?.details ?? {};
  assert.deepEqual(details, {
    legalType: 'PRIVATE',
    bankCode: 'BPI',
    branchCode: '002',
    accountNumber: account,
  });
});

test('a form that changed after the quote refuses the commit with what is missing', async () => {
  const destination = await createDestination();
  await findAsked(destination, 'BankRoutingNumber');
  const values = { BankRoutingNumber: 'BDO', BankAccountNumber: account };
  const set = ok(await store(destination, values)).attr_set_token;
  const payout = await quote(destination, set);
  await wise.requireTaxId();
  await waitForMissing(destination, ['IdentificationNumber']);
  const refused = await commit(destination, payout);
  assert.equal(refused.status, 'addtl_attr_req');
  // It is required of everyone when the forms of all banks were read again.
  const asked = await waitFor('it is optional', async () => {
    const found = findType(await readAttributes(api, destination), 'IdentificationNumber');
    return found?.is_optional === false ? found : undefined;
  });
  assert.equal(asked.label, 'Tax identification number');
  assert.deepEqual(
    refused.missing.map(({ token, type, code }) => [token, type, code]),
    [[asked.token, 'IdentificationNumber', 'recipient_missing']],
  );
  assert.equal(
    (await wise.listRecipients()).some(({ details }) => details['bankCode'] === 'BDO'),
    false,
  );
  const complete = ok(await store(destination, { ...values, IdentificationNumber: '123456789' }));
  assert.deepEqual(complete['missing'], []);
  const again = await quote(destination, complete.attr_set_token);
  const paid = await commit(destination, again);
  assert.equal(paid.status, 'success', paid.errors);
});
