import assert from 'node:assert/strict';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import {
  advanceTo,
  context,
  makeForeignEntry,
  makeInstruction,
  type NachaBench,
  setSimulatorOptions,
  summarize,
  withBench,
  withIat,
} from '../../../testing/setups/nacha.ts';
import type { Instruction } from '../contract/contract.ts';
import { fromEastern } from './banking-days.ts';

/** Sends the payments, lets the bank take the file, and answers the lines of the bank's returns. */
async function collectReturns(
  bench: NachaBench,
  payments: readonly Instruction[],
  code = 'R03',
): Promise<string[]> {
  await setSimulatorOptions(bench, { rules: [{ everyNth: 1, code }] });
  for (const payment of payments) await bench.rail.send(payment, context);
  bench.clock.nowMs = fromEastern({ day: '2026-11-20', time: '10:00' });
  await bench.rail.work?.(context);
  await bench.bank.advance(bench.clock.nowMs);
  await setSimulatorOptions(bench, { silent: true });
  const inbox = path.join(bench.folder, 'inbox');
  const [name = ''] = (await readdir(inbox)).filter((one) => !one.startsWith('.'));
  const text = await readFile(path.join(inbox, name), 'ascii');
  await rm(path.join(inbox, name));
  return text.trimEnd().split('\n');
}

async function receive(bench: NachaBench, lines: readonly string[], name = 'r.ach'): Promise<void> {
  await writeFile(path.join(bench.folder, 'inbox', name), `${lines.join('\n')}\n`);
  // A file with faults is looked at twice.
  await bench.rail.work?.(context);
  await bench.rail.work?.(context);
}

function put(line: string | undefined, place: number, text: string): string {
  if (line === undefined) throw new Error('the file has no such line');
  return line.slice(0, place - 1) + text + line.slice(place - 1 + text.length);
}

/** The lines with a change in those of a record type, of the n-th batch only where that is given. */
function change(
  lines: readonly string[],
  { type, batch }: { type: string; batch?: number },
  edit: (line: string) => string,
): string[] {
  let current = 0;
  return lines.map((line) => {
    if (line.startsWith('5')) current += 1;
    const isMeant = line.startsWith(type) && (batch === undefined || batch === current);
    return isMeant && !/^9{94}$/.test(line) ? edit(line) : line;
  });
}

const three = () => ['p1', 'p2', 'p3'].map((name) => makeInstruction(name));

/** The last payment's return is left out of the file, so that only the calendar can end it. */
function dropBatch(lines: readonly string[], dropped: number): string[] {
  let current = 0;
  return lines.filter((line) => {
    if (line.startsWith('5')) current += 1;
    return line.startsWith('1') || line.startsWith('9') || current !== dropped;
  });
}

/** A file control that agrees with batches of one return of 12.34 each, to one bank. */
function closeAgain(lines: readonly string[], batchCount: number): string[] {
  const hash = lines
    .filter((line) => line.startsWith('6'))
    .reduce((sum, line) => sum + BigInt(line.slice(3, 11)), 0n);
  return change(lines, { type: '9' }, (line) =>
    [
      line.slice(0, 1),
      String(batchCount).padStart(6, '0'),
      line.slice(7, 13),
      String(batchCount * 2).padStart(8, '0'),
      String(hash).padStart(10, '0'),
      line.slice(31, 43),
      String(1234 * batchCount).padStart(12, '0'),
      line.slice(55),
    ].join(''),
  );
}

async function expectHeld(bench: NachaBench, held: Instruction): Promise<void> {
  await advanceTo(bench, '2026-12-01', '12:00');
  assert.equal((await bench.rail.query(held, context)).outcome, 'accepted');
  await bench.host.closeExceptions();
  await advanceTo(bench, '2026-12-01', '12:05');
  assert.equal((await bench.rail.query(held, context)).outcome, 'paid');
}

test('a blank file id modifier is accepted from a bank', () =>
  withBench({}, async (bench) => {
    const lines = await collectReturns(bench, three());
    await receive(bench, [put(lines[0], 34, ' '), ...lines.slice(1)]);
    assert.deepEqual(summarize(bench.host.observations), [
      'p1 returned R03',
      'p2 returned R03',
      'p3 returned R03',
    ]);
    assert.deepEqual(bench.host.problems, []);
  }));

test('two logical files in one physical file are read', () =>
  withBench({}, async (bench) => {
    const lines = await collectReturns(bench, three());
    const first = closeAgain(dropBatch(dropBatch(lines, 3), 2), 1);
    const second = closeAgain(dropBatch(lines, 1), 2);
    await receive(bench, [...first, ...second]);
    assert.equal(summarize(bench.host.observations).length, 3);
    assert.deepEqual(bench.host.problems, []);
  }));

const oddities: Readonly<Record<string, (lines: readonly string[]) => string[]>> = {
  'a class-225 batch with a credit return': (lines) =>
    change(
      change(lines, { type: '5', batch: 2 }, (line) => put(line, 2, '225')),
      { type: '8', batch: 2 },
      (line) => put(line, 2, '225'),
    ),
  'a wrong entry hash': (lines) =>
    change(lines, { type: '8', batch: 2 }, (line) => put(line, 11, '0000000001')),
  'a batch number that is no number': (lines) =>
    change(lines, { type: '5', batch: 2 }, (line) => put(line, 88, '     X2')),
  'no batch control': (lines) => {
    let current = 0;
    return lines.filter((line) => {
      if (line.startsWith('5')) current += 1;
      return !(line.startsWith('8') && current === 2);
    });
  },
};

for (const [oddity, make] of Object.entries(oddities)) {
  test(`${oddity} neither hides the returns around it nor its own, and nothing settles`, () =>
    withBench({}, async (bench) => {
      const [p1, p2, p3] = three();
      assert.ok(p1 && p2 && p3);
      const lines = await collectReturns(bench, [p1, p2, p3]);
      await receive(bench, make(closeAgain(dropBatch(lines, 3), 2)));
      assert.deepEqual(summarize(bench.host.observations), ['p1 returned R03', 'p2 returned R03']);
      assert.deepEqual(
        bench.host.problems.map(({ kind }) => kind),
        ['unreadable'],
      );
      assert.match(
        bench.host.problems[0]?.detail ?? '',
        /^file r\.ach, line 6: the batch in line 6/,
      );
      await expectHeld(bench, p3);
    }));
}

test('an entry of a faulty batch is applied only where it repeats the payment exactly', () =>
  withBench({}, async (bench) => {
    const [p1] = three();
    assert.ok(p1);
    const lines = await collectReturns(bench, [p1]);
    // The amount is damaged, so that the batch's total tells.
    await receive(
      bench,
      change(lines, { type: '6' }, (line) => put(line, 30, '0000001233')),
    );
    assert.deepEqual(bench.host.observations, []);
    assert.deepEqual(
      bench.host.problems.map(({ kind }) => kind),
      ['unreadable'],
    );
    assert.equal((await bench.rail.query(p1, context)).outcome, 'accepted');
  }));

test('of a truncated file the complete entries are applied, and the rest opens exceptions', () =>
  withBench({}, async (bench) => {
    const lines = await collectReturns(bench, three());
    await receive(bench, lines.slice(0, 8));
    assert.deepEqual(summarize(bench.host.observations), ['p1 returned R03', 'p2 returned R03']);
    assert.deepEqual(
      bench.host.problems.map(({ detail }) => detail.replace(/^.*: /, '')),
      ['it has no batch control', 'the file ends without a file control'],
    );
  }));

/** Return of an IAT with the original amount in positions 36 to 45, and another amount. */
function returnLess(lines: readonly string[], originalMinor: string, returnedMinor: string) {
  const amount = returnedMinor.padStart(10, '0');
  const entries = change(lines, { type: '6' }, (line) => put(line, 30, amount));
  const addenda = change(entries, { type: '799' }, (line) =>
    put(line, 36, originalMinor.padStart(10, '0')),
  );
  const total = returnedMinor.padStart(12, '0');
  return change(
    change(addenda, { type: '8' }, (line) => put(line, 33, total)),
    { type: '9' },
    (line) => put(line, 44, total),
  );
}

test('an IAT that comes back with less is returned with the lower amount', () =>
  withBench(withIat(), async (bench) => {
    const payment = makeForeignEntry('abroad', { amountMinor: 100_000n });
    const lines = await collectReturns(bench, [payment], 'R04');
    await receive(bench, returnLess(lines, '100000', '97500'));
    assert.deepEqual(bench.host.problems, []);
    assert.deepEqual(summarize(bench.host.observations), ['abroad returned R04']);
    assert.equal(bench.host.observations[0]?.amountMinor, 97_500n);
    const answer = await bench.rail.query(payment, context);
    assert.equal(answer.outcome === 'returned' && answer.amountMinor, 97_500n);
  }));

test('an IAT whose original amount is not that of the payment is not matched', () =>
  withBench(withIat(), async (bench) => {
    const payment = makeForeignEntry('abroad', { amountMinor: 100_000n });
    const lines = await collectReturns(bench, [payment], 'R04');
    await receive(bench, returnLess(lines, '100100', '97500'));
    assert.deepEqual(bench.host.observations, []);
    assert.equal(bench.host.problems[0]?.kind, 'unmatched');
    assert.equal(bench.host.problems[0].amountMinor, 97_500n);
    await expectHeld(bench, payment);
  }));

const otherAmount = (lines: readonly string[], amountMinor: string) =>
  change(
    change(
      change(lines, { type: '6' }, (line) => put(line, 30, amountMinor.padStart(10, '0'))),
      { type: '8' },
      (line) => put(line, 33, amountMinor.padStart(12, '0')),
    ),
    { type: '9' },
    (line) => put(line, 44, amountMinor.padStart(12, '0')),
  );

test('a domestic return of less is reported with its amount, one of more is not matched', () =>
  withBench({}, async (bench) => {
    const [p1] = three();
    assert.ok(p1);
    const lines = await collectReturns(bench, [p1]);
    await receive(bench, otherAmount(lines, '1235'), 'more.ach');
    assert.equal(bench.host.observations.length, 0);
    const [problem] = bench.host.problems;
    assert.equal(problem?.kind, 'unmatched');
    assert.equal(problem.currency, 'USD');
    assert.equal(problem.amountMinor, 1235n);
    assert.match(problem.detail, /trace 121042880000001.*exceeds/);
    await receive(bench, otherAmount(lines, '1233'), 'less.ach');
    assert.deepEqual(summarize(bench.host.observations), ['p1 returned R03']);
    assert.equal(bench.host.observations[0]?.amountMinor, 1233n);
  }));

/** Sums each observation once, as the service does. */
function sumReturned({ host }: NachaBench): bigint {
  const returned = host.observations.filter(({ outcome }) => outcome === 'returned');
  const amounts = new Map(returned.map(({ id, amountMinor = 0n }) => [id, amountMinor]));
  return [...amounts.values()].reduce((sum, amount) => sum + amount, 0n);
}

test('a return that comes again with a corrected code counts once', () =>
  withBench({}, async (bench) => {
    const [p1] = three();
    assert.ok(p1);
    const lines = await collectReturns(bench, [p1], 'R02');
    await receive(bench, lines, 'first.ach');
    const corrected = change(lines, { type: '799' }, (line) => put(line, 4, 'R03'));
    await receive(bench, corrected, 'corrected.ach');
    assert.equal(sumReturned(bench), p1.amountMinor);
    const answer = await bench.rail.query(p1, context);
    assert.equal(answer.outcome === 'returned' && answer.amountMinor, p1.amountMinor);
    await receive(bench, otherAmount(lines, '1233'), 'other-amount.ach');
    assert.equal(sumReturned(bench), p1.amountMinor);
    assert.match(bench.host.problems[0]?.detail ?? '', /with another amount before/);
  }));

test('money that comes back after a rejection is a return of its own', () =>
  withBench({}, async (bench) => {
    const [p1] = three();
    assert.ok(p1);
    const lines = await collectReturns(bench, [p1], 'R03');
    const edit = change(lines, { type: '799' }, (line) => put(line, 4, 'R26'));
    await receive(bench, edit, 'edit.ach');
    assert.deepEqual(summarize(bench.host.observations), ['p1 rejected R26']);
    await receive(bench, [...edit, '9'.repeat(94)], 'edit-again.ach');
    assert.equal(sumReturned(bench), 0n);
    const other = change(lines, { type: '799' }, (line) => put(line, 80, '021000029999999'));
    await receive(bench, other, 'other.ach');
    assert.equal(sumReturned(bench), p1.amountMinor);
  }));

test('a return of 0.00 opens an exception and does not stop the inbox', () =>
  withBench({}, async (bench) => {
    const lines = await collectReturns(bench, [makeInstruction('p1')]);
    await receive(bench, otherAmount(lines, '0'));
    assert.deepEqual(bench.host.observations, []);
    assert.equal(bench.host.problems[0]?.kind, 'not_understood');
    const left = await readdir(path.join(bench.folder, 'inbox'));
    assert.deepEqual(
      left.filter((name) => !name.startsWith('.')),
      [],
    );
  }));

test('a return with another bank, identification or direction is not matched', () =>
  withBench({}, async (bench) => {
    const lines = await collectReturns(bench, [makeInstruction('p1')]);
    const strange = {
      bank: change(lines, { type: '799' }, (line) => put(line, 28, '09100001')),
      identification: change(lines, { type: '6' }, (line) => put(line, 40, 'p2'.padEnd(15))),
    };
    await receive(bench, strange.bank, 'bank.ach');
    assert.match(
      bench.host.problems[0]?.detail ?? '',
      /its receiving bank is not that of the payment/,
    );
    await receive(bench, strange.identification, 'identification.ach');
    assert.deepEqual(bench.host.observations, []);
    // The same problem in another file is not repeated.
    assert.equal(await bench.host.countUnresolvedInbound(), 1);
    await receive(bench, lines, 'right.ach');
    assert.deepEqual(summarize(bench.host.observations), ['p1 returned R03']);
  }));

test('of two payments with one trace number the return matches the one of its date', () =>
  withBench({ traceRange: { first: 1, last: 10_001 } }, async (bench) => {
    const early = makeInstruction('early');
    const lines = await collectReturns(bench, [early]);
    const [counter] = await bench.host.store.list('counters', { after: 'tracd', count: 1 });
    assert.ok(counter);
    // The range has gone round once.
    await bench.host.store.write([
      {
        collection: 'counters',
        key: counter.key,
        revision: counter.revision,
        next: { state: 'counting', value: { next: 10_001 } },
      },
    ]);
    // Its identification is the same, as where banks leave it out.
    await bench.rail.send(makeInstruction('late'), context);
    await advanceTo(bench, '2026-11-23', '10:00');
    const blank = change(lines, { type: '6' }, (line) => put(line, 40, ' '.repeat(15)));
    await receive(bench, blank);
    assert.deepEqual(summarize(bench.host.observations), ['early returned R03']);
    const undated = change(blank, { type: '5' }, (line) => put(line, 70, '261201'));
    await receive(
      bench,
      change(undated, { type: '799' }, (line) => put(line, 80, '091000010000009')),
      'undated.ach',
    );
    assert.match(bench.host.problems[0]?.detail ?? '', /2 payments have had the original trace/);
  }));

test('an entry that is neither a return nor a notification opens an exception with its amount', () =>
  withBench({}, async (bench) => {
    const payment = makeInstruction('p1');
    await collectReturns(bench, [payment]);
    const taken = path.join(bench.folder, 'taken');
    const [name = ''] = await readdir(taken);
    const text = await readFile(path.join(taken, name), 'ascii');
    await receive(bench, text.trimEnd().split('\n'), 'forward.ach');
    assert.deepEqual(bench.host.observations, []);
    const [problem] = bench.host.problems;
    assert.equal(problem?.kind, 'not_understood');
    assert.equal(problem.amountMinor, 1234n);
    await expectHeld(bench, payment);
  }));

test('partial returns of one payment add up in the answer', () =>
  withBench({}, async (bench) => {
    const payment = makeInstruction('p1');
    const lines = await collectReturns(bench, [payment]);
    const part = otherAmount(lines, '1000');
    await receive(bench, part, 'part.ach');
    const rest = change(otherAmount(lines, '200'), { type: '799' }, (line) =>
      put(line, 80, '091000010000009'),
    );
    await receive(bench, rest, 'rest.ach');
    await receive(bench, [...rest, ...part], 'again.ach');
    const answer = await bench.rail.query(payment, context);
    assert.equal(answer.outcome === 'returned' && answer.amountMinor, 1200n);
    assert.equal(new Set(bench.host.observations.map(({ id }) => id)).size, 2);
  }));

test('a return of a payment whose recipient was erased is reported under its reference', () =>
  withBench({}, async (bench) => {
    const { host } = bench;
    const lines = await collectReturns(bench, [makeInstruction('p1')]);
    await host.eraseRecipient('p1');
    for (const end of [[], ['9'.repeat(94)]]) await receive(bench, [...lines, ...end]);
    assert.equal(sumReturned(bench), 1234n);
    await receive(bench, otherAmount(lines, '9999'), 'more.ach');
    assert.match(host.problems[0]?.detail ?? '', /its amount exceeds that of the payment/);
  }));
