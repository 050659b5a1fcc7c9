import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add, compare, type ExactNumber, multiplyDown, subtract } from './exact.ts';
import {
  createPayout,
  createRecipient,
  deliveryCases,
  findPayer,
  type Payout,
  pay,
  payoutPath,
  type Recipient,
  readPayout,
} from './recipients.ts';
import { serveTests } from './serve.ts';
import { type Api, advance, daySeconds, ok, readBalance, versions } from './service.ts';

/** What a payout's answer tells about its course and its cost. */

let api: Api;
serveTests({ USD: '100000' }, (served) => {
  ({ api } = served);
});

type Entry = { status: string; time: string; reason_code: string; actor: string };
type Rates = { exchange_rate: ExactNumber; mid_rate: ExactNumber; margin: ExactNumber };
type Progress = {
  created_at: string;
  committed_at: string;
  completed_at: string;
  canceled_at: string;
  timeline: Entry[];
  cancelable: boolean;
  fees: { type: string; amount: ExactNumber; currency_code: string }[];
  total_debit: ExactNumber;
  network: string;
  fee: ExactNumber;
  status: string;
  reason_code: string;
  actor: string;
  refund?: { amount: ExactNumber; currency_code: string; time: string };
};

const readNow = async (recipient: Recipient, token: string): Promise<Payout> =>
  ok(await api.get<Payout>(`${payoutPath(recipient, token)}?force_status_update=true`));

const progressOf = (payout: Payout) => payout as unknown as Progress;

test('every version tells when a payout was quoted, committed and completed', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const before = await readBalance(api);
  const payout = await pay(api, recipient);
  const committed = progressOf(await readPayout(api, recipient, payout.payout_token));
  assert.equal(subtract(before, await readBalance(api)), committed.total_debit.text);
  assert.equal(committed.cancelable, false);
  assert.equal(committed.fees[0]?.amount.text, committed.fee.text);
  await advance(api, 7 * daySeconds);
  await readNow(recipient, payout.payout_token);
  for (const version of versions) {
    const path = payoutPath(recipient, payout.payout_token);
    const read = progressOf(ok(await api.withVersion(version).get<Payout>(path)));
    assert.deepEqual(
      read.timeline.map(({ status, time, reason_code, actor }) => [
        status,
        time,
        reason_code,
        actor,
      ]),
      [
        ['PENDING', read.created_at, '', ''],
        ['PROCESSING', read.committed_at, '', ''],
        ['COMPLETED', read.completed_at, '', ''],
      ],
      version,
    );
    assert.equal(read.canceled_at, '');
    assert.equal(read.refund, undefined);
  }
});

test('a canceled payout tells what it gave back, when, and why', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const before = await readBalance(api);
  const payout = await pay(api, recipient);
  const { payout_token: token } = payout;
  ok(await api.post(`/sandbox/payout/${token}`, { outcome: 'rejected' }));
  const read = progressOf(await readNow(recipient, token));
  assert.equal(await readBalance(api), before);
  assert.equal(read.refund?.amount.text, read.total_debit.text);
  assert.equal(read.refund?.time, read.canceled_at);
  const { status, reason_code, actor } = read;
  assert.notEqual(reason_code, '');
  assert.deepEqual(read.timeline.at(-1), { status, time: read.canceled_at, reason_code, actor });
  const listed = ok(await api.get<Payout[]>(`/payout/${recipient.userToken}`)).map(progressOf);
  assert.deepEqual(listed[0]?.timeline, read.timeline);
});

test('a payout in a cryptocurrency names its chain', async () => {
  const recipient = await createRecipient(api, deliveryCases.crypto);
  const payout = progressOf(await createPayout(api, recipient));
  assert.match(payout.network, /^(bitcoin|litecoin|ethereum)$/);
});

/** 1 - exchange_rate / mid_rate, to six digits. */
function assertMargin({ exchange_rate: rate, mid_rate: mid, margin }: Rates): void {
  const expected = 1 - Number(rate.text) / Number(mid.text);
  assert.ok(Math.abs(Number(margin.text) - expected) < 0.000_000_6, `${margin.text}: ${expected}`);
  assert.match(margin.text, /^\d\.\d{1,6}$/);
}

for (const delivery of ['bank', 'crypto'] as const) {
  test(`a payout (${delivery}) tells the mid rate of its quote, and the margin taken from it`, async () => {
    const recipient = await createRecipient(api, deliveryCases[delivery]);
    const { currency } = deliveryCases[delivery];
    const offered = recipient.payer.exchange_rate.find((rate) => rate.currency_symbol === currency);
    const payout = await pay(api, recipient);
    const rates = payout as unknown as Rates;
    assert.equal(rates.mid_rate.text, (offered as Rates | undefined)?.mid_rate.text);
    assert.equal(compare(rates.mid_rate, rates.exchange_rate), 1);
    assertMargin(rates);
    const read = await readPayout(api, recipient, payout.payout_token);
    const [listed] = ok(await api.get<Payout[]>('/payout'));
    for (const shown of [read, listed] as unknown as Rates[]) {
      assert.equal(shown.mid_rate.text, rates.mid_rate.text);
      assert.equal(shown.margin.text, rates.margin.text);
    }
  });
}

test('a look-up tells what would arrive and what it would take from the balance', async () => {
  const payer = await findPayer(api, deliveryCases.bank, 'amount=123.45');
  const offer = payer as unknown as {
    fee: ExactNumber;
    source_amount: ExactNumber;
    total_debit: ExactNumber;
    exchange_rate: {
      currency_symbol: string;
      exchange_rate: ExactNumber;
      destination_amount: ExactNumber;
    }[];
  };
  assert.equal(offer.total_debit.text, add(offer.source_amount.text, offer.fee.text));
  for (const rate of offer.exchange_rate) {
    const expected = multiplyDown(offer.source_amount.text, rate.exchange_rate.text, 2);
    assert.equal(compare(rate.destination_amount, expected), 0, rate.currency_symbol);
  }
});
