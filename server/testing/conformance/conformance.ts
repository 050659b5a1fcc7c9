import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createChecks } from './checks.ts';
import { connectionCases } from './connection.ts';
import { crashCases } from './crashes.ts';
import { type CallbackServer, openCallbackServer } from './delivery.ts';
import { type Case, happyPathCases, type TestStage } from './happy-path.ts';
import { notificationCases } from './notifications.ts';
import type { Capability, ConformanceSubject } from './subject.ts';
import { openTestRun, railName, type TestRunOptions } from './test-run.ts';

/**
 * The suite that every rail must pass: `testConformance(subject)` in a file `conformance.test.ts` in
 * the rail's folder. It runs the rail, on the service's own memory for rails in a real database,
 * against a counterparty whose records are the judge, does everything to it that happens to payments
 * (kills, stopped processes that wake up again, lost and mangled answers, observations twice, early,
 * stale and forged), and prints a scorecard. After everything, at most one payment exists for each
 * instruction, and it ended as the counterparty says.
 *
 * A subject (subject.ts says what each part has to be) looks like this:
 *
 *     import { testConformance } from '../../../testing/conformance/conformance.ts';
 *     import { railModule } from './rail.ts';
 *
 *     testConformance({
 *       module: railModule,
 *       clock: 'real',
 *       cannot: { files: 'it is told by callbacks' },
 *       booking: /^PUT \/payments\//,
 *       openCounterpart: async ({ callbackUrl }) => {
 *         const partner = await startPartner({ callbackUrl });
 *         return {
 *           address: partner.address,
 *           config: (address) => ({ url: `http://${address?.host}:${address?.port}`, secret }),
 *           instruct: (draft, expectedOutcome) => ({ ...draft, payerKey: 'cash', countryCode: 'MEX', ... }),
 *           payments: (instruction) => partner.listAmounts(instruction.reference),
 *           turn: () => partner.settleOne(),
 *           close: () => partner.stop(),
 *         };
 *       },
 *     });
 *
 * - Everything in `cannot` needs a sentence, which the scorecard shows; what is neither there nor
 *   in `cannot` fails.
 * - Each instance of the rail has a proxy of its own before `address`, so that `config` is asked
 *   anew for each. Its own time-outs towards the counterparty should be below `callMsMax`.
 * - `turn` is the counterparty's processRun: with a steered clock it also hears the time. Fates are brought
 *   about by it, however it likes; a payment has ended within some tens of rounds.
 */
export function testConformance<Config>(subject: ConformanceSubject<Config>): void {
  const checks = createChecks();
  const score: Row[] = [];
  describe(`the rail ${subject.module.kind} conforms`, { concurrency: 1 }, () => {
    let callbackServer: CallbackServer;
    before(async () => {
      callbackServer = await openCallbackServer(railName);
    });
    after(async () => {
      await callbackServer.close();
      process.stdout.write(formatScorecard(subject.module.kind, score));
    });
    const enter = (): TestRunOptions<Config> => ({ subject, checks, callbackServer });
    for (const { name, lack, run } of listCases(subject)) {
      test(name, { timeout: caseMsMax }, () => {
        if (lack === undefined) return keep(score, name, () => run(enter()));
        score.push({ name, result: 'not applicable', runs: 0, note: lack });
        return undefined;
      });
    }
  });
}

/** One row of the scorecard, for this subject. */
export type ListedCase<Config> = {
  readonly name: string;
  /** Why it does not apply; undefined where it does. */
  readonly lack: string | undefined;
  /** Answers how many runs it took. */
  run(options: TestRunOptions<Config>): Promise<number>;
};

/** All cases in their order; the last ones look back at what the others saw. */
export function listCases<Config>(
  subject: ConformanceSubject<Config>,
): readonly ListedCase<Config>[] {
  const cases = [...happyPathCases, ...notificationCases, ...connectionCases, ...crashCases];
  return [
    { name: 'what it has and has not is declared', lack: undefined, run: checkCapabilities },
    ...cases.map((item) => ({
      name: item.name,
      lack: findLack(item, subject.unsupported ?? {}),
      run: (options: TestRunOptions<Config>) => item.run(setStage(options)),
    })),
    {
      name: 'every word of it had the documented form',
      lack: undefined,
      run: async ({ checks }) => {
        assert.deepEqual([...checks.form], []);
        return checks.count;
      },
    },
    {
      name: 'nothing of a person was in keys, states, logs, errors and codes',
      lack: undefined,
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

/** For a case that hangs in spite of everything. */
const caseMsMax = 900_000;
const scorecardNameMax = 80;
const noteMax = 100;

async function keep(score: Row[], name: string, run: () => Promise<number>): Promise<void> {
  try {
    score.push({ name, result: 'passed', runs: await run(), note: '' });
  } catch (error) {
    const [note = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    score.push({ name, result: 'failed', runs: 0, note });
    throw error;
  }
}

/** Why a case does not apply. */
function findLack(
  { needs, needsOne = [] }: Case,
  cannot: Partial<Readonly<Record<Capability, string>>>,
): string | undefined {
  const missing = needs.find((capability) => cannot[capability] !== undefined);
  if (missing !== undefined) return cannot[missing];
  const isAllMissing =
    needsOne.length > 0 && needsOne.every((capability) => cannot[capability] !== undefined);
  return isAllMissing
    ? [...new Set(needsOne.map((capability) => cannot[capability]))].join('; ')
    : undefined;
}

function setStage<Config>(options: TestRunOptions<Config>): TestStage {
  const { subject } = options;
  return {
    stepsMax: subject.stepsMax ?? 40,
    exchangesMax: subject.exchangesMax ?? 8,
    callMsMax: subject.callMsMax ?? 1500,
    booking: subject.booking,
    supports: (capability) => subject.unsupported?.[capability] === undefined,
    runInTestRun: async (run) => {
      const testRun = await openTestRun(options);
      try {
        return await run(testRun);
      } finally {
        await testRun.close();
      }
    },
  };
}

/** What is declared missing is, and what is not declared missing is there. */
async function checkCapabilities<Config>(options: TestRunOptions<Config>): Promise<number> {
  const { unsupported: cannot = {} } = options.subject;
  return setStage(options).runInTestRun(async (testRun) => {
    const { rail, close } = await testRun.openActor();
    const present: Partial<Record<Capability, boolean>> = {
      connection: testRun.counterparty.address !== undefined,
      callbacks: rail.readCallback !== undefined,
      files: testRun.counterparty.files !== undefined,
      cancellation: rail.cancel !== undefined,
    };
    for (const [capability, isThere] of Object.entries(present)) {
      const isDeclaredMissing = cannot[capability as Capability] !== undefined;
      assert.equal(isDeclaredMissing, !isThere, `${capability} is declared as it is`);
    }
    await close();
    return Object.keys(present).length;
  });
}

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
