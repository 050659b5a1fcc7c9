import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import {
  advanceTo,
  context,
  makeInstruction,
  type NachaBench,
  readTestConfig,
  withBench,
} from '../../../testing/setups/nacha.ts';
import { addDays, type LocalTime } from '../kit/calendar.ts';
import { fromEastern } from './banking-days.ts';
import { railModule } from './rail.ts';

const windows = [
  { closesAt: '09:45', deadline: '10:30', sameDay: true },
  { closesAt: '12:00', deadline: '12:30', sameDay: false },
  { closesAt: '16:00', deadline: '16:45', sameDay: true },
  { closesAt: '20:00', deadline: '21:00', sameDay: false },
];

/** Effective dates by individual identification, which is the reference, as the bank received them. */
async function readDates({ folder }: NachaBench): Promise<Record<string, string>> {
  const dates: Record<string, string> = {};
  for (const name of await readdir(path.join(folder, 'taken'))) {
    const text = await readFile(path.join(folder, 'taken', name), 'ascii');
    let date = '';
    for (const line of text.split('\n')) {
      if (line.startsWith('5')) date = line.slice(69, 75);
      if (line.startsWith('6')) dates[line.slice(39, 54).trim()] = date;
    }
  }
  return dates;
}

async function sendAt(bench: NachaBench, reference: string, at: LocalTime) {
  bench.clock.nowMs = fromEastern(at);
  await bench.rail.send(makeInstruction(reference), context);
}

test('a same-day window cannot end after the last deadline of the Federal Reserve', () => {
  const late = [{ closesAt: '16:00', deadline: '16:46', sameDay: true }];
  assert.throws(
    () => readTestConfig({ windows: late }),
    /deadline of 16:45 New York time or earlier/,
  );
  assert.doesNotThrow(() => readTestConfig({ windows }));
});

test('a payment that misses the last same-day window settles on the next banking day', () =>
  withBench({ windows }, async (bench) => {
    const day = '2026-11-25';
    await sendAt(bench, 'in_time', { day, time: '15:59' });
    await advanceTo(bench, day, '16:00');
    await sendAt(bench, 'late', { day, time: '16:00' });
    // The window is open until its deadline, and only for what came before it closed.
    await advanceTo(bench, day, '16:44');
    assert.deepEqual(await readDates(bench), { in_time: '261125' });
    await advanceTo(bench, day, '20:00');
    // Thanksgiving is no banking day.
    assert.deepEqual(await readDates(bench), { in_time: '261125', late: '261127' });
    await sendAt(bench, 'holiday', { day: addDays(day, 1), time: '09:00' });
    for (const { closesAt } of windows) await advanceTo(bench, addDays(day, 1), closesAt);
    assert.equal((await readDates(bench))['holiday'], undefined);
    await advanceTo(bench, addDays(day, 2), '09:45');
    assert.equal((await readDates(bench))['holiday'], '261127');
  }));

test('a pass that begins after the deadline writes no same-day file', () =>
  withBench({ windows }, async (bench) => {
    await sendAt(bench, 'p1', { day: '2026-11-20', time: '15:00' });
    await advanceTo(bench, '2026-11-20', '16:45');
    assert.deepEqual(await readDates(bench), {});
    await advanceTo(bench, '2026-11-20', '20:00');
    assert.deepEqual(await readDates(bench), { p1: '261123' });
  }));

test('a same-day entry waits for a later same-day window instead of leaving for the next day', () =>
  withBench({ windows }, async (bench) => {
    await sendAt(bench, 'p1', { day: '2026-11-20', time: '11:00' });
    await advanceTo(bench, '2026-11-20', '12:00');
    assert.deepEqual(await readDates(bench), {});
    await advanceTo(bench, '2026-11-20', '16:00');
    assert.deepEqual(await readDates(bench), { p1: '261120' });
  }));

test('if the deadline passes while files are written, the rest settles on the next day', () =>
  withBench({ windows, entriesMax: 1 }, async (bench) => {
    const { host, config, clock } = bench;
    await sendAt(bench, 'p1', { day: '2026-11-20', time: '15:00' });
    await sendAt(bench, 'p2', { day: '2026-11-20', time: '15:00' });
    const slow = await railModule.create(config, {
      ...host,
      store: {
        ...host.store,
        write: async (changes) => {
          const isWritten = await host.store.write(changes);
          if (changes.some(({ next }) => next?.state === 'sealed')) {
            clock.nowMs = fromEastern({ day: '2026-11-20', time: '16:45' });
          }
          return isWritten;
        },
      },
    });
    clock.nowMs = fromEastern({ day: '2026-11-20', time: '16:44' });
    await slow.work?.(context);
    await bench.bank.advance(clock.nowMs);
    assert.deepEqual(await readDates(bench), { p1: '261120', p2: '261123' });
  }));

test('windows follow the clock of New York in summer and in winter', () =>
  withBench({ windows }, async (bench) => {
    bench.clock.nowMs = Date.parse('2026-07-10T13:44:00Z');
    await bench.rail.send(makeInstruction('summer'), context);
    await bench.rail.work?.(context);
    bench.clock.nowMs = Date.parse('2026-07-10T13:45:00Z');
    await bench.rail.work?.(context);
    await bench.bank.advance(bench.clock.nowMs);
    assert.deepEqual(await readDates(bench), { summer: '260710' });
    bench.clock.nowMs = Date.parse('2026-11-20T13:45:00Z');
    await bench.rail.send(makeInstruction('winter'), context);
    await bench.rail.work?.(context);
    bench.clock.nowMs = Date.parse('2026-11-20T14:45:00Z');
    await bench.rail.work?.(context);
    await bench.bank.advance(bench.clock.nowMs);
    assert.equal((await readDates(bench))['winter'], '261120');
  }));
