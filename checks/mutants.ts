import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startTestServer } from '../server/testing/setups/database.ts';
import { type Edit, listEdits } from './mutant-sites.ts';
import { findPlace, type Mutant, mutate, openTree, readReach, type Tree } from './mutant-trees.ts';

/**
 * Proves that tests notice changes: makes small changes (mutants) to code that moves money or reports it,
 * each in a copy of the last commit, and runs the tests that reach it. Not a part of `npm test` or CI.
 *
 *     npm run mutants -- --seed 32 --count 200 --out before.jsonl
 *     npm run mutants -- --from before.jsonl --out after.jsonl      # the same mutants on another commit
 *
 * `mutants-before.jsonl` has 200 mutants of commit 9a3ece10; `near` means that its nearest test passes.
 *
 * Each mutant first runs with its nearest tests, up to the first that fails. Those that are left run together
 * with all tests that reach them; where a test fails, halving finds the mutant. A test counts only where it
 * passes without mutants. The last line of a mutant in the file is its result: `found`, `lives`, or `gone`
 * where the commit has no such line. The same command continues after an interruption. The copies, the
 * databases and the files of tests are in memory (or in `TMPDIR`); `--workers` is the number of copies.
 */
const root = join(import.meta.dirname, '..');
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '32' },
    count: { type: 'string', default: '200' },
    out: { type: 'string', default: 'mutants.jsonl' },
    from: { type: 'string' },
    workers: { type: 'string', default: '2' },
  },
});
const nearMax = 1;
const filesInGroup = 12;

const subjects =
  'commit,ledger,dispatch,observation*,next-steps,attempts,moves,decisions,webhooks,events,payouts,' +
  'recovery,rails,open-quotes,routing,chain,batch-commits,exceptions,schedule-runs';
/** How many of 200 each part gets. Much of the money path is SQL. */
const parts: readonly [share: number, files: string][] = [
  [50, `db/schema/{${subjects}}.sql`],
  [30, 'payouts/**/*.ts'],
  [30, 'dispatch/**/*.ts'],
  [22, 'ledger/**/*.ts'],
  [20, 'rails/kit/**/*.ts'],
  [14, 'rails/host/**/*.ts'],
  [22, 'webhooks/**/*.ts'],
  [8, 'events/**/*.ts'],
  [4, 'accounts/accounts{,.sql}.ts'],
];

type Line = Mutant & { result: 'drawn' | 'near' | 'gone' | 'found' | 'lives'; test?: string };
const lines = new Map<string, Line>();
const findReach = readReach(root);
const reaches = new Map<string, readonly string[]>();
const sound = new Map<string, Promise<boolean>>();
const trees: Tree[] = [];

function reach(mutant: Mutant): readonly string[] {
  const known = reaches.get(mutant.id) ?? findReach(mutant);
  reaches.set(mutant.id, known);
  return known;
}

function list(result: Line['result']): Line[] {
  return [...lines.values()].filter((line) => line.result === result);
}

function write(line: Line): void {
  lines.set(line.id, line);
  fs.appendFileSync(values.out, `${JSON.stringify(line)}\n`);
  const { id, file, lineNumber, operator, result, test = '' } = line;
  process.stderr.write(`${id} ${file}:${lineNumber} ${operator} ${result} ${test}\n`);
}

function readLines(file: string): Map<string, Line> {
  const texts = fs.readFileSync(file, 'utf8').trim().split('\n');
  return new Map(texts.map((text) => JSON.parse(text) as Line).map((line) => [line.id, line]));
}

function readFile(file: string): string {
  const path = join(root, file);
  return fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : '';
}

function describeEdit(file: string, text: string, { start, end, after, operator }: Edit): Mutant {
  const above = text.slice(0, start).split('\n').slice(0, -1);
  const line = text.split('\n')[above.length] ?? '';
  const occurrence = above.filter((other) => other === line).length;
  const column = start - (text.lastIndexOf('\n', start - 1) + 1);
  const before = text.slice(start, end);
  const site = { file, line, occurrence, column, operator, before, after };
  const hash = createHash('sha256').update(values.seed + JSON.stringify(site));
  return { id: hash.digest('hex').slice(0, 10), lineNumber: above.length + 1, ...site };
}

/** Takes turns between operators, so that the many equal signs do not crowd out the rest. */
async function draw(accepts: (mutant: Mutant) => Promise<boolean>): Promise<Mutant[]> {
  const drawn: Mutant[] = [];
  for (const [share, pattern] of parts) {
    const sites = fs
      .globSync(`server/src/${pattern}`, { cwd: root })
      .filter((file) => !file.endsWith('.test.ts'))
      .map((file) => ({ file, text: readFile(file) }))
      .flatMap(({ file, text }) =>
        listEdits(file, text).map((edit) => describeEdit(file, text, edit)),
      )
      .toSorted((one, other) => (one.id < other.id ? -1 : 1));
    const turns = [...Map.groupBy(sites, ({ operator }) => operator).values()]
      .flatMap((group) => group.map((site, turn) => ({ site, turn })))
      .toSorted((one, other) => one.turn - other.turn);
    const stop = drawn.length + Math.round((share * Number(values.count)) / 200);
    for (const { site } of turns) {
      const isFree = !drawn.some((other) => isAbove(site, other) && isAbove(other, site));
      if (drawn.length < stop && isFree && (await accepts(site))) drawn.push(site);
    }
  }
  return drawn;
}

/** Mutants run together, so they do not touch each other. */
function isAbove(one: Mutant, other: Mutant): boolean {
  const end = other.lineNumber + other.before.split('\n').length;
  return one.file === other.file && one.lineNumber <= end;
}

/** Whether the schema still migrates, and a statement still parses. */
function createJudge(tree: Tree, client: pg.Client): (mutant: Mutant) => Promise<boolean> {
  const isDone = async (work: Promise<unknown>): Promise<boolean> =>
    (await Promise.allSettled([work]))[0].status === 'fulfilled';
  const parses = (text: string): Promise<boolean> => {
    const body = `begin ${text.replaceAll(/\$\{[^}]*\}/g, 'x')}; end`;
    const head = 'create or replace function pg_temp.f() returns void language plpgsql as';
    return isDone(client.query(`${head} $f$ ${body} $f$`));
  };
  return async (mutant) => {
    if (mutant.file.endsWith('.sql')) return isDone(tree.apply([mutant]));
    if (!mutant.file.endsWith('.sql.ts')) return true;
    const text = readFile(mutant.file);
    const at = findPlace(text, mutant) ?? 0;
    const [from, to] = [text.lastIndexOf('`', at) + 1, text.indexOf('`', at)];
    const mutated = mutate(text, [mutant]).slice(from, to - text.length);
    return !(await parses(text.slice(from, to))) || parses(mutated);
  };
}

async function fails(tree: Tree, file: string, mutants: readonly Mutant[]): Promise<boolean> {
  await tree.apply(mutants);
  const { failed } = await tree.run([file], true);
  // It does not fail by itself where it passes with mutants.
  if (failed.length === 0) sound.set(file, Promise.resolve(true));
  return failed.length > 0;
}

/** Whether a test passes without mutants. One that does not proves nothing. */
async function isSound(tree: Tree, file: string): Promise<boolean> {
  const known = sound.get(file) ?? fails(tree, file, []).then((isFailed) => !isFailed);
  sound.set(file, known);
  if (!(await known)) process.stderr.write(`${file} fails without mutants and is left out\n`);
  return known;
}

async function testNear(tree: Tree, mutant: Line): Promise<void> {
  // The test that found it on another commit most likely finds it again.
  const known = [mutant.test ?? ''].filter(
    (file) => fs.existsSync(join(root, file)) && file !== '',
  );
  let near = [...new Set([...known, ...reach(mutant).slice(0, nearMax)])];
  for (;;) {
    await tree.apply([mutant]);
    const { failed } = await tree.run(near, true);
    const [test] = failed;
    if (test === undefined) return write({ ...mutant, result: 'near' });
    if (await isSound(tree, test)) return write({ ...mutant, result: 'found', test });
    near = near.filter((file) => file !== test);
  }
}

/** Runs tests with all mutants that are left. */
async function testFar(tree: Tree, files: readonly string[]): Promise<void> {
  for (let left = files; left.length > 0; ) {
    await tree.apply(list('near'));
    const run = await tree.run(left, false);
    for (const file of run.failed) await blame(tree, file);
    left = run.left;
  }
}

/** Finds the mutants with which a test fails, until it passes with the others. */
async function blame(tree: Tree, file: string): Promise<void> {
  const listLikely = (except?: Line): Line[] =>
    list('near')
      .filter(({ id }) => id !== except?.id)
      .map((mutant) => ({ mutant, rank: reach(mutant).indexOf(file) }))
      .filter(({ rank }) => rank >= 0)
      .toSorted((one, other) => one.rank - other.rank)
      .map(({ mutant }) => mutant);
  for (let isFailing = true; isFailing; ) {
    const culprit = await findCulprit(tree, file, listLikely());
    // A failure that takes two mutants, or chance, proves nothing about one.
    if (culprit === undefined) return;
    isFailing = await fails(tree, file, listLikely(culprit));
    if (!(await isSound(tree, file))) return;
    write({ ...culprit, result: 'found', test: file });
  }
}

/** Of mutants with which the test fails; tries the likely ones first, then twice as many, and so on. */
async function findCulprit(tree: Tree, file: string, all: Line[]): Promise<Line | undefined> {
  if (all.length === 1) return all[0];
  for (let [from, size] = [0, 1]; from < all.length; from += size, size *= 2) {
    const part = all.slice(from, from + size);
    if (await fails(tree, file, part)) return findCulprit(tree, file, part);
  }
  return undefined;
}

async function shareOut<T>(
  items: T[],
  work: (tree: Tree, item: T) => Promise<void>,
): Promise<void> {
  const serve = async (tree: Tree): Promise<void> => {
    for (let item = items.shift(); item !== undefined; item = items.shift()) await work(tree, item);
  };
  await Promise.all(trees.map(serve));
}

async function startLines(tree: Tree, url: string): Promise<void> {
  if (fs.existsSync(values.out)) {
    for (const [id, line] of readLines(values.out)) lines.set(id, line);
  } else if (values.from !== undefined) {
    for (const line of readLines(values.from).values()) {
      const isGone = findPlace(readFile(line.file), line) === undefined;
      // One that lived there goes straight to all tests.
      write({ ...line, result: isGone ? 'gone' : line.result === 'lives' ? 'near' : 'drawn' });
    }
  } else {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const drawn = await draw(createJudge(tree, client));
    for (const mutant of drawn) write({ ...mutant, result: 'drawn' });
    await client.end();
  }
}

function report(): string {
  const tried = [...lines.values()].filter(({ result }) => result !== 'gone');
  const folderOf = ({ file }: Line): string => file.split('/').slice(2, -1).join('/');
  const rows = [() => 'all', folderOf, ({ operator }: Line) => operator].flatMap((key) =>
    [...Map.groupBy(tried, key)].map(([name, group]) => {
      const found = group.filter(({ result }) => result === 'found');
      return `${name}: ${found.length} of ${group.length} found`;
    }),
  );
  const living = list('lives').map(
    (line) => `${line.id} lives: ${line.file}:${line.lineNumber} ${line.before} -> ${line.after}`,
  );
  return [...rows, `${list('gone').length} gone`, ...living].join('\n');
}

const hasMemory = fs.existsSync('/dev/shm') && process.env['TMPDIR'] === undefined;
// Each run waits for the end of this process, to end with it.
process.setMaxListeners(0);
const folder = fs.mkdtempSync(join(hasMemory ? '/dev/shm' : tmpdir(), 'outlay-mutants-'));
// Root's database runs as another user, who must be able to pass through.
fs.chmodSync(folder, 0o711);
process.env['TMPDIR'] = folder;
process.once('exit', () => {
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  execFileSync('git', ['worktree', 'prune'], { cwd: root });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const server = await startTestServer();
const url = server.connectionUrl('postgres');
const first = await openTree(root, join(folder, 'tree-0'), { serverUrl: url });
trees.push(first);
while (trees.length < Number(values.workers))
  trees.push(
    await openTree(root, join(folder, `tree-${trees.length}`), { serverUrl: url, other: first }),
  );
await startLines(first, url);
await shareOut(list('drawn'), testNear);
const far = [...new Set(list('near').flatMap(reach))].toSorted();
const groups = Map.groupBy(far, (file) => Math.floor(far.indexOf(file) / filesInGroup));
await shareOut([...groups.values()], testFar);
for (const mutant of list('near')) write({ ...mutant, result: 'lives' });
process.stdout.write(`${report()}\n`);
await server.close();
