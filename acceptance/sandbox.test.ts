import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { compare, subtract } from './exact.ts';
import {
  commitPayout,
  createPayout,
  createRecipient,
  createUser,
  type DeliveryCase,
  deliveryCases,
  type Payout,
  pay,
  payoutPath,
  type Recipient,
  readPayout,
} from './recipients.ts';
import {
  type Account,
  type Api,
  advance,
  type Balance,
  createAccount,
  daySeconds,
  fund,
  ok,
  readBalance,
  type Service,
  startService,
} from './service.ts';
import { assertProblem, assertShape, locate, shapes } from './shapes.ts';

/** The controls of the sandbox: accounts, funds, clock, outcomes. */

let service: Service;
let account: Account;
let api: Api;

before(async () => {
  service = await startService();
  account = await createAccount(service, { USD: '100000' });
  api = account.api;
});
after(() => service.stop());

const readClock = async (): Promise<number> =>
  Date.parse(ok(await api.get<{ now: string }>('/sandbox/clock')).now);

test('the clock moves by seconds or to an instant, and runs on', async () => {
  const before = await readClock();
  const moved = Date.parse(await advance(api, 100));
  assert.ok(moved >= before + 100_000 && moved < before + 110_000);
  const to = new Date(moved + 50_000).toISOString();
  const there = ok(await api.post<{ now: string }>('/sandbox/clock', { to })).now;
  assert.ok(Date.parse(there) >= Date.parse(to) && Date.parse(there) < Date.parse(to) + 10_000);
  assert.match(there, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok((await readClock()) >= Date.parse(there));
  ok(await api.post('/sandbox/clock', { advance_s: 0 }));
});

test('the clock cannot be set back, and is moved in one way per request', async () => {
  const past = new Date((await readClock()) - 1000).toISOString();
  assertProblem(await api.post('/sandbox/clock', { to: past }), 409, 'clock_backwards');
  const later = new Date((await readClock()) + 60_000).toISOString();
  for (const body of [
    {},
    { advance_s: 1, to: later },
    { advance_s: -1 },
    { advance_s: 1.5 },
    { advance_s: '5' },
    { advance_s: null },
    { advance_s: 1e15 },
    { to: later.replace('Z', '') },
    { to: later.replace('Z', '+00:00') },
    { to: '2030-02-30T00:00:00Z' },
    { to: 'tomorrow' },
    { to: 5 },
  ]) {
    const before = await readClock();
    assertProblem(await api.post('/sandbox/clock', body), 400);
    assert.ok((await readClock()) < before + 10_000, JSON.stringify(body));
  }
});

test('funding opens and increases a balance in any supported currency', async () => {
  const mine = await createAccount(service);
  for (const [currency, amount] of [
    ['JPY', '5'],
    ['KWD', '0.001'],
    ['BTC', '0.00000001'],
    ['ETH', '1.5'],
    ['CHF', '12.34'],
  ] as const) {
    const balance = await fund(mine.api, currency, amount);
    assertShape(balance, shapes.balance);
    assert.equal(balance.balance.text, amount);
  }
  const first = await fund(mine.api, 'CHF', '0.66');
  assert.equal(first.balance.text, '13');
  const listed = ok(await mine.api.get<Balance[]>('/account/balance'));
  assert.equal(listed.length, 6);
  assert.equal(listed.find(({ token }) => token === first.token)?.balance.text, '13');
  for (const [body, pointer] of [
    ['{"currency_code":"XXQ","amount":1}', '/currency_code'],
    ['{"currency_code":"usd","amount":1}', '/currency_code'],
    ['{"currency_code":5,"amount":1}', '/currency_code'],
    ['{"currency_code":"USD","amount":"1"}', '/amount'],
    ['{"currency_code":"USD","amount":0}', '/amount'],
    ['{"currency_code":"USD","amount":-1}', '/amount'],
    ['{"currency_code":"USD","amount":0.001}', '/amount'],
    ['{"currency_code":"JPY","amount":0.5}', '/amount'],
    ['{"currency_code":"USD","amount":1e20}', '/amount'],
    ['{"currency_code":"USD"}', '/amount'],
    ['{"amount":1}', '/currency_code'],
  ]) {
    const problem = assertProblem(await mine.api.post('/sandbox/fund', body), 400);
    assert.deepEqual(locate(problem), [pointer], body);
  }
});

test('a new account is ready for use', async () => {
  const { credentials } = await createAccount(service);
  assert.match(credentials.api_key, /^test_/);
  for (const name of ['account', 'client_id', 'client_secret', 'api_key'] as const) {
    assert.ok(credentials[name].length > 10, name);
  }
  for (const body of [
    {},
    { name: '' },
    { name: 5 },
    { name: 'x'.repeat(5000) },
    { name: 'a\u0000' },
  ]) {
    assertProblem(await api.post('/sandbox/accounts', body), 400);
  }
});

type Step = { outcome: string; status: string; reason?: RegExp };

const lives: Record<
  string,
  { delivery: DeliveryCase; steps: Step[]; refund: 'none' | 'all' | 'without fee' }
> = {
  'completed at once': {
    delivery: deliveryCases.bank,
    steps: [{ outcome: 'completed', status: 'COMPLETED' }],
    refund: 'none',
  },
  rejected: {
    delivery: deliveryCases.bank,
    steps: [{ outcome: 'rejected', status: 'CANCELLED', reason: /rejected/ }],
    refund: 'all',
  },
  'returned after completion': {
    delivery: deliveryCases.crypto,
    steps: [
      { outcome: 'completed', status: 'COMPLETED' },
      { outcome: 'returned', status: 'CANCELLED', reason: /^returned/ },
    ],
    refund: 'without fee',
  },
  'ready, then collected': {
    delivery: deliveryCases.cash,
    steps: [
      { outcome: 'ready_for_pickup', status: 'READY_FOR_PICKUP' },
      { outcome: 'completed', status: 'COMPLETED' },
    ],
    refund: 'none',
  },
  'ready, then refused': {
    delivery: deliveryCases.cash,
    steps: [
      { outcome: 'ready_for_pickup', status: 'READY_FOR_PICKUP' },
      { outcome: 'rejected', status: 'CANCELLED' },
    ],
    refund: 'all',
  },
  'unknown, then completed': {
    delivery: deliveryCases.wallet,
    steps: [
      { outcome: 'unknown', status: 'PROCESSING' },
      { outcome: 'completed', status: 'COMPLETED' },
    ],
    refund: 'none',
  },
  'unknown, then rejected': {
    delivery: deliveryCases.wallet,
    steps: [
      { outcome: 'unknown', status: 'PROCESSING' },
      { outcome: 'rejected', status: 'CANCELLED' },
    ],
    refund: 'all',
  },
};

for (const [name, { delivery, steps, refund }] of Object.entries(lives)) {
  test(`a payout that is ${name} gives back ${refund === 'none' ? 'nothing' : refund}`, async () => {
    const recipient = await createRecipient(api, delivery);
    const before = await readBalance(api);
    const payout = await pay(api, recipient);
    for (const { outcome, status, reason } of steps) {
      ok(await api.post(`/sandbox/payout/${payout.payout_token}`, { outcome }));
      const now = await readPayout(api, recipient, payout.payout_token);
      assertShape(now, shapes.payout);
      assert.equal(now['status'], status);
      if (reason !== undefined) assert.match(now['status_reason'] ?? '', reason);
    }
    await checkRefund({ before, payout, refund });
    await assertEnded(recipient, payout, steps.at(-1)?.status ?? '');
  });
}

type Refund = { before: string; payout: Payout; refund: 'none' | 'all' | 'without fee' };

async function checkRefund({ before, payout, refund }: Refund, caller = api): Promise<void> {
  const { source_amount: amount, fee } = payout;
  const expected = {
    none: subtract(before, amount, fee),
    all: before,
    'without fee': subtract(before, fee),
  }[refund];
  assert.equal(await readBalance(caller), expected);
}

async function assertEnded(recipient: Recipient, payout: Payout, status: string): Promise<void> {
  const result = await commitPayout(api, recipient, payout['payout_token']);
  assert.equal(result.status, status === 'CANCELLED' ? 'failure' : 'success');
  if (status === 'CANCELLED') {
    const now = await readPayout(api, recipient, payout['payout_token']);
    assert.ok(result.errors.includes(now['status_reason'] ?? '-'), result.errors);
  }
}

const illegal: [string, DeliveryCase, string[], string][] = [
  ['anything for a payout that was not committed', deliveryCases.bank, ['-'], 'completed'],
  ['a return before completion', deliveryCases.bank, [], 'returned'],
  ['a pickup of a bank deposit', deliveryCases.bank, [], 'ready_for_pickup'],
  ['a pickup of a mobile wallet', deliveryCases.wallet, [], 'ready_for_pickup'],
  ['a completion after a refusal', deliveryCases.bank, ['rejected'], 'completed'],
  ['a refusal after completion', deliveryCases.bank, ['completed'], 'rejected'],
  ['a completion after completion', deliveryCases.bank, ['completed'], 'completed'],
  ['a second return', deliveryCases.bank, ['completed', 'returned'], 'returned'],
  ['a completion after a return', deliveryCases.bank, ['completed', 'returned'], 'completed'],
  [
    'a pickup after collection',
    deliveryCases.cash,
    ['ready_for_pickup', 'completed'],
    'ready_for_pickup',
  ],
  ['a return before collection', deliveryCases.cash, ['ready_for_pickup'], 'returned'],
  ['an unknown outcome after completion', deliveryCases.bank, ['completed'], 'unknown'],
];

for (const [name, delivery, first, outcome] of illegal) {
  test(`${name} is a conflict, and changes nothing`, async () => {
    const recipient = await createRecipient(api, delivery);
    const isCommitted = first[0] !== '-';
    const payout = isCommitted ? await pay(api, recipient) : await createPayout(api, recipient);
    const path = `/sandbox/payout/${payout['payout_token']}`;
    for (const step of isCommitted ? first : []) ok(await api.post(path, { outcome: step }));
    // What has been sent has a reference of the network, which comes by itself.
    await advance(api, 0);
    const before = [
      await readPayout(api, recipient, payout['payout_token']),
      await readBalance(api),
    ];
    for (const each of isCommitted ? [outcome] : ['completed', 'rejected', 'returned', 'unknown']) {
      assertProblem(await api.post(path, { outcome: each }), 409, 'illegal_move');
    }
    assert.deepEqual(
      [await readPayout(api, recipient, payout['payout_token']), await readBalance(api)],
      before,
    );
  });
}

test('an unknown outcome and an unknown payout are refused', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const payout = await pay(api, recipient);
  for (const outcome of ['', 'paid', 'COMPLETED', 5, null, undefined]) {
    const reply = await api.post(`/sandbox/payout/${payout.payout_token}`, { outcome });
    assert.deepEqual(locate(assertProblem(reply, 400)), ['/outcome'], String(outcome));
  }
  for (const token of [`payout_${randomUUID()}`, 'x', recipient.userToken]) {
    assertProblem(await api.post(`/sandbox/payout/${token}`, { outcome: 'completed' }), 404);
  }
});

for (const [name, delivery] of Object.entries(deliveryCases)) {
  test(`an ordinary ${name} payout stays PROCESSING until its estimated availability`, async () => {
    const recipient = await createRecipient(api, delivery);
    const payout = await pay(api, recipient);
    const at = Date.parse(payout['estimated_availability'] ?? '');
    assert.ok(at > (await readClock()));
    ok(await api.post('/sandbox/clock', { to: new Date(at - 60_000).toISOString() }));
    assert.equal((await readPayout(api, recipient, payout.payout_token))['status'], 'PROCESSING');
    ok(await api.post('/sandbox/clock', { to: new Date(at + 1000).toISOString() }));
    const then = await readPayout(api, recipient, payout.payout_token);
    assert.equal(then['status'], name === 'cash' ? 'READY_FOR_PICKUP' : 'COMPLETED');
  });
}

test('uncollected cash is refunded after its time, fee included', async () => {
  const mine = await createAccount(service, { USD: '1000' });
  const recipient = await createRecipient(mine.api, deliveryCases.cash);
  const payout = await pay(mine.api, recipient);
  await advance(mine.api, 4 * daySeconds);
  const ready = await readPayout(mine.api, recipient, payout.payout_token);
  assert.equal(ready['status'], 'READY_FOR_PICKUP');
  assert.match(ready['pickup_code'] ?? '', /^\d{8}$/);
  await advance(mine.api, 31 * daySeconds);
  const ended = await readPayout(mine.api, recipient, payout.payout_token);
  assert.equal(ended['status'], 'CANCELLED');
  assert.match(ended['status_reason'] ?? '', /collect|claim/);
  await checkRefund({ before: '1000', payout, refund: 'all' }, mine.api);
});

test('only the verification of a user can be decided', async () => {
  const userToken = await createUser(api);
  for (const body of [{}, { decision: 'maybe' }, { decision: 5 }]) {
    const reply = await api.post(`/sandbox/kyc/${userToken}`, body);
    assert.deepEqual(locate(assertProblem(reply, 400)), ['/decision']);
  }
  assertProblem(await api.post('/sandbox/kyc/usr_x', { decision: 'approved' }), 404);
});

test('forcing a status update queries the rail at once', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const payout = await pay(api, recipient);
  const path = payoutPath(recipient, payout.payout_token);
  const forced = ok(await api.get<Payout>(`${path}?force_status_update=true`));
  assert.equal(forced['status'], 'PROCESSING');
  assertProblem(await api.get(`${path}?force_status_update=perhaps`), 400);
  assert.ok(compare(forced.source_amount, '100') === 0);
});

// The last test: where the clock follows, nothing after it could be trusted.
test('the clock is not moved beyond the times that the format can express', async () => {
  for (const to of ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.999999999Z']) {
    const before = await readClock();
    assertProblem(await api.post('/sandbox/clock', { to }), 400, 'too_late');
    assert.ok((await readClock()) < before + 10_000);
  }
});
