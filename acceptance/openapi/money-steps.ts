import { type Known, payoutOf, readAttribute, readText, type Step, userOf } from './steps.ts';

/** From a credential to a committed payout, as a client would go. */

type Lookup = {
  companies: {
    services: { delivery_type: string; payers: { destination_token: string }[] }[];
  }[];
};

/** The destination token of the first payer of this kind. */
function readDestination(body: unknown, deliveryType: string): string {
  const services = (body as Lookup).companies.flatMap((company) => company.services);
  const service = services.find((one) => one.delivery_type === deliveryType);
  return readText(service, 'payers', 0, 'destination_token');
}

const authentication: Step[] = [
  {
    operationId: 'readService',
    summary: 'In the sandbox',
    credential: 'none',
    request: () => ({}),
  },
  {
    operationId: 'readAuthorizationServer',
    summary: 'Discovery',
    credential: 'none',
    request: () => ({}),
  },
  {
    operationId: 'issueToken',
    summary: 'Credentials in the form',
    credential: 'none',
    request: (known) => ({
      form: {
        grant_type: 'client_credentials',
        client_id: known['client_id'] ?? '',
        client_secret: known['client_secret'] ?? '',
      },
    }),
    keep: (body) => ({ access_token: readText(body, 'access_token') }),
  },
  {
    operationId: 'issueToken',
    summary: 'Fewer scopes',
    credential: 'none',
    request: (known) => ({
      form: {
        grant_type: 'client_credentials',
        client_id: known['client_id'] ?? '',
        client_secret: known['client_secret'] ?? '',
        scope: 'balance:read',
      },
    }),
    keep: (body) => ({ reduced_token: readText(body, 'access_token') }),
  },
  {
    operationId: 'issueToken',
    summary: 'Another grant',
    credential: 'none',
    status: 400,
    isWrong: true,
    request: () => ({ form: { grant_type: 'password' } }),
  },
  {
    operationId: 'issueToken',
    summary: 'Wrong secret',
    credential: 'none',
    status: 401,
    request: (known) => ({
      form: {
        grant_type: 'client_credentials',
        client_id: known['client_id'] ?? '',
        client_secret: 'not-the-secret',
      },
    }),
  },
];

const account: Step[] = [
  {
    operationId: 'listBalances',
    summary: 'The balances of a new sandbox',
    request: () => ({}),
    keep: (body) => ({ balance_token: readText(body, 0, 'token') }),
  },
  {
    operationId: 'listBalances',
    summary: 'No credential',
    credential: 'none',
    status: 401,
    isWrong: true,
    request: () => ({}),
  },
  {
    operationId: 'listBalances',
    summary: 'A form that is not served',
    status: 406,
    isWrong: true,
    request: () => ({ headers: { accept: 'text/csv' } }),
  },
];

const ana = {
  internal_user_id: 'customer-1024',
  country: 'MEX',
  first_name: 'Ana',
  last_name: 'Gómez',
  email: 'ana.gomez@example.org',
  mobile_number: '5215512345678',
  date_of_birth: '1990-02-01',
  address1: 'Calle de Durango 245',
  city: 'Ciudad de México',
  postal_code: '06700',
  metadata: { segment: 'contractors' },
};

const users: Step[] = [
  {
    operationId: 'createUser',
    summary: 'A recipient in Mexico',
    request: () => ({ headers: { 'idempotency-key': 'create-customer-1024' }, body: ana }),
    keep: (body) => ({ user_token: readText(body, 'user_token') }),
  },
  {
    operationId: 'createUser',
    summary: 'The key of another request',
    status: 422,
    request: () => ({
      headers: { 'idempotency-key': 'create-customer-1024' },
      body: { ...ana, first_name: 'Eva' },
    }),
  },
  {
    operationId: 'createUser',
    summary: 'A user who exists',
    status: 409,
    request: () => ({ body: ana }),
  },
  {
    operationId: 'createUser',
    summary: 'Three faults at once',
    status: 400,
    isWrong: true,
    request: () => ({
      body: {
        internal_user_id: 'customer 7',
        country: 'Mexico',
        first_name: 'Leo',
        last_name: 'Paz',
      },
    }),
  },
  {
    operationId: 'createUser',
    summary: 'A credential without the scope',
    credential: 'reduced',
    status: 403,
    request: () => ({ body: ana }),
  },
  {
    operationId: 'createUser',
    summary: 'Another media type',
    status: 415,
    isWrong: true,
    request: () => ({ headers: { 'content-type': 'text/plain' }, body: ana }),
  },
  {
    operationId: 'createUser',
    summary: 'A body past the limit',
    status: 413,
    isWrong: true,
    request: () => ({ body: { ...ana, address2: 'x'.repeat(300_000) } }),
  },
  { operationId: 'getUser', summary: 'Ana', request: (known) => ({ params: userOf(known) }) },
  {
    operationId: 'updateUser',
    summary: 'A new address',
    request: (known) => ({ params: userOf(known), body: { address1: 'Avenida Yucatán 12' } }),
  },
  {
    operationId: 'listUsers',
    summary: 'In Mexico',
    itemsMax: 1,
    request: () => ({ query: { country: 'MEX', number_of_records: '10' } }),
  },
  {
    operationId: 'lookUpUser',
    summary: 'By your own identifier',
    request: () => ({ query: { internal_user_id: ana.internal_user_id } }),
  },
];

const destinations: Step[] = [
  {
    operationId: 'listCountries',
    summary: 'The first two',
    itemsMax: 2,
    request: () => ({}),
  },
  {
    operationId: 'findCheapestDestinations',
    summary: 'Pesos in Mexico',
    itemsMax: 1,
    request: () => ({
      params: { country_code: 'MEX' },
      query: { amount: '200', destination_currency: 'MXN' },
    }),
    keep: (body) => ({ bank_token: readDestination(body, 'BANK_DEPOSIT') }),
  },
  {
    operationId: 'findCheapestDestinations',
    summary: 'More than cash is paid for unseen',
    isHidden: true,
    request: () => ({ params: { country_code: 'MEX' }, query: { amount: '1500' } }),
    keep: (body) => ({ cash_token: readDestination(body, 'CASH_PICKUP') }),
  },
  {
    operationId: 'listDestinations',
    summary: 'Litecoin in Mexico',
    itemsMax: 1,
    request: () => ({
      params: { country_code: 'MEX' },
      query: { destination_currency: 'LTC', include_payer_logos: 'false' },
    }),
    keep: (body) => ({ wallet_token: readDestination(body, 'CRYPTOCURRENCY') }),
  },
];

/** Reading what a destination needs, storing it, and the payout itself. */
function payTo(what: {
  name: string;
  destination: 'bank_token' | 'wallet_token';
  currency: string;
  value: string;
  amount: { source_amount: number } | { destination_amount: number };
}): Step[] {
  const { name, destination, currency } = what;
  const params = (known: Known) => ({
    ...userOf(known),
    destination_token: known[destination] ?? '',
    currency,
  });
  const token = `${name} payout_token`;
  return [
    {
      operationId: 'readAttributes',
      summary: `What ${name} needs`,
      request: (known) => ({ params: params(known) }),
      keep: (body) => ({ attribute: readAttribute(body, 'BankAccountNumber') }),
    },
    {
      operationId: 'readAttributeSchema',
      summary: `What ${name} needs`,
      request: (known) => ({ params: params(known) }),
    },
    {
      operationId: 'storeAttributes',
      summary: `Mistyped for ${name}`,
      status: 400,
      request: (known) => ({
        params: params(known),
        body: { values: [{ token: known['attribute'], value: `${what.value.slice(0, -1)}7` }] },
      }),
    },
    {
      operationId: 'storeAttributes',
      summary: `For ${name}`,
      request: (known) => ({
        params: params(known),
        body: { values: [{ token: known['attribute'], value: what.value }] },
      }),
      keep: (body) => ({ attr_set_token: readText(body, 'attr_set_token') }),
    },
    {
      operationId: 'checkPayee',
      summary: `For ${name}, whose payer cannot ask a bank`,
      request: (known) => ({ params: params(known) }),
    },
    {
      operationId: 'getReadiness',
      summary: `To ${name}`,
      request: (known) => ({
        params: userOf(known),
        query: { destination_token: known[destination] ?? '', currency },
      }),
    },
    {
      operationId: 'createPayout',
      summary: `To ${name}`,
      request: (known) => ({
        params: userOf(known),
        headers: { 'idempotency-key': `payout-${currency}-1` },
        body: {
          client_transfer_id: `invoice-${currency}-2041`,
          destination_token: known[destination],
          destination_currency_code: currency,
          ...what.amount,
          attr_set_token: known['attr_set_token'],
          metadata: { invoice: `${currency}-2041` },
          notify_user: false,
        },
      }),
      keep: (body) => ({ [token]: readText(body, 'payout_token') }),
    },
    {
      operationId: 'commitPayout',
      summary: `To ${name}`,
      request: (known) => ({ params: payoutOf(known, token) }),
    },
  ];
}

const payouts: Step[] = [
  ...payTo({
    name: 'a bank account',
    destination: 'bank_token',
    currency: 'MXN',
    value: '032180000118359719',
    amount: { source_amount: 100.1 },
  }),
  ...payTo({
    name: 'a wallet',
    destination: 'wallet_token',
    currency: 'LTC',
    value: 'ltc1qtrr7ewv6nzm4ky2xyaqkn63gy3wyvwx9ff6hd4',
    amount: { destination_amount: 0.5 },
  }),
  {
    operationId: 'createPayout',
    summary: 'An identifier that was committed',
    status: 409,
    request: (known) => ({
      params: userOf(known),
      body: {
        client_transfer_id: 'invoice-MXN-2041',
        destination_token: known['bank_token'],
        destination_currency_code: 'MXN',
        source_amount: 100.1,
      },
    }),
  },
  {
    operationId: 'createPayout',
    summary: 'Both amounts',
    status: 400,
    isWrong: true,
    request: (known) => ({
      params: userOf(known),
      body: {
        destination_token: known['bank_token'],
        destination_currency_code: 'MXN',
        source_amount: 100.1,
        destination_amount: 1800,
      },
    }),
  },
  {
    operationId: 'getPayout',
    summary: 'No such payout',
    status: 404,
    request: (known) => ({ params: { ...userOf(known), payout_token: 'payout_unknown' } }),
  },
];

export const accountSteps: Step[] = [...authentication, ...account];
export const recipientSteps: Step[] = [...users, ...destinations];
export const payoutSteps: Step[] = payouts;
