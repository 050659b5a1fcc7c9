import { createClassicSubject } from './peers/classic.ts';
import { createDbosSubject } from './peers/dbos.ts';
import { createGraphileWorkerSubject } from './peers/graphile-worker.ts';
import { createNodeHttpSubject } from './peers/node-http.ts';
import { createPgBossSubject } from './peers/pg-boss.ts';
import { createRowsInProcess, createRowsOverHttp } from './peers/rows-only.ts';
import { createTpcBSubject } from './peers/tpcb.ts';
import type { LoadShape, Subject } from './subject.ts';
import { createDurableStepsSubject } from './subjects/durable-steps.ts';
import { createHttpSubjects } from './subjects/http.ts';
import { createInProcessSubject } from './subjects/in-process.ts';
import { createProcessSubjects } from './subjects/processes.ts';

/** What is run, in the order of one round. */

export type Step = {
  /** Its name in the tables, and what BENCH_ONLY chooses by. */
  key: string;
  subject: Subject;
  load: Omit<LoadShape, 'seconds'>;
};

export type Plan = {
  /** In the order in which they are prepared. */
  subjects: readonly Subject[];
  steps: readonly Step[];
};

const levels = [16, 64, 256, 1024];
const spread = ['uniform', 'zipf'] as const;

/** @param only Parts of keys; empty: everything. The measure of the machine is always there. */
export function createPlan(only: readonly string[]): Plan {
  const tpcB = createTpcBSubject();
  const http = createHttpSubjects();
  const bare = createNodeHttpSubject(http.getBalanceExchange);
  const steps = createDurableStepsSubject();
  const [oneProcess, twoProcesses] = createProcessSubjects([1, 2]);
  if (oneProcess === undefined || twoProcesses === undefined) throw new Error('no processes');
  const measure = { key: 'tpcb', subject: tpcB, load: { inFlight: 16, workload: 'hot' as const } };
  const groups: Step[][] = [
    listLevels('in-process', createInProcessSubject()),
    listLevels('http', http.commit),
    listLimits(),
    listLevels('classic', createClassicSubject()),
    [
      at('create', http.create, 64),
      at('create-commit', http.createAndCommit, 64),
      at('bare', bare, 64),
      at('balance', http.balance, 64),
      at('cheapest', http.cheapest, 64),
    ],
    [at('one-process', oneProcess, 128), at('two-processes', twoProcesses, 128)],
    [
      at('steps-256', steps, 256),
      at('steps-64', steps, 64),
      at('dbos', createDbosSubject(), 64),
      at('graphile', createGraphileWorkerSubject(), 64),
      at('pg-boss', createPgBossSubject(), 64),
    ],
  ];
  const isChosen = ({ key }: Step): boolean =>
    only.length === 0 || only.some((part) => key.startsWith(part));
  const chosen = groups.map((group) => group.filter(isChosen)).filter(({ length }) => length > 0);
  // The measure comes before every group, so that it is taken at the same times as what it measures.
  const sequence = chosen.flatMap((group) => [measure, ...group]);
  const needed = new Set(sequence.map(({ subject }) => subject));
  if (needed.has(bare)) needed.add(http.balance);
  const all = new Set([tpcB, ...groups.flat().map(({ subject }) => subject)]);
  // It answers what the balance answers, so that has to be known before.
  all.delete(bare);
  all.add(bare);
  return { subjects: [...all].filter((subject) => needed.has(subject)), steps: sequence };
}

/** What commits are compared with: with the same in flight, and nothing done but their rows. */
function listLimits(): Step[] {
  return (['rows', 'row'] as const).flatMap((model) => {
    const overHttp = createRowsOverHttp(model);
    return [
      at(`limit-${model}-http`, overHttp, 64),
      at(`limit-${model}-in-process`, createRowsInProcess(model), 1024),
    ];
  });
}

function listLevels(key: string, subject: Subject): Step[] {
  return [
    ...levels.map((inFlight) => at(`${key}-hot`, subject, inFlight)),
    ...spread.map((workload) => ({
      key: `${key}-${workload}-64`,
      subject,
      load: { inFlight: 64, workload },
    })),
  ];
}

function at(key: string, subject: Subject, inFlight: number): Step {
  const name = key.endsWith('-hot') ? `${key}-${inFlight}` : key;
  return { key: name, subject, load: { inFlight, workload: 'hot' } };
}
