import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { adyenAccount, newAdyenInstruction } from '../../../testing/setups/adyen.ts';
import type { CallbackReading } from '../contract/contract.ts';
import type { PaymentRecord } from './payments.ts';
import { readCallback, signBody } from './webhooks.ts';
import type { ReportNotice } from './wire.ts';

/** Webhooks without a database; the formats are those of Adyen's descriptions. */

const { reference } = newAdyenInstruction();
const config = {
  environment: 'test' as const,
  webhookKeys: [adyenAccount.webhookKey],
  balanceAccountId: adyenAccount.balanceAccountId,
};

const record: PaymentRecord = {
  key: reference,
  state: 'known',
  revision: 2,
  value: {
    amountMinor: 12_345n,
    currency: 'EUR',
    target: '',
    body: '',
    sends: 1,
    firstSentAtMs: 1,
    lastSentAtMs: 1,
    earlierSentAtMs: 0,
    transferId: '6JKRLZ8LOT47J7RY',
    reported: 'accepted',
    reports: 0,
    reason: 'other',
    code: '',
  },
};

function describeTransfer(changes: object = {}): Record<string, unknown> {
  return {
    id: '6JKRLZ8LOT47J7RY',
    reference,
    amount: { value: 12_345, currency: 'EUR' },
    balanceAccount: { id: adyenAccount.balanceAccountId },
    category: 'bank',
    categoryData: { type: 'bank', priority: 'regular' },
    direction: 'outgoing',
    status: 'booked',
    reason: 'approved',
    creationDate: '2026-11-20T13:30:05+02:00',
    sequenceNumber: 3,
    ...changes,
  };
}

type Sent = { data?: object; environment?: string; type?: string; key?: string; changed?: boolean };

async function receive(sent: Sent, reports: ReportNotice[] = []): Promise<CallbackReading> {
  const {
    data = describeTransfer(),
    environment = 'test',
    type = 'balancePlatform.transfer.updated',
    key = adyenAccount.webhookKey,
  } = sent;
  const text = JSON.stringify({ data, environment, timestamp: '2026-11-20T13:30:05+02:00', type });
  const body = Buffer.from(text);
  const message = {
    method: 'POST',
    path: '',
    query: {},
    headers: { hmacsignature: signBody(body, key) },
    body: sent.changed === true ? Buffer.from(text.replace('12345', '12346')) : body,
  };
  return readCallback(message, {
    config,
    payments: { find: async (wanted) => (wanted === reference ? record : undefined) },
    returns: { add: async () => [] },
    nowMs: 0,
    addReport: async (notice) => void reports.push(notice),
  });
}

describe('a webhook', () => {
  test('has the HMAC that Adyen documents: hexadecimal key, SHA-256, Base64', () => {
    // Computed with: printf '%s' '{"a":1}' | openssl dgst -sha256 -mac HMAC -macopt hexkey:KEY -binary | base64
    const signature = signBody(Buffer.from('{"a":1}'), adyenAccount.webhookKey);
    assert.equal(signature, 'sopa0BeSQdruGUL8JgyYbeHxoBY41sd5YDAMO/M4gPY=');
  });

  test('of a booked transfer is an observation that has the same id in the list', async () => {
    const reading = await receive({});
    assert.ok(reading.kind === 'accepted');
    const [observation] = reading.message.observations;
    assert.deepEqual(observation, {
      id: '6JKRLZ8LOT47J7RY:paid',
      reference,
      outcome: 'paid',
      providerReference: '6JKRLZ8LOT47J7RY',
      code: 'booked.approved',
      atMs: Date.parse('2026-11-20T11:30:05Z'),
    });
  });

  test('is refused with a wrong key, a changed body, or of the other environment', async () => {
    const otherKey = 'FF'.repeat(32);
    for (const sent of [{ key: otherKey }, { changed: true }, { environment: 'live' }]) {
      assert.equal((await receive(sent)).kind, 'refused');
    }
  });

  test('of another amount, another transfer or an unknown status opens an exception', async () => {
    for (const changes of [
      { amount: { value: 1, currency: 'EUR' } },
      { id: 'ANOTHERTRANSFER1' },
      { status: 'undefined' },
    ]) {
      const reading = await receive({ data: describeTransfer(changes) });
      assert.ok(reading.kind === 'malformed');
      assert.equal(reading.message?.problems?.[0]?.kind, 'not_understood');
    }
  });

  test('of transfers that are not ours means nothing', async () => {
    for (const changes of [
      { direction: 'incoming' },
      { reference: 'Salaries of November' },
      { balanceAccount: { id: 'BA00000000000000000000009' } },
    ]) {
      const reading = await receive({ data: describeTransfer(changes) });
      assert.ok(reading.kind === 'accepted');
      assert.deepEqual(reading.message.observations, []);
    }
    const other = await receive({ type: 'balancePlatform.accountHolder.updated', data: {} });
    assert.equal(other.kind, 'accepted');
  });

  test('of a report asks for its download', async () => {
    const reports: ReportNotice[] = [];
    const data = {
      fileName: 'balanceplatform_balance_report_2026_11_20.csv',
      reportType: 'balanceplatform_balance_report',
      downloadUrl: 'https://balanceplatform-test.adyen.com/balanceplatform/a/b.csv',
    };
    const reading = await receive({ type: 'balancePlatform.report.created', data }, reports);
    assert.equal(reading.kind, 'accepted');
    assert.deepEqual(reports, [data]);
  });
});

describe('the status of a transfer', () => {
  const credited = { tracking: { type: 'confirmation', status: 'credited' } };
  const booked = { events: [{ status: 'booked', type: 'accounting' }] };
  const instant = { categoryData: { type: 'bank', priority: 'instant' } };
  const cases: readonly [string, object, string][] = [
    ['received', { status: 'received', reason: 'pending' }, 'accepted'],
    ['pending approval', { status: 'pendingApproval' }, 'accepted'],
    ['authorised', { status: 'authorised' }, 'accepted'],
    ['booked, instant', instant, 'accepted'],
    ['booked and credited, instant', { ...instant, ...credited }, 'paid'],
    ['booked, in review', { tracking: { type: 'internalReview', status: 'pending' } }, 'accepted'],
    ['refused', { status: 'refused', reason: 'notEnoughBalance' }, 'rejected no_funds'],
    ['cancelled', { status: 'cancelled', reason: 'unknown' }, 'rejected cancelled'],
    ['failed before it was booked', { status: 'failed', events: [] }, 'rejected other'],
    ['failed after it was booked', { status: 'failed', ...booked }, 'returned other'],
    ['failed, instant', { status: 'failed', ...instant, ...booked }, 'rejected other'],
    [
      'failed in the review',
      {
        status: 'failed',
        events: [],
        tracking: {
          type: 'internalReview',
          status: 'failed',
          reason: 'refusedForRegulatoryReasons',
        },
      },
      'rejected compliance',
    ],
    ['returned', { status: 'returned', reason: 'unknown' }, 'returned sent_back'],
  ];
  for (const [name, changes, expected] of cases) {
    test(name, async () => {
      const data = { reason: 'approved', ...changes };
      const reading = await receive({ data: describeTransfer(data) });
      assert.ok(reading.kind === 'accepted');
      const [observation] = reading.message.observations;
      const { outcome, reason } = observation ?? {};
      assert.equal([outcome, reason].filter(Boolean).join(' '), expected);
    });
  }
});
