import { writeSection } from './document.ts';
import { help, readPart } from './options.ts';
import { openPlace } from './place.ts';
import { createPlan, type Plan } from './plan.ts';
import { createMeter } from './processor.ts';
import { type Found, type Measured, writeReport } from './report.ts';

/**
 * npm run bench: ours and its peers beside each other, alternately in one run, as medians and
 * ratios. Load generator, services and database share the machine. options.ts has its other parts.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 3);
const only = (process.env['BENCH_ONLY'] ?? '').split(',').filter((part) => part !== '');

/** Loaded when it is chosen. */
const runPart = {
  peers: () => runPlan(createPlan(only)),
  console: async () => (await import('./console.ts')).runConsole(),
  lighthouse: async () => (await import('./lighthouse/lighthouse.ts')).runLighthouse(),
  large: async () => (await import('./large.ts')).runLarge(),
  statements: async () => (await import('./statements.ts')).runStatements(),
  profile: async () => (await import('./profile.ts')).runProfile(),
  growth: async () => (await import('./growth.ts')).runGrowth(),
  overload: async () => void (await import('./overload.ts')),
  events: async () => (await import('./events.ts')).runEvents(),
  webhooks: async () => (await import('./webhooks.ts')).runWebhooks(),
  tracing: async () => (await import('./tracing.ts')).runTracing(),
  chains: async () => (await import('./chains.ts')).runChains(),
  pretenuring: async () => (await import('./pretenuring.ts')).runPretenuring(),
  cells: async () => (await import('./cells.ts')).runCells(),
  batch: async () => (await import('./batch.ts')).runBatch(),
};

const part = readChosenPart();
if (part !== undefined) await runPart[part]();

function readChosenPart(): keyof typeof runPart | undefined {
  try {
    const chosen = readPart(process.argv.slice(2));
    if (chosen !== 'help') return chosen;
    process.stdout.write(help);
  } catch (error) {
    process.stderr.write(`${String(error)}\n\n${help}`);
    process.exitCode = 2;
  }
  return undefined;
}

async function runPlan(plan: Plan): Promise<void> {
  const place = await openPlace();
  const { subjects, steps } = plan;
  try {
    for (const subject of subjects) await subject.prepare(place);
    // The first run of each is not counted: code is compiled and caches are filled in it.
    for (const { subject, load } of steps) await subject.run({ ...load, seconds });
    const measured: Measured[] = [];
    for (let round = 0; round < rounds; round += 1) {
      for (const { key, subject, load } of steps) {
        const meter = createMeter({
          service: subject.processId?.(),
          database: place.processId,
        });
        const measure = await subject.run({ ...load, seconds, meter });
        measured.push({ key, name: subject.name, load, round, measure });
        const perSecond = (measure.count / measure.seconds).toFixed(0);
        process.stderr.write(
          `${round + 1}/${rounds} ${key.padEnd(24)} ${perSecond.padStart(7)}/s\n`,
        );
      }
    }
    const found: Found[] = [];
    for (const subject of subjects) {
      for (const race of (await subject.races?.()) ?? []) found.push({ name: subject.name, race });
      await subject.check?.();
    }
    const text = writeReport({ measured, found, rounds, seconds, server: await place.describe() });
    process.stdout.write(text);
    // A part of the run is for the reader of the terminal; the page shows whole ones.
    if (only.length === 0) writeSection('peers', text);
  } finally {
    for (const subject of subjects.toReversed()) await subject.close();
    await place.close();
  }
}
