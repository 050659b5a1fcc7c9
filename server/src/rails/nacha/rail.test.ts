import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import {
  listBooked,
  listValidationErrors,
} from '../../../testing/counterparties/nacha/ach-simulator.ts';
import {
  advanceTo,
  context,
  makeForeignEntry,
  makeInstruction,
  outcomes,
  setSimulatorOptions,
  summarize,
  withBench,
  withIat,
} from '../../../testing/setups/nacha.ts';
import { fromEastern } from './banking-days.ts';
import { railModule } from './rail.ts';

function withAccount(reference: string, account: string) {
  const instruction = makeInstruction(reference);
  const attributes = { ...instruction.attributes, BankAccountNumber: account };
  return { ...instruction, attributes };
}

test('a file that the bank has promised and not delivered stops the settlement', () =>
  withBench({ filesEveryBankingDays: 1, paidAfterBankingDays: 1 }, async (bench) => {
    await setSimulatorOptions(bench, { silent: true });
    const missing = () => bench.host.problems.filter(({ kind }) => kind === 'report_missing');
    await advanceTo(bench, '2026-11-20', '09:30');
    await bench.rail.send(makeInstruction('p1'), context);
    await advanceTo(bench, '2026-11-20', '10:00');
    await advanceTo(bench, '2026-11-23', '18:29');
    assert.deepEqual(missing(), []);
    await advanceTo(bench, '2026-11-23', '18:30');
    assert.equal(missing().length, 1);
    assert.match(missing()[0]?.detail ?? '', /since 2026-11-20, and one was due by 2026-11-23/);
    assert.equal((await bench.rail.query(makeInstruction('p1'), context)).outcome, 'accepted');
    await advanceTo(bench, '2026-11-24', '18:30');
    assert.equal(missing().length, 2);
    await bench.host.closeExceptions();
    await advanceTo(bench, '2026-11-24', '18:31');
    assert.equal((await bench.rail.query(makeInstruction('p1'), context)).outcome, 'paid');
    assert.equal(missing().length, 2);
  }));

test('a payment waits for its window, settles and counts as paid two banking days later', () =>
  withBench({}, async (bench) => {
    const { rail, host, folder } = bench;
    const payment = makeInstruction('p1');
    assert.equal((await rail.send(payment, context)).outcome, 'accepted');
    await advanceTo(bench, '2026-11-20', '09:30');
    assert.deepEqual(await listBooked(folder), []);
    await advanceTo(bench, '2026-11-20', '10:00');
    const [booked] = await listBooked(folder);
    assert.equal(booked?.reference, 'p1');
    assert.equal(booked.amountMinor, '1234');
    const answer = await rail.query(payment, context);
    assert.equal(answer.outcome, 'accepted');
    assert.equal(answer.providerReference, booked.trace);
    // Same day on a Friday; a return may come until Tuesday.
    await advanceTo(bench, '2026-11-24', '18:29');
    assert.equal((await rail.query(payment, context)).outcome, 'accepted');
    await advanceTo(bench, '2026-11-24', '18:30');
    assert.equal((await rail.query(payment, context)).outcome, 'paid');
    assert.deepEqual(summarize(host.observations), ['p1 paid']);
    await advanceTo(bench, '2026-12-30', '10:00');
    assert.equal(host.observations.length, 1);
  }));

test('a reference is in one file, however often it is sent', () =>
  withBench({}, async (bench) => {
    const { rail, folder } = bench;
    const payment = makeInstruction('p1');
    const other = await bench.again();
    const sends = await Promise.all(
      Array.from({ length: 8 }, (_, index) => (index % 2 ? rail : other).send(payment, context)),
    );
    assert.deepEqual(new Set(outcomes(sends)), new Set(['accepted']));
    await advanceTo(bench, '2026-11-20', '10:00');
    await rail.send(payment, context);
    await advanceTo(bench, '2026-11-20', '20:00');
    assert.equal((await listBooked(folder)).length, 1);
    const changed = await rail.send({ ...payment, amountMinor: 9n }, context);
    assert.deepEqual(changed, { outcome: 'unknown', reason: 'duplicate' });
  }));

test('a refusal is final, and the query of an unknown reference answers retry', () =>
  withBench({}, async ({ rail }) => {
    const foreign = makeForeignEntry('p1');
    const refusal = { outcome: 'rejected', reason: 'not_configured' };
    assert.deepEqual(await rail.query(foreign, context), { outcome: 'retry', reason: 'other' });
    assert.deepEqual(await rail.send(foreign, context), refusal);
    assert.deepEqual(await rail.send(makeInstruction('p1'), context), refusal);
    assert.deepEqual(await rail.query(foreign, context), refusal);
  }));

test('a payment is canceled until its file is closed, and before it was ever sent', () =>
  withBench({}, async (bench) => {
    const { rail, folder } = bench;
    const [first, second, third] = ['p1', 'p2', 'p3'].map((name) => makeInstruction(name)) as [
      ReturnType<typeof makeInstruction>,
      ReturnType<typeof makeInstruction>,
      ReturnType<typeof makeInstruction>,
    ];
    await rail.send(first, context);
    await rail.send(second, context);
    const cancelled = { outcome: 'rejected', reason: 'cancelled' };
    assert.deepEqual(await rail.cancel?.(first, context), cancelled);
    assert.deepEqual(await rail.cancel?.(third, context), cancelled);
    assert.deepEqual(await rail.send(third, context), cancelled);
    await advanceTo(bench, '2026-11-20', '10:00');
    assert.equal((await rail.cancel?.(second, context))?.outcome, 'accepted');
    assert.deepEqual(
      (await listBooked(folder)).map(({ reference }) => reference),
      ['p2'],
    );
  }));

test('large and international payments are not in a same-day file', () =>
  withBench(withIat(), async (bench) => {
    const { rail, folder } = bench;
    await rail.send(makeInstruction('small'), context);
    await rail.send(makeInstruction('large', { amountMinor: 100_000_001n }), context);
    await rail.send(makeForeignEntry('abroad'), context);
    await advanceTo(bench, '2026-11-20', '10:00');
    const files = await readdir(path.join(folder, 'taken'));
    assert.equal(files.length, 2);
    const dates: string[] = [];
    for (const name of files.toSorted()) {
      const text = await readFile(path.join(folder, 'taken', name), 'ascii');
      for (const line of text.split('\n')) {
        if (line.startsWith('5')) dates.push(`${line.slice(50, 53)} ${line.slice(69, 75)}`);
      }
    }
    assert.deepEqual(dates, ['PPD 261120', 'IAT 261123', 'PPD 261123']);
    assert.deepEqual(
      (await listBooked(folder)).map(({ reference }) => reference),
      ['small', 'abroad', 'large'],
    );
  }));

test('a return ends a payment, a repeated one counts once, and a late one follows paid', () =>
  withBench(withIat(), async (bench) => {
    const { rail, host } = bench;
    const weekMs = 7 * 86_400_000;
    await setSimulatorOptions(bench, {
      rules: [
        { accountEndsWith: '0003', code: 'R03', copies: 2 },
        { accountEndsWith: '0016', code: 'R16', afterMs: weekMs },
        { accountEndsWith: '0013', code: 'R13' },
        { accountEndsWith: '6789', code: 'R83' },
      ],
    });
    const early = withAccount('early', '550003');
    const late = withAccount('late', '550016');
    const edit = withAccount('edit', '550013');
    const abroad = makeForeignEntry('abroad');
    for (const payment of [early, late, edit, abroad]) await rail.send(payment, context);
    await advanceTo(bench, '2026-11-20', '10:00');
    assert.deepEqual(summarize(host.observations).toSorted(), [
      'abroad rejected R83',
      'early returned R03',
      'edit rejected R13',
    ]);
    const answer = await rail.query(early, context);
    assert.equal(answer.outcome === 'returned' && answer.reason, 'account_not_found');
    await advanceTo(bench, '2026-11-25', '10:00');
    assert.equal((await rail.query(late, context)).outcome, 'paid');
    await advanceTo(bench, '2026-11-27', '12:00');
    assert.deepEqual(summarize(host.observations).slice(3), ['late paid', 'late returned R16']);
    assert.equal(host.observations.at(-1)?.amountMinor, 1234n);
    assert.equal((await rail.query(late, context)).outcome, 'returned');
    assert.equal((await rail.send(late, context)).outcome, 'returned');
  }));

test('a notification of change is reported by its code alone and does not stop the calendar', () =>
  withBench({}, async (bench) => {
    const { rail, host } = bench;
    await setSimulatorOptions(bench, { rules: [{ everyNth: 1, code: 'C01' }] });
    await rail.send(makeInstruction('p1'), context);
    await advanceTo(bench, '2026-11-20', '10:00');
    assert.deepEqual(summarize(host.observations), ['p1 accepted C01']);
    assert.deepEqual(host.problems, []);
    await advanceTo(bench, '2026-11-24', '18:30');
    assert.deepEqual(summarize(host.observations.slice(1)), ['p1 paid']);
  }));

test('a contested return, and an entry that is not ours, open exceptions', () =>
  withBench({}, async (bench) => {
    const { rail, host, folder } = bench;
    await setSimulatorOptions(bench, { rules: [{ everyNth: 1, code: 'R73' }] });
    await rail.send(makeInstruction('p1'), context);
    await advanceTo(bench, '2026-11-20', '10:00');
    assert.deepEqual(host.observations, []);
    assert.deepEqual(
      host.problems.map(({ kind, currency, amountMinor }) => [kind, currency, amountMinor]),
      [['not_understood', 'USD', 1234n]],
    );
    assert.match(host.problems[0]?.detail ?? '', /contested return of the payment p1/);
    // The same return file at a rail that never sent anything.
    await withBench({}, async (other) => {
      const name = (await readdir(path.join(folder, 'archive'))).find((one) =>
        one.startsWith('notices'),
      );
      const bytes = await readFile(path.join(folder, 'archive', name ?? ''));
      await writeFile(path.join(other.folder, 'inbox', 'strange.ach'), bytes);
      await other.rail.work?.(context);
      assert.deepEqual(other.host.observations, []);
      const [problem] = other.host.problems;
      assert.equal(problem?.kind, 'unmatched');
      assert.equal(problem.amountMinor, 1234n);
      assert.equal(await other.host.countUnresolvedInbound(), 1);
    });
  }));

test('an unreadable file is retried, then opens an exception, without delaying others', () =>
  withBench({}, async (bench) => {
    const { rail, host, folder } = bench;
    await setSimulatorOptions(bench, { rules: [{ everyNth: 1, code: 'R03' }] });
    await writeFile(path.join(folder, 'inbox', 'broken.ach'), '101 not a file');
    await rail.send(makeInstruction('p1'), context);
    bench.clock.nowMs = fromEastern({ day: '2026-11-20', time: '10:00' });
    await rail.work?.(context);
    assert.deepEqual(await listArchive(folder), []);
    await bench.bank.advance(bench.clock.nowMs);
    await rail.work?.(context);
    assert.deepEqual(summarize(host.observations), ['p1 returned R03']);
    const archived = await listArchive(folder);
    assert.equal(archived.filter((name) => name.endsWith('.unreadable')).length, 1);
    assert.match(host.problems[0]?.detail ?? '', /^file broken\.ach, line 1: /);
    assert.equal(host.problems[0]?.kind, 'unreadable');
  }));

/** The bank's files there, without those that the rail writes for itself. */
async function listArchive(folder: string): Promise<string[]> {
  const names = await readdir(path.join(folder, 'archive'));
  return names.filter((name) => !name.startsWith('.outlay-') && !name.endsWith('.manifest.json'));
}

test('nothing counts as paid while the file is in the outbox, and late files settle later', () =>
  withBench({}, async (bench) => {
    const { rail, host } = bench;
    await setSimulatorOptions(bench, { away: true });
    const payment = makeInstruction('p1');
    await rail.send(payment, context);
    await advanceTo(bench, '2026-11-20', '10:00');
    await advanceTo(bench, '2026-12-01', '12:00');
    assert.equal((await rail.query(payment, context)).outcome, 'accepted');
    assert.equal(host.lines.filter(({ level }) => level === 'warn').length, 1);
    await setSimulatorOptions(bench, {});
    await advanceTo(bench, '2026-12-01', '12:05');
    await advanceTo(bench, '2026-12-04', '18:29');
    assert.equal((await rail.query(payment, context)).outcome, 'accepted');
    await advanceTo(bench, '2026-12-04', '18:30');
    assert.equal((await rail.query(payment, context)).outcome, 'paid');
  }));

test('trace numbers start again without a file that crosses the end of the range', () =>
  withBench({ traceRange: { first: 5, last: 10_005 } }, async (bench) => {
    const { rail, host, folder } = bench;
    await host.store.write([
      {
        collection: 'counters',
        key: 'trace',
        revision: 0,
        next: { state: 'counting', value: { next: 9_999 } },
      },
    ]);
    for (const name of ['p1', 'p2', 'p3']) await rail.send(makeInstruction(name), context);
    await advanceTo(bench, '2026-11-20', '10:00');
    assert.deepEqual(
      (await listBooked(folder)).map(({ trace }) => trace.slice(8)),
      ['0000005', '0000006', '0000007'],
    );
  }));

test('payments beyond the maximum of a file go into the next one, under another name', () =>
  withBench({ entriesMax: 2 }, async (bench) => {
    const { rail, folder } = bench;
    for (let index = 0; index < 5; index += 1) {
      await rail.send(makeInstruction(`p${index}`), context);
    }
    await advanceTo(bench, '2026-11-20', '10:00');
    const names = await readdir(path.join(folder, 'taken'));
    assert.equal(names.length, 3);
    for (const name of names) assert.match(name, /^bank_us-20261120-[0-9a-f]{16}\.ach$/);
    const traces = (await listBooked(folder)).map(({ trace }) => trace);
    assert.equal(new Set(traces).size, 5);
    assert.deepEqual(await listValidationErrors(folder), []);
  }));

test('an unusable configuration is refused with a message', () =>
  withBench({}, async ({ host, config }) => {
    const broken = { ...config, windows: [] };
    await assert.rejects(railModule.create(broken, host), /neither a window nor closeAfterSeconds/);
  }));

test('a missing bank folder is an error at the start and in every check, and is never created', () =>
  withBench({}, async ({ host, config, folder, clock }) => {
    for (const name of ['outbox', 'archive', 'inbox'] as const) {
      const missing = path.join(folder, 'not-mounted', name);
      const rail = await railModule.create(
        { ...config, folders: { ...config.folders, [name]: missing } },
        host,
      );
      const fault = `the folder ${missing} does not exist: create it, or mount the share`;
      assert.deepEqual(host.lines.at(-1)?.fields['fault'], fault);
      assert.deepEqual(await rail.check?.(context), [fault]);
      await rail.send(makeInstruction(`p-${name}`), context);
      clock.nowMs = fromEastern({ day: '2026-11-20', time: '10:00' });
      await rail.work?.(context);
      assert.ok(!existsSync(path.join(folder, 'not-mounted')));
      if (name !== 'inbox') assert.deepEqual(await host.store.list('files', { count: 9 }), []);
    }
  }));
