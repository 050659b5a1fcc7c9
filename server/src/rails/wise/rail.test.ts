import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { refusedEnd } from '../../../testing/counterparties/wise/forms.ts';
import { signBody } from '../../../testing/counterparties/wise/webhooks.ts';
import type { Fault } from '../../../testing/counterparties/wise/wise-simulator.ts';
import { type HostGround, openHostGround } from '../../../testing/setups/rail.ts';
import {
  context,
  newInstruction,
  openWiseRail,
  toAmerica,
  toGermany,
  type WiseRail,
} from '../../../testing/setups/wise.ts';
import type { QuotedPrice } from '../contract/contract.ts';

let ground: HostGround;
let subject: WiseRail;
const booking = /^POST \/v3\/profiles\/\d+\/transfers\/\d+\/payments/;

before(async () => {
  ground = await openHostGround();
  subject = await openWiseRail(ground);
});
beforeEach(() => {
  subject.wise.setFaults([]);
  subject.wise.setPricing({ fixedMinor: 50n, basisPoints: 60n, worseBasisPoints: 0 });
});
after(async () => {
  await subject.close();
  await ground.close();
});

function breakOnce(on: RegExp, kind: Fault['kind']): void {
  subject.wise.setFaults([{ on, kind, count: 1 }]);
}

function callback(body: string, changes: object = {}) {
  return {
    method: 'POST',
    path: '',
    query: {},
    headers: { 'x-signature-sha256': signBody(body) },
    body: Buffer.from(body),
    ...changes,
  };
}

function stateChange(
  transferId: string,
  status: string,
  profileId = subject.wise.profileId,
): string {
  return `{"data":{"resource":{"type":"transfer","id":${transferId},"profile_id":${profileId},"account_id":333},
    "current_state":"${status}","previous_state":"processing","occurred_at":"2026-11-20T12:34:56.789Z"},
    "subscription_id":"01234567-89ab-cdef-0123-456789abcdef","event_type":"transfers#state-change",
    "schema_version":"4.0.0","sent_at":"2026-11-20T12:34:57.000Z"}`;
}

test('a payment costs its quote, is accepted with the fee, and is paid once', async () => {
  const { rail, wise } = subject;
  const instruction = newInstruction();
  const before = wise.balance('EUR');
  const answer = await rail.send(instruction, context);
  // 100.10 GBP at 1.181818 are 84.71 EUR up; the fee is 0.50 and 0.6%.
  const charge = { id: 'fee', kind: 'partner', currency: 'EUR', amountMinor: 101n };
  assert.equal(answer.outcome, 'accepted');
  const transfer = wise.find(instruction.reference);
  assert.equal(transfer?.quote.targetMinor, 10_010n);
  assert.equal(before - wise.balance('EUR'), transfer.quote.sourceMinor);
  assert.deepEqual(answer.charges, [{ ...charge, amountMinor: transfer.quote.feeMinor }]);
  await wise.advance();
  await wise.advance();
  const asked = await rail.query(instruction, context);
  assert.equal(asked.outcome, 'paid');
  assert.equal(asked.amountMinor, 10_010n);
  assert.equal((await rail.send(instruction, context)).outcome, 'paid');
  assert.equal(transfer.fundings, 1);
});

test('the answer before the money is there says when to ask again', async () => {
  const answer = await subject.rail.send(newInstruction(), context);
  assert.equal(answer.outcome, 'accepted');
  const waitMs = (answer.checkAtMs ?? 0) - subject.host.nowMs();
  assert.ok(waitMs > 60_000 && waitMs < 180_000, `${waitMs} ms`);
});

test('too little money is a retry, and the same transfer is funded later', async () => {
  const unfunded = await openWiseRail(ground, { wise: { balances: { EUR: '10' } } });
  try {
    const instruction = newInstruction();
    const short = { outcome: 'retry', reason: 'no_funds' };
    assert.deepEqual(await unfunded.rail.send(instruction, context), short);
    assert.deepEqual(await unfunded.rail.send(instruction, context), short);
    assert.equal(unfunded.wise.transfers.length, 1);
    const topUp = { profileId: 30_000_001, balanceId: 200_001, currency: 'EUR', amount: 500 };
    await fetch(`${unfunded.wise.url}/v1/simulation/balance/topup`, {
      method: 'POST',
      headers: { authorization: `Bearer ${unfunded.wise.token}` },
      body: JSON.stringify(topUp),
    });
    assert.equal((await unfunded.rail.send(instruction, context)).outcome, 'accepted');
    assert.equal(unfunded.wise.transfers.length, 1);
    assert.equal(unfunded.wise.transfers[0]?.fundings, 1);
  } finally {
    await unfunded.close();
  }
});

test('a transfer whose rate is over is canceled and refused, not funded at another rate', async () => {
  let realMs = Date.now();
  const times = { nowMs: () => realMs, realNowMs: () => realMs };
  const slow = await openWiseRail(ground, {
    wise: { balances: { EUR: '10' }, ...times },
    host: times,
  });
  try {
    const instruction = newInstruction();
    assert.equal((await slow.rail.send(instruction, context)).outcome, 'retry');
    realMs += 31 * 60_000;
    const answer = await slow.rail.send(instruction, context);
    assert.deepEqual(answer, { outcome: 'rejected', reason: 'price_worse', code: 'rate.expired' });
    assert.equal(slow.wise.find(instruction.reference)?.status, 'cancelled');
    assert.equal((await slow.rail.query(instruction, context)).outcome, 'rejected');
  } finally {
    await slow.close();
  }
});

const quoted: QuotedPrice = {
  sourceCurrency: 'EUR',
  rate: '0.846153',
  feeMinor: 121n,
  asOfMs: Date.now(),
  bearBasisPoints: 10,
};

test('a payment that is dearer than its quote is refused before anything is ordered', async () => {
  const { rail, wise } = subject;
  const fitting = await rail.send(newInstruction({ quoted }), context);
  assert.equal(fitting.outcome, 'accepted');
  wise.setPricing({ worseBasisPoints: 5 });
  assert.equal((await rail.send(newInstruction({ quoted }), context)).outcome, 'accepted');
  wise.setPricing({ worseBasisPoints: 50 });
  const instruction = newInstruction({ quoted });
  const answer = await rail.send(instruction, context);
  assert.ok(answer.outcome === 'rejected' && answer.asked !== undefined);
  const { asked, ...refusal } = answer;
  assert.deepEqual(refusal, { outcome: 'rejected', reason: 'price_worse', code: 'quote.dearer' });
  assert.equal(asked.currency, 'EUR');
  assert.ok(asked.amountMinor > instruction.amountMinor);
  wise.setPricing({ worseBasisPoints: 0 });
  // The refusal is for ever, whatever the price becomes.
  assert.equal((await rail.send(instruction, context)).outcome, 'rejected');
  assert.equal(wise.find(instruction.reference), undefined);
  const other = newInstruction({ quoted: { ...quoted, sourceCurrency: 'USD' } });
  assert.equal((await rail.send(other, context)).outcome, 'rejected');
});

test('an amount over a limit of Wise is refused', async () => {
  const { rail, wise } = subject;
  wise.setLimitMinor(10_000n);
  const answer = await rail.send(newInstruction(), context);
  wise.setLimitMinor(100_000_000n);
  assert.deepEqual(answer, {
    outcome: 'rejected',
    reason: 'amount_refused',
    code: 'amount.too.high',
  });
});

test('a recipient that Wise refuses is refused for ever', async () => {
  const attributes = { BankRoutingNumber: '231470', BankAccountNumber: `2882${refusedEnd}` };
  const instruction = newInstruction({ attributes });
  const refused = {
    outcome: 'rejected',
    reason: 'invalid_details',
    code: 'NOT_VALID:accountNumber',
  };
  assert.deepEqual(await subject.rail.send(instruction, context), refused);
  assert.deepEqual(await subject.rail.query(instruction, context), refused);
});

test('requirements are read again for a country that needs more fields', async () => {
  const { rail, wise } = subject;
  assert.equal((await rail.send(toAmerica(), context)).outcome, 'accepted');
  assert.equal(wise.transfers.at(-1)?.quote.targetCurrency, 'USD');
  const { beneficiary } = toAmerica();
  const noState = toAmerica({ beneficiary: { ...beneficiary, stateProvince: '' } });
  assert.deepEqual(await rail.send(noState, context), {
    outcome: 'rejected',
    reason: 'invalid_details',
    code: 'requirement:address.state',
  });
  const abroad = toAmerica({
    beneficiary: { ...beneficiary, stateProvince: '', countryCode: 'GBR' },
  });
  assert.equal((await rail.send(abroad, context)).outcome, 'accepted');
});

const unclear: readonly Fault['kind'][] = [
  'error_before',
  'error_after',
  'reset_before',
  'reset_after',
  'silent_after',
  'maintenance',
  'rate_limited',
  'garbage',
];

test('the bank is asked for name and account where Wise can', async () => {
  const { rail, wise } = subject;
  const instruction = toGermany();
  const answer = await rail.send(instruction, context);
  assert.equal(answer.outcome, 'accepted');
  assert.equal(wise.find(instruction.reference)?.quote.rate, '1');
  assert.deepEqual(await rail.send(toGermany('Mismatch'), context), {
    outcome: 'rejected',
    reason: 'name_mismatch',
    code: 'NAME_MATCHING:PARTIAL_FAILURE',
  });
  assert.deepEqual(await rail.send(toGermany('Nobody'), context), {
    outcome: 'rejected',
    reason: 'account_not_found',
    code: 'ACCOUNT_EXISTENCE:FAILURE',
  });
});

for (const kind of unclear) {
  test(`a funding answered by ${kind} is unknown, and pays once`, async () => {
    const { rail, wise } = subject;
    const instruction = newInstruction();
    breakOnce(booking, kind);
    assert.equal((await rail.send(instruction, context)).outcome, 'unknown');
    assert.equal((await rail.query(instruction, context)).outcome, 'accepted');
    assert.equal(wise.find(instruction.reference)?.fundings, 1);
  });
}

test('an earlier step without an answer is a retry, and leaves one transfer', async () => {
  const { rail, wise } = subject;
  const steps = [
    /^POST \/v3\/profiles\/\d+\/quotes/,
    /^POST \/v1\/accounts/,
    /^PATCH /,
    /^POST \/v1\/transfers/,
  ];
  for (const step of steps) {
    for (const kind of ['reset_after', 'rate_limited'] as const) {
      const instruction = newInstruction();
      breakOnce(step, kind);
      const answer = await rail.send(instruction, context);
      assert.equal(answer.outcome, 'retry', `${String(step)} ${kind}`);
      const waitMs = kind === 'rate_limited' ? 1000 : undefined;
      assert.equal('retryAfterMs' in answer ? answer.retryAfterMs : undefined, waitMs);
      assert.equal((await rail.send(instruction, context)).outcome, 'accepted');
      const made = wise.transfers.filter(({ reference }) => reference === instruction.reference);
      assert.deepEqual(
        made.map(({ fundings }) => fundings),
        [1],
      );
    }
  }
});

test('a refused token is a retry at the funding, because nothing was carried out', async () => {
  const instruction = newInstruction();
  breakOnce(booking, 'forbidden');
  const answer = await subject.rail.send(instruction, context);
  assert.deepEqual(answer, { outcome: 'retry', reason: 'not_configured' });
  assert.equal((await subject.rail.send(instruction, context)).outcome, 'accepted');
});

test('a funded transfer can be canceled before its conversion, not after', async () => {
  const { rail, wise, host } = subject;
  const instruction = newInstruction();
  await rail.send(instruction, context);
  assert.equal((await rail.cancel?.(instruction, context))?.outcome, 'rejected');
  await wise.advance();
  assert.equal(wise.find(instruction.reference)?.status, 'funds_refunded');
  // Its refund is no return of a payment.
  await rail.work?.(context);
  assert.deepEqual(
    host.observations.filter(({ reference }) => reference === instruction.reference),
    [],
  );
  const late = newInstruction();
  await rail.send(late, context);
  await wise.advance();
  assert.equal((await rail.cancel?.(late, context))?.outcome, 'accepted');
});

test('a canceled transfer that Wise pays nevertheless is reported, its refund is not', async () => {
  const { rail, wise } = subject;
  const instruction = newInstruction();
  await rail.send(instruction, context);
  assert.equal((await rail.cancel?.(instruction, context))?.outcome, 'rejected');
  const id = wise.find(instruction.reference)?.id ?? '';
  const read = async (status: string) => {
    const reading = await rail.readCallback?.(callback(stateChange(id, status)));
    assert.ok(reading?.kind === 'accepted');
    return reading.message.observations.map(({ outcome }) => outcome);
  };
  assert.deepEqual(await read('funds_refunded'), []);
  assert.deepEqual(await read('outgoing_payment_sent'), ['paid']);
});

test('a transfer that was canceled elsewhere is under way until its money is back', async () => {
  const { rail, wise } = subject;
  const instruction = newInstruction();
  await rail.send(instruction, context);
  wise.move(instruction.reference, 'cancelled');
  assert.equal((await rail.query(instruction, context)).outcome, 'accepted');
  wise.move(instruction.reference, 'funds_refunded');
  assert.equal((await rail.query(instruction, context)).outcome, 'returned');
});

test('an unfunded transfer that Wise has canceled was never paid', async () => {
  const { rail, wise } = subject;
  const instruction = newInstruction();
  breakOnce(booking, 'reset_before');
  await rail.send(instruction, context);
  wise.move(instruction.reference, 'cancelled');
  const answer = await rail.query(instruction, context);
  assert.deepEqual(answer, { outcome: 'rejected', reason: 'payer_refused', code: 'cancelled' });
});

test('webhooks need the signature, count once, and report what is not understood', async () => {
  const { rail, wise } = subject;
  const instruction = newInstruction();
  await rail.send(instruction, context);
  const id = wise.find(instruction.reference)?.id ?? '';
  const body = stateChange(id, 'outgoing_payment_sent');
  const paid = await rail.readCallback?.(callback(body));
  assert.ok(paid?.kind === 'accepted');
  const [observation] = paid.message.observations;
  assert.equal(observation?.reference, instruction.reference);
  assert.equal(observation.outcome, 'paid');
  assert.equal(observation.atMs, Date.parse('2026-11-20T12:34:56.789Z'));
  // Also where the answer to the funding, which had the fee, was lost.
  const amountMinor = wise.find(instruction.reference)?.quote.feeMinor;
  const fee = { id: 'fee', kind: 'partner', currency: 'EUR', amountMinor };
  assert.deepEqual(observation.charges, [fee]);
  const headers = { 'x-signature-sha256': signBody(`${body} `) };
  assert.equal((await rail.readCallback?.(callback(body, { headers })))?.kind, 'refused');
  assert.equal((await rail.readCallback?.(callback(body, { path: '/x' })))?.kind, 'refused');
  const strange = await rail.readCallback?.(callback(stateChange(id, 'charged_back')));
  assert.ok(strange?.kind === 'accepted');
  assert.equal(strange.message.problems?.[0]?.kind, 'not_understood');
  for (const ignored of [
    stateChange('4711', 'outgoing_payment_sent'),
    stateChange(id, 'outgoing_payment_sent', '999'),
    stateChange(id, 'processing'),
    '{"event_type":"balances#update","data":{}}',
  ]) {
    const reading = await rail.readCallback?.(callback(ignored));
    assert.ok(reading?.kind === 'accepted', ignored);
    assert.deepEqual(reading.message.observations, []);
    assert.equal(reading.message.problems, undefined);
  }
  const broken = await rail.readCallback?.(callback(stateChange('"x"', 'processing')));
  assert.equal(broken?.kind, 'malformed');
});

test('a user token is renewed by OAuth when it is refused', async () => {
  const { wise } = subject;
  const { id, secret, refreshToken } = wise.client;
  const credentials = { clientId: id, clientSecret: secret, refreshToken };
  const rail = await subject.again({ credentials });
  assert.equal((await rail.send(newInstruction(), context)).outcome, 'accepted');
  wise.revokeTokens();
  const instruction = newInstruction();
  const refused = { outcome: 'retry', reason: 'not_configured' };
  assert.deepEqual(await rail.send(instruction, context), refused);
  assert.equal((await rail.send(instruction, context)).outcome, 'accepted');
});

test('funds and the check show the balances, the subscription and a wrong token', async () => {
  const { rail, wise } = subject;
  const funds = await rail.readFunds?.(context);
  assert.deepEqual(
    funds?.map(({ currency }) => currency),
    ['EUR', 'USD'],
  );
  wise.subscribe(subject.host.callbackUrl, 'transfers#state-change');
  const faults = (await rail.check?.(context)) ?? [];
  assert.equal(faults.length, 1);
  assert.match(faults.join(), /no webhook subscription of transfers#refund/);
  wise.subscribe(subject.host.callbackUrl);
  assert.deepEqual(await rail.check?.(context), []);
  const stranger = await subject.again({ credentials: { token: 'not a token' } });
  assert.match((await stranger.check?.(context))?.join() ?? '', /refuses the credentials/);
  const other = await subject.again({ sourceCurrency: 'JPY' });
  assert.match((await other.check?.(context))?.join() ?? '', /no JPY balance/);
  const swift = await subject.again({}, { options: { recipientType: 'swift_code' } });
  assert.match((await swift.check?.(context))?.join() ?? '', /no such type/);
});
