import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { add, compare, multiplyDown, subtract } from './exact.ts';
import {
  type Attribute,
  attributePath,
  type CommitResult,
  type CountryLookup,
  chooseValues,
  type DeliveryCase,
  deliveryCases,
  describeUser,
  listPayers,
  type Payout,
  payoutPath,
} from './recipients.ts';
import {
  type Account,
  type Api,
  type Balance,
  createAccount,
  ok,
  readBalance,
  type Service,
  startService,
  versions,
} from './service.ts';
import { assertPlainDecimal, assertShape, patterns, shapes } from './shapes.ts';

/** The flow of the interface specification; every answer is checked against section 2. */

let service: Service;
let account: Account;

before(async () => {
  service = await startService();
  account = await createAccount(service, { USD: '100000' });
});
after(() => service.stop());

const fractionDigits: Readonly<Record<string, number>> = { MXN: 2, KES: 2, LTC: 8 };

const maskedValues: Readonly<Record<string, Record<string, string>>> = {
  bank: { BankAccountNumber: '****9719' },
  cash: {
    IdentificationType: 'PASSPORT',
    IdentificationNumber: '****5678',
    IdentificationExpiration: '2199-12-31',
  },
  wallet: { PhoneNumber: '+254712345678' },
  crypto: { BankAccountNumber: 'LaMT348PWRnrqeeWArpwQPbuanpXDZGEUz' },
};

for (const version of versions) {
  for (const [name, delivery] of Object.entries(deliveryCases)) {
    test(`a ${name} destination is paid as the specification describes in ${version}`, async () => {
      await runFlow(account.api.withVersion(version), delivery, maskedValues[name] ?? {});
    });
  }
}

async function runFlow(
  api: Api,
  delivery: DeliveryCase,
  masked: Record<string, string>,
): Promise<void> {
  const [first] = ok(await api.get<Balance[]>('/account/balance'));
  assertShape(first, shapes.balance);
  const funds = await readBalance(api);

  const request = describeUser({ country: delivery.country, mobile_number: '254712345678' });
  const user = ok(await api.post<Record<string, string>>('/user', request));
  assertShape(user, shapes.user);
  assert.equal(user['status'], 'ACTIVE');
  const userToken = user['user_token'] ?? '';

  const payer = await lookUp(api, delivery);
  const destination = {
    userToken,
    destinationToken: payer.destination_token,
    currency: delivery.currency,
  };
  const path = attributePath(destination);
  const attributes = ok(await api.get<Attribute[]>(path));
  for (const attribute of attributes) {
    assertShape(attribute, shapes.attribute);
    assert.equal(attribute.value, '');
    assert.equal(attribute.attr_set_token, '');
    assert.equal(attribute.last_attr_value_used, false);
  }
  const values = chooseValues(delivery, attributes);
  const set = ok(await api.post<{ attr_set_token: string }>(path, { values }));
  assert.match(set.attr_set_token, patterns.attributeSet);
  for (const attribute of ok(await api.get<Attribute[]>(path))) {
    const stored = values.find(({ token }) => token === attribute.token);
    assert.equal(attribute.value, stored?.value ?? '');
    assert.equal(attribute.last_attr_value_used, stored !== undefined);
    assert.equal(attribute.attr_set_token, set.attr_set_token);
  }

  const payout = ok(
    await api.post<Payout>(`/payout/${userToken}`, {
      destination_token: payer.destination_token,
      destination_currency_code: delivery.currency,
      attr_set_token: set.attr_set_token,
      source_amount: 100.1,
      metadata: { order: 'A-1' },
    }),
  );
  checkPayout(payout, delivery);
  assert.equal(payout['status'], 'PENDING');
  assert.equal(payout['pickup_code'], '');
  assert.equal(payout['attr_set_token'], set.attr_set_token);
  assert.equal(payout['payer_name'], payer.payer_name);
  assert.deepEqual(payout.attrs, masked);
  assert.equal(await readBalance(api), funds);
  await commitAndRead(api, { payout, delivery, userToken, funds });
}

async function lookUp(api: Api, delivery: DeliveryCase) {
  const lookup = ok(
    await api.get<CountryLookup>(`/country/${delivery.country}/cheapest?amount=100.1`),
  );
  for (const company of lookup.companies) {
    assertShape(company, shapes.company);
    assert.ok(compare(company.rating, '0') >= 0 && compare(company.rating, '5') <= 0);
    for (const offered of company.services) {
      assertShape(offered, shapes.service);
      assert.equal(offered.country_code, delivery.country);
      for (const payer of offered.payers) {
        assertShape(payer, shapes.payer);
        assert.equal(payer.source_amount.text, '100.1');
        assert.ok(payer.exchange_rate.length > 0);
        for (const rate of payer.exchange_rate) assertShape(rate, shapes.rate);
      }
    }
  }
  const [payer] = listPayers(lookup, delivery);
  assert.ok(payer, `a payer delivers ${delivery.deliveryType}`);
  return payer;
}

function checkPayout(payout: Payout, delivery: DeliveryCase): void {
  assertShape(payout, shapes.payout);
  assert.equal(payout['delivery_type'], delivery.deliveryType);
  assert.equal(payout['country_code'], delivery.country);
  assert.equal(payout['source_currency_code'], 'USD');
  assert.equal(payout['destination_currency_code'], delivery.currency);
  assert.equal(payout.source_amount.text, '100.1');
  assert.deepEqual(payout.metadata, { order: 'A-1' });
  for (const value of [payout.destination_amount, payout.exchange_rate, payout.fee]) {
    assertPlainDecimal(value);
  }
  const digits = fractionDigits[delivery.currency] ?? 2;
  const expected = multiplyDown(payout.source_amount, payout.exchange_rate, digits);
  assert.equal(payout.destination_amount.text, expected);
}

type Committed = { payout: Payout; delivery: DeliveryCase; userToken: string; funds: string };

async function commitAndRead(api: Api, committed: Committed): Promise<void> {
  const { payout, delivery, userToken, funds } = committed;
  const { payout_token: payoutToken = '' } = payout;
  const path = payoutPath({ userToken }, payoutToken);
  const result = ok(await api.put<CommitResult>(path));
  assertShape(result, shapes.commit);
  const isCash = delivery.deliveryType === 'CASH_PICKUP';
  assert.match(result.pickup_code, isCash ? /^\d{8}$/ : /^$/);
  const success = { payout_token: payoutToken, status: 'success', errors: '' };
  assert.deepEqual(result, { ...success, pickup_code: result.pickup_code });
  const left = subtract(funds, payout.source_amount, payout.fee);
  assert.equal(await readBalance(api), left);

  assert.deepEqual(ok(await api.put(path)), result, 'a repeated commit answers the same');
  assert.equal(await readBalance(api), left);
  assert.equal(add(left, payout.source_amount, payout.fee), funds);

  const status = ok(await api.get<Payout>(path));
  checkPayout(status, delivery);
  assert.equal(status['status'], 'PROCESSING');
  assert.equal(status['pickup_code'], result.pickup_code);
  // The payer may have taken it on meanwhile.
  const { committed_at, timeline, rail_reference, transaction_hash } = status;
  const progress = { committed_at, timeline, rail_reference, transaction_hash };
  const changed = { status: 'PROCESSING', pickup_code: result.pickup_code, ...progress };
  assert.deepEqual(status, { ...payout, ...changed }, 'the terms of a payout never change');
  const withLogo = ok(await api.get<Payout>(`${path}?include_payer_logo=true`));
  const logo = Buffer.from(withLogo['payer_logo'] ?? '', 'base64');
  assert.equal(logo.subarray(1, 4).toString('latin1'), 'PNG');
}

for (const version of versions) {
  test(`the status comes with a PDF in ${version}`, async () => {
    const api = account.api.withVersion(version);
    const [row] = ok(await api.get<Record<string, string>[]>('/user/history?number_of_records=1'));
    const path = `/payout/${row?.['user_token']}/${row?.['token']}`;
    const exported = ok(await api.patch<Payout>(path));
    assertShape(exported, { ...shapes.payout, content: 'string' });
    const pdf = Buffer.from(exported['content'] ?? '', 'base64');
    assert.equal(pdf.subarray(0, 5).toString('latin1'), '%PDF-');
    for (const method of version === 'v0.1.4' ? ['GET', 'PATCH'] : ['GET']) {
      const bare = await api.call(method, path, { headers: { accept: 'application/pdf' } });
      assert.equal(bare.status, 200);
      assert.equal(bare.headers['content-type'], 'application/pdf');
      assert.equal(bare.bytes.subarray(0, 5).toString('latin1'), '%PDF-');
    }
  });
}

test('an unknown version is 404 unknown_version', async () => {
  for (const version of ['v0.1.5', 'v0.1', 'v1', 'V0.1.4', 'v0.1.40']) {
    const reply = await account.api.get<{ code: string }>(`/${version}/account/balance`);
    assert.equal(reply.status, 404, version);
    if (version.startsWith('v')) assert.equal(reply.body.code, 'unknown_version', version);
  }
});
