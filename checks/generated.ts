import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describeConfig } from '../server/src/config.ts';
import { generateDescription } from './openapi/generate.ts';
import { generatePayoutStates } from './payout-states.ts';
import { generateRailsDocument } from './rails-document.ts';
import { generateSandboxValues } from './sandbox-values.ts';
import { generateSdk } from './sdk-types.ts';

/**
 * Every file that a program of ours writes. `npm run generate` writes them; `npm run check` runs
 * this without `--write` and fails when one is not what its program would write now. Types of the
 * API are not in git, because only the compiler reads them: both write those.
 */
const generators: readonly (() => Map<string, string> | Promise<Map<string, string>>)[] = [
  () => new Map([['.env.example', describeConfig()]]),
  generateSandboxValues,
  generateDescription,
  generatePayoutStates,
  generateRailsDocument,
  generateSdk,
];

const builtFiles: ReadonlySet<string> = new Set([
  'sdk/src/generated/api.ts',
  'web/console/src/api/generated/operators.ts',
]);

const root = join(import.meta.dirname, '..');
const isWriting = process.argv.includes('--write');
const stale: string[] = [];
for (const generate of generators) {
  for (const [path, text] of await generate()) {
    const file = join(root, path);
    // A file that is absent is stale like any other.
    const present = await readFile(file, 'utf8').catch(() => undefined);
    if (present === text) continue;
    const isBuilt = builtFiles.has(path);
    if (!isBuilt) stale.push(path);
    if (!isBuilt && !isWriting) continue;
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}
if (stale.length > 0) {
  const said = isWriting ? 'Written' : 'Stale, run npm run generate';
  process.stderr.write(`${said}: ${stale.join(', ')}\n`);
  if (!isWriting) process.exitCode = 1;
}
