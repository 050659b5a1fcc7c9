import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Builds and packs the SDK as `npm publish` would, and checks what users would get: the list of its
 * files, `publint` and `attw` on the packed form, and an import under the Node that runs this.
 */

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const bin = join(root, 'node_modules/.bin');
const folder = await mkdtemp(join(tmpdir(), 'outlay-sdk-'));
try {
  await check();
} finally {
  await rm(folder, { recursive: true });
}

type Packed = { filename: string; files: { path: string }[] };

async function check(): Promise<void> {
  const sdk = join(root, 'sdk');
  await rm(join(sdk, 'dist'), { recursive: true, force: true });
  await call(join(bin, 'tsc'), ['--project', join(sdk, 'tsconfig.json')]);
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const [packed] = JSON.parse(await call('npm', pack, sdk)) as Packed[];
  if (packed === undefined) throw new Error('npm pack names no package');
  const strange = packed.files
    .map(({ path }) => path)
    .filter((path) => !/^(package\.json|README\.md|LICENSE|dist\/[\w/-]+\.(js|d\.ts))$/.test(path));
  if (strange.length > 0) throw new Error(`The SDK would publish ${strange.join(', ')}`);
  const file = join(folder, packed.filename);
  await call(join(bin, 'publint'), ['--strict', file]);
  await call(join(bin, 'attw'), ['--profile', 'esm-only', '--no-emoji', file]);
  await call(process.execPath, [join(sdk, 'dist/index.js')]);
}

/** @throws Error with the output of a program that fails. */
async function call(program: string, parameters: string[], cwd = root): Promise<string> {
  try {
    return (await run(program, parameters, { cwd })).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program}\n${stdout}${stderr}`, { cause: error });
  }
}
