import { randomUUID } from 'node:crypto';
import type { ExactNumber, Json } from './exact.ts';
import { type Api, ok } from './service.ts';

/** Recipients, delivery cases, and valid values of attributes. */

export type User = Record<string, string> & { metadata: { [key: string]: Json } };

/** A valid request for a new user. */
export function describeUser(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const id = randomUUID();
  return {
    internal_user_id: id,
    country: 'MEX',
    first_name: 'Ana',
    last_name: 'Gómez',
    email: `${id}@example.org`,
    ...changes,
  };
}

export async function createUser(api: Api, changes: Record<string, unknown> = {}): Promise<string> {
  return ok(await api.post<{ user_token: string }>('/user', describeUser(changes))).user_token;
}

export type Payer = {
  destination_token: string;
  payer_name: string;
  payer_logo: string;
  exchange_rate: { currency_symbol: string; exchange_rate: ExactNumber }[];
  fee: ExactNumber;
  min_limit: ExactNumber;
  max_limit: ExactNumber;
  source_amount: ExactNumber;
  number_of_locations: ExactNumber;
  estimated_availability: string;
  additional_description: string;
  is_dynamic_token: boolean;
};

export type CountryLookup = {
  companies: {
    company_name: string;
    company_logo: string;
    rating: ExactNumber;
    description: string;
    services: { country_code: string; delivery_type: string; payers: Payer[] }[];
  }[];
};

export type DeliveryCase = { country: string; deliveryType: string; currency: string };

/** The cases that every test of a whole flow covers. */
export const deliveryCases = {
  bank: { country: 'MEX', deliveryType: 'BANK_DEPOSIT', currency: 'MXN' },
  cash: { country: 'MEX', deliveryType: 'CASH_PICKUP', currency: 'MXN' },
  wallet: { country: 'KEN', deliveryType: 'MOBILE_WALLET', currency: 'KES' },
  crypto: { country: 'MEX', deliveryType: 'CRYPTOCURRENCY', currency: 'LTC' },
} as const satisfies Record<string, DeliveryCase>;

/** The payers of a look-up for this case, cheapest first. */
export function listPayers(lookup: CountryLookup, delivery: DeliveryCase): Payer[] {
  return lookup.companies
    .flatMap((company) => company.services)
    .filter((service) => service.delivery_type === delivery.deliveryType)
    .flatMap((service) => service.payers)
    .filter((payer) =>
      payer.exchange_rate.some((rate) => rate.currency_symbol === delivery.currency),
    );
}

/** The cheapest payer of a case. `query` is appended to the query, such as `amount=50`. */
export async function findPayer(api: Api, delivery: DeliveryCase, query = ''): Promise<Payer> {
  const lookup = ok(await api.get<CountryLookup>(`/country/${delivery.country}/cheapest?${query}`));
  const [payer] = listPayers(lookup, delivery);
  if (payer === undefined) throw new Error(`no payer for ${JSON.stringify(delivery)}`);
  return payer;
}

export type Attribute = {
  token: string;
  attr_set_token: string;
  label: string;
  validation: string;
  is_optional: boolean;
  value: string;
  expected_value: string;
  type: string;
  input_type: string;
  last_attr_value_used: boolean;
};

export type Destination = { userToken: string; destinationToken: string; currency: string };

export function attributePath(destination: Destination): string {
  const { userToken, destinationToken, currency } = destination;
  return `/attribute/${userToken}/${destinationToken}/${currency}`;
}

export async function readAttributes(api: Api, destination: Destination): Promise<Attribute[]> {
  return ok(await api.get<Attribute[]>(attributePath(destination)));
}

/**
 * Sample values without an outcome in the simulated network. Check digits are valid; addresses are
 * examples of the specifications of their chains.
 */
const ordinaryValues: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'MEX BANK_DEPOSIT MXN': { BankAccountNumber: '032180000118359719' },
  'DEU BANK_DEPOSIT EUR': { BankAccountNumber: 'DE89370400440532013000' },
  'KWT BANK_DEPOSIT KWD': { BankAccountNumber: 'KW81CBKU0000000000001234560101' },
  'JPN BANK_DEPOSIT JPY': {
    BankRoutingNumber: '0001',
    BankAccountBranchNumber: '001',
    BankAccountNumber: '1234567',
  },
  'KEN MOBILE_WALLET KES': { PhoneNumber: '+254712345678' },
  'MEX CASH_PICKUP MXN': {
    IdentificationType: 'PASSPORT',
    IdentificationNumber: 'G12345678',
    IdentificationExpiration: '2199-12-31',
  },
  'MEX CRYPTOCURRENCY BTC': { BankAccountNumber: 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4' },
  'MEX CRYPTOCURRENCY LTC': { BankAccountNumber: 'LaMT348PWRnrqeeWArpwQPbuanpXDZGEUz' },
  'MEX CRYPTOCURRENCY ETH': { BankAccountNumber: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' },
  'MEX CRYPTOCURRENCY USDC': { BankAccountNumber: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359' },
};

/** A value for every required attribute: the sample, else the first choice. */
export function chooseValues(
  delivery: DeliveryCase,
  attributes: readonly Attribute[],
  chosen: Readonly<Record<string, string>> = {},
): { token: string; value: string }[] {
  const known =
    ordinaryValues[`${delivery.country} ${delivery.deliveryType} ${delivery.currency}`] ?? {};
  return attributes.flatMap((attribute) => {
    if (attribute.type === 'IDSelfieCollection') return [];
    const choice =
      attribute.input_type === 'options' ? attribute.validation.split('|')[0] : undefined;
    const value = chosen[attribute.type] ?? known[attribute.type];
    if (value !== undefined) return [{ token: attribute.token, value }];
    if (attribute.is_optional) return [];
    if (choice === undefined)
      throw new Error(`no value is known for ${attribute.type} of ${delivery.country}`);
    return [{ token: attribute.token, value: choice }];
  });
}

/** Stores values for all required attributes and returns the token of the set. */
export async function fillAttributes(
  api: Api,
  options: {
    userToken: string;
    payer: Payer;
    delivery: DeliveryCase;
    chosen?: Readonly<Record<string, string>>;
  },
): Promise<string> {
  const { userToken, payer, delivery, chosen } = options;
  const destination = {
    userToken,
    destinationToken: payer.destination_token,
    currency: delivery.currency,
  };
  const values = chooseValues(delivery, await readAttributes(api, destination), chosen);
  const path = attributePath(destination);
  return ok(await api.post<{ attr_set_token: string }>(path, { values })).attr_set_token;
}

export type Payout = Record<string, string> & {
  source_amount: ExactNumber;
  destination_amount: ExactNumber;
  exchange_rate: ExactNumber;
  fee: ExactNumber;
  metadata: { [key: string]: Json };
  attrs: Record<string, string>;
};

export type CommitResult = {
  payout_token: string;
  status: string;
  pickup_code: string;
  errors: string;
};

/** Creates a user, chooses a payer and stores the attributes. */
export type Recipient = {
  userToken: string;
  payer: Payer;
  delivery: DeliveryCase;
  attrSetToken: string;
};

export async function createRecipient(
  api: Api,
  delivery: DeliveryCase,
  options: {
    chosen?: Readonly<Record<string, string>>;
    query?: string;
    /** What differs from a usual user. */
    person?: Readonly<Record<string, unknown>>;
  } = {},
): Promise<Recipient> {
  const { person = {} } = options;
  const userToken = await createUser(api, { country: delivery.country, ...person });
  const payer = await findPayer(api, delivery, options.query);
  const { chosen } = options;
  const attrSetToken = await fillAttributes(api, {
    userToken,
    payer,
    delivery,
    ...(chosen === undefined ? {} : { chosen }),
  });
  return { userToken, payer, delivery, attrSetToken };
}

/** A request for a payout to the recipient; of 100 units unless `changes` has an amount. */
export function describePayout(
  { payer, delivery, attrSetToken }: Recipient,
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  const hasAmount = 'source_amount' in changes || 'destination_amount' in changes;
  return {
    destination_token: payer.destination_token,
    destination_currency_code: delivery.currency,
    attr_set_token: attrSetToken,
    ...(hasAmount ? {} : { source_amount: 100 }),
    ...changes,
  };
}

export async function createPayout(
  api: Api,
  recipient: Recipient,
  changes: Record<string, unknown> = {},
): Promise<Payout> {
  const body = describePayout(recipient, changes);
  return ok(await api.post<Payout>(`/payout/${recipient.userToken}`, body));
}

export function payoutPath(recipient: Pick<Recipient, 'userToken'>, payoutToken: string): string {
  return `/payout/${recipient.userToken}/${payoutToken}`;
}

export async function commitPayout(
  api: Api,
  recipient: Pick<Recipient, 'userToken'>,
  payoutToken: string | undefined,
): Promise<CommitResult> {
  return ok(await api.put<CommitResult>(payoutPath(recipient, payoutToken ?? '')));
}

/** Creates and commits a payout. @throws Error with the answer if that fails. */
export async function pay(
  api: Api,
  recipient: Recipient,
  changes: Record<string, unknown> = {},
): Promise<Payout & { payout_token: string }> {
  const payout = await createPayout(api, recipient, changes);
  const { payout_token: payoutToken = '' } = payout;
  const result = await commitPayout(api, recipient, payoutToken);
  if (result.status !== 'success') throw new Error(JSON.stringify(result));
  return { ...payout, payout_token: payoutToken } as Payout & { payout_token: string };
}

export async function readPayout(
  api: Api,
  recipient: Pick<Recipient, 'userToken'>,
  payoutToken: string | undefined,
): Promise<Payout> {
  return ok(await api.get<Payout>(payoutPath(recipient, payoutToken ?? '')));
}
