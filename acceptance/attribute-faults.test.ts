import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { reach as reachWith, store as storeWith } from './attribute-kit.ts';
import {
  attributePath,
  chooseValues,
  type DeliveryCase,
  type Destination,
  deliveryCases,
  readAttributes,
} from './recipients.ts';
import { serveTests } from './serve.ts';
import type { Api } from './service.ts';
import { assertProblem, locate } from './shapes.ts';

/** Values of attributes that are refused. */

let api: Api;
serveTests({ USD: '1000' }, (served) => {
  ({ api } = served);
});

const reach = (delivery: DeliveryCase) => reachWith(api, delivery);
const store = (destination: Destination, values: unknown, attrSetToken?: string) =>
  storeWith(api, destination, { values, attrSetToken });

const wrongValues: [string, DeliveryCase, Record<string, string[]>][] = [
  [
    'a CLABE',
    deliveryCases.bank,
    {
      BankAccountNumber: [
        '',
        '03218000011835971',
        '032180000118359718',
        '03218000011835971９',
        '032180000118359719\n',
        '０３２１８００００１１８３５９７１９',
        '0'.repeat(5000),
      ],
    },
  ],
  [
    'an IBAN',
    { country: 'DEU', deliveryType: 'BANK_DEPOSIT', currency: 'EUR' },
    {
      BankAccountNumber: ['DE89370400440532013001', 'FR1420041010050500013M02606', 'x'],
      SWIFT: ['x', 'DEUTFRFF'],
    },
  ],
  [
    'a wallet address',
    deliveryCases.crypto,
    {
      BankAccountNumber: [
        'LaMT348PWRnrqeeWArpwQPbuanpXDZGEUy',
        'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n8',
        'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
        '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2',
      ],
    },
  ],
  [
    'an Ethereum address',
    { country: 'MEX', deliveryType: 'CRYPTOCURRENCY', currency: 'ETH' },
    {
      BankAccountNumber: [
        '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD',
        '5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
      ],
    },
  ],
  [
    'a mobile wallet',
    deliveryCases.wallet,
    {
      PhoneNumber: [
        '0712345678',
        '+254\n712345678',
        '+14155550100',
        '+25471234567',
        '+2547123456789',
      ],
    },
  ],
  [
    'a document',
    deliveryCases.cash,
    {
      IdentificationType: ['pasport', 'PASSPORT|INE', 'LIBRARY_CARD'],
      IdentificationNumber: ['a', 'x'.repeat(200)],
      IdentificationExpiration: ['2020-01-01', '2199-02-30', '31/12/2199'],
    },
  ],
];

for (const [name, delivery, wrong] of wrongValues) {
  test(`an invalid ${name} is refused with its token, and nothing is stored`, async () => {
    const destination = await reach(delivery);
    const attributes = await readAttributes(api, destination);
    for (const [type, values] of Object.entries(wrong)) {
      const attribute = attributes.find((one) => one.type === type);
      assert.ok(attribute, type);
      for (const value of values) {
        const right: { token: string; value: string }[] = chooseValues(delivery, attributes).filter(
          ({ token }) => token !== attribute.token,
        );
        const reply = await store(destination, [...right, { token: attribute.token, value }]);
        const problem = assertProblem(reply, 400);
        assert.deepEqual(locate(problem), [`/values/${right.length}/value`], `${type} ${value}`);
        if (value.length < 1000) assert.equal(problem.errors[0]?.token, attribute.token);
        if (value.length > 8) assert.ok(!reply.text.includes(value), 'the value is not repeated');
      }
    }
    for (const attribute of await readAttributes(api, destination))
      assert.equal(attribute.value, '');
  });
}

test('all faults of a set are reported, each with its attribute', async () => {
  const destination = await reach(deliveryCases.cash);
  const attributes = await readAttributes(api, destination);
  const token = (type: string): string =>
    attributes.find((attribute) => attribute.type === type)?.token ?? '';
  const reply = await store(destination, [
    { token: token('IdentificationType'), value: 'NOPE' },
    { token: token('IdentificationNumber'), value: '?' },
    { token: token('IdentificationExpiration'), value: '1999-01-01' },
    { token: `attr_${randomUUID()}`, value: 'x' },
    { token: token('IdentificationType'), value: 'PASSPORT' },
  ]);
  assert.deepEqual(locate(assertProblem(reply, 400)), [
    '/values/0/value',
    '/values/1/value',
    '/values/2/value',
    '/values/3/token',
    '/values/4/token',
  ]);
});

test('a body that is not a set of values is refused', async () => {
  const destination = await reach(deliveryCases.bank);
  for (const [body, pointers] of [
    [{}, ['/values']],
    [{ values: {} }, ['/values']],
    [{ values: [5] }, ['/values/0']],
    [{ values: [{}] }, ['/values/0/token', '/values/0/value']],
    [{ values: [{ token: 5, value: 5 }] }, ['/values/0/token', '/values/0/value']],
    [{ values: [{ token: 'x', value: null }] }, ['/values/0/value']],
  ] as const) {
    const reply = await api.post(attributePath(destination), body);
    assert.deepEqual(locate(assertProblem(reply, 400)), pointers, JSON.stringify(body));
  }
});
