import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { signBody } from '../../../testing/counterparties/wise/webhooks.ts';
import { type HostGround, openHostGround } from '../../../testing/setups/rail.ts';
import {
  context,
  newInstruction,
  openWiseRail,
  toGermany,
  type WiseRail,
} from '../../../testing/setups/wise.ts';
import type { Instruction } from '../contract/contract.ts';

/** What comes back of a transfer, by the two events of Wise in any order, and by the list. */

let ground: HostGround;
let subject: WiseRail;
let aheadMs = 0;
const hourMs = 3_600_000;

before(async () => {
  ground = await openHostGround();
  const nowMs = () => Date.now() + aheadMs;
  subject = await openWiseRail(ground, { host: { nowMs, realNowMs: nowMs }, wise: { nowMs } });
});
after(async () => {
  await subject.close();
  await ground.close();
});

async function openRail(payOut?: string): Promise<WiseRail['rail']> {
  return subject.again({}, payOut === undefined ? {} : { options: { payOut } });
}

type Bounced = {
  readonly rail: WiseRail['rail'];
  readonly instruction: Instruction;
  readonly id: string;
  readonly fee: bigint;
  readonly gross: bigint;
};

/** Paid, and then refunded by Wise. */
async function bounce(payOut?: string, instruction = newInstruction()): Promise<Bounced> {
  const { wise } = subject;
  const rail = await openRail(payOut);
  assert.equal((await rail.send(instruction, context)).outcome, 'accepted');
  const { reference } = instruction;
  for (const status of ['outgoing_payment_sent', 'bounced_back', 'funds_refunded']) {
    wise.move(reference, status);
  }
  const transfer = wise.find(reference);
  assert.ok(transfer !== undefined);
  const { feeMinor: fee, sourceMinor: gross } = transfer.quote;
  return { rail, instruction, id: transfer.id, fee, gross };
}

type Refund = { readonly minor: bigint; readonly currency?: string };

async function post({ rail, id }: Bounced, refund?: Refund): Promise<void> {
  const { profileId } = subject.wise;
  const resource = `"type":"transfer","id":${id},"profile_id":${profileId},"account_id":333`;
  const digits = (refund?.minor ?? 0n).toString().padStart(3, '0');
  const amount = `${digits.slice(0, -2)}.${digits.slice(-2)}`;
  const currency = refund?.currency ?? 'EUR';
  const [what, type] =
    refund === undefined
      ? [
          `{${resource}},"current_state":"funds_refunded","previous_state":"cancelled"`,
          'state-change',
        ]
      : [`{${resource},"refund_amount":${amount},"refund_currency":"${currency}"}`, 'refund'];
  const body = `{"data":{"resource":${what},"occurred_at":"2026-11-20T12:34:56Z"},
    "event_type":"transfers#${type}","schema_version":"4.0.0","sent_at":"2026-11-20T12:34:57Z"}`;
  const headers = { 'x-signature-sha256': signBody(body) };
  const message = { method: 'POST', path: '', query: {}, headers, body: Buffer.from(body) };
  const reading = await rail.readCallback?.(message);
  assert.ok(reading?.kind === 'accepted');
  await subject.host.receive(reading.message);
}

/** Each once, as the service applies them: every report of one has to be the same. */
function listReturned({ instruction: { reference } }: Bounced) {
  const own = subject.host.observations.filter((one) => one.reference === reference);
  const reports = own.map(({ id, outcome, amountMinor }) => `${id} ${outcome} ${amountMinor}`);
  const ids = own.map(({ id }) => id);
  assert.equal(new Set(reports).size, new Set(ids).size);
  return own
    .filter(({ id }, index) => ids.indexOf(id) === index)
    .map(({ id, outcome, amountMinor }) => [id.split(':').at(-1), outcome, amountMinor]);
}

function listProblems({ id }: Bounced) {
  return subject.host.problems
    .filter((one) => one.id.includes(id))
    .map(({ id: name, kind, currency, amountMinor }) => [
      name.split(':').slice(2).join(':'),
      kind,
      currency,
      amountMinor,
    ]);
}

const returned = (amountMinor?: bigint) => ['funds_refunded', 'returned', amountMinor];

/** The part of 100.10 GBP that the money is of what was converted, rounded down. */
const partOf = ({ gross, fee }: Bounced, minor: bigint) => (10_010n * minor) / (gross - fee);

test('a smaller refund of a payment over SWIFT is a return in part, in any order of the events', async () => {
  for (const isFirst of [true, false]) {
    const bounced = await bounce('SWIFT_OUR');
    const { rail, gross, instruction } = bounced;
    const minor = (gross * 90n) / 100n;
    if (!isFirst) await post(bounced);
    assert.deepEqual(listReturned(bounced), []);
    await post(bounced, { minor });
    await post(bounced, { minor });
    if (isFirst) await post(bounced);
    await rail.work?.(context);
    const part = partOf(bounced, minor);
    assert.ok(part < 10_010n);
    assert.deepEqual(listReturned(bounced), [returned(part)]);
    assert.deepEqual(listProblems(bounced), []);
    const answer = await rail.query(instruction, context);
    assert.ok(answer.outcome === 'returned' && answer.amountMinor === part);
  }
});

test('of a payment that was not paid over SWIFT the whole comes back, and the fee is told', async () => {
  for (const isFirst of [true, false]) {
    const bounced = await bounce();
    const { rail, gross, fee, instruction } = bounced;
    if (!isFirst) await post(bounced);
    assert.deepEqual(listReturned(bounced), isFirst ? [] : [returned()]);
    await post(bounced, { minor: gross });
    if (isFirst) await post(bounced);
    await rail.work?.(context);
    assert.deepEqual(listReturned(bounced), [returned()]);
    assert.deepEqual(listProblems(bounced), [['fee', 'not_understood', 'EUR', fee]]);
    const answer = await rail.query(instruction, context);
    assert.ok(answer.outcome === 'returned' && answer.amountMinor === undefined);
  }
});

test('within one currency the part is what came back', async () => {
  const bounced = await bounce('SWIFT', toGermany());
  await post(bounced, { minor: 9_000n });
  assert.deepEqual(listReturned(bounced), [returned(9_000n)]);
  assert.deepEqual(listProblems(bounced), []);
});

test('less than the whole that was reported is told to a person', async () => {
  const bounced = await bounce();
  await bounced.rail.work?.(context);
  assert.deepEqual(listReturned(bounced), [returned()]);
  await post(bounced, { minor: 8_000n });
  assert.deepEqual(listReturned(bounced), [returned()]);
  const lost = bounced.gross - bounced.fee - 8_000n;
  assert.deepEqual(listProblems(bounced), [['short', 'not_understood', 'EUR', lost]]);
  // Of another amount than at first.
  await post(bounced, { minor: 7_000n });
  assert.deepEqual(listProblems(bounced)[1], ['changed:7000EUR', 'not_understood', 'EUR', 7_000n]);
});

test('an amount that cannot be converted is told to a person, and nothing is returned', async () => {
  const bounced = await bounce('SWIFT_OUR');
  await post(bounced, { minor: 9_000n, currency: 'GBP' });
  await post(bounced);
  await bounced.rail.work?.(context);
  assert.deepEqual(listReturned(bounced), []);
  assert.deepEqual(listProblems(bounced), [['amount', 'not_understood', 'GBP', 9_000n]]);
  const nothing = await bounce('SWIFT_OUR');
  await post(nothing, { minor: 0n });
  assert.deepEqual(listReturned(nothing), []);
  assert.deepEqual(listProblems(nothing), [['amount', 'not_understood', undefined, undefined]]);
});

test('without the amount a person is asked after a day, and decides what comes later', async () => {
  const bounced = await bounce('SWIFT_OUR');
  const { rail, instruction, gross } = bounced;
  const minor = (gross * 90n) / 100n;
  await rail.work?.(context);
  aheadMs += 23 * hourMs;
  await rail.work?.(context);
  assert.deepEqual(listProblems(bounced), []);
  assert.equal((await rail.query(instruction, context)).outcome, 'unknown');
  aheadMs += 2 * hourMs;
  await rail.work?.(context);
  await rail.work?.(context);
  const missing = ['missing', 'report_missing', 'GBP', 10_010n];
  assert.deepEqual(listProblems(bounced), [missing]);
  await post(bounced, { minor });
  await post(bounced);
  await rail.work?.(context);
  assert.deepEqual(listReturned(bounced), []);
  const late = ['late', 'not_understood', 'GBP', partOf(bounced, minor)];
  assert.deepEqual(listProblems(bounced), [missing, late]);
  assert.equal((await rail.query(instruction, context)).outcome, 'returned');
});

test('the fee of a canceled transfer is told, its refund is no return', async () => {
  const { wise } = subject;
  const rail = await openRail('SWIFT_OUR');
  const instruction = newInstruction();
  await rail.send(instruction, context);
  assert.equal((await rail.cancel?.(instruction, context))?.outcome, 'rejected');
  const transfer = wise.find(instruction.reference);
  assert.ok(transfer !== undefined);
  const { sourceMinor: gross, feeMinor: fee } = transfer.quote;
  const bounced = { rail, instruction, id: transfer.id, gross, fee };
  await post(bounced, { minor: gross });
  assert.deepEqual(listReturned(bounced), []);
  assert.deepEqual(listProblems(bounced), [['fee', 'not_understood', 'EUR', fee]]);
});

test('the simulated Wise takes a tenth of a refund over SWIFT, and posts it', async () => {
  const posted: string[] = [];
  const opened = await openWiseRail(ground, {
    wise: { callbackUrl: 'http://127.0.0.1:9/', onWebhook: (body) => posted.push(body) },
  });
  try {
    const rail = await opened.again({}, { options: { payOut: 'SWIFT_OUR' } });
    const instruction = newInstruction();
    await rail.send(instruction, context);
    const before = opened.wise.balance('EUR');
    opened.wise.move(instruction.reference, 'funds_refunded');
    const { sourceMinor } = opened.wise.find(instruction.reference)?.quote ?? { sourceMinor: 0n };
    assert.equal(opened.wise.balance('EUR') - before, (sourceMinor * 90n) / 100n);
    assert.equal(posted.filter((body) => body.includes('transfers#refund')).length, 1);
  } finally {
    await opened.close();
  }
});
