import { join } from 'node:path';
import { connectDatabase } from '../../server/src/db/postgres/pool.ts';
import { createTestDatabase } from '../../server/testing/setups/database.ts';
import { reportAbbreviations } from './abbreviations.ts';
import { extract } from './extract.ts';
import { reportFit } from './fit-report.ts';
import { measure, type Report, type Time, thresholds } from './report.ts';

/**
 * Prints recall and false matches of the screening on the lists of OUTLAY_SHARED_DATA/sanctions; with
 * `--fit` the weights of the score, and what is found and held at each threshold. Every figure but the
 * times is the same in every run.
 */

const sharedData = process.env['OUTLAY_SHARED_DATA'];
if (sharedData === undefined || sharedData === '') {
  process.stderr.write('OUTLAY_SHARED_DATA must name the folder that has sanctions/ in it.\n');
  process.exit(2);
}
const database = await createTestDatabase();
const db = connectDatabase({ url: database.url, connectionsMax: 4 });
const common = {
  db,
  folder: join(sharedData, 'sanctions'),
  nowMs: () => Date.now(),
  say: (line: string) => void process.stderr.write(`${line}\n`),
};
try {
  if (process.argv.includes('--fit')) {
    const { answered, lists } = await extract({
      ...common,
      casesEach: Number(process.env['SCREENING_CASES'] ?? 600),
      ordinaryEach: Number(process.env['SCREENING_PEOPLE'] ?? 400),
    });
    const say = (line: string): void => void process.stdout.write(`${line}\n`);
    reportFit(answered, say);
    reportAbbreviations(answered, lists, say);
  } else {
    print(
      await measure({
        ...common,
        casesEach: Number(process.env['SCREENING_CASES'] ?? 500),
        ordinaryPeople: Number(process.env['SCREENING_PEOPLE'] ?? 5_000),
      }),
    );
  }
} finally {
  await db.close();
  await database.drop();
}

function print(report: Report): void {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const cell = (text: string): string => text.padStart(7);
  const row = (name: string, count: string, cells: readonly string[]): void =>
    say(name.padEnd(42) + cell(count) + cells.map(cell).join(''));
  for (const { list, entries, names } of report.lists) {
    say(`${list}: ${entries} entries, ${names} names`);
  }
  say('\nRecall in per cent, at thresholds');
  row('', 'cases', thresholds.map(String));
  for (const { name, count, hits } of report.recall) {
    row(
      name,
      String(count),
      hits.map((hit) => ((100 * hit) / count).toFixed(1)),
    );
  }
  say('\nOrdinary people held, in per cent');
  row('', 'people', thresholds.map(String));
  for (const { name, count, hits } of report.falseMatches) {
    row(
      name,
      String(count),
      hits.map((hit) => ((100 * hit) / count).toFixed(2)),
    );
  }
  say('\nmilliseconds for a name: of the processor in this process, and by the clock');
  const time = (name: string, { processor, wall }: Time): void =>
    say(`${name.padEnd(42)}${cell(processor.toFixed(2))}${cell(wall.toFixed(2))}`);
  time('in batches of 500, at first', report.first);
  time('... with the spellings known', report.again);
  time('one name at a time', report.single);
  time('... with a new word', report.singleNew);
}
