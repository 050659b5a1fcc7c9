import { glob, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { schemaSubjects } from '../server/src/db/schema.ts';
import { findSqlProblems, type SqlFile } from './sql-rules.ts';

/** Lints the schema files. Part of `npm run check`. */

const source = join(import.meta.dirname, '../server/src');
const files: SqlFile[] = [];
for await (const path of glob(join(source, 'db/schema/*.sql'))) {
  files.push({ name: basename(path, '.sql'), text: await readFile(path, 'utf8') });
}
const sources: string[] = [];
for await (const path of glob(join(source, '**/*.ts'))) {
  if (!path.endsWith('.test.ts')) sources.push(await readFile(path, 'utf8'));
}
const subjects: readonly string[] = schemaSubjects;
const problems = [
  ...findSqlProblems(files, sources),
  ...files
    .filter(({ name }) => !subjects.includes(name))
    .map(({ name }) => `${name}: add it to schemaSubjects in db/schema.ts`),
];
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exitCode = 1;
}
