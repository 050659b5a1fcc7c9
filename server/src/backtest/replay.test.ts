import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createCompany,
  createPayer,
  createRail,
  createRates,
} from '../../testing/setups/destinations.ts';
import { newId } from '../core/ids.ts';
import { DocumentFaults } from '../core/json-document.ts';
import { getRate } from '../core/rate.ts';
import { compileCatalog, getDestinationToken } from '../destinations/catalog.ts';
import { quotePayer } from '../destinations/quote.ts';
import type { PayerHistories } from '../dispatch/standings.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { planAsItIs, planChanged, readChanges } from './changes.ts';
import type { PastRow } from './past-payouts.sql.ts';
import { createReplay } from './replay.ts';
import { formatUsd } from './tally.ts';

const atMs = Date.parse('2026-10-05T15:00:00Z');
const presentRates = createRates({ 'USD/MXN': getRate('25'), 'USD/EUR': getRate('0.5') });

const first = createRail(
  'first',
  [createCompany('first')],
  [createPayer('bank', { maxLimit: '500' }), createPayer('cash', { deliveryType: 'CASH_PICKUP' })],
);
const second = createRail(
  'second',
  [createCompany('first')],
  [
    createPayer('bank', { marginBasisPoints: 50, payerName: 'Bank' }),
    createPayer('other', { marginBasisPoints: 0, payerName: 'Other' }),
  ],
);
const rails: readonly Rail[] = [first, second];
const noHistory: PayerHistories = () => ({
  availabilityPercent: undefined,
  failureRate: undefined,
});

/** 100 USD at 20 less 1 %, and a fee of 1: as `first/bank` quotes it. */
function createRow(changes: Partial<PastRow> = {}): PastRow {
  return {
    id: newId(),
    created_us: BigInt(atMs) * 1000n,
    status: 'COMPLETED',
    priced_at: new Date(atMs),
    is_scheduled: false,
    has_run: false,
    source_currency: 'USD',
    source_amount: 10_000n,
    fee: 100n,
    destination_token: getDestinationToken('first', 'bank'),
    destination_currency: 'MXN',
    destination_amount: 198_000n,
    mid_rate: '20',
    usd_amount: 10_000n,
    country: 'MEX',
    delivery_type: 'BANK_DEPOSIT',
    rail: 'first',
    payer_key: 'bank',
    is_verified: true,
    charges: null,
    ...changes,
  };
}

function run(
  changes: object,
  rows: readonly PastRow[],
  { histories = noHistory, on = rails }: { histories?: PayerHistories; on?: readonly Rail[] } = {},
) {
  const replay = createReplay({
    before: planAsItIs(on, atMs),
    after: planChanged(on, readChanges(JSON.stringify(changes)), atMs),
    histories,
    presentRates,
  });
  for (const row of rows) replay.add(row);
  return replay.finish();
}

test('without changes both sides are what was quoted, at the stored rate', () => {
  const found = run({}, [
    createRow(),
    createRow({ charges: [{ currency: 'MXN', amount: '1000' }] }),
  ]);
  assert.deepEqual(found.total.after, found.total.before);
  assert.equal(found.priced_as_quoted, 2);
  assert.deepEqual([found.moved, found.lost, found.admitted], [0, 0, 0]);
  const { fee_usd, margin_usd, cost_usd, charges_usd, earned_usd } = found.total.before;
  // The margin of 1 % of 100 USD; 10 MXN are 0.50 USD at 20.
  assert.deepEqual(
    { fee_usd, margin_usd, cost_usd, charges_usd, earned_usd },
    { fee_usd: '2', margin_usd: '2', cost_usd: '4', charges_usd: '0.5', earned_usd: '3.5' },
  );
  assert.equal(found.total.before.payouts_without_charges, 0);
  assert.equal(found.total.before.mean_arrival_seconds, 360);
});

test('an old payout in another currency is priced at the value in USD of its time', () => {
  const payer = compileCatalog([second]).findPayer(getDestinationToken('second', 'bank'));
  assert.ok(payer !== undefined);
  const past = createRates({ 'EUR/MXN': getRate('22'), 'USD/EUR': getRate('0.8') });
  const quote = quotePayer({
    payer,
    sourceCurrency: 'EUR',
    destinationCurrency: 'MXN',
    amount: { side: 'source', minor: 40_000n },
    rates: past,
  });
  assert.ok(quote.ok);
  const row = createRow({
    source_currency: 'EUR',
    source_amount: quote.sourceMinor,
    fee: quote.feeMinor,
    destination_token: payer.destinationToken,
    destination_amount: quote.destinationMinor,
    mid_rate: '22',
    usd_amount: 50_000n,
    rail: 'second',
  });
  const found = run({}, [row]);
  assert.equal(found.priced_as_quoted, 1);
  assert.equal(found.valued_at_present_rates, 0);
  // 0.80 EUR of fee, and 0.5 % of 400 EUR.
  assert.equal(found.total.before.fee_usd, '1');
  assert.equal(found.total.before.margin_usd, '2.5');
  const unvalued = run({}, [{ ...row, usd_amount: 0n }]);
  assert.equal(unvalued.valued_at_present_rates, 1);
  assert.equal(unvalued.total.before.fee_usd, '1');
  assert.equal(unvalued.total.before.margin_usd, '4');
});

test('another fee and margin change the cost, and the recipient gets the same', () => {
  const fee = [{ upTo: null, fixed: '0.50', basisPoints: 100 }];
  const found = run({ payers: [{ rail: 'first', payer: 'bank', fee, marginBasisPoints: 0 }] }, [
    createRow(),
  ]);
  // 198,000 centavos cost 99 USD at the mid rate.
  assert.equal(found.total.after.fee_usd, '1.49');
  assert.equal(found.total.after.margin_usd, '0');
  assert.equal(found.corridors[0]?.after.cost_usd, '1.49');
  assert.equal(found.total.before.cost_usd, '2');
});

test('a payer that is switched off gives its payouts to the equivalent one', () => {
  const charged = createRow({
    rail: 'second',
    destination_token: getDestinationToken('second', 'bank'),
    charges: [{ currency: 'USD', amount: '30' }],
  });
  const uncharged = { ...charged, id: newId(), charges: null };
  const histories: PayerHistories = ({ railName }) => ({
    availabilityPercent: 99,
    failureRate: railName === 'first' ? 0.01 : 0.25,
  });
  const off = { payers: [{ rail: 'first', payer: 'bank', offered: false }] };
  const found = run(off, [createRow(), charged, uncharged], { histories });
  assert.deepEqual(found.moves, [{ from: 'first/bank', to: 'second/bank', payouts: 1 }]);
  assert.equal(found.examples.moved[0]?.before_cost_usd, '2');
  assert.equal(found.examples.moved[0]?.after_cost_usd, '1.5');
  assert.equal(found.total.before.expected_failures, 0.51);
  assert.equal(found.total.after.expected_failures, 0.75);
  // 0.30 USD of two payouts: 0.15 for the one that moves.
  assert.equal(found.total.before.charges_usd, '0.3');
  assert.equal(found.total.after.charges_usd, '0.45');
  const second_rail = found.rails.find(({ rail }) => rail === 'second');
  assert.deepEqual([second_rail?.before.payouts, second_rail?.after.payouts], [2, 3]);
});

test('entries apply in order, so that one payer of a rail can stay on', () => {
  const changes = {
    rails: [{ rail: 'second', offered: false }],
    payers: [
      { rail: 'second', payer: 'other', offered: true },
      { rail: 'first', payer: 'bank', offered: false },
    ],
  };
  const none = run(changes, [createRow()]);
  assert.deepEqual(none.not_routed.after, [{ reason: 'not_offered', payouts: 1 }]);
  assert.equal(none.lost, 1);
  assert.equal(none.examples.lost[0]?.reason, 'not_offered');
  const any = run({ ...changes, routing: { substitute: 'service' } }, [createRow()]);
  assert.deepEqual(any.moves, [{ from: 'first/bank', to: 'second/other', payouts: 1 }]);
  const stopped = { ...changes, routing: { substitute: 'none' } };
  assert.equal(run(stopped, [createRow()]).lost, 1);
});

test('a raised limit admits, and a lowered one loses', () => {
  const large = createRow({ source_amount: 60_000n, destination_amount: 1_188_000n });
  const alone = { on: [first] };
  const raised = run({ payers: [{ rail: 'first', payer: 'bank', maxLimit: '0' }] }, [large], alone);
  assert.deepEqual(raised.not_routed.before, [{ reason: 'above_maximum', payouts: 1 }]);
  assert.equal(raised.admitted, 1);
  assert.equal(raised.total.after.payouts, 1);
  const lowered = { payers: [{ rail: 'first', countryCode: 'MEX', maxLimit: '99' }] };
  const lost = run(lowered, [createRow()], alone);
  assert.deepEqual(lost.not_routed.after, [{ reason: 'above_maximum', payouts: 1 }]);
});

test('the cheapest payer and the best score need not be the one that was named', () => {
  const cheapest = run({ routing: { choose: 'cheapest' } }, [createRow()]);
  assert.equal(cheapest.moves[0]?.to, 'second/other');
  const histories: PayerHistories = ({ key }) => ({
    availabilityPercent: key === 'other' ? 80 : 100,
    failureRate: undefined,
  });
  const best = run({ routing: { choose: 'best_score' } }, [createRow()], { histories });
  assert.equal(best.moves[0]?.to, 'second/bank');
  const weights = { unavailability: 0 };
  const byPrice = run({ routing: { choose: 'best_score', weights } }, [createRow()], { histories });
  assert.equal(byPrice.moves[0]?.to, 'second/other');
});

test('a payer that needs a verified recipient does not take over for another one', () => {
  const strict = createRail(
    'second',
    [createCompany('first')],
    [createPayer('bank', { verification: { kind: 'always' } })],
  );
  const off = { payers: [{ rail: 'first', payer: 'bank', offered: false }] };
  const on = [first, strict];
  const found = run(off, [createRow({ is_verified: false }), createRow()], { on });
  assert.deepEqual(found.not_routed.after, [{ reason: 'needs_verification', payouts: 1 }]);
  assert.equal(found.moved, 1);
});

test('a payment beyond a daily limit leaves on the next day, or is refused after a week', () => {
  const limited = (MXN: string) => ({ rails: [{ rail: 'first', dailyLimits: { MXN } }] });
  const found = run(limited('4000'), [createRow(), createRow(), createRow()]);
  assert.equal(found.total.before.delayed_by_daily_limits, 0);
  assert.equal(found.total.after.delayed_by_daily_limits, 1);
  // Nine hours to midnight in UTC, and six minutes; the other two take six.
  assert.equal(found.total.after.mean_arrival_seconds, (2 * 360 + 9 * 3600 + 360) / 3);
  const small = run(limited('1000'), [createRow()]);
  assert.deepEqual(small.not_routed.after, [{ reason: 'daily_limit', payouts: 1 }]);
  const nine = run(
    limited('1980'),
    Array.from({ length: 9 }, () => createRow()),
  );
  assert.equal(nine.lost, 1);
});

test('another availability rule changes the arrival', () => {
  const availability = { timeZone: 'UTC', delay: { businessDays: 2, arrival: '12:00' } };
  const found = run({ payers: [{ rail: 'first', availability }] }, [createRow()]);
  assert.equal(found.total.after.mean_arrival_seconds, 45 * 3600);
  assert.deepEqual(
    [found.total.before.arrive_within_hour, found.total.after.arrive_within_day],
    [1, 0],
  );
});

test('payouts that cannot be compared are left out with the reason', () => {
  const found = run({}, [
    createRow({ is_scheduled: true }),
    createRow({ is_scheduled: true, has_run: true }),
    createRow({ destination_token: newId() }),
    createRow({ source_currency: 'GBP', usd_amount: 0n }),
  ]);
  assert.equal(found.payouts, 4);
  assert.equal(found.replayed, 1);
  assert.deepEqual(found.left_out.map(({ reason, payouts }) => [reason, payouts]).toSorted(), [
    ['not_run', 1],
    ['payer_unknown', 1],
    ['rate_unknown', 1],
  ]);
});

test('every fault of the changes is named with its place', () => {
  const refuse = (changes: unknown, expected: RegExp): void => {
    assert.throws(
      () => planChanged(rails, readChanges(JSON.stringify(changes)), atMs),
      (error) => error instanceof DocumentFaults && expected.test(error.faults.join('\n')),
    );
  };
  assert.throws(() => readChanges('{'), /must be JSON/);
  refuse({ payer: [] }, /payer/);
  refuse({ payers: [{ rail: 'first', maxLimit: 5 }] }, /^payers\.0\.maxLimit: /);
  refuse(
    { rails: [{ rail: 'first', dailyLimits: { MXN: '1.234' } }] },
    /^rails\.0\.dailyLimits\.MXN: /,
  );
  refuse(
    { rails: [{ rail: 'third' }] },
    /^rails\.0\.rail: unknown rail third; known: first, second$/,
  );
  refuse(
    { payers: [{ rail: 'first', payer: 'x' }] },
    /^payers\.0: no payer of the rail first matches$/,
  );
  refuse(
    {
      payers: [
        { rail: 'first', marginBasisPoints: 3000 },
        { rail: 'second', payer: 'bank', minLimit: '10', maxLimit: '5' },
        { rail: 'first', payer: 'cash', fee: [] },
      ],
    },
    /^payers\.0: payer first\/bank: marginBasisPoints 3000 .*\npayers\.1: .*minLimit must not exceed maxLimit\npayers\.2: .*fee step/s,
  );
  refuse({ routing: { choose: 'fastest' } }, /^routing\.choose: /);
});

test('amounts are rounded to the nearest cent', () => {
  assert.equal(formatUsd(499_999n), '0');
  assert.equal(formatUsd(500_000n), '0.01');
  assert.equal(formatUsd(-1_500_000n), '-0.02');
});
