import { spawn } from 'node:child_process';
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

/**
 * What `npm test` runs: every test file, or with words those whose path contains one of them
 * (`npm test -- payouts`). A file named `*.external.test.ts` runs only when a word says `external`.
 */
const root = join(import.meta.dirname, '..');
const folders = ['server/{src,testing}', 'acceptance', 'bench', 'checks', 'sdk/src'];
const words = process.argv.slice(2);
const withExternal = words.some((word) => word.includes('external'));
const files = globSync(
  folders.map((folder) => `${folder}/**/*.test.ts`),
  { cwd: root },
)
  .filter((file) => withExternal || !file.endsWith('.external.test.ts'))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)));

if (files.length === 0) {
  process.stderr.write(`No test file has ${words.join(' or ')} in its path.\n`);
  process.exit(1);
}
// Test files spend a part of their time on waiting for the database.
const filesAtOnce = availableParallelism() + 1;
const memory = process.env['TMPDIR'] === undefined ? openMemory() : undefined;
const child = spawn(
  process.execPath,
  [
    '--disable-warning=ExperimentalWarning',
    '--test',
    `--test-concurrency=${filesAtOnce}`,
    '--test-global-setup=server/testing/setups/global-setup.ts',
    ...files,
  ],
  {
    cwd: root,
    env: memory === undefined ? process.env : { ...process.env, TMPDIR: memory },
    stdio: 'inherit',
  },
);
// Ctrl-C reaches the tests by itself; here it must only not come before the end of them.
process.on('SIGINT', () => undefined);
for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
child.once('exit', (code) => {
  if (memory !== undefined) rmSync(memory, { recursive: true, force: true, maxRetries: 5 });
  process.exitCode = code ?? 1;
});

/**
 * Databases and bank files are written durably, which takes no time in memory. Undefined where there
 * is little room, or where no program can be run from there.
 */
function openMemory(): string | undefined {
  const mount = '/dev/shm';
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const { bavail, bsize } = statfsSync(mount);
    const isBarred = mounts.some((line) => line.includes(` ${mount} `) && line.includes('noexec'));
    if (isBarred || bavail * bsize < 4 * 1024 ** 3) return undefined;
  } catch {
    return undefined;
  }
  const folder = mkdtempSync(join(mount, 'outlay-tests-'));
  // Root's database runs as another user, who must be able to pass through.
  chmodSync(folder, 0o711);
  return folder;
}
