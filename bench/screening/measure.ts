import { join } from 'node:path';
import { connectDatabase } from '../../server/src/db/postgres/pool.ts';
import { createTestDatabase } from '../../server/testing/setups/database.ts';
import { measure, type Report, thresholds } from './report.ts';

/**
 * Prints recall and false matches of the screening on the lists of OUTLAY_SHARED_DATA/sanctions.
 * Every figure but the times is the same in every run.
 */

const sharedData = process.env['OUTLAY_SHARED_DATA'];
if (sharedData === undefined || sharedData === '') {
  process.stderr.write('OUTLAY_SHARED_DATA must name the folder that has sanctions/ in it.\n');
  process.exit(2);
}
const database = await createTestDatabase();
const db = connectDatabase({ url: database.url, connectionsMax: 4 });
try {
  const report = await measure({
    db,
    folder: join(sharedData, 'sanctions'),
    casesEach: Number(process.env['SCREENING_CASES'] ?? 500),
    ordinaryPeople: Number(process.env['SCREENING_PEOPLE'] ?? 5_000),
    nowMs: () => Date.now(),
    say: (line) => process.stderr.write(`${line}\n`),
  });
  print(report);
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
  const { first, again, single } = report.msPerName;
  say(`\nmilliseconds per name, in batches of 500: ${first.toFixed(2)} at first,`);
  say(`${again.toFixed(2)} with the spellings known; ${single.toFixed(2)} one by one`);
}
