import { globSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

/**
 * What `npm test` runs: every test file, or with words those whose path contains one of them
 * (`npm test -- payouts`). A file named `*.external.test.ts` runs only when a word says `external`.
 */
const root = join(import.meta.dirname, '..');
const folders = ['server/{src,testing}', 'acceptance', 'bench', 'checks'];
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
process.chdir(root);
// Databases and bank files are written durably; in memory, where there is room, that takes no time.
const memory = '/dev/shm';
if (process.env['TMPDIR'] === undefined && countFreeBytes(memory) > 4 * 1024 ** 3) {
  process.env['TMPDIR'] = memory;
}
// Test files spend a part of their time on waiting for the database.
const filesAtOnce = availableParallelism() + 1;
// In this process's place, so that a signal reaches the tests.
process.execve?.(process.execPath, [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  '--test',
  `--test-concurrency=${filesAtOnce}`,
  '--test-global-setup=server/testing/setups/global-setup.ts',
  ...files,
]);

function countFreeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return 0;
  }
}
