import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { findReach } from './reach.ts';

/**
 * What `npm test` runs: every test file, or with words those whose path contains one of them
 * (`npm test -- payouts`), or with `--changed` those that the working tree and the last commit can reach.
 * A file named `*.external.test.ts` runs only when a word says `external`, and one named `*.long.test.ts`
 * only when a word says `long`. `--shuffle 7` runs the files in another order, the same for each number.
 */
const root = join(import.meta.dirname, '..');
const folders = [
  'server/{src,testing}',
  'acceptance',
  'bench',
  'checks',
  'sdk/src',
  'cli/src',
  'web/console/src',
];
const { values: flags, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { changed: { type: 'boolean', default: false }, shuffle: { type: 'string' } },
});
const leftOut = ['external', 'long'].filter((kind) => !words.some((word) => word.includes(kind)));
const all = globSync(
  folders.map((folder) => `${folder}/**/*.test.ts`),
  { cwd: root },
).filter((file) => leftOut.every((kind) => !file.endsWith(`.${kind}.test.ts`)));
const named = all.filter((file) => words.length === 0 || words.some((word) => file.includes(word)));
const files = flags.changed ? selectReached(named) : named;

if (files.length === 0) {
  const reason = words.length === 0 ? 'can be reached' : `has ${words.join(' or ')} in its path`;
  process.stderr.write(`No test file ${reason}.\n`);
  process.exit(words.length === 0 ? 0 : 1);
}
// Tests spend a part of their time on waiting, for the database and for answers that do not come. Each
// group takes up to 40 connections, of which the server has 300.
const groupsAtOnce = Math.min(availableParallelism() + 2, 6);
const filesInGroup = chooseGroupSize(files.length);
const memoryMount = '/dev/shm';
const folder = openFolder();
const child = spawn(
  process.execPath,
  [
    '--disable-warning=ExperimentalWarning',
    // Threads of the garbage collector take processor time from other groups, and gain none.
    '--single-threaded-gc',
    '--test',
    `--test-concurrency=${groupsAtOnce}`,
    '--test-global-setup=server/testing/setups/global-setup.ts',
    ...writeGroups(files),
  ],
  { cwd: root, env: { ...process.env, TMPDIR: folder }, stdio: 'inherit', detached: true },
);
// All processes of the tests are one group, so that the services that they have started end with them.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, signal);
  });
}
child.once('exit', (code) => {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.exitCode = code ?? 1;
});

/** Says what runs and what does not. */
function selectReached(candidates: readonly string[]): string[] {
  const { changed, everything, reaching } = findReach(root);
  const found =
    everything === undefined ? candidates.filter((file) => reaching.has(file)) : candidates;
  const [first = 'nothing', ...others] = changed;
  const cause = others.length === 0 ? first : `${first} and ${others.length} others`;
  const lines = [`Changed in the working tree and the last commit: ${cause}.`];
  if (everything !== undefined) lines.push(`${everything} reaches everything.`);
  lines.push(
    `${found.length} of ${candidates.length} test files can be reached. Left out: the other ` +
      `${candidates.length - found.length}, and what has external or long in its name.`,
  );
  process.stdout.write(`${lines.join('\n')}\n`);
  return [...found];
}

/**
 * A process takes a second of processor time to load the program, so there are as many as run at once, each
 * with a share of every folder. In the long form single files take minutes.
 */
function chooseGroupSize(count: number): number {
  // Against one service that runs already, whose clock one file must not move while another one tests.
  if (process.env['OUTLAY_STAGING_FILE'] !== undefined) return count;
  if (process.env['OUTLAY_TEST_LONG'] === '1') return 3;
  return Math.ceil(count / Math.min(groupsAtOnce, Math.ceil(count / 4)));
}

/**
 * First what waits for other programs: it takes longest and uses the processor least. The conformance suite
 * over SFTP takes a quarter of an hour where each connection starts slowly.
 */
function rank(file: string): number {
  if (file.endsWith('conformance.external.test.ts')) return 0;
  return file.endsWith('.external.test.ts') ? 1 : 2;
}

/** The files in the order in which groups take them. */
function sortFiles(given: readonly string[]): string[] {
  if (flags.shuffle === undefined) {
    return given.toSorted((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1));
  }
  process.stdout.write(`The order of the test files is that of --shuffle ${flags.shuffle}.\n`);
  const place = (file: string): string =>
    createHash('sha256').update(`${flags.shuffle} ${file}`).digest('hex');
  return given.toSorted((one, other) => (place(one) < place(other) ? -1 : 1));
}

/** Writes a test file for each group, which runs the files of the group in one process. */
function writeGroups(given: readonly string[]): string[] {
  const sorted = sortFiles(given);
  const count = Math.ceil(sorted.length / filesInGroup);
  const [tracking, module] = ['test-tracking', 'test-group'].map((name) =>
    // An import reads `#`, `?` and `%` of a path as parts of an address.
    JSON.stringify(pathToFileURL(join(root, `checks/${name}.ts`)).href),
  );
  return Array.from({ length: count }, (_, index) => {
    // Files of one folder take about as long, so that neighbors are dealt to different groups.
    const group = sorted.filter((_file, place) => place % count === index);
    const path = join(folder, `group-${String(index).padStart(2, '0')}.test.mjs`);
    const call = `await testTogether(${JSON.stringify(root)}, ${JSON.stringify(group, null, 2)});`;
    const imports = `import ${tracking};\nconst { testTogether } = await import(${module});`;
    writeFileSync(path, `${imports}\n${call}\n`);
    return path;
  });
}

/**
 * For databases and bank files, which are written durably: that takes no time in memory. On the disk
 * where there is little room, or where no program can be run from there.
 */
function openFolder(): string {
  const isInMemory = process.env['TMPDIR'] === undefined && hasMemory();
  const path = mkdtempSync(join(isInMemory ? memoryMount : tmpdir(), 'outlay-tests-'));
  // Root's database runs as another user, who must be able to pass through.
  chmodSync(path, 0o711);
  return path;
}

function hasMemory(): boolean {
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const { bavail, bsize } = statfsSync(memoryMount);
    const isBarred = mounts.some(
      (line) => line.includes(` ${memoryMount} `) && line.includes('noexec'),
    );
    return !isBarred && bavail * bsize >= 4 * 1024 ** 3;
  } catch {
    return false;
  }
}
