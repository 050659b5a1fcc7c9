import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PayoutRecord } from './books.ts';
import type { BookedPayment } from './counterpart.ts';
import type { Entry } from './journal.ts';
import { type Evidence, judge } from './judge.ts';

/** The judge of the trial must find what the trial is there to find. */

const payoutId = '01a1f94a-0125-710c-9afb-5f91f91c332f';
const otherId = '01a1f94a-0224-7775-b460-181330da8610';

const destination = {
  way: { country: 'MEX', deliveryType: 'BANK_DEPOSIT', currency: 'MXN' },
  payerName: 'Trial',
  values: {},
  plannedOutcome: '',
};

const entry: Entry = {
  transferId: 'transfer',
  rail: 'partner',
  destination,
  currency: 'MXN',
  amountMinor: 1000n,
  payoutIds: [payoutId],
  acknowledged: payoutId,
  others: [],
};

const payout: PayoutRecord = {
  id: payoutId,
  status: 'COMPLETED',
  statusReason: '',
  transferId: 'transfer',
  rail: 'partner',
  sourceCurrency: 'USD',
  sourceMinor: 60n,
  feeMinor: 5n,
  currency: 'MXN',
  amountMinor: 1000n,
  returnedMinor: 0n,
  wasCompleted: true,
  isUnknown: false,
  exceptions: [],
  references: [payoutId.replaceAll('-', '')],
};

const payment: BookedPayment = {
  reference: payoutId.replaceAll('-', ''),
  recipient: undefined,
  currency: 'MXN',
  amountMinor: 1000n,
  state: 'paid',
  returnedMinor: 0n,
};

type Changes = {
  entry?: Partial<Entry>;
  payouts?: readonly PayoutRecord[];
  payments?: readonly BookedPayment[];
  wallet?: bigint;
  settled?: bigint;
  unmatched?: readonly string[];
};

function describe(changes: Changes): Evidence {
  const { payouts = [payout], payments = [payment], wallet = 935n, settled = 1000n } = changes;
  return {
    entries: [{ ...entry, ...changes.entry }],
    snapshot: {
      payouts,
      balances: [
        { name: 'wallet', currency: 'USD', balance: wallet },
        { name: 'settlement:partner', currency: 'MXN', balance: settled },
      ],
      charges: [],
      unmatched: changes.unmatched ?? [],
    },
    booked: payments.map((one) => ({ rail: 'partner', payment: one })),
    funded: { USD: 1000n },
  };
}

function find(changes: Changes): string {
  return judge(describe(changes)).violations.join('\n');
}

test('a payout that was paid once is in order', () => {
  assert.equal(find({}), '');
});

test('a second payment of one payout is found', () => {
  assert.match(find({ payments: [payment, payment] }), /paid 2 times/);
});

test('a payment that was refused first and paid elsewhere is in order', () => {
  assert.equal(find({ payments: [{ ...payment, state: 'refused' }, payment] }), '');
});

test('a wrong amount is found', () => {
  const payments = [{ ...payment, amountMinor: 1001n }];
  assert.match(find({ payments }), /is 1000 MXN, paid .* 1001 MXN/);
});

test('completed without a payment is found', () => {
  const found = find({ payments: [] });
  assert.match(found, /COMPLETED: the counterpart says that nothing was paid/);
  assert.match(found, /settled 1000 MXN by the ledger, 0 by its counterpart/);
});

test('refunded although it was paid is found', () => {
  const cancelled = { ...payout, status: 'CANCELLED', wasCompleted: false };
  const found = find({ payouts: [cancelled], wallet: 1000n, settled: 0n });
  assert.match(found, /CANCELLED: refunded, and .* paid/);
});

test('a return has to be counted, and whole returns keep the fee only', () => {
  const payments = [{ ...payment, returnedMinor: 1000n }];
  assert.match(find({ payments }), /the counterpart sent it back/);
  const cancelled = { ...payout, status: 'CANCELLED', returnedMinor: 1000n };
  assert.equal(find({ payouts: [cancelled], payments, wallet: 995n, settled: 0n }), '');
});

test('a payment without a committed payout is found', () => {
  const payments = [payment, { ...payment, reference: otherId }];
  assert.match(find({ payments }), /paid without a committed payout/);
});

test('an acknowledged commit that is not there is found', () => {
  const found = find({ payouts: [], payments: [], wallet: 1000n, settled: 0n });
  assert.match(found, /acknowledged commit of .* is lost/);
});

test('a transfer that was committed twice is found', () => {
  const twin = { ...payout, id: otherId };
  const payments = [payment, { ...payment, reference: otherId }];
  const found = find({ payouts: [payout, twin], payments, wallet: 870n, settled: 2000n });
  assert.match(found, /committed 2 times/);
  assert.match(find({ entry: { others: [otherId] } }), /also committed as/);
});

test('a payout that neither ended nor has an open exception is found', () => {
  const open = { ...payout, wasCompleted: false };
  const processing = { ...open, status: 'PROCESSING' };
  assert.match(find({ payouts: [processing], settled: 0n }), /it did not end/);
  const held = { ...open, status: 'HOLD' };
  assert.match(find({ payouts: [held], settled: 0n }), /no exception is open/);
  const asked = { ...held, exceptions: ['unknown_outcome'] };
  assert.equal(find({ payouts: [asked], settled: 0n }), '');
});

test('a question about a payout that has ended is found', () => {
  const payouts = [{ ...payout, exceptions: ['excess_return'] }];
  assert.match(find({ payouts }), /COMPLETED: a person is asked: excess_return/);
});

test('money that is missing from the wallet is found', () => {
  assert.match(find({ wallet: 934n }), /the wallet has 934 USD and not 935/);
});

test('a question that belongs to no payout is found', () => {
  assert.match(find({ unmatched: ['partner unmatched'] }), /belongs to no payout/);
});

test('payments of a chain are distinguished by recipient and amount', () => {
  const way = { country: 'DEU', deliveryType: 'CRYPTOCURRENCY', currency: 'MXN' };
  const values = { BankAccountNumber: '0xAb' };
  const chain = { ...payment, reference: undefined, recipient: '0xab' };
  const onChain = { destination: { ...destination, way, values } };
  assert.equal(find({ entry: onChain, payments: [chain] }), '');
  const unmatched = { ...chain, amountMinor: 7n };
  assert.match(
    find({ entry: onChain, payments: [chain, unmatched] }),
    /without a committed payout/,
  );
});
