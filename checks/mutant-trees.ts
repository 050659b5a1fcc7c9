import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import type * as databases from '../server/testing/setups/database.ts';
import { SERVER_URL_VARIABLE, TEMPLATE_VARIABLE } from '../server/testing/setups/database.ts';
import { listSchemaItems } from './mutant-sites.ts';

/** Which tests reach a mutant, and copies of the commit in which tests run with mutants. */

/** The time without a result of a test after which a run counts as failed. */
const idleMsMax = 240_000;
const tickMs = 10_000;

export type Mutant = {
  id: string;
  file: string;
  /** The line's text and how many equal ones precede it find it again where lines have moved. */
  line: string;
  occurrence: number;
  column: number;
  lineNumber: number;
  operator: string;
  before: string;
  after: string;
};

/** @returns undefined where the file has no such line any more. */
export function findPlace(
  text: string,
  { line, occurrence, column, before }: Mutant,
): number | undefined {
  let [start, seen] = [0, 0];
  for (const other of text.split('\n')) {
    if (other === line && seen++ === occurrence)
      return text.startsWith(before, start + column) ? start + column : undefined;
    start += other.length + 1;
  }
  return undefined;
}

/** The tests that reach a mutant: that beside it, then by turns the most similar and the nearest one. */
export type Reach = (mutant: Mutant) => readonly string[];

/**
 * Steps are imports, files that a string names (processes that a file starts) and, from a function or view
 * of the schema, what names it; the function of a trigger is called by whatever names the table.
 */
export function readReach(root: string): Reach {
  const listed = execFileSync('git', ['ls-files', '*.ts', '*.mjs', '*.sql'], { cwd: root });
  const files = String(listed).trim().split('\n');
  const texts = new Map(files.map((file) => [file, fs.readFileSync(join(root, file), 'utf8')]));
  const users = new Map<string, Set<string>>();
  const add = (used: string, user: string): unknown =>
    used === user || users.set(used, (users.get(used) ?? new Set()).add(user));
  const isSchema = (file: string): boolean => file.startsWith('server/src/db/schema/');
  const items = files.filter(isSchema).flatMap((file) => listSchemaItems(texts.get(file) ?? ''));
  const names = new Set(items.map(({ name }) => name));
  const addNames = (text: string, user: string): void => {
    for (const [word] of text.matchAll(/\w+/g)) if (names.has(word)) add(`sql:${word}`, user);
  };
  for (const { text, name, kind } of items) {
    const [, table, called] = / on (\w+)[^]* execute function (\w+)/.exec(text) ?? [];
    if (kind === 'trigger') add(`sql:${called}`, `sql:${table}`);
    else if (kind !== '') addNames(text, `sql:${name}`);
  }
  for (const [file, text] of texts) {
    if (file.endsWith('.sql.ts')) addNames(text, file);
    for (const [, named = ''] of text.matchAll(/['"`]([^'"`\s]+\.m?ts)['"`]/g))
      if (texts.has(join(dirname(file), named))) add(join(dirname(file), named), file);
  }
  const words = new Map<string, ReadonlySet<string>>();
  const wordsOf = (file: string): ReadonlySet<string> => {
    const known = words.get(file) ?? listWords(`${file} ${texts.get(file)}`);
    words.set(file, known);
    return known;
  };
  return (mutant) => {
    const text = texts.get(mutant.file) ?? '';
    const at = findPlace(text, mutant) ?? 0;
    const item = listSchemaItems(text).find(({ start, end }) => start <= at && at < end);
    const near = findTests(users, isSchema(mutant.file) ? `sql:${item?.name}` : mutant.file);
    // Every test with a database runs the schema, also where no statement names the function.
    const others = isSchema(mutant.file) ? findTests(users, 'server/src/db/schema.ts') : [];
    const all = [...new Set([...near, ...others])];
    const around = text
      .split('\n')
      .slice(Math.max(0, mutant.lineNumber - 5), mutant.lineNumber + 4);
    const similar = sortBySimilarity(all, listWords(`${mutant.file} ${around.join(' ')}`), wordsOf);
    const beside = all.filter((test) => test === nameTest(mutant.file));
    return [
      ...new Set([...beside, ...similar.flatMap((test, index) => [test, all[index] ?? test])]),
    ];
  };
}

/** The test file beside a file. */
function nameTest(file: string): string {
  return file.replace(/(\.sql|\.routes)?\.ts$/, '.test.ts');
}

/** Names and their parts. */
function listWords(text: string): Set<string> {
  const parts = text.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return new Set(
    [...`${text.toLowerCase()} ${parts} ${parts.replaceAll('_', ' ')}`.matchAll(/\w{4,}/g)].map(
      ([word]) => word,
    ),
  );
}

/** A word counts more the fewer tests have it. */
function sortBySimilarity(
  tests: readonly string[],
  words: ReadonlySet<string>,
  wordsOf: (test: string) => ReadonlySet<string>,
): string[] {
  const weights = [...words].map((word): [string, number] => {
    const count = tests.filter((test) => wordsOf(test).has(word)).length;
    return [word, Math.log(tests.length / Math.max(1, count))];
  });
  const score = (test: string): number =>
    weights.reduce((sum, [word, weight]) => (wordsOf(test).has(word) ? sum + weight : sum), 0);
  const scores = new Map(tests.map((test) => [test, score(test)]));
  return tests.toSorted((one, other) => (scores.get(other) ?? 0) - (scores.get(one) ?? 0));
}

/** The tests that are reached, nearest first. */
function findTests(users: ReadonlyMap<string, ReadonlySet<string>>, start: string): string[] {
  const distances = new Map([[start, 0]]);
  for (const [used, distance] of distances)
    for (const user of users.get(used) ?? [])
      if (!distances.has(user)) distances.set(user, distance + 1);
  const rank = ([test, distance]: [string, number]): number =>
    test === nameTest(start) ? -1 : dirname(test) === dirname(start) ? distance - 1 : distance;
  // Tests of texts, tools and measurements know nothing of what the service does.
  const isRun = /^(server|acceptance|sdk|cli)\/.*(?<!\.(long|external))\.test\.ts$/;
  return [...distances]
    .filter(([file]) => isRun.test(file))
    .toSorted((one, other) => rank(one) - rank(other) || (one[0] < other[0] ? -1 : 1))
    .map(([file]) => file);
}

export type Tree = {
  readonly base: databases.TestTemplate;
  /** Puts exactly these mutants into the copy. @throws where PostgreSQL does not accept the schema. */
  apply(mutants: readonly Mutant[]): Promise<void>;
  /** Runs tests in one process, as `npm test` does; each file, or up to the first that fails. */
  run(files: readonly string[], stopsAtFirst: boolean): Promise<Run>;
};
/** Files that failed, and those left because an earlier one ended the process. */
export type Run = { failed: string[]; left: readonly string[] };

export async function openTree(
  root: string,
  path: string,
  { serverUrl, other }: { serverUrl: string; other?: Tree | undefined },
): Promise<Tree> {
  execFileSync('git', ['worktree', 'add', '--detach', '--quiet', path, 'HEAD'], { cwd: root });
  for (const folder of fs.globSync(['node_modules', '*/node_modules'], { cwd: root }))
    linkPackages(join(root, folder), join(path, folder));
  const module = pathToFileURL(join(path, 'server/testing/setups/database.ts')).href;
  const { createTemplate, dropTemplate } = (await import(module)) as typeof databases;
  const base = other?.base ?? (await createTemplate(serverUrl));
  let template = base;
  const changed = new Map<string, string>();
  return {
    base,
    apply: async (mutants) => {
      for (const [file, text] of changed) fs.writeFileSync(join(path, file), text);
      changed.clear();
      if (template !== base) await dropTemplate(template);
      template = base;
      for (const [file, group] of Map.groupBy(mutants, (mutant) => mutant.file)) {
        const text = fs.readFileSync(join(path, file), 'utf8');
        changed.set(file, text);
        fs.writeFileSync(join(path, file), mutate(text, group));
      }
      const isSql = mutants.some(({ file }) => file.endsWith('.sql'));
      if (isSql) template = await createTemplate(serverUrl);
    },
    run: (files, stopsAtFirst) => {
      const variables = { [SERVER_URL_VARIABLE]: serverUrl, [TEMPLATE_VARIABLE]: template.name };
      return readRun(startTests(path, files, variables), files, stopsAtFirst);
    },
  };
}

export function mutate(text: string, mutants: readonly Mutant[]): string {
  return mutants
    .map(({ before, after, ...mutant }) => {
      const at = findPlace(text, { before, after, ...mutant }) ?? 0;
      return { at, end: at + before.length, after };
    })
    .toSorted((one, other) => other.at - one.at)
    .reduce((whole, { at, end, after }) => whole.slice(0, at) + after + whole.slice(end), text);
}

/** A link to another folder of the repository leads into the copy. */
function linkPackages(from: string, to: string): void {
  fs.mkdirSync(to);
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.name.startsWith('@')) linkPackages(source, target);
    else fs.symlinkSync(entry.isSymbolicLink() ? fs.readlinkSync(source) : source, target);
  }
}

type Tests = ChildProcessByStdio<null, Readable, null>;

function startTests(path: string, files: readonly string[], variables: NodeJS.ProcessEnv): Tests {
  const program = `import './checks/test-tracking.ts';
    const { testTogether } = await import('./checks/test-group.ts');
    await testTogether(${JSON.stringify(path)}, ${JSON.stringify(files)});`;
  const flags = '--disable-warning=ExperimentalWarning --single-threaded-gc --test-reporter=tap';
  const words = [...flags.split(' '), '--input-type=module', '--eval', program];
  const cache = { NODE_COMPILE_CACHE: join(path, 'node_modules/.compiled') };
  // The services that a test starts are in the same group of processes.
  return spawn(process.execPath, words, {
    cwd: path,
    env: { ...process.env, ...variables, ...cache },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
}

function endGroup({ pid = 0 }: Tests): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All have ended.
  }
}

function readRun(child: Tests, files: readonly string[], stopsAtFirst: boolean): Promise<Run> {
  const end = (): void => endGroup(child);
  process.once('exit', end);
  let idleMs = 0;
  // Ticks, because a computer that slept has not waited for the test.
  const timer = setInterval(() => {
    idleMs += tickMs;
    if (idleMs >= idleMsMax) end();
  }, tickMs);
  let [ended, rest] = [0, ''];
  const failed = new Set<string>();
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    idleMs = 0;
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (/^ *not ok /.test(line) && !line.includes(' # TODO')) failed.add(files[ended] ?? '');
      if (/^(not )?ok /.test(line)) ended += 1;
    }
    if (stopsAtFirst && failed.size > 0) end();
  });
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearInterval(timer);
      process.off('exit', end);
      end();
      // An error outside of a test, or silence, ends the process in the file that runs.
      const isBroken = ended < files.length || (code !== 0 && failed.size === 0);
      const last = files[Math.min(ended, files.length - 1)] ?? '';
      if (isBroken && (failed.size === 0 || !stopsAtFirst)) failed.add(last);
      resolve({ failed: [...failed], left: files.slice(ended + 1) });
    });
  });
}
