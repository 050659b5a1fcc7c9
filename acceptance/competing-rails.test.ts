import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Candidate,
  type Competition,
  type Decision,
  type Place,
  payerName,
  person,
  places,
  type Readiness,
  type Row,
  startCompetition,
  usual,
  walletName,
} from './competing-rails-kit.ts';
import {
  attributePath,
  type CountryLookup,
  commitPayout,
  createPayout,
  createUser,
  type DeliveryCase,
  type Payer,
  readAttributes,
} from './recipients.ts';
import { type Api, advance, daySeconds, ok } from './service.ts';

/**
 * A provider, a bank and a chain that compete for the same payouts, as a client and an operator see them.
 * The tests are steps of one story: each leaves its prices and its payments to the next.
 */

let competition: Competition;
let api: Api;
before(async () => {
  competition = await startCompetition();
  ({ api } = competition.owner);
});
after(() => competition?.stop());

/** A look-up costs as much as everything else that the service does meanwhile. */
const lookMs = 300;

/** The other loops of the service do their part within seconds, on a busy machine within a minute. */
async function waitFor<Value>(what: string, find: () => Promise<Value | undefined>) {
  for (let attempt = 0; attempt < 60_000 / lookMs; attempt += 1) {
    const found = await find();
    if (found !== undefined) return found;
    await sleep(lookMs);
  }
  throw new Error(`${what}\n${competition.service.output().slice(-4000)}`);
}

type Offer = Payer & { company: string; deliveryType: string; network: string };

/** The payers of our rails in a country; those of the simulated network have other names. */
async function listOffers(place: Place, query: string): Promise<Offer[]> {
  const lookup = ok(await api.get<CountryLookup>(`/country/${place.country}${query}`));
  return lookup.companies.flatMap(({ company_name: company, services }) =>
    services.flatMap(({ delivery_type: deliveryType, payers }) =>
      payers
        .filter(({ payer_name: name }) => name === payerName || name === walletName)
        .map((payer) => {
          const [rate] = payer.exchange_rate as { network?: string }[];
          return { ...payer, company, deliveryType, network: rate?.network ?? '' };
        }),
    ),
  );
}

/** The company whose payer is the cheapest for accounts, and its fee. */
async function findCheapest(place: Place, amount: number): Promise<string[]> {
  const offers = await listOffers(place, `/cheapest?amount=${amount}`);
  return offers
    .filter(({ deliveryType }) => deliveryType === place.deliveryType)
    .map(({ company, fee }) => `${company} ${fee.text}`);
}

/** What a company asks for an amount of 200, as soon as the service has read it. */
async function waitForFee(place: Place, company: string, fee: string): Promise<Offer> {
  return waitFor(`${company} does not ask ${fee}`, async () => {
    const offers = await listOffers(place, '?amount=200');
    const found = offers.find((one) => one.company === company && one.network === '');
    return found?.fee.text === fee ? found : undefined;
  });
}

/** A recipient with these details, for payouts through the payer. */
async function store(
  { destination_token: destinationToken }: Pick<Payer, 'destination_token'>,
  { country, currency }: Pick<DeliveryCase, 'country' | 'currency'>,
  { values, user = person }: { values: Readonly<Record<string, string>>; user?: Row },
) {
  const userToken = await createUser(api, { country, ...user });
  const destination = { userToken, destinationToken, currency };
  const attributes = await readAttributes(api, destination);
  const given = Object.entries(values).map(([type, value]) => ({
    token: attributes.find((one) => one.type === type)?.token ?? type,
    value,
  }));
  const path = attributePath(destination);
  const { attr_set_token: attrSetToken, missing } = ok(
    await api.post<{ attr_set_token: string; missing: unknown[] }>(path, { values: given }),
  );
  return { userToken, attrSetToken, missing };
}

type Quoted = { userToken: string; payoutToken: string; fee: string };

async function quote(
  payer: Payer,
  delivery: DeliveryCase,
  stored: { userToken: string; attrSetToken: string },
): Promise<Quoted> {
  const { userToken } = stored;
  const payout = await createPayout(
    api,
    { ...stored, payer, delivery },
    { source_amount: 200, source_currency_code: 'USD' },
  );
  return { userToken, payoutToken: payout['payout_token'] ?? '', fee: payout.fee.text };
}

/** Commits, and returns the decision when it is as expected. */
async function commit(
  { userToken, payoutToken }: Quoted,
  reaches: (decision: Decision) => boolean,
): Promise<Decision> {
  assert.equal((await commitPayout(api, { userToken }, payoutToken)).status, 'success');
  return waitForDecision({ userToken, payoutToken }, reaches);
}

const waitForDecision = (
  { userToken, payoutToken }: Pick<Quoted, 'userToken' | 'payoutToken'>,
  reaches: (decision: Decision) => boolean,
  beforeLook?: (number: number) => Promise<void>,
): Promise<Decision> => {
  let looks = 0;
  return waitFor('the payout does not get there', async () => {
    await beforeLook?.(looks++);
    const path = `/payout/${userToken}/${payoutToken}/decision`;
    const decision = ok(await api.get<Decision>(path));
    return reaches(decision) ? decision : undefined;
  });
};

const isCompleted = ({ status }: Decision): boolean => status === 'COMPLETED';

/** Of the decision with this number: company, fee, cost, and the rule or `chosen`. */
const summarize = ({ decisions }: Pick<Decision, 'decisions'>, number: number) =>
  decisions[number]?.candidates.map((one) => [
    one.company_name,
    one.fee,
    one.cost,
    one.is_chosen ? 'chosen' : one.excluded_by,
  ]);

/** The chain among the other ways, with what the amount would become. */
const listOwnWays = ({ other_ways: ways }: Decision) =>
  ways
    .filter(({ company_name: company }) => company === 'Chain')
    .map((one) => [
      one.destination_currency_code,
      one.network,
      one.fee,
      one.destination_amount,
      one.delivery_type,
    ]);

async function explainToOperator({ payoutToken }: Pick<Quoted, 'payoutToken'>): Promise<Decision> {
  const headers = {
    authorization: `Bearer ${competition.operatorKey}`,
    'outlay-account': competition.owner.credentials.account,
  };
  return ok(await api.get<Decision>(`/operator/payouts/${payoutToken}/explanation`, headers));
}

const usAccount = {
  BankRoutingNumber: '021000021',
  BankAccountNumber: '123456789',
  BankAccountType: 'CHECKING',
};
const germanAccount = { BankAccountNumber: 'DE89370400440532013000' };

const fundedAtWise = async (): Promise<number> =>
  (await competition.wise.listTransfers()).filter(({ fundings }) => fundings > 0).length;

test('a look-up shows provider, bank and chain, and the cheapest for an account is that by price', async () => {
  await waitForFee(places.usa, 'Wise', '1.72');
  await waitForFee(places.germany, 'Wise', '1.8');
  const describe = async (place: Place) =>
    (await listOffers(place, '?amount=200')).map((one) => [
      one.company,
      one.deliveryType,
      one.fee.text,
      one.network,
    ]);
  assert.deepEqual((await describe(places.usa)).toSorted(), [
    ['ACH', 'BANK_DEPOSIT', '1', ''],
    ['Chain', 'CRYPTOCURRENCY', '0.2', 'eip155:31337'],
    ['Wise', 'BANK_DEPOSIT', '1.72', ''],
  ]);
  assert.deepEqual((await describe(places.germany)).toSorted(), [
    ['Chain', 'CRYPTOCURRENCY', '0.2', 'eip155:31337'],
    ['SEPA', 'BANK_DEPOSIT', '0.9', ''],
    ['Wise', 'BANK_DEPOSIT', '1.8', ''],
  ]);
  // The fee of the bank is the same for all amounts, that of the provider a share.
  assert.deepEqual(await findCheapest(places.usa, 20), ['Wise 0.64']);
  assert.deepEqual(await findCheapest(places.usa, 200), ['ACH 1']);
  assert.deepEqual(await findCheapest(places.germany, 200), ['SEPA 0.9']);
});

test('the bank takes over within the quoted cost when the provider asks more at the order', async () => {
  const payer = await waitForFee(places.usa, 'Wise', '1.72');
  const stored = await store(payer, places.usa, { values: usAccount });
  const quoted = await quote(payer, places.usa, stored);
  assert.equal(quoted.fee, '1.72');
  // No reading of prices, whenever it is, sees it before the order.
  await competition.wise.setPricing({ ...usual, orderFixedMinor: 500 });
  const decision = await commit(quoted, ({ attempts }) => attempts.at(-1)?.state === 'accepted');
  assert.deepEqual(summarize(decision, 0), [
    ['Wise', '1.72', '201.72', 'chosen'],
    ['ACH', '1', '201', 'named_another'],
  ]);
  assert.equal(decision.decisions[1]?.refused_because, 'price_worse');
  assert.deepEqual(summarize(decision, 1), [
    ['Wise', '1.72', '201.72', 'price_worse'],
    ['ACH', '1', '201', 'chosen'],
  ]);
  const [refused] = (await explainToOperator(quoted)).decisions[1]?.candidates ?? [];
  assert.equal(refused?.detail, 'quoted 201.72 USD, asked 206.2 USD at the order');
  assert.deepEqual(listOwnWays(decision), [
    ['USDC', 'eip155:31337', '0.2', '200', 'CRYPTOCURRENCY'],
  ]);
  await waitFor('no entry is booked', async () => (await competition.ach.listBooked([]))[0]);
  // The entry counts as paid some banking days after the rail has seen that its file was taken, which may
  // be after the clock was moved: it is moved again then.
  const paid = await waitForDecision(quoted, isCompleted, async (look) => {
    if (look % 15 === 0) await advance(api, 7 * daySeconds);
  });
  assert.deepEqual(
    paid.attempts.map(({ rail, state }) => [rail, state]),
    [
      ['wise_usd', 'rejected'],
      ['bank_us', 'paid'],
    ],
  );
  const booked = await competition.ach.listBooked([]);
  assert.deepEqual(
    booked.map(({ amountMinor, state }) => [amountMinor, state]),
    [[20_000n, 'paid']],
  );
  assert.equal(await fundedAtWise(), 0);
  await competition.wise.setPricing(usual);
});

test('a price that rose before the sending is refused with both costs, which clients do not see', async () => {
  const payer = await waitForFee(places.germany, 'Wise', '1.8');
  const stored = await store(payer, places.germany, { values: germanAccount });
  const quoted = await quote(payer, places.germany, stored);
  await competition.wise.setPricing({ fixedMinor: 500, basisPoints: 60 });
  await waitForFee(places.germany, 'Wise', '7.02');
  const decision = await commit(quoted, isCompleted);
  assert.deepEqual(summarize(decision, 0), [
    ['Wise', '1.8', '201.8', 'chosen'],
    ['SEPA', '0.9', '200.9', 'named_another'],
  ]);
  assert.deepEqual(summarize(decision, 1), [
    ['Wise', '7.02', '207.02', 'price_worse'],
    ['SEPA', '0.9', '200.9', 'chosen'],
  ]);
  const [shown] = decision.decisions[1]?.candidates ?? [];
  assert.deepEqual(
    [shown?.provider_price, shown?.detail],
    [null, 'its provider asks more than the payout was quoted with'],
  );
  const explained = await explainToOperator(quoted);
  const [seen] = explained.decisions[1]?.candidates ?? [];
  assert.match(
    seen?.detail ?? '',
    /^quoted 174\.\d+ EUR, now 178\.\d+ EUR, more than 50 basis points above$/,
  );
  const age = Number(seen?.provider_price?.age_seconds);
  assert.ok(age >= 0 && age < 60, `the age of the price is ${age}`);
  const booked = await competition.sepa.listBooked([]);
  assert.deepEqual(
    booked.map(({ amountMinor, state }) => [amountMinor, state]),
    [[17_250n, 'paid']],
  );
  assert.equal(await fundedAtWise(), 0);
});

test('the cheapest is the provider within its reading interval after its price fell', async () => {
  const before = (await competition.sepa.listBooked([])).length;
  const payer = await waitForFee(places.germany, 'SEPA', '0.9');
  await competition.wise.setPricing({ fixedMinor: 10, basisPoints: 10 });
  await waitFor('the cheapest is still the bank', async () => {
    const cheapest = await findCheapest(places.germany, 200);
    return cheapest[0]?.startsWith('Wise') === true ? cheapest : undefined;
  });
  const fee = (await findCheapest(places.germany, 200))[0]?.replace('Wise ', '') ?? '';
  assert.ok(Number(fee) < 0.5);
  const stored = await store(payer, places.germany, { values: germanAccount });
  const quoted = await quote(payer, places.germany, stored);
  const decision = await commit(quoted, isCompleted);
  assert.deepEqual(summarize(decision, 0), [
    ['SEPA', '0.9', '200.9', 'chosen'],
    ['Wise', fee, String(200 + Number(fee)), 'named_another'],
  ]);
  const { decisions } = await explainToOperator(quoted);
  const prices = decisions[0]?.candidates.map((one) => one.provider_price !== null);
  assert.deepEqual(prices, [false, true]);
  assert.equal((await competition.sepa.listBooked([])).length, before + 1);
});

test('the chain among the other ways pays what it says', async () => {
  const { currency, ...way } = { ...places.usa, currency: 'USDC', deliveryType: 'CRYPTOCURRENCY' };
  const offers = await listOffers(places.usa, '?amount=200');
  const payer = offers.find(({ company }) => company === 'Chain');
  assert.ok(payer !== undefined);
  const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
  const values = { BankAccountNumber: wallet };
  const stored = await store(payer, { ...way, currency }, { values });
  const quoted = await quote(payer, { ...way, currency }, stored);
  await commit(quoted, isCompleted);
  assert.deepEqual(
    (await competition.chain.listBooked([])).map((one) => [
      one.recipient,
      one.currency,
      one.amountMinor,
    ]),
    [[wallet.toLowerCase(), 'USDC', 200_000_000n]],
  );
});

test('a payer takes over only where the recipient has what it asks for', async () => {
  // Wise no longer asks for the type of the account, which ACH needs.
  const form = await competition.wise.readForm('USD');
  const fields = form.fields.filter(({ key }) => key !== 'accountType');
  await competition.wise.setForm('USD', { ...form, fields });
  await competition.wise.setPricing(usual);
  const payer = await waitForFee(places.usa, 'Wise', '1.72');
  const { BankAccountType: type, ...incomplete } = usAccount;
  const few = await waitFor('Wise still asks for the type', async () => {
    const stored = await store(payer, places.usa, { values: incomplete });
    return stored.missing.length === 0 ? stored : undefined;
  });
  // The attributes of Wise still have it, for a payer that may take over.
  const all = await store(payer, places.usa, { values: { ...incomplete, BankAccountType: type } });
  const [first, second] = [
    await quote(payer, places.usa, few),
    await quote(payer, places.usa, all),
  ];
  await competition.wise.setPricing({ fixedMinor: 500, basisPoints: 60 });
  const held = await commit(first, ({ status }) => status === 'ERROR');
  const missing = "of the recipient's details, missing: BankAccountType";
  for (const { candidates } of held.decisions) {
    const bank = candidates.find((one) => one.company_name === 'ACH');
    assert.deepEqual([bank?.cost, bank?.excluded_by], ['201', 'details_missing']);
    assert.equal(bank?.detail, missing);
  }
  assert.deepEqual(
    held.exceptions.map(({ kind }) => kind),
    ['price_worse'],
  );
  const before = (await competition.ach.listBooked([])).length;
  await commit(second, ({ attempts }) => attempts.at(-1)?.rail === 'bank_us');
  await waitFor('no entry is booked', async () => (await competition.ach.listBooked([]))[before]);
  assert.equal(await fundedAtWise(), 0);
});

test('a provider that needs an address is no candidate for a recipient without one', async () => {
  const payer = await waitForFee(places.usa, 'ACH', '1');
  const stored = await store(payer, places.usa, { values: usAccount, user: {} });
  const quoted = await quote(payer, places.usa, stored);
  const path = `/payout/${quoted.userToken}/${quoted.payoutToken}`;
  const dry = ok(
    await api.put<{ dry_run: { route: Candidate[] } }>(path, undefined, { prefer: 'dry-run' }),
  );
  const lacking = ['city', 'postal_code', 'address1', 'state_province'];
  const detail = `of the recipient's details, missing: ${lacking.join(', ')}`;
  const findWise = (candidates: readonly Candidate[] = []) =>
    candidates.find((one) => one.company_name === 'Wise');
  const previewed = findWise(dry.dry_run.route);
  assert.deepEqual([previewed?.excluded_by, previewed?.detail], ['details_missing', detail]);
  const { decisions } = await commit(quoted, ({ attempts }) => attempts[0]?.state === 'accepted');
  const candidate = findWise(decisions[0]?.candidates);
  assert.ok(candidate !== undefined);
  assert.deepEqual([candidate.excluded_by, candidate.detail], ['details_missing', detail]);
  // The same that the recipient lacks for a payout through Wise.
  const { userToken } = await store(candidate, places.usa, { values: usAccount, user: {} });
  const query = `destination_token=${candidate.destination_token}&currency=USD&amount=200`;
  const readiness = `/user/${userToken}/readiness?${query}`;
  const { obstacles } = ok(await api.get<{ obstacles: Readiness[] }>(readiness));
  const fields = obstacles.flatMap(({ missing = [] }) => missing.map(({ field }) => field));
  assert.deepEqual(fields, lacking);
});
