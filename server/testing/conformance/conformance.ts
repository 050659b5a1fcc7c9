import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createChecks } from './checks.ts';
import { connectionCases } from './connection.ts';
import { crashCases } from './crashes.ts';
import { openCallbackServer } from './delivery.ts';
import { type Case, happyPathCases } from './happy-path.ts';
import { notificationCases } from './notifications.ts';
import type { Capability, ConformanceSubject } from './subject.ts';
import { closeGround, openTestRun, railName, type TestRunOptions } from './test-run.ts';

/**
 * The suite that every rail must pass: `testConformance(subject)` in `conformance.test.ts` of the
 * rail's folder. It runs the rail on its real store against a counterparty, injects the faults that
 * happen to payments (killed and paused processes, lost and corrupted answers, notifications that are
 * repeated, early, stale or forged), and prints a scorecard. In every case there must be at most one
 * payment for each instruction, with the outcome that the counterparty's own record has.
 *
 * With OUTLAY_TEST_LONG=1 every kind of crash is tried at each step, and every fault of the connection;
 * otherwise kills alone take turns at every sixth step, except around the booking, the connection has
 * a fault of each sort, and a variant makes payments without faults only.
 *
 * A subject (described in subject.ts) looks like this:
 *
 *     import { testConformance } from '../../../testing/conformance/conformance.ts';
 *     import { railModule } from './rail.ts';
 *
 *     testConformance({
 *       module: railModule,
 *       clock: 'real',
 *       unsupported: { files: 'the partner posts callbacks' },
 *       booking: /^PUT \/payments\//,
 *       openCounterparty: async ({ callbackUrl }) => {
 *         const partner = await startPartner({ callbackUrl });
 *         return {
 *           address: partner.address,
 *           config: (address) => ({ url: `http://${address?.host}:${address?.port}`, secret }),
 *           instruct: (draft, expectedOutcome) => ({ ...draft, payerKey: 'cash', countryCode: 'MEX', ... }),
 *           payments: (instruction) => partner.listAmounts(instruction.reference),
 *           advance: () => partner.settleOne(),
 *           close: () => partner.stop(),
 *         };
 *       },
 *     });
 *
 * - Each capability in `unsupported` needs a reason, which the scorecard shows.
 * - Each instance of the rail has its own proxy before `address`, so `config` is called for each. The
 *   rail's own time-outs should be below `callMsMax`.
 * - `advance` is a step of the counterparty, which produces the expected outcomes.
 */
export function testConformance<Config>(subject: ConformanceSubject<Config>): void {
  const checks = createChecks();
  const score = new Map<string, Row>();
  const { isVariant = false } = subject;
  const cases = listCases(subject).filter(
    ({ isLong, isFaultless }) => isLongForm || (!isLong && (isFaultless || !isVariant)),
  );
  const register = (looksBack: boolean): void => {
    for (const { name, lack, run } of cases.filter((item) => item.looksBack === looksBack)) {
      test(name, { timeout: caseMsMax }, () => {
        if (lack === undefined) return keep(score, name, () => run({ subject, checks }));
        score.set(name, { name, result: 'not applicable', runs: 0, note: lack });
        return undefined;
      });
    }
  };
  describe(`the rail ${subject.module.kind} conforms`, { concurrency: 1 }, () => {
    after(async () => {
      await closeGround();
      const rows = cases.flatMap(({ name }) => score.get(name) ?? []);
      process.stdout.write(formatScorecard(subject.module.kind, rows));
    });
    describe('in each case', { concurrency: subject.casesAtOnce ?? casesAtOnce }, () =>
      register(false),
    );
    describe('over all cases', { concurrency: 1 }, () => register(true));
  });
}

/** Each case has a world of its own, and waits most of its time for answers that do not come. */
const casesAtOnce = 4;

type Prepared<Config> = Omit<TestRunOptions<Config>, 'callbackServer'>;

/** One row of the scorecard, for this subject. */
export type ListedCase<Config> = {
  readonly name: string;
  /** Why it does not apply; undefined where it does. */
  readonly lack: string | undefined;
  /** Whether it checks what the other cases recorded. */
  readonly looksBack: boolean;
  readonly isLong: boolean;
  /** Whether nothing fails in it: the short form of a variant has no other cases. */
  readonly isFaultless: boolean;
  /** Returns the number of runs. */
  run(options: Prepared<Config>): Promise<number>;
};

/** All cases in order; the last ones check what the others recorded. */
export function listCases<Config>(
  subject: ConformanceSubject<Config>,
): readonly ListedCase<Config>[] {
  const cases = [
    capabilityCase,
    ...happyPathCases,
    ...notificationCases,
    ...connectionCases,
    ...crashCases,
  ];
  return [
    ...cases.map((item) => ({
      name: item.name,
      lack: findLack(item, subject.unsupported ?? {}),
      looksBack: false,
      isLong: item.isLong === true,
      isFaultless: item === capabilityCase || happyPathCases.includes(item),
      run: (options: Prepared<Config>) => runOnStage(item, options),
    })),
    {
      name: 'every output has the documented form',
      lack: undefined,
      looksBack: true,
      isLong: false,
      isFaultless: true,
      run: async ({ checks }) => {
        assert.deepEqual([...checks.form], []);
        return checks.count;
      },
    },
    {
      name: 'keys, states, logs, errors and codes hold no personal data',
      lack: undefined,
      looksBack: true,
      isLong: false,
      isFaultless: true,
      run: async ({ checks }) => {
        assert.deepEqual([...checks.leaks], []);
        return checks.count;
      },
    },
  ];
}

type Row = {
  readonly name: string;
  readonly result: 'passed' | 'failed' | 'not applicable';
  readonly runs: number;
  readonly note: string;
};

const isLongForm = process.env['OUTLAY_TEST_LONG'] === '1';

/** For a case that hangs. */
const caseMsMax = 900_000;
const scorecardNameMax = 80;
const noteMax = 100;

async function keep(
  score: Map<string, Row>,
  name: string,
  run: () => Promise<number>,
): Promise<void> {
  try {
    score.set(name, { name, result: 'passed', runs: await run(), note: '' });
  } catch (error) {
    const [note = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    score.set(name, { name, result: 'failed', runs: 0, note });
    throw error;
  }
}

/** Why a case does not apply. */
function findLack(
  { needs, needsOne = [] }: Case,
  unsupported: Partial<Readonly<Record<Capability, string>>>,
): string | undefined {
  const missing = needs.find((capability) => unsupported[capability] !== undefined);
  if (missing !== undefined) return unsupported[missing];
  const isAllMissing =
    needsOne.length > 0 && needsOne.every((capability) => unsupported[capability] !== undefined);
  return isAllMissing
    ? [...new Set(needsOne.map((capability) => unsupported[capability]))].join('; ')
    : undefined;
}

async function runOnStage<Config>(item: Case, prepared: Prepared<Config>): Promise<number> {
  const { subject } = prepared;
  // One for all runs of the case, so that callbacks of one run can be delivered in another.
  const callbackServer = await openCallbackServer(railName);
  try {
    return await item.run({
      stepsMax: subject.stepsMax ?? 40,
      isShort: !isLongForm,
      exchangesMax: subject.exchangesMax ?? 8,
      callMsMax: subject.callMsMax ?? 1500,
      booking: subject.booking,
      supports: (capability) => subject.unsupported?.[capability] === undefined,
      runInTestRun: async (run) => {
        const testRun = await openTestRun({ ...prepared, callbackServer });
        try {
          return await run(testRun);
        } finally {
          await testRun.close();
        }
      },
    });
  } finally {
    await callbackServer.close();
  }
}

/** Capabilities that are declared missing must be missing, and all others must be there. */
const capabilityCase: Case = {
  name: 'the capabilities are declared',
  needs: [],
  run: (stage) =>
    stage.runInTestRun(async (testRun) => {
      const { rail, close } = await testRun.openActor();
      const present: Partial<Record<Capability, boolean>> = {
        connection: testRun.counterparty.address !== undefined,
        callbacks: rail.readCallback !== undefined,
        files: testRun.counterparty.files !== undefined,
        cancellation: rail.cancel !== undefined,
      };
      for (const [capability, isThere] of Object.entries(present)) {
        assert.equal(
          stage.supports(capability as Capability),
          isThere,
          `${capability} is declared as it is`,
        );
      }
      await close();
      return Object.keys(present).length;
    }),
};

function formatScorecard(kind: string, score: readonly Row[]): string {
  const counted = (result: Row['result']): number =>
    score.filter((row) => row.result === result).length;
  const lines = score.map(({ name, result, runs, note }) => {
    const detail = result === 'passed' ? `${runs}` : note.slice(0, noteMax);
    return `  ${name.slice(0, scorecardNameMax).padEnd(scorecardNameMax)}  ${result}  ${detail}`;
  });
  const sums = `${counted('passed')} passed, ${counted('failed')} failed, ${counted('not applicable')} not applicable`;
  return `\nConformance of the rail ${kind} (case, result, runs)\n${lines.join('\n')}\n  ${sums}\n\n`;
}
