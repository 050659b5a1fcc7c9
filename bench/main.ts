import { writeSection } from './document.ts';
import { openPlace } from './place.ts';
import { createPlan, type Plan } from './plan.ts';
import { createMeter } from './processor.ts';
import { type Found, type Measured, writeReport } from './report.ts';

/**
 * npm run bench: ours and its peers beside each other, alternately in one run, as medians and
 * ratios. Load generator, services and database share the machine. BENCH_ROUNDS, BENCH_SECONDS and
 * BENCH_ONLY (beginnings of keys, see plan.ts) narrow it; --profile, --large, --batch, --growth,
 * --events, --webhooks, --tracing and --overload run those parts.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 3);
const warmUpSeconds = Math.min(0.5, seconds);
const only = (process.env['BENCH_ONLY'] ?? '').split(',').filter((part) => part !== '');

if (process.argv.includes('--large')) await (await import('./large.ts')).runLarge();
else if (process.argv.includes('--profile')) await (await import('./profile.ts')).runProfile();
else if (process.argv.includes('--growth')) await (await import('./growth.ts')).runGrowth();
else if (process.argv.includes('--overload')) await import('./overload.ts');
else if (process.argv.includes('--events')) await (await import('./events.ts')).runEvents();
else if (process.argv.includes('--tracing')) await (await import('./tracing.ts')).runTracing();
else if (process.argv.includes('--webhooks')) {
  await (await import('./webhooks.ts')).runWebhooks();
} else if (process.argv.includes('--batch')) await (await import('./batch.ts')).runBatch();
else await runPlan(createPlan(only));

async function runPlan(plan: Plan): Promise<void> {
  const place = await openPlace();
  const { subjects, steps } = plan;
  try {
    for (const subject of subjects) await subject.prepare(place);
    // The first run of each is not counted: code is compiled and caches are filled in it.
    for (const { subject, load } of steps) await subject.run({ ...load, seconds: warmUpSeconds });
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
