import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readValues } from './documented-values.ts';
import { subtract } from './exact.ts';
import {
  createRecipient,
  type Payout,
  pay,
  type Recipient,
  readPayout,
  type Way,
  ways,
} from './recipients.ts';
import {
  type Api,
  createAccount,
  daySeconds,
  ok,
  readBalance,
  type Service,
  startService,
} from './service.ts';

/** The values of docs/sandbox-values.md do what that page says, each through its whole life. */

let service: Service;
let api: Api;

before(async () => {
  service = await startService();
  api = (await createAccount(service, { USD: '1000000' })).api;
});
after(() => service.stop());

const bankValues = readValues('Bank accounts', 'MEX MXN');
const cryptoValues = readValues('Wallet addresses', 'LTC');
const cashValues = readValues('Cash pickup', 'every country');
/** One table is for all that is told by telephone; only what is fetched can be ready for that. */
const walletValues = readValues('Mobile', 'KEN');
for (const outcome of walletValues.keys()) {
  if (outcome.startsWith('ready')) walletValues.delete(outcome);
}

/** Status right after the commit, when the payout is due, and long after; what comes back. */
const expected: Record<string, { states: string[]; refund: 'none' | 'all' | 'without fee' }> = {
  paid_at_once: { states: ['COMPLETED', 'COMPLETED', 'COMPLETED'], refund: 'none' },
  rejected: { states: ['CANCELLED', 'CANCELLED', 'CANCELLED'], refund: 'all' },
  rejected_later: { states: ['PROCESSING', 'CANCELLED', 'CANCELLED'], refund: 'all' },
  returned_late: { states: ['PROCESSING', 'COMPLETED', 'CANCELLED'], refund: 'without fee' },
  // A day without a clear answer puts the payout before a person.
  unknown: { states: ['PROCESSING', 'PROCESSING|HOLD', 'HOLD'], refund: 'none' },
  unknown_then_paid: { states: ['PROCESSING', '-', 'COMPLETED'], refund: 'none' },
  unknown_then_rejected: { states: ['PROCESSING', '-', 'CANCELLED'], refund: 'all' },
  retry_then_paid: { states: ['PROCESSING', '-', 'COMPLETED'], refund: 'none' },
  ready_for_pickup: {
    states: ['READY_FOR_PICKUP', 'READY_FOR_PICKUP', 'READY_FOR_PICKUP'],
    refund: 'none',
  },
  ready_then_collected: { states: ['PROCESSING', 'READY_FOR_PICKUP', 'COMPLETED'], refund: 'none' },
  ready_then_unclaimed: { states: ['PROCESSING', 'READY_FOR_PICKUP', 'CANCELLED'], refund: 'all' },
  // The cheapest payer may be a dynamic one, and then nobody else does it for the quoted cost.
  refused_by_payer: {
    states: ['PROCESSING|ERROR', 'COMPLETED|ERROR', 'COMPLETED|ERROR'],
    refund: 'none',
  },
};

const tables: [string, Way, Map<string, string>, string][] = [
  ['bank account', ways.bank, bankValues, 'BankAccountNumber'],
  ['wallet address', ways.crypto, cryptoValues, 'BankAccountNumber'],
  ['mobile number', ways.wallet, walletValues, 'PhoneNumber'],
  ['document', ways.cash, cashValues, 'IdentificationNumber'],
];

type Life = {
  caller: Api;
  recipient: Recipient;
  payout: Payout & { payout_token: string };
  plan: (typeof expected)[string];
};

async function assertState(
  { caller, recipient, payout, plan }: Life,
  index: number,
): Promise<void> {
  const wanted = plan?.states[index] ?? '';
  if (wanted === '-') return;
  const { status = '' } = await readPayout(caller, recipient, payout.payout_token);
  assert.ok(wanted.split('|').includes(status), `${status} instead of ${wanted} at ${index}`);
}

/** Until the dispatcher has done what is due now: the clock's answer waits for it. */
async function settle(): Promise<void> {
  ok(await api.post('/sandbox/clock', { advance_s: 0 }));
}

for (const [name, way, values, attribute] of tables) {
  for (const [outcome, value] of values) {
    test(`the ${name} for ${outcome} does what the documentation says`, async () => {
      const plan = expected[outcome];
      assert.ok(plan, outcome);
      const { api: caller } = await createAccount(service, { USD: '1000' });
      const chosen = { [attribute]: value };
      const recipient = await createRecipient(caller, way, { chosen });
      const payout = await pay(caller, recipient);
      const life = { caller, recipient, payout, plan };
      await settle();
      await assertState(life, 0);
      const due = Date.parse(payout['estimated_availability'] ?? '') + 1000;
      ok(await api.post('/sandbox/clock', { to: new Date(due).toISOString() }));
      await assertState(life, 1);
      ok(await api.post('/sandbox/clock', { advance_s: 36 * daySeconds }));
      await assertState(life, 2);
      const { source_amount: amount, fee } = payout;
      const left = {
        none: subtract('1000', amount, fee),
        all: '1000',
        'without fee': subtract('1000', fee),
      }[plan.refund];
      assert.equal(await readBalance(caller), left);
    });
  }
}

test('a whole table of values is documented for each kind of destination', () => {
  for (const [name, way, values] of tables) {
    assert.equal(values.size, way === ways.cash ? 12 : 9, name);
  }
});
