import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  add,
  compare,
  divideUp,
  type ExactNumber,
  exact,
  multiplyDown,
  subtract,
} from './exact.ts';
import {
  commitPayout,
  createPayout,
  createRecipient,
  type DeliveryCase,
  deliveryCases,
  describePayout,
  findPayer,
  type Payer,
  type Payout,
  pay,
  type Recipient,
  readPayout,
} from './recipients.ts';
import {
  type Account,
  type Balance,
  createAccount,
  fund,
  ok,
  readBalance,
  type Service,
  startService,
} from './service.ts';
import { assertPlainDecimal, assertProblem, locate, patterns } from './shapes.ts';

/** Exact money: answers are compared with decimal arithmetic, digit by digit. */

let service: Service;
let account: Account;

before(async () => {
  service = await startService();
  account = await createAccount(service, {
    USD: '1000000',
    EUR: '50000.55',
    BTC: '2.00000001',
    JPY: '1000000',
    KWD: '1000.125',
  });
});
after(() => service.stop());

const yen: DeliveryCase = { country: 'JPN', deliveryType: 'BANK_DEPOSIT', currency: 'JPY' };
const dinar: DeliveryCase = { country: 'KWT', deliveryType: 'BANK_DEPOSIT', currency: 'KWD' };
const bitcoin: DeliveryCase = { country: 'MEX', deliveryType: 'CRYPTOCURRENCY', currency: 'BTC' };

const digitsOf: Readonly<Record<string, number>> = {
  USD: 2,
  MXN: 2,
  JPY: 0,
  KWD: 3,
  BTC: 8,
  EUR: 2,
};

function checkRounding(payout: Payout, side: 'source' | 'destination'): void {
  const { source_amount: source, destination_amount: destination, exchange_rate: rate } = payout;
  for (const value of [source, destination, rate, payout.fee]) assertPlainDecimal(value);
  const sourceDigits = digitsOf[payout['source_currency_code'] ?? ''] ?? 2;
  const destinationDigits = digitsOf[payout['destination_currency_code'] ?? ''] ?? 2;
  if (side === 'source') {
    assert.equal(destination.text, multiplyDown(source, rate, destinationDigits));
  } else {
    assert.equal(source.text, divideUp(destination, rate, sourceDigits));
    assert.ok(
      compare(multiplyDown(source, rate, 30), destination) >= 0,
      'never too little is paid',
    );
  }
}

for (const [delivery, amounts] of [
  [deliveryCases.bank, ['1', '33.33', '100.1', '999.99', '0.99']],
  [yen, ['7', '33.33', '1000.01']],
  [dinar, ['33.33', '100.01']],
  [bitcoin, ['1.01', '99.99']],
] as const) {
  test(`given a source amount the amount in ${delivery.currency} is rounded down`, async () => {
    const recipient = await createRecipient(account.api, delivery);
    for (const amount of amounts) {
      const payer = {
        ...recipient,
        payer: await findPayer(account.api, delivery, `amount=${amount}`),
      };
      const request = { source_amount: exact(amount), attr_set_token: '' };
      const payout = await createPayout(account.api, payer, request);
      assert.equal(payout.source_amount.text, amount);
      checkRounding(payout, 'source');
    }
  });
}

for (const [delivery, amounts] of [
  [deliveryCases.bank, ['100', '1234.56', '999.01']],
  [yen, ['1000', '54321']],
  [dinar, ['10.125', '99.999']],
  [bitcoin, ['0.00123456', '0.01']],
] as const) {
  test(`given an amount in ${delivery.currency} the source amount is rounded up`, async () => {
    const recipient = await createRecipient(account.api, delivery);
    for (const amount of amounts) {
      const payout = await createPayout(account.api, recipient, {
        destination_amount: exact(amount),
      });
      assert.equal(payout.destination_amount.text, amount);
      checkRounding(payout, 'destination');
    }
  });
}

test('the form of a number does not change the amount', async () => {
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  for (const text of ['100.10', '1001e-1', '1.001E2', '100.1000000000000000000000']) {
    const payout = await createPayout(account.api, recipient, { source_amount: exact(text) });
    assert.equal(payout.source_amount.text, '100.1', text);
  }
});

test('an amount with too many fraction digits is refused', async () => {
  for (const [delivery, side, amount] of [
    [deliveryCases.bank, 'source_amount', '10.001'],
    [deliveryCases.bank, 'destination_amount', '10.001'],
    [yen, 'destination_amount', '1000.5'],
    [dinar, 'destination_amount', '10.0001'],
    [bitcoin, 'destination_amount', '0.000000001'],
  ] as const) {
    const recipient = await createRecipient(account.api, delivery);
    const body = describePayout(recipient, { [side]: exact(amount) });
    const reply = await account.api.post(`/payout/${recipient.userToken}`, body);
    const problem = assertProblem(reply, 400, 'amount_too_precise');
    assert.deepEqual(locate(problem), [`/${side}`], amount);
  }
});

test('a zero, negative, too large or malformed amount is refused', async () => {
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  const count = await countPayouts(recipient);
  for (const amount of [
    '0',
    '-1',
    '0.00',
    '-0',
    '1e30',
    '1e59',
    '12345678901234567890',
    '"100"',
    'true',
    '[]',
    '{}',
    'null',
  ]) {
    for (const side of ['source_amount', 'destination_amount']) {
      const text = JSON.stringify(describePayout(recipient, { source_amount: 1 })).replace(
        '"source_amount":1',
        `"${side}":${amount}`,
      );
      const reply = await account.api.post(`/payout/${recipient.userToken}`, text);
      assert.deepEqual(locate(assertProblem(reply, 400)), [`/${side}`], `${side} ${amount}`);
    }
  }
  assert.equal(await countPayouts(recipient), count);
});

async function countPayouts({ userToken }: Recipient): Promise<number> {
  return ok(await account.api.get<unknown[]>(`/payout/${userToken}?number_of_records=1000`)).length;
}

test('exactly one of the two amounts is required', async () => {
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  for (const amounts of [{ source_amount: 1, destination_amount: 1 }, {}]) {
    const { source_amount: _default, ...request } = describePayout(recipient);
    const body = { ...request, ...amounts };
    const reply = await account.api.post(`/payout/${recipient.userToken}`, body);
    assertProblem(reply, 400);
  }
});

test('the limits of a payer are inclusive and in the source currency', async () => {
  const recipient = await createRecipient(account.api, deliveryCases.cash);
  const { min_limit: least, max_limit: most } = recipient.payer;
  assert.ok(compare(least, '0') > 0 && compare(most, '0') > 0, 'this payer has both bounds');
  for (const inside of [least, most]) {
    await createPayout(account.api, recipient, { source_amount: inside });
  }
  for (const outside of [subtract(least, '0.01'), add(most, '0.01')]) {
    const body = describePayout(recipient, { source_amount: exact(outside) });
    const reply = await account.api.post(`/payout/${recipient.userToken}`, body);
    assert.deepEqual(locate(assertProblem(reply, 400)), ['/source_amount'], outside);
  }
});

test('a look-up and the payout have the same rate and fee', async () => {
  for (const delivery of [...Object.values(deliveryCases), yen, dinar]) {
    const recipient = await createRecipient(account.api, delivery, { query: 'amount=150' });
    const payout = await createPayout(account.api, recipient, { source_amount: 150 });
    const offered = recipient.payer.exchange_rate.find(
      (rate) => rate.currency_symbol === delivery.currency,
    );
    assert.equal(payout.exchange_rate.text, offered?.exchange_rate.text, delivery.currency);
    assert.equal(payout.fee.text, recipient.payer.fee.text, delivery.currency);
  }
});

test('limits and fees of a payer follow the source currency', async () => {
  const dollars = await findPayer(account.api, deliveryCases.cash, 'amount=200');
  const query = 'amount=200&source_currency=EUR';
  const euros = await findPayer(account.api, deliveryCases.cash, query);
  const bound = (payer: Payer): ExactNumber => payer.max_limit;
  assert.ok(compare(bound(euros), bound(dollars)) !== 0);
});

test('a payout debits amount and fee from its balance, to the last digit', async () => {
  for (const [currency, amount] of [
    ['EUR', '33.33'],
    ['BTC', '0.00123457'],
    ['JPY', '1001'],
    ['KWD', '10.125'],
  ] as const) {
    const query = `source_currency=${currency}&amount=${amount}`;
    const recipient = await createRecipient(account.api, deliveryCases.bank, { query });
    const before = await readBalance(account.api, currency);
    const payout = await pay(account.api, recipient, {
      source_amount: exact(amount),
      source_currency_code: currency,
    });
    assert.equal(payout['source_currency_code'], currency);
    checkRounding(payout, 'source');
    const left = subtract(before, payout.source_amount, payout.fee);
    assert.equal(await readBalance(account.api, currency), left, currency);
  }
});

test('a commit fails for one missing minor unit, and can be repeated', async () => {
  const small = await createAccount(service);
  const recipient = await createRecipient(small.api, deliveryCases.bank);
  const quote = await createPayout(small.api, recipient, { source_amount: exact('48.01') });
  const total = add(quote.source_amount, quote.fee);
  await fund(small.api, 'USD', subtract(total, '0.01'));
  const failed = await commitPayout(small.api, recipient, quote['payout_token']);
  assert.equal(failed.status, 'failure');
  assert.match(failed.errors, /insufficient funds/i);
  const after = await readPayout(small.api, recipient, quote['payout_token']);
  assert.equal(after['status'], 'PENDING');
  assert.equal(await readBalance(small.api), subtract(total, '0.01'));
  await fund(small.api, 'USD', '0.01');
  const repeated = await commitPayout(small.api, recipient, quote['payout_token']);
  assert.equal(repeated.status, 'success');
  assert.equal(await readBalance(small.api), '0');
});

type Entry = Record<string, string> & { amount: ExactNumber; balance_after: ExactNumber };

test('the statement of a balance adds up, entry by entry', async () => {
  const fresh = await createAccount(service, { USD: '500.05' });
  await fund(fresh.api, 'USD', '0.95');
  const recipient = await createRecipient(fresh.api, deliveryCases.bank);
  const payout = await pay(fresh.api, recipient, { source_amount: exact('33.33') });
  await fresh.api.post(`/sandbox/payout/${payout.payout_token}`, { outcome: 'rejected' });
  const [balance] = ok(await fresh.api.get<Balance[]>('/account/balance'));
  const path = `/account/balance/${balance?.token}/entries`;
  const entries = ok(await fresh.api.get<Entry[]>(path));
  let running = '0';
  for (const entry of entries.toReversed()) {
    running = add(running, entry.amount);
    assert.equal(entry.balance_after.text, running);
    assert.match(entry['created_on'] ?? '', patterns.localTime);
    assert.equal(entry['currency_code'], 'USD');
  }
  assert.equal(running, '501');
  assert.equal(balance?.balance.text, '501');
  const ofPayout = entries.filter((entry) => entry['payout_token'] === payout.payout_token);
  const sum = ofPayout.map((entry) => entry.amount.text).reduce((a, b) => add(a, b), '0');
  assert.equal(sum, '0', 'a rejected payout gives everything back');
  assertProblem(await account.api.get(path), 404, 'not_found');
});

test('a new account has an empty balance in US dollars', async () => {
  const { api } = await createAccount(service);
  const balances = ok(await api.get<Balance[]>('/account/balance'));
  assert.deepEqual(
    balances.map(({ balance, currency_code: code }) => [balance.text, code]),
    [['0', 'USD']],
  );
});

test('large amounts keep every digit', async () => {
  const rich = await createAccount(service, { USD: '9000000000000.01' });
  assert.equal(await readBalance(rich.api), '9000000000000.01');
  await fund(rich.api, 'USD', '0.02');
  assert.equal(await readBalance(rich.api), '9000000000000.03');
  const over = await rich.api.post(
    '/sandbox/fund',
    '{"currency_code":"USD","amount":99999999999999.99}',
  );
  assertProblem(over, 400);
});
