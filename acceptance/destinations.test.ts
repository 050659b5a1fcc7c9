import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add, compare, type ExactNumber, exact, multiplyDown } from './exact.ts';
import {
  type CountryLookup,
  createPayout,
  createRecipient,
  type DeliveryCase,
  deliveryCases,
  findPayer,
  listPayers,
  type Payer,
} from './recipients.ts';
import { serveTests } from './serve.ts';
import { type Api, type Balance, createAccount, ok, type Service, versions } from './service.ts';
import { assertProblem, assertShape, deliveryTypes, locate, shapes } from './shapes.ts';

/** The country look-up: offers, amounts, order. */

let service: Service;
let api: Api;
serveTests({ USD: '1000', EUR: '1000' }, (served) => {
  ({ service, api } = served);
});

const lookUp = async (path: string): Promise<CountryLookup> =>
  ok(await api.get<CountryLookup>(`/country/${path}`));

const allPayers = (lookup: CountryLookup): Payer[] =>
  lookup.companies.flatMap((company) => company.services.flatMap((one) => one.payers));

test('every country is served and can be looked up', async () => {
  type Served = {
    country_code: string;
    country_name: string;
    currencies: string[];
    delivery_types: string[];
  };
  const served = ok(await api.get<Served[]>('/country/list'));
  assert.ok(served.length >= 249, String(served.length));
  assert.equal(new Set(served.map((country) => country.country_code)).size, served.length);
  for (const country of served) {
    assert.match(country.country_code, /^[A-Z]{3}$/);
    assert.ok(country.delivery_types.includes('CRYPTOCURRENCY'), country.country_code);
    assert.ok(country.delivery_types.every((type) => deliveryTypes.includes(type)));
  }
  // The short form looks up every third one.
  const stride = process.env['OUTLAY_TEST_LONG'] === '1' ? 1 : 3;
  const chosen = served.filter((_country, index) => index % stride === 0);
  for (const { country_code: code, delivery_types: types } of chosen) {
    const lookup = await lookUp(`${code}/cheapest`);
    const found = new Set<string>();
    for (const company of lookup.companies) {
      assertShape(company, shapes.company);
      for (const offered of company.services) {
        found.add(offered.delivery_type);
        assertShape(offered, shapes.service);
        for (const payer of offered.payers) assertShape(payer, shapes.payer);
      }
    }
    assert.ok(
      [...found].every((type) => types.includes(type)),
      code,
    );
    assert.ok(found.has('CRYPTOCURRENCY'), code);
  }
});

test('an unknown country code is refused in every version', async () => {
  for (const version of versions) {
    for (const code of ['ZZZ', 'mex', 'MX', 'MEXX', '484', 'XKX', 'M%20X', 'list2', 'EUR']) {
      for (const path of [`/country/${code}/cheapest`, `/country/${code}`]) {
        const reply = await api.withVersion(version).get(path);
        assert.deepEqual(
          locate(assertProblem(reply, 400, 'unknown_country')),
          ['country_code'],
          path,
        );
      }
    }
  }
});

test('logos are shown on request and are small images', async () => {
  const plain = await lookUp('MEX/cheapest');
  for (const company of plain.companies) assert.equal(company.company_logo, '');
  for (const payer of allPayers(plain)) assert.equal(payer.payer_logo, '');
  const lookup = await lookUp('MEX/cheapest?include_payer_logos=true');
  const logos = [
    ...lookup.companies.map((company) => company.company_logo),
    ...allPayers(lookup).map((payer) => payer.payer_logo),
  ];
  for (const logo of logos) {
    assert.match(logo, /^[A-Za-z0-9+/]+={0,2}$/);
    assert.equal(Buffer.from(logo, 'base64').subarray(1, 4).toString('latin1'), 'PNG');
  }
});

test('the default amount is 200 in the source currency', async () => {
  for (const payer of allPayers(await lookUp('MEX/cheapest'))) {
    assert.equal(payer.source_amount.text, '200');
  }
  for (const payer of allPayers(await lookUp('MEX/cheapest?amount=50.5&source_currency=EUR'))) {
    assert.equal(payer.source_amount.text, '50.5');
  }
});

test('with a limit the amount is the most that fits with the fee', async () => {
  for (const limit of ['100', '51.37']) {
    for (const path of [`MEX/cheapest?limit=${limit}`, `MEX?limit=${limit}`]) {
      for (const payer of allPayers(await lookUp(path))) {
        assert.ok(compare(add(payer.source_amount, payer.fee), limit) <= 0, payer.payer_name);
        const query = `MEX?amount=${add(payer.source_amount, '0.01')}`;
        const more = allPayers(await lookUpOnce(query)).find(
          (other) => other.destination_token === payer.destination_token,
        );
        assert.ok(more !== undefined);
        assert.ok(compare(add(more.source_amount, more.fee), limit) > 0, payer.payer_name);
      }
    }
  }
  for (const payer of allPayers(await lookUp('MEX/cheapest?limit=1000&amount=20'))) {
    assert.equal(payer.source_amount.text, '20');
  }
});

const seen = new Map<string, CountryLookup>();

async function lookUpOnce(path: string): Promise<CountryLookup> {
  const known = seen.get(path) ?? (await lookUp(path));
  seen.set(path, known);
  return known;
}

type Rate = { currency_symbol: string; exchange_rate: ExactNumber };

const rateOf = (payer: Payer, currency: string): Rate | undefined =>
  payer.exchange_rate.find((rate) => rate.currency_symbol === currency);

test('of equivalent payers only the cheapest for the amount is shown', async () => {
  const winners = new Set<string>();
  for (const amount of ['5', '50', '200', '1000', '2400']) {
    const cheapest = listPayers(await lookUp(`MEX/cheapest?amount=${amount}`), deliveryCases.bank);
    const names = cheapest.map((payer) => payer.payer_name);
    assert.equal(new Set(names).size, names.length, 'a name is shown once');
    const all = listPayers(await lookUp(`MEX?amount=${amount}`), deliveryCases.bank);
    assert.ok(all.length > cheapest.length);
    for (const shown of cheapest) {
      winners.add(shown.destination_token);
      const rivals = all.filter(
        (payer) =>
          payer.payer_name === shown.payer_name &&
          compare(payer.min_limit, amount) <= 0 &&
          (payer.max_limit.text === '0' || compare(payer.max_limit, amount) >= 0),
      );
      for (const rival of rivals) {
        assert.ok(costsAtMost(shown, rival, amount), `${shown.payer_name} for ${amount}`);
      }
    }
  }
  assert.ok(winners.size > 2, 'the choice depends on the amount');
});

/** The cost of a peso follows the rate of the cheaper payer. */
function costsAtMost(payer: Payer, rival: Payer, amount: string): boolean {
  const delivered = (one: Payer): number =>
    Number(multiplyDown(amount, rateOf(one, 'MXN')?.exchange_rate ?? '0', 2));
  const best = Math.max(
    ...[payer, rival].map((one) => Number(rateOf(one, 'MXN')?.exchange_rate.text)),
  );
  const cost = (one: Payer): number => Number(one.fee.text) - delivered(one) / best;
  return cost(payer) <= cost(rival) + 0.02;
}

test('results are narrowed by currency and by payer', async () => {
  const narrowed = await lookUp('MEX/cheapest?destination_currency=LTC');
  assert.ok(allPayers(narrowed).length > 0);
  for (const payer of allPayers(narrowed)) {
    assert.deepEqual(
      payer.exchange_rate.map((rate) => rate.currency_symbol),
      ['LTC'],
    );
  }
  const [payer] = listPayers(await lookUp('MEX/cheapest'), deliveryCases.bank);
  const name = encodeURIComponent(payer?.payer_name ?? '');
  for (const found of allPayers(await lookUp(`MEX?payer_name=${name}`))) {
    assert.equal(found.payer_name, payer?.payer_name);
  }
  assert.deepEqual((await lookUp('MEX/cheapest?payer_name=nobody')).companies, []);
  assert.deepEqual((await lookUp('MEX/cheapest?destination_currency=XAF')).companies, []);
});

test('a balance token names the source currency', async () => {
  const balances = ok(await api.get<Balance[]>('/account/balance'));
  const euros = balances.find((balance) => balance.currency_code === 'EUR');
  const byToken = await lookUp(`MEX/cheapest?wallet_token=${euros?.token}`);
  assert.deepEqual(byToken, await lookUp('MEX/cheapest?source_currency=EUR'));
  const reply = await api.get(
    `/country/MEX/cheapest?wallet_token=${euros?.token}&source_currency=USD`,
  );
  assertProblem(reply, 400);
});

test('a user_token must be of the account', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  ok(await api.get(`/country/MEX/cheapest?user_token=${recipient.userToken}`));
  const other = (await createAccount(service)).api;
  assertProblem(await other.get(`/country/MEX/cheapest?user_token=${recipient.userToken}`), 404);
});

test('a destination token is the same in every call and version', async () => {
  const tokens = async (version: string): Promise<string[]> => {
    const reply = await api.withVersion(version).get<CountryLookup>('/country/PHL');
    return allPayers(ok(reply))
      .map((payer) => payer.destination_token)
      .toSorted();
  };
  const [first, ...others] = await Promise.all(versions.map(tokens));
  for (const other of others) assert.deepEqual(other, first);
  assert.equal(new Set(first).size, first?.length);
});

test('a payout has the rate for its amount', async () => {
  const delivery: DeliveryCase = deliveryCases.crypto;
  for (const amount of ['20', '5000']) {
    const payer = await findPayer(api, delivery, `amount=${amount}`);
    const recipient = { ...(await createRecipient(api, delivery)), payer, attrSetToken: '' };
    const payout = await createPayout(api, recipient, { source_amount: exact(amount) });
    assert.equal(payout.exchange_rate.text, rateOf(payer, 'LTC')?.exchange_rate.text);
  }
});

test('the availability is in the future and skips the weekend for banks', async () => {
  const now = Date.parse(ok(await api.get<{ now: string }>('/sandbox/clock')).now);
  for (const country of ['MEX', 'DEU', 'ARE', 'JPN']) {
    for (const payer of allPayers(await lookUp(country))) {
      assert.ok(Date.parse(payer.estimated_availability) >= now - 60_000, payer.payer_name);
    }
  }
});
