import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  adyenAccount,
  context,
  newAdyenInstruction,
  openAdyenBench,
  prepareAdyenBench,
} from '../../../testing/setups/adyen.ts';
import type { Instruction } from '../contract/contract.ts';
import { signBody } from './webhooks.ts';

/** One return, however Adyen reports it, counts as much as came back. */

const bench = prepareAdyenBench();

const dayMs = 24 * 3_600_000;

async function pay(): Promise<Instruction> {
  const instruction = newAdyenInstruction();
  await bench.rail.send(instruction, context);
  await bench.advance(3);
  assert.equal((await bench.rail.query(instruction, context)).outcome, 'paid');
  return instruction;
}

type Part = { readonly id?: string; readonly balance: number };

/** A webhook of the return whose events show these parts; `undefined`: it has no events. */
async function receive({ reference }: Instruction, parts: readonly Part[] | undefined) {
  const transfer = bench.simulator.books.list().find((one) => one.reference === reference);
  const events = parts?.map(({ id, balance }) => ({
    ...(id !== undefined && { id }),
    status: 'returned',
    type: 'accounting',
    mutations: [{ currency: 'EUR', balance }],
  }));
  const data = {
    id: transfer?.id,
    reference,
    amount: { value: 12_345, currency: 'EUR' },
    balanceAccount: { id: adyenAccount.balanceAccountId },
    category: 'bank',
    direction: 'outgoing',
    status: 'returned',
    reason: 'counterpartyAccountClosed',
    ...(events !== undefined && { events }),
  };
  const type = 'balancePlatform.transfer.updated';
  const body = Buffer.from(JSON.stringify({ data, environment: 'test', type }));
  const headers = { hmacsignature: signBody(body, adyenAccount.webhookKey) };
  const message = { method: 'POST', path: '', query: {}, headers, body };
  const reading = await bench.rail.readCallback?.(message);
  assert.ok(reading?.kind === 'accepted');
  await bench.host.receive(reading.message);
}

/** As the service counts: each observation once. */
function sumReturned({ reference }: Instruction): bigint {
  const counted = bench.host.observations.filter(
    (one) => one.reference === reference && one.outcome === 'returned',
  );
  const amounts = new Map(counted.map(({ id, amountMinor = 12_345n }) => [id, amountMinor]));
  return [...amounts.values()].reduce((sum, amount) => sum + amount, 0n);
}

const first = { id: 'EV1', balance: 345 };
const rest = { id: 'EV2', balance: 12_000 };
const anonymous = [{ balance: 345 }, { balance: 12_000 }];

describe('a whole return', () => {
  const ways: readonly [string, readonly (readonly Part[] | undefined)[]][] = [
    ['without events, then part by part', [undefined, [first], [first, rest]]],
    ['part by part, then without events', [[first], [first, rest], undefined]],
    ['without events between its parts', [[first], undefined, [first, rest]]],
    ['with its newest event only', [[first], [rest], [first, rest]]],
    ['in reversed order', [[first, rest], [rest], [first], undefined]],
    ['by events with and without IDs', [[first], anonymous, [first, rest]]],
    ['by events without IDs, then with', [anonymous, [first], [rest]]],
    ['repeatedly', [undefined, undefined, [first, rest], [first, rest]]],
  ];
  for (const [name, messages] of ways) {
    test(`that is reported ${name} counts once`, async () => {
      const instruction = await pay();
      for (const parts of messages) await receive(instruction, parts);
      assert.equal(sumReturned(instruction), 12_345n);
    });
  }

  test('is one of webhook, list and query', async () => {
    const instruction = await pay();
    await receive(instruction, undefined);
    bench.simulator.force(instruction.reference, 'returned', { value: 345 });
    bench.simulator.force(instruction.reference, 'returned', { value: 12_000 });
    const answer = await bench.rail.query(instruction, context);
    assert.equal('amountMinor' in answer && answer.amountMinor, 12_345n);
    for (const observation of await bench.readWebhooks(instruction)) {
      const id = `again:${observation.id}`;
      const message = { id, channel: 'callback', raw: Buffer.from('') } as const;
      await bench.host.receive({ ...message, observations: [observation] });
    }
    await bench.rail.work?.(context);
    assert.equal(sumReturned(instruction), 12_345n);
  });
});

describe('a return in part', () => {
  test('stays a part where a later message has no events', async () => {
    const instruction = await pay();
    await receive(instruction, [first]);
    await receive(instruction, undefined);
    assert.equal(sumReturned(instruction), 345n);
  });

  test('that counted as the whole before its events came opens an exception', async () => {
    const instruction = await pay();
    await receive(instruction, undefined);
    bench.simulator.force(instruction.reference, 'returned', { value: 345 });
    bench.clock.nowMs += 2 * dayMs;
    await bench.rail.work?.(context);
    const problems = bench.host.problems.filter(({ id }) => id.startsWith('returns:'));
    assert.deepEqual(
      problems.map(({ kind, currency, amountMinor }) => ({ kind, currency, amountMinor })),
      [{ kind: 'not_understood', currency: 'EUR', amountMinor: 12_000n }],
    );
    assert.equal(sumReturned(instruction), 12_345n);
  });

  test('and more than was paid is reported as it is, for the service to book as an excess', async () => {
    const instruction = await pay();
    await receive(instruction, [first, rest, { id: 'EV3', balance: 100 }]);
    assert.equal(sumReturned(instruction), 12_445n);
  });
});

describe('the list of transfers', () => {
  const listOnly =
    (change: (text: string) => Response | string): typeof fetch =>
    async (...request) => {
      const response = await fetch(...request);
      if (!response.url.includes('/transfers?')) return response;
      const changed = change(await response.text());
      return typeof changed === 'string' ? new Response(changed, response) : changed;
    };

  test('opens one exception for a transfer that cannot be read, and the others count', async () => {
    let reference = '';
    const fetchBroken = listOnly((text) => {
      const page = JSON.parse(text);
      for (const entry of page.data) if (entry.reference === reference) entry.amount = 'much';
      return JSON.stringify(page);
    });
    const odd = await openAdyenBench({ fetch: fetchBroken });
    try {
      const [broken, fine] = [newAdyenInstruction(), newAdyenInstruction()];
      for (const one of [broken, fine]) await odd.rail.send(one, context);
      await odd.advance(3);
      ({ reference } = broken);
      await odd.rail.work?.(context);
      await odd.rail.work?.(context);
      assert.deepEqual(
        odd.host.problems.map(({ kind, detail }) => [kind, detail.includes(broken.reference)]),
        [['not_understood', true]],
      );
      assert.deepEqual(
        [...new Set(odd.host.observations.map((one) => one.reference))],
        [fine.reference],
      );
    } finally {
      await odd.close();
    }
  });

  test('opens an exception once it has not been read for three days', async () => {
    let isBroken = false;
    const fetchUnread = listOnly((text) => (isBroken ? new Response('', { status: 500 }) : text));
    const odd = await openAdyenBench({ fetch: fetchUnread });
    try {
      await odd.rail.work?.(context);
      isBroken = true;
      odd.clock.nowMs += 71 * 3_600_000;
      await odd.rail.work?.(context);
      assert.deepEqual(odd.host.problems, []);
      odd.clock.nowMs += 3_600_000;
      for (let pass = 0; pass < 2; pass += 1) await odd.rail.work?.(context);
      assert.deepEqual(
        odd.host.problems.map(({ kind }) => kind),
        ['report_missing'],
      );
      isBroken = false;
      await odd.rail.work?.(context);
      isBroken = true;
      odd.clock.nowMs += 73 * 3_600_000;
      await odd.rail.work?.(context);
      assert.equal(odd.host.problems.length, 2);
    } finally {
      await odd.close();
    }
  });
});
