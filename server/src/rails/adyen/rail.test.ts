import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  adyenAccount,
  context,
  newAdyenInstruction,
  prepareAdyenBench,
} from '../../../testing/setups/adyen.ts';
import type { Instruction } from '../contract/contract.ts';
import { signBody } from './webhooks.ts';

/** What is special about Adyen; conformance.test.ts has what every rail must do. */

const dayMs = 24 * 3_600_000;

const bench = prepareAdyenBench();

function listFor({ reference }: Instruction) {
  return bench.simulator.books.list().filter((transfer) => transfer.reference === reference);
}

const advance = (steps = 5): Promise<void> => bench.advance(steps);

/** Only calls of this kind get the fault, and no longer than until `heal`. */
function breakCalls(
  on: 'create' | 'get' | 'list',
  kind: 'error_after' | 'reset_after' | 'reset_before' | 'busy' | 'rate_limited' | 'wrong_amount',
): void {
  bench.simulator.setOptions({ faults: [{ on, kind }] });
}
const heal = () => bench.simulator.setOptions({ faults: [] });

describe('the order', () => {
  test('has the reference as idempotency key and priorities in the order of the payer', async () => {
    const instruction = newAdyenInstruction({ payerKey: 'instant' });
    const answer = await bench.rail.send(instruction, context);
    assert.equal(answer.outcome, 'accepted');
    assert.ok(bench.simulator.books.answers.has(instruction.reference));
    const [transfer] = listFor(instruction);
    assert.deepEqual(transfer?.order.priorities, ['instant', 'regular']);
    assert.equal(transfer?.order.referenceForBeneficiary, instruction.reference);
    const { bankAccount } = transfer?.order.counterparty ?? {};
    assert.equal(bankAccount?.accountHolder.fullName, 'Ana Nunez');
  });

  test('falls back to the next priority where the first has no route', async () => {
    bench.simulator.setOptions({ routes: ['regular'] });
    const instruction = newAdyenInstruction({ payerKey: 'instant' });
    await bench.rail.send(instruction, context);
    await advance(3);
    const answer = await bench.rail.query(instruction, context);
    // A regular transfer counts as paid when it is booked.
    assert.equal(answer.outcome, 'paid');
    bench.simulator.setOptions({ routes: ['regular', 'instant'] });
  });
});

describe('one reference is one payment', () => {
  test('an order without an answer is repeated under its key', async () => {
    bench.simulator.setOptions({ listLagMs: dayMs });
    const instruction = newAdyenInstruction();
    breakCalls('create', 'reset_after');
    assert.equal((await bench.rail.send(instruction, context)).outcome, 'unknown');
    heal();
    // The list does not show it yet, so that only the key keeps it from being paid twice.
    assert.equal((await bench.rail.query(instruction, context)).outcome, 'accepted');
    assert.equal(listFor(instruction).length, 1);
    bench.simulator.setOptions({ listLagMs: 0 });
  });

  test('after the key has expired no order is sent', async () => {
    const instruction = newAdyenInstruction();
    breakCalls('create', 'reset_before');
    assert.equal((await bench.rail.send(instruction, context)).outcome, 'unknown');
    heal();
    bench.clock.nowMs += 29 * dayMs;
    const answer = await bench.rail.query(instruction, context);
    assert.deepEqual(answer, { outcome: 'unknown', reason: 'no_answer' });
    assert.equal(listFor(instruction).length, 0);
  });

  test('a transfer of an expired key is found by its reference', async () => {
    const instruction = newAdyenInstruction();
    breakCalls('create', 'reset_after');
    assert.equal((await bench.rail.send(instruction, context)).outcome, 'unknown');
    heal();
    bench.clock.nowMs += 40 * dayMs;
    assert.equal((await bench.rail.query(instruction, context)).outcome, 'accepted');
    assert.equal(listFor(instruction).length, 1);
  });

  test('another instruction under the reference is not sent', async () => {
    const instruction = newAdyenInstruction();
    await bench.rail.send(instruction, context);
    for (const changes of [
      { amountMinor: 99n },
      { attributes: { BankAccountNumber: 'ES7921000813610123456789' } },
    ]) {
      const answer = await bench.rail.send({ ...instruction, ...changes }, context);
      assert.deepEqual(answer, { outcome: 'unknown', reason: 'duplicate' });
    }
    assert.equal(listFor(instruction).length, 1);
  });

  test('after a restore the transfers are recorded and not sent again', async () => {
    const { rail, simulator, host, clock } = bench;
    const instruction = newAdyenInstruction();
    const { reference } = instruction;
    await rail.send(instruction, context);
    // The database as it was before the payment, and a key that Adyen has forgotten.
    const collection = 'payments';
    await host.store.write([{ collection, key: reference, revision: 2, next: undefined }]);
    simulator.setOptions({ keyMs: 0 });
    const unknown = await rail.findUnknownPayments?.(context);
    assert.equal(unknown, 'Adyen lists 1 transfers that this database has no record of');
    const found = await rail.recover?.(clock.nowMs - dayMs, context);
    const ours = found?.find((payment) => payment.reference === reference);
    assert.equal(ours?.amountMinor, 12_345n);
    assert.equal(ours?.outcome, 'accepted');
    assert.equal(await rail.findUnknownPayments?.(context), undefined);
    await rail.send(instruction, context);
    assert.equal(listFor(instruction).length, 1);
    simulator.setOptions({ keyMs: 31 * dayMs });
  });
});

test('a payment whose recipient was erased is no sign of a restore, and recovery lists it', async () => {
  const { host, rail, clock } = bench;
  const instruction = newAdyenInstruction();
  await rail.send(instruction, context);
  await host.eraseRecipient(instruction.reference);
  assert.equal(await rail.findUnknownPayments?.(context), undefined);
  const found = await rail.recover?.(clock.nowMs - dayMs, context);
  const ours = found?.filter(({ reference }) => reference === instruction.reference);
  assert.deepEqual(
    ours?.map(({ outcome }) => outcome),
    ['accepted'],
  );
});

describe('a refusal', () => {
  test('is definite for the only order, and stays', async () => {
    bench.simulator.setOptions({ routes: [] });
    const instruction = newAdyenInstruction();
    const answer = await bench.rail.send(instruction, context);
    const refused = { outcome: 'rejected', reason: 'payer_unavailable', code: '30_112' };
    assert.deepEqual(answer, refused);
    bench.simulator.setOptions({ routes: ['regular', 'instant'] });
    assert.deepEqual(await bench.rail.send(instruction, context), refused);
    assert.deepEqual(await bench.rail.query(instruction, context), refused);
    assert.equal(listFor(instruction).length, 0);
  });

  test('is not believed while an earlier order may be on its way', async () => {
    const instruction = newAdyenInstruction();
    breakCalls('create', 'reset_before');
    assert.equal((await bench.rail.send(instruction, context)).outcome, 'unknown');
    heal();
    bench.simulator.setOptions({ routes: [] });
    assert.equal((await bench.rail.query(instruction, context)).outcome, 'unknown');
    bench.clock.nowMs += 6 * 60_000;
    // Now it is the stored answer of the key, and the earlier orders were lost.
    assert.equal((await bench.rail.query(instruction, context)).outcome, 'rejected');
    bench.simulator.setOptions({ routes: ['regular', 'instant'] });
  });

  test('of the key leaves the order to be sent again', async () => {
    const instruction = newAdyenInstruction();
    const wrong = await bench.again({ apiKey: 'a key that is not known'.replaceAll(' ', '.') });
    const answer = await wrong.send(instruction, context);
    assert.deepEqual(answer, { outcome: 'retry', reason: 'not_configured', code: 'http_401' });
    assert.equal((await bench.rail.send(instruction, context)).outcome, 'accepted');
    assert.equal(listFor(instruction).length, 1);
  });

  test('of a payer that is no longer configured concerns new payments only', async () => {
    const unknown = newAdyenInstruction({ payerKey: 'gone' });
    const answer = await bench.rail.send(unknown, context);
    assert.deepEqual(answer, { outcome: 'retry', reason: 'not_configured' });
    const known = newAdyenInstruction();
    await bench.rail.send(known, context);
    const moved = { ...known, payerKey: 'gone' };
    assert.equal((await bench.rail.query(moved, context)).outcome, 'accepted');
    assert.equal((await bench.rail.send(moved, context)).outcome, 'accepted');
  });

  test('for maintenance, limits of calls and other answers is no refusal of the payment', async () => {
    for (const kind of ['busy', 'rate_limited', 'error_after', 'wrong_amount'] as const) {
      const instruction = newAdyenInstruction();
      breakCalls('create', kind);
      const answer = await bench.rail.send(instruction, context);
      assert.equal(answer.outcome, 'unknown', kind);
      if (kind === 'rate_limited') {
        assert.ok('retryAfterMs' in answer && answer.retryAfterMs === 1000);
      }
      heal();
      assert.equal((await bench.rail.query(instruction, context)).outcome, 'accepted', kind);
      assert.equal(listFor(instruction).length, 1, kind);
    }
    bench.simulator.setOptions({ isInMaintenance: true });
    const instruction = newAdyenInstruction();
    assert.equal((await bench.rail.send(instruction, context)).outcome, 'unknown');
    bench.simulator.setOptions({ isInMaintenance: false });
    assert.equal((await bench.rail.query(instruction, context)).outcome, 'accepted');
  });

  test('has the reason of Adyen: limits and funds', async () => {
    bench.simulator.setOptions({ transferLimit: 10_000 });
    const limited = newAdyenInstruction();
    await bench.rail.send(limited, context);
    await advance(1);
    bench.simulator.setOptions({ transferLimit: 1_000_000_000 });
    const { reason } = { reason: '', ...(await bench.rail.query(limited, context)) };
    assert.equal(reason, 'amount_refused');

    const unfunded = newAdyenInstruction({ currency: 'EUR', amountMinor: 800_000_000n });
    bench.simulator.setBalance('EUR', 100);
    await bench.rail.send(unfunded, context);
    await advance(1);
    const answer = await bench.rail.query(unfunded, context);
    assert.equal('reason' in answer && answer.reason, 'no_funds');
    bench.simulator.setBalance('EUR', 900_000_000_000);
  });
});

describe('late failures', () => {
  test('an instant transfer fails after it was booked: it was never paid', async () => {
    const instruction = newAdyenInstruction({ payerKey: 'instant' });
    bench.simulator.expect(instruction.reference, 'failed');
    await bench.rail.send(instruction, context);
    await advance(2);
    assert.equal((await bench.rail.query(instruction, context)).outcome, 'accepted');
    await advance(1);
    const answer = await bench.rail.query(instruction, context);
    assert.equal(answer.outcome, 'rejected');
    assert.equal('reason' in answer && answer.reason, 'account_closed');
  });

  test('a regular transfer fails after it counted as paid: it is returned', async () => {
    const instruction = newAdyenInstruction();
    bench.simulator.expect(instruction.reference, 'failed');
    await bench.rail.send(instruction, context);
    await advance(2);
    assert.equal((await bench.rail.query(instruction, context)).outcome, 'paid');
    await advance(1);
    assert.equal((await bench.rail.query(instruction, context)).outcome, 'returned');
  });

  test("Adyen's own review keeps a booked transfer open", async () => {
    const instruction = newAdyenInstruction();
    bench.simulator.setOptions({ reviewPattern: instruction.reference });
    await bench.rail.send(instruction, context);
    await advance(3);
    assert.equal((await bench.rail.query(instruction, context)).outcome, 'accepted');
    await advance(3);
    const answer = await bench.rail.query(instruction, context);
    assert.equal(answer.outcome, 'paid');
    // The estimated arrival of a regular transfer, a minute after the booking.
    assert.ok('checkAtMs' in answer && answer.checkAtMs === bench.clock.nowMs + 60_000);
    bench.simulator.setOptions({ reviewPattern: '$^' });
  });

  test('the list of transfers makes up for the lost webhook of a return', async () => {
    const instruction = newAdyenInstruction();
    await bench.rail.send(instruction, context);
    await advance(3);
    await bench.rail.query(instruction, context);
    bench.clock.nowMs += 10 * dayMs;
    bench.simulator.force(instruction.reference, 'returned');
    const seen = () =>
      bench.host.observations.filter(({ reference }) => reference === instruction.reference);
    assert.equal(seen().length, 0);
    await bench.rail.work?.(context);
    await bench.rail.work?.(context);
    assert.deepEqual(
      seen().map(({ outcome, reason }) => ({ outcome, reason })),
      [{ outcome: 'returned', reason: 'account_closed' }],
    );
  });
});

describe('the list of transfers', () => {
  test('is read page by page, by one pass after another', async () => {
    const outcomes = () => bench.host.observations.map(({ id }) => id);
    const instructions = Array.from({ length: 25 }, () => newAdyenInstruction());
    await Promise.all(instructions.map((instruction) => bench.rail.send(instruction, context)));
    await advance(2);
    bench.simulator.setOptions({ pageMax: 2 });
    let passes = 1;
    while ((await bench.rail.work?.(context)) !== undefined) passes += 1;
    bench.simulator.setOptions({ pageMax: 100 });
    assert.ok(passes > 1);
    for (const instruction of instructions) {
      const [transfer] = listFor(instruction);
      assert.ok(outcomes().includes(`${transfer?.id}:paid`));
    }
    const { length } = outcomes();
    await bench.rail.work?.(context);
    assert.equal(outcomes().length, length);
  });
});

describe('cancelling', () => {
  test('a transfer that waits for an approval is canceled', async () => {
    const instruction = newAdyenInstruction({ payerKey: 'reviewed' });
    assert.equal((await bench.rail.send(instruction, context)).outcome, 'accepted');
    const answer = await bench.rail.cancel?.(instruction, context);
    assert.equal(answer?.outcome, 'rejected');
    assert.equal(answer !== undefined && 'reason' in answer && answer.reason, 'cancelled');
    assert.equal(listFor(instruction)[0]?.status, 'cancelled');
  });

  test('a transfer that was sent continues', async () => {
    const instruction = newAdyenInstruction();
    await bench.rail.send(instruction, context);
    assert.equal((await bench.rail.cancel?.(instruction, context))?.outcome, 'accepted');
    assert.equal(listFor(instruction)[0]?.status, 'received');
  });

  test('does not repeat an order that may have been lost', async () => {
    const instruction = newAdyenInstruction();
    breakCalls('create', 'reset_before');
    await bench.rail.send(instruction, context);
    heal();
    const answer = await bench.rail.cancel?.(instruction, context);
    assert.deepEqual(answer, { outcome: 'unknown', reason: 'no_answer' });
    assert.equal(listFor(instruction).length, 0);
  });
});

describe('funds and setup', () => {
  test('available funds are read from the balance account', async () => {
    bench.simulator.setBalance('USD', 123_456);
    const funds = await bench.rail.readFunds?.(context);
    assert.equal(funds?.find(({ currency }) => currency === 'USD')?.amount, '1234.56');
  });

  test('where the API gives no funds, the newest Balance Report does', async () => {
    const fileName = bench.simulator.publishBalanceReport();
    const webhook = [...bench.simulator.books.webhooks.values()].at(-1);
    assert.ok(webhook !== undefined && webhook.body.includes(fileName));
    await deliver(webhook.body);
    await bench.rail.work?.(context);
    bench.simulator.setOptions({ faults: [{ on: 'balance', kind: 'error_before' }] });
    const funds = await bench.rail.readFunds?.(context);
    heal();
    const usd = funds?.find(({ currency }) => currency === 'USD');
    assert.equal(usd?.amount, '1234.56');
    assert.ok((usd?.asOfMs ?? Infinity) < bench.clock.nowMs);
  });

  test('the check names what is wrong', async () => {
    assert.deepEqual(await bench.rail.check?.(context), []);
    const wrong = await bench.again({ apiKey: 'another.key.of.twenty' });
    assert.deepEqual(await wrong.check?.(context), [
      'Adyen refuses the API key: check apiKey and environment',
    ]);
    const away = await bench.again({ apiUrl: 'http://127.0.0.1:65534' });
    assert.deepEqual(await away.check?.(context), [
      'Adyen cannot be reached (ECONNREFUSED): check apiUrl and the network',
    ]);
  });
});

async function deliver(body: string): Promise<void> {
  const bytes = Buffer.from(body);
  const reading = await bench.rail.readCallback?.({
    method: 'POST',
    path: '',
    query: {},
    headers: { hmacsignature: signBody(bytes, adyenAccount.webhookKey) },
    body: bytes,
  });
  assert.equal(reading?.kind, 'accepted');
}
