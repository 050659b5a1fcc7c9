import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Explanation, writeExplanation } from './payout-screen.ts';

const chosen = {
  destination_token: 'dest_1',
  payer_name: 'Bank of Ana',
  company_name: 'Fernway',
  network: '',
  fee: '1.25',
  exchange_rate: '18.3811',
  cost: '101.25',
  min_limit_usd: '1',
  max_limit_usd: '0',
  health: 'up',
  availability_percent: null,
  rating: null,
  score: 800,
  provider_price: null,
  is_chosen: true,
  excluded_by: '',
  detail: '',
} as const;
const lost = {
  ...chosen,
  company_name: 'Meridian',
  cost: '102.44',
  score: 681,
  provider_price: {
    source_currency: 'EUR',
    exchange_rate: '20.1',
    fee: '0.90',
    as_of: '2026-11-26T12:00:00Z',
    age_seconds: 41,
  },
  is_chosen: false,
  excluded_by: 'over_quoted_cost',
  detail: 'it costs more than was quoted',
} as const;
const chain = {
  destination_token: 'dest_2',
  payer_name: 'Wallet',
  company_name: 'Blockline',
  network: 'ethereum',
  fee: '0.50',
  exchange_rate: '0.992',
  health: 'up',
  score: 870,
  provider_price: null,
  delivery_type: 'CRYPTOCURRENCY',
  destination_currency_code: 'USDC',
  destination_amount: '99.20',
  detail: '',
} as const;
const unpriced = {
  ...chain,
  destination_currency_code: 'BTC',
  network: 'bitcoin',
  fee: '',
  exchange_rate: '',
  destination_amount: '',
  score: null,
  detail: 'no rate',
} as const;

const explained: Explanation = {
  payout_token: 'payout_1',
  status: 'COMPLETED',
  decisions: [
    { decided_at: '2026-11-26T12:00:41', refused_because: '', candidates: [chosen, lost] },
  ],
  compared_at: '2026-11-27T09:30:00',
  other_ways: [chain, unpriced],
  attempts: [
    {
      number: 1,
      rail: 'sandbox',
      payer_key: 'mex-bank',
      state: 'paid',
      reason: '',
      provider_reference: 'REF-1',
      started_at: '2026-11-26T12:00:41',
      answered_at: '',
    },
  ],
  exceptions: [],
  waits_for: '',
  payout_version: '3f',
  persons_decided: [
    {
      decided_at: new Date('2026-11-26T13:00:00Z'),
      action: 'refund',
      decided_by: 'vera',
      reason: 'asked\u001b[2J for it',
      is_effective: false,
    },
  ],
};

test('the screen of a payout that is stopped says what it waits for', () => {
  const stopped = { status: 'PROCESSING', waits_for: 'the end of a freeze: corridor' };
  assert.match(
    writeExplanation({ ...explained, ...stopped }),
    /^ {2}payout_1 {2}PROCESSING {2}waits for the end of a freeze: corridor$/m,
  );
});

test('a payout is explained on one screen: its route, other ways, attempts and decisions', () => {
  const text = writeExplanation({ ...explained, schedule: { run_at: '2026-12-01' } });
  assert.deepEqual(text.split('\n'), [
    'PAYOUT',
    '  payout_1  COMPLETED',
    '  version 3f',
    'DECISION 1, 2026-11-26 12:00:41',
    '  payer        company   rail  cost    rate     score  provider asks               result',
    '  Bank of Ana  Fernway   up    101.25  18.3811    800                              chosen',
    '  Bank of Ana  Meridian  up    102.44  18.3811    681  0.90 EUR at 20.1, 41 s old  over_quoted_cost: it costs more than was quoted',
    'OTHER WAYS TO PAY, AT THE PRICES OF 2026-11-27 09:30:00',
    '  payer   company    rail  delivery        recipient gets          fee   rate   score  provider asks  no price because',
    '  Wallet  Blockline  up    cryptocurrency  99.20 USDC on ethereum  0.50  0.992    870',
    '  Wallet  Blockline  up    cryptocurrency  BTC on bitcoin                           -                 no rate',
    'ATTEMPTS',
    '  number  rail     payer     state  reason  reference  started              answered',
    '       1  sandbox  mex-bank  paid           REF-1      2026-11-26 12:00:41  not yet',
    'EXCEPTIONS',
    '  none',
    'DECISIONS OF PERSONS',
    '  time                 decision  by    takes effect               reason',
    '  2026-11-26 13:00:00  refund    vera  waits for a second person  asked\uFFFD[2J for it',
    'SCHEDULE',
    '  run at: 2026-12-01',
  ]);
});

test('the first of many other ways are shown, and how many more there are', () => {
  const ways = Array.from({ length: 30 }, () => chain);
  const lines = writeExplanation({ ...explained, other_ways: ways }).split('\n');
  assert.equal(lines.filter((line) => line.includes('99.20 USDC on ethereum')).length, 8);
  assert.ok(lines.includes('  and 22 more, which --json lists'));
});
