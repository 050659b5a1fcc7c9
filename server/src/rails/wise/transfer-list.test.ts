import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { bouncingEnd } from '../../../testing/counterparties/wise/forms.ts';
import { type HostGround, openHostGround } from '../../../testing/setups/rail.ts';
import {
  context,
  newInstruction,
  openWiseRail,
  type WiseRail,
} from '../../../testing/setups/wise.ts';

let ground: HostGround;
let subject: WiseRail;

before(async () => {
  ground = await openHostGround();
  subject = await openWiseRail(ground);
});
after(async () => {
  await subject.close();
  await ground.close();
});

test('lost webhooks are made up for: of payments by the query, of returns by the list', async () => {
  const { rail, wise, host } = subject;
  const attributes = { BankRoutingNumber: '231470', BankAccountNumber: `2882${bouncingEnd}` };
  const instruction = newInstruction({ attributes });
  await rail.send(instruction, context);
  const listOutcomes = () =>
    host.observations
      .filter(({ reference }) => reference === instruction.reference)
      .map(({ outcome }) => outcome);
  for (let step = 0; step < 2; step += 1) await wise.advance();
  assert.equal((await rail.query(instruction, context)).outcome, 'paid');
  await rail.work?.(context);
  assert.deepEqual(listOutcomes(), []);
  for (let step = 0; step < 3; step += 1) await wise.advance();
  await rail.work?.(context);
  await rail.work?.(context);
  assert.deepEqual(listOutcomes(), ['returned']);
  const [returned] = host.observations.filter((one) => one.reference === instruction.reference);
  assert.equal(
    returned?.charges?.[0]?.amountMinor,
    wise.find(instruction.reference)?.quote.feeMinor,
  );
  assert.equal((await rail.query(instruction, context)).outcome, 'returned');
});

test('after a restore Wise has the same transfer, and the list shows it', async () => {
  const { wise } = subject;
  const digits = randomUUID();
  const reference = `${digits.slice(0, 14)}5${digits.slice(15)}`;
  const instruction = newInstruction({ reference });
  await subject.rail.send(instruction, context);
  const restored = await openWiseRail(ground);
  try {
    const config = { baseUrl: wise.url, credentials: { token: wise.token } };
    const rail = await restored.again(config);
    assert.match((await rail.findUnknownPayments?.(context)) ?? '', /1 funded transfers/);
    // Fee and amounts are those of the transfer's quote, not of the one that the send asks for first.
    wise.setPricing({ fixedMinor: 500n });
    const again = await rail.send({ ...instruction }, context);
    wise.setPricing({ fixedMinor: 50n });
    assert.equal(again.outcome, 'accepted');
    assert.equal(again.charges?.[0]?.amountMinor, wise.find(reference)?.quote.feeMinor);
    const found = await rail.recover?.(Date.now() - 60_000, context);
    const [payment] = found?.filter((one) => one.reference === reference) ?? [];
    assert.equal(payment?.outcome, 'accepted');
    assert.equal(payment.amountMinor, 10_010n);
    assert.equal(wise.find(reference)?.fundings, 1);
    assert.equal(await rail.findUnknownPayments?.(context), undefined);
  } finally {
    await restored.close();
  }
});

test('recovery records what it lists, so that a send only asks', async () => {
  const { wise } = subject;
  const instruction = newInstruction();
  await subject.rail.send(instruction, context);
  const restored = await openWiseRail(ground);
  try {
    const rail = await restored.again({ baseUrl: wise.url, credentials: { token: wise.token } });
    await rail.recover?.(Date.now() - 60_000, context);
    const count = wise.recipients.length;
    assert.equal((await rail.send(instruction, context)).outcome, 'accepted');
    assert.equal(wise.recipients.length, count);
    const other = { ...instruction, amountMinor: 1n };
    assert.deepEqual(await rail.send(other, context), { outcome: 'unknown', reason: 'duplicate' });
  } finally {
    await restored.close();
  }
});

test('a list that cannot be read fails recovery, and not the pass', async () => {
  const { rail, wise } = subject;
  const faults = [{ on: /^GET \/v1\/transfers/, kind: 'maintenance' }] as const;
  wise.setFaults(faults);
  try {
    await rail.work?.(context);
    await assert.rejects(async () => rail.recover?.(0, context), /cannot be read/);
    await assert.rejects(async () => rail.findUnknownPayments?.(context), /cannot be read/);
  } finally {
    wise.setFaults([]);
  }
});

test('a funded transfer of a payment that is open here shows a restore', async () => {
  const { wise } = subject;
  const digits = randomUUID();
  const reference = `${digits.slice(0, 14)}5${digits.slice(15)}`;
  const instruction = newInstruction({ reference });
  const restored = await openWiseRail(ground);
  try {
    const rail = await restored.again({ baseUrl: wise.url, credentials: { token: wise.token } });
    // The backup was made between the record and the funding.
    wise.setFaults([{ on: /\/quotes/, kind: 'maintenance', count: 1 }]);
    assert.equal((await rail.send(instruction, context)).outcome, 'retry');
    const before = await rail.findUnknownPayments?.(context);
    await subject.rail.send(instruction, context);
    assert.notEqual(await rail.findUnknownPayments?.(context), before);
    await rail.recover?.(Date.now() - 60_000, context);
    assert.equal((await rail.query(instruction, context)).outcome, 'accepted');
    assert.equal(wise.find(reference)?.fundings, 1);
  } finally {
    await restored.close();
  }
});

test('recovery lists a payment whose recipient was erased', async () => {
  const { rail, host, wise } = subject;
  const instruction = newInstruction();
  await rail.send(instruction, context);
  await host.eraseRecipient(instruction.reference);
  const found = await rail.recover?.(Date.now() - 60_000, context);
  const ours = found?.filter(({ reference }) => reference === instruction.reference);
  assert.deepEqual(
    ours?.map(({ providerReference }) => providerReference),
    [wise.find(instruction.reference)?.id],
  );
});

test('a listed refund that cannot be read or is of other money opens one exception each', async () => {
  const { rail, wise, host, again } = subject;
  const attributes = { BankRoutingNumber: '231470', BankAccountNumber: `2882${bouncingEnd}` };
  const [broken, other, fine] = [0, 1, 2].map(() => newInstruction({ attributes }));
  assert.ok(broken !== undefined && other !== undefined && fine !== undefined);
  for (const one of [broken, other, fine]) await rail.send(one, context);
  for (let step = 0; step < 5; step += 1) await wise.advance();
  const changed: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    if (!response.url.includes('/v1/transfers?')) return response;
    const text = await response.text();
    const entries = text.split(/(?<=\}),(?=\{"id")/);
    const edited = entries.map((entry) => {
      if (entry.includes(broken.reference)) return entry.replace('"targetCurrency"', '"currency"');
      return entry.includes(other.reference)
        ? entry.replace(/"targetValue":[\d.]+/, '"targetValue":99')
        : entry;
    });
    return new Response(edited.join(','), response);
  };
  const odd = await again({}, {}, { fetch: changed });
  await odd.work?.(context);
  await odd.work?.(context);
  const nameProblem = ({ reference }: { reference: string }) =>
    `misfit:transfer:${wise.find(reference)?.id}`;
  assert.deepEqual(
    host.problems
      .map(({ id, kind, currency, amountMinor }) => [id, kind, currency, amountMinor])
      .toSorted(([, , a], [, , b]) => Number(a !== undefined) - Number(b !== undefined)),
    [
      [nameProblem(broken), 'not_understood', undefined, undefined],
      [nameProblem(other), 'not_understood', 'GBP', 9_900n],
    ],
  );
  assert.ok(host.problems.some(({ detail }) => detail.includes(broken.reference)));
  const outcomes = host.observations.filter(({ reference }) =>
    [broken, other, fine].some((one) => one.reference === reference),
  );
  assert.deepEqual(
    outcomes.map(({ reference, outcome }) => [reference, outcome]),
    [[fine.reference, 'returned']],
  );
});
