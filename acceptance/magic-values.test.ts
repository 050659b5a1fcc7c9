import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readValues } from './documented-values.ts';
import { subtract } from './exact.ts';
import {
  createRecipient,
  type DeliveryCase,
  deliveryCases,
  type Payout,
  pay,
  type Recipient,
  readPayout,
} from './recipients.ts';
import { serveTests } from './serve.ts';
import { type Api, createAccount, daySeconds, ok, readBalance, type Service } from './service.ts';

/** The values of docs/sandbox-values.md have the documented outcomes. */

let service: Service;
let api: Api;
serveTests({ USD: '1000000' }, (served) => {
  ({ service, api } = served);
});

const bankValues = readValues('Bank accounts', 'MEX MXN');
const cryptoValues = readValues('Wallet addresses', 'LTC');
const cashValues = readValues('Cash pickup', 'every country');
/** The table of telephone numbers covers several delivery types; only some have pickup outcomes. */
const walletValues = readValues('Mobile', 'KEN');
for (const outcome of walletValues.keys()) {
  if (outcome.startsWith('ready')) walletValues.delete(outcome);
}

/** Status after the commit, when due, and long after; and the refund. */
const expected: Record<string, { states: string[]; refund: 'none' | 'all' | 'without fee' }> = {
  paid_at_once: { states: ['COMPLETED', 'COMPLETED', 'COMPLETED'], refund: 'none' },
  rejected: { states: ['CANCELLED', 'CANCELLED', 'CANCELLED'], refund: 'all' },
  rejected_later: { states: ['PROCESSING', 'CANCELLED', 'CANCELLED'], refund: 'all' },
  returned_late: { states: ['PROCESSING', 'COMPLETED', 'CANCELLED'], refund: 'without fee' },
  // After a day without a clear answer an exception is opened.
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
  // The cheapest payer may be dynamic, without another one within the quoted cost.
  refused_by_payer: {
    states: ['PROCESSING|ERROR', 'COMPLETED|ERROR', 'COMPLETED|ERROR'],
    refund: 'none',
  },
};

const tables: [string, DeliveryCase, Map<string, string>, string][] = [
  ['bank account', deliveryCases.bank, bankValues, 'BankAccountNumber'],
  ['wallet address', deliveryCases.crypto, cryptoValues, 'BankAccountNumber'],
  ['mobile number', deliveryCases.wallet, walletValues, 'PhoneNumber'],
  ['document', deliveryCases.cash, cashValues, 'IdentificationNumber'],
];

type Life = {
  outcome: string;
  caller: Api;
  recipient: Recipient;
  payout: Payout & { payout_token: string };
  plan: (typeof expected)[string];
};

async function assertState(
  { outcome, caller, recipient, payout, plan }: Life,
  index: number,
): Promise<void> {
  const wanted = plan?.states[index] ?? '';
  if (wanted === '-') return;
  const { status = '' } = await readPayout(caller, recipient, payout.payout_token);
  const isWanted = wanted.split('|').includes(status);
  assert.ok(isWanted, `${outcome}: ${status} instead of ${wanted} at ${index}`);
}

/** A payout with the value, in an account of its own. */
async function begin(
  delivery: DeliveryCase,
  chosen: Record<string, string>,
  outcome: string,
): Promise<Life> {
  const plan = expected[outcome];
  assert.ok(plan, outcome);
  const { api: caller } = await createAccount(service, { USD: '1000' });
  const recipient = await createRecipient(caller, delivery, { chosen });
  return { outcome, caller, recipient, payout: await pay(caller, recipient), plan };
}

function findDueMs({ payout }: Life): number {
  return Date.parse(payout['estimated_availability'] ?? '') + 1000;
}

/** The answer waits until the dispatcher has done what is due then. */
async function moveClock(change: { advance_s: number } | { to: string }): Promise<void> {
  ok(await api.post('/sandbox/clock', change));
}

/** Ends payouts that would be queried each day, whenever a later test moves the clock. */
async function endUnknown(lives: readonly Life[]): Promise<void> {
  for (const { outcome, caller, payout } of lives) {
    if (outcome !== 'unknown') continue;
    ok(await caller.post(`/sandbox/payout/${payout.payout_token}`, { outcome: 'completed' }));
  }
}

for (const [name, delivery, values, attribute] of tables) {
  test(`each ${name} of the table does what the documentation says`, async () => {
    const lives: Life[] = [];
    for (const [outcome, value] of values) {
      lives.push(await begin(delivery, { [attribute]: value }, outcome));
    }
    await moveClock({ advance_s: 0 });
    for (const life of lives) await assertState(life, 0);
    // All of them are due at the same time, or nearly.
    const dueMs = Math.max(...lives.map(findDueMs));
    await moveClock({ to: new Date(dueMs).toISOString() });
    for (const life of lives) await assertState(life, 1);
    await moveClock({ advance_s: 36 * daySeconds });
    for (const life of lives) {
      await assertState(life, 2);
      const { source_amount: amount, fee } = life.payout;
      const left = {
        none: subtract('1000', amount, fee),
        all: '1000',
        'without fee': subtract('1000', fee),
      }[life.plan?.refund ?? 'none'];
      assert.equal(await readBalance(life.caller), left, life.outcome);
    }
    await endUnknown(lives);
  });
}

test('every kind of destination has a complete table of values', () => {
  for (const [name, delivery, values] of tables) {
    assert.equal(values.size, delivery === deliveryCases.cash ? 12 : 9, name);
  }
});
