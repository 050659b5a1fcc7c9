import assert from 'node:assert/strict';
import { readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import {
  listBooked,
  listValidationErrors,
} from '../../../testing/counterparties/nacha/ach-simulator.ts';
import {
  advanceTo,
  backUp,
  context,
  makeInstruction,
  type NachaBench,
  setSimulatorOptions,
  withBench,
} from '../../../testing/setups/nacha.ts';
import { readRows } from '../../../testing/setups/read-rows.ts';
import { exec } from '../../db/rows.ts';
import type { Instruction } from '../contract/contract.ts';
import { fromEastern } from './banking-days.ts';
import { railModule } from './rail.ts';

/** Money for each reference, as the bank has booked it. */
async function countBooked({ folder }: NachaBench): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { reference } of await listBooked(folder)) {
    counts[reference] = (counts[reference] ?? 0) + 1;
  }
  return counts;
}

const payments = () => ['p1', 'p2', 'p3'].map((name) => makeInstruction(name));

async function removeManifests({ folder }: NachaBench): Promise<void> {
  const archive = path.join(folder, 'archive');
  for (const name of await readdir(archive)) {
    if (name.endsWith('.manifest.json')) await rm(path.join(archive, name));
  }
}

for (const moment of ['while they waited', 'before they were sent'] as const) {
  test(`payments of a database restored to the moment ${moment} are not written again`, () =>
    withBench({}, async (bench) => {
      const { rail, host } = bench;
      let restore = await backUp(bench);
      for (const payment of payments()) await rail.send(payment, context);
      if (moment === 'while they waited') {
        restore = await backUp(bench);
      }
      await advanceTo(bench, '2026-11-20', '10:00');
      await restore();
      const again = await bench.again();
      for (const payment of [...payments(), makeInstruction('p4')]) {
        assert.equal((await again.send(payment, context)).outcome, 'accepted');
      }
      assert.match((await again.check?.(context))?.[0] ?? '', /1 files that this rail wrote/);
      const bank = { ...bench, rail: again };
      await advanceTo(bank, '2026-11-20', '20:00');
      await advanceTo(bank, '2026-11-23', '10:00');
      assert.deepEqual(await countBooked(bench), { p1: 1, p2: 1, p3: 1, p4: 1 });
      assert.deepEqual(await listValidationErrors(bench.folder), []);
      const traces = (await listBooked(bench.folder)).map(({ trace }) => trace);
      assert.equal(new Set(traces).size, 4, 'trace numbers are not given twice');
      const [problem] = host.problems;
      assert.equal(problem?.kind, 'unmatched');
      assert.equal(problem.amountMinor, 3702n);
      assert.match(problem.detail, /with 3 payments are not in the database/);
      // Nothing settles before a person has compared them with the bank.
      await advanceTo(bank, '2026-12-01', '12:00');
      assert.equal((await again.query(makeInstruction('p1'), context)).outcome, 'accepted');
      await host.closeExceptions();
      await advanceTo(bank, '2026-12-01', '12:05');
      assert.equal((await again.query(makeInstruction('p1'), context)).outcome, 'paid');
      assert.deepEqual(await again.check?.(context), []);
    }));
}

test('after a restore no answer denies a payment that was written', () =>
  withBench({}, async (bench) => {
    const { rail } = bench;
    const [p1, p2, p3] = payments();
    assert.ok(p1 && p2 && p3);
    const restore = await backUp(bench);
    for (const payment of [p1, p2, p3]) await rail.send(payment, context);
    await advanceTo(bench, '2026-11-20', '10:00');
    await restore();
    const again = await bench.again();
    assert.equal((await again.query(p1, context)).outcome, 'accepted');
    assert.equal((await again.cancel?.(p2, context))?.outcome, 'accepted');
    assert.equal((await again.send({ ...p3, currency: 'EUR' }, context)).outcome, 'accepted');
    const other = await again.send({ ...p3, amountMinor: 9n }, context);
    assert.deepEqual(other, { outcome: 'unknown', reason: 'duplicate' });
    // A return that comes now finds its payment.
    await setSimulatorOptions(bench, { rules: [] });
    const unknown = makeInstruction('p9');
    assert.equal((await again.query(unknown, context)).outcome, 'retry');
  }));

test('while the archive is missing nothing is written and answers are unknown', () =>
  withBench({}, async (bench) => {
    const { folder, rail } = bench;
    await rail.send(makeInstruction('p1'), context);
    const archive = path.join(folder, 'archive');
    await rename(archive, `${archive}-away`);
    const again = await bench.again();
    assert.equal((await again.query(makeInstruction('p9'), context)).outcome, 'unknown');
    assert.equal((await again.cancel?.(makeInstruction('p1'), context))?.outcome, 'unknown');
    await advanceTo({ ...bench, rail: again }, '2026-11-20', '10:00');
    assert.deepEqual(await listBooked(folder), []);
    await rename(`${archive}-away`, archive);
    await advanceTo({ ...bench, rail: again }, '2026-11-20', '10:05');
    assert.deepEqual(await countBooked(bench), { p1: 1 });
  }));

test('a file in the outbox without a manifest is evidence as well', () =>
  withBench({}, async (bench) => {
    const { rail } = bench;
    const restore = await backUp(bench);
    await setSimulatorOptions(bench, { away: true });
    for (const payment of payments()) await rail.send(payment, context);
    await advanceTo(bench, '2026-11-20', '10:00');
    await removeManifests(bench);
    await restore();
    const again = await bench.again();
    for (const payment of payments()) await again.send(payment, context);
    await setSimulatorOptions(bench, {});
    await again.work?.(context);
    await advanceTo({ ...bench, rail: again }, '2026-11-20', '20:00');
    assert.deepEqual(await countBooked(bench), { p1: 1, p2: 1, p3: 1 });
  }));

test('an unreadable manifest stops writing until a person has dealt with it', () =>
  withBench({}, async (bench) => {
    const { rail, folder } = bench;
    await rail.send(makeInstruction('p1'), context);
    const manifest = path.join(
      folder,
      'archive',
      'bank_us-20261119-0000000000000000.ach.manifest.json',
    );
    await writeFile(manifest, '{"fileId":');
    await advanceTo(bench, '2026-11-20', '10:00');
    assert.deepEqual(await listBooked(folder), []);
    await rm(manifest);
    await advanceTo(bench, '2026-11-20', '10:05');
    assert.deepEqual(await countBooked(bench), { p1: 1 });
  }));

test('the same payments have the same file name and reference code in any database', () =>
  withBench({}, async (bench) => {
    const { folder } = bench;
    const restore = await backUp(bench);
    for (const payment of payments()) await bench.rail.send(payment, context);
    await advanceTo(bench, '2026-11-20', '10:00');
    await removeManifests(bench);
    await restore();
    // Nothing outside of the database is left, and they come in another order.
    const again = await bench.again();
    for (const payment of payments().toReversed()) await again.send(payment, context);
    await advanceTo({ ...bench, rail: again }, '2026-11-20', '20:00');
    const names = (await readdir(path.join(folder, 'taken'))).toSorted();
    assert.equal(names.length, 2);
    assert.equal(names[1], `${names[0]}.2`, 'the bank sees that it had this name');
    const [first, second] = await Promise.all(
      names.map((name) => readFile(path.join(folder, 'taken', name), 'ascii')),
    );
    assert.match(first?.slice(86, 94) ?? '', /^[0-9A-F]{8}$/);
    assert.equal(first?.slice(86, 94), second?.slice(86, 94));
    const entries = (text = '') => text.split('\n').filter((line) => /^[67]/.test(line));
    assert.deepEqual(entries(first), entries(second));
  }));

test('a file that was sealed at the backup and delivered since is not delivered again', () =>
  withBench({}, async (bench) => {
    const { rail, host, folder, config, clock } = bench;
    await rail.send(makeInstruction('p1'), context);
    clock.nowMs = fromEastern({ day: '2026-11-20', time: '10:00' });
    const cutOff = await railModule.create(config, {
      ...host,
      store: {
        ...host.store,
        write: async (changes) => {
          if (changes.some(({ next }) => next?.state === 'delivering')) throw new Error('cut off');
          return host.store.write(changes);
        },
      },
    });
    await cutOff.work?.(context);
    const restore = await backUp(bench);
    await advanceTo(bench, '2026-11-20', '10:05');
    assert.deepEqual(await countBooked(bench), { p1: 1 });
    assert.equal(host.problems.length, 0);
    await restore();
    const again = { ...bench, rail: await bench.again() };
    await advanceTo(again, '2026-11-20', '10:10');
    assert.deepEqual(await listValidationErrors(folder), []);
    assert.equal((await readdir(path.join(folder, 'taken'))).length, 1);
    assert.match(host.problems[0]?.detail ?? '', /^the file bank_us-.* was put into the outbox/);
    await advanceTo(again, '2026-12-01', '12:00');
    assert.equal((await again.rail.query(makeInstruction('p1'), context)).outcome, 'accepted');
    await host.closeExceptions();
    await advanceTo(again, '2026-12-01', '12:05');
    assert.equal((await again.rail.query(makeInstruction('p1'), context)).outcome, 'paid');
  }));

test('payments are recovered from the folders alone', () =>
  withBench({}, async (bench) => {
    const { rail, clock } = bench;
    await setSimulatorOptions(bench, { rules: [{ accountEndsWith: '0003', code: 'R03' }] });
    const { attributes } = makeInstruction('p2');
    await rail.send(makeInstruction('p1'), context);
    await rail.send(
      makeInstruction('p2', { attributes: { ...attributes, BankAccountNumber: '550003' } }),
      context,
    );
    await advanceTo(bench, '2026-11-20', '10:00');
    const laterMs = clock.nowMs + 1;
    await setSimulatorOptions(bench, { away: true });
    await rail.send(makeInstruction('p3', { amountMinor: 999n }), context);
    await advanceTo(bench, '2026-11-20', '20:00');
    await exec(bench.host.db.system, { name: '', text: 'delete from rail_records' });
    const again = await bench.again();
    const all = (await again.recover?.(0, context)) ?? [];
    assert.deepEqual(
      all
        .map(({ reference, outcome, amountMinor, currency, payerKey, countryCode }) =>
          [reference, outcome, amountMinor, currency, payerKey, countryCode].join(' '),
        )
        .toSorted(),
      [
        'p1 accepted 1234 USD ach USA',
        'p2 returned 1234 USD ach USA',
        'p3 accepted 999 USD ach USA',
      ],
    );
    assert.match(all.find(({ reference }) => reference === 'p3')?.detail ?? '', /is in the outbox/);
    assert.match(
      all.find(({ reference }) => reference === 'p2')?.detail ?? '',
      /1234 cents came back with R03/,
    );
    const late = (await again.recover?.(laterMs, context)) ?? [];
    assert.ok(late.some(({ reference }) => reference === 'p3'));
    assert.ok(!late.some(({ reference }) => reference === 'p1'));
  }));

/** Sends one payment that comes back, and lets the bank take its file. */
async function sendToClosedAccount(bench: NachaBench): Promise<Instruction> {
  await setSimulatorOptions(bench, {
    rules: [{ accountEndsWith: '0003', code: 'R03', afterMs: 60_000 }],
  });
  const { attributes } = makeInstruction('p1');
  const payment = makeInstruction('p1', {
    attributes: { ...attributes, BankAccountNumber: '550003' },
  });
  await bench.rail.send(payment, context);
  await advanceTo(bench, '2026-11-20', '10:00');
  assert.equal((await readdir(path.join(bench.folder, 'taken'))).length, 1);
  return payment;
}

/** What the service would book of the payment after the restore. */
async function listReturns({ host }: NachaBench): Promise<string[]> {
  const rows = await readRows<{ found: string }>(host.db.system, {
    name: '',
    text: `
      select concat_ws(' ', reference, outcome, amount) as found from rail_observations
      where id like 'returned-%'`,
  });
  return rows.map(({ found }) => found);
}

async function listArchived({ folder }: NachaBench): Promise<string[]> {
  const names = await readdir(path.join(folder, 'archive'));
  return names.filter((name) => !name.startsWith('.') && !name.endsWith('.json'));
}

test('a return that was read after the backup is read again by the recovery', () =>
  withBench({}, async (bench) => {
    const { folder } = bench;
    const payment = await sendToClosedAccount(bench);
    const restore = await backUp(bench);
    await advanceTo(bench, '2026-11-20', '10:05');
    assert.equal((await bench.rail.query(payment, context)).outcome, 'returned');
    await restore();
    assert.deepEqual(await listReturns(bench), []);
    const again = { ...bench, rail: await bench.again() };
    const sinceMs = fromEastern({ day: '2026-11-20', time: '10:00' });
    const [listed] = (await again.rail.recover?.(sinceMs, context)) ?? [];
    assert.equal(listed?.outcome, 'returned');
    await advanceTo(again, '2026-12-01', '12:00');
    const answer = await again.rail.query(payment, context);
    assert.equal(answer.outcome === 'returned' && answer.amountMinor, payment.amountMinor);
    assert.deepEqual(await listReturns(bench), ['p1 returned 1234']);
    // The bank delivers it again, and the service starts again.
    const [name = ''] = await listArchived(bench);
    const bytes = await readFile(path.join(folder, 'archive', name));
    await writeFile(path.join(folder, 'inbox', 'again.ach'), bytes);
    await advanceTo(again, '2026-12-01', '12:05');
    await again.rail.recover?.(sinceMs, context);
    assert.deepEqual(await listReturns(bench), ['p1 returned 1234']);
    assert.equal(await bench.host.countUnresolvedInbound(), 0);
  }));

test('files of the archive count for seven days before the last activity', () =>
  withBench({}, async (bench) => {
    const payment = await sendToClosedAccount(bench);
    const restore = await backUp(bench);
    await advanceTo(bench, '2026-11-20', '10:05');
    await restore();
    const again = await bench.again();
    const [name = ''] = await listArchived(bench);
    const recoverAged = async (hours: number, signal: AbortSignal) => {
      const writtenAt = new Date(Date.now() - hours * 3_600_000);
      await utimes(path.join(bench.folder, 'archive', name), writtenAt, writtenAt);
      await again.recover?.(bench.clock.nowMs, { signal });
      return (await again.query(payment, context)).outcome;
    };
    assert.equal(await recoverAged(169, context.signal), 'accepted');
    await assert.rejects(recoverAged(167, AbortSignal.abort()), { name: 'AbortError' });
    assert.equal(await recoverAged(167, context.signal), 'returned');
  }));

test('a return that a restored database lacks stops its payment from settling', () =>
  withBench({}, async (bench) => {
    const payment = await sendToClosedAccount(bench);
    const restore = await backUp(bench);
    await advanceTo(bench, '2026-11-20', '10:05');
    // The process goes on, as where a standby takes over, and nothing shows the restore.
    await restore();
    await advanceTo(bench, '2026-12-01', '12:00');
    assert.equal((await bench.rail.query(payment, context)).outcome, 'returned');
    assert.ok(bench.host.observations.every(({ outcome }) => outcome !== 'paid'));
  }));

test('problems of files that were read after the backup are reported again', () =>
  withBench({}, async (bench) => {
    const { host, folder } = bench;
    const payment = makeInstruction('p2');
    await sendToClosedAccount(bench);
    await bench.rail.send(payment, context);
    const restore = await backUp(bench);
    const inbox = path.join(folder, 'inbox');
    await advanceTo(bench, '2026-11-20', '10:05');
    const [name = ''] = await listArchived(bench);
    const sound = await readFile(path.join(folder, 'archive', name), 'ascii');
    await writeFile(path.join(inbox, 'other.ach'), sound.replaceAll('12104288', '12104277'));
    await writeFile(path.join(inbox, `${'long'.repeat(45)}.ach`), 'no records');
    await advanceTo(bench, '2026-11-20', '10:10');
    await advanceTo(bench, '2026-11-20', '10:15');
    const reported = host.problems.map(({ id }) => id).toSorted();
    assert.equal(await host.countUnresolvedInbound(), reported.length);
    assert.ok(reported.length > 1);
    await restore();
    assert.equal(await host.countUnresolvedInbound(), 0);
    host.problems.length = 0;
    const again = await bench.again();
    await again.recover?.(fromEastern({ day: '2026-11-20', time: '10:00' }), context);
    assert.deepEqual(host.problems.map(({ id }) => id).toSorted(), reported);
    // Closed by an operator, they stay closed.
    await host.closeExceptions();
    await again.recover?.(fromEastern({ day: '2026-11-20', time: '10:00' }), context);
    assert.equal(await host.countUnresolvedInbound(), 0);
    assert.equal((await listArchived(bench)).length, 3);
  }));

test('a file that was read after the backup is not missed after the restore', () =>
  withBench({ filesEveryBankingDays: 1 }, async (bench) => {
    const { host } = bench;
    await sendToClosedAccount(bench);
    const restore = await backUp(bench);
    await advanceTo(bench, '2026-11-23', '10:05');
    assert.equal((await listArchived(bench)).length, 1);
    await restore();
    const again = { ...bench, rail: await bench.again() };
    await again.rail.recover?.(fromEastern({ day: '2026-11-20', time: '10:00' }), context);
    await advanceTo(again, '2026-11-24', '10:00');
    assert.deepEqual(host.problems, []);
  }));

test('the exception about unknown files names a day before the backup', () =>
  withBench({}, async (bench) => {
    const { host } = bench;
    await bench.rail.send(makeInstruction('p1'), context);
    await advanceTo(bench, '2026-11-20', '10:00');
    const restore = await backUp(bench);
    await bench.rail.send(makeInstruction('p2'), context);
    await advanceTo(bench, '2026-11-23', '10:00');
    await restore();
    const again = { ...bench, rail: await bench.again() };
    await advanceTo(again, '2026-11-23', '10:30');
    assert.match(host.problems[0]?.detail ?? '', / 2026-11-20T15:00Z, .*close this exception\.$/);
  }));
