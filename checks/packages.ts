import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Builds and packs what is published, as `npm publish` would, and checks what users would get: the
 * list of its files, `publint` and (of a library) `attw` on the packed form, and a first run of it
 * under the Node that runs this. Built and packed twice, it has to be the same bytes.
 */

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const bin = join(root, 'node_modules/.bin');
const folder = await mkdtemp(join(tmpdir(), 'outlay-packages-'));
try {
  const sdk = await packTwice('sdk');
  await call(join(bin, 'attw'), ['--profile', 'esm-only', '--no-emoji', sdk]);
  await call(process.execPath, [join(root, 'sdk/dist/index.js')]);
  await packTwice('cli');
  const help = await call(process.execPath, [
    join(root, 'cli/dist/cli/src/main.js'),
    'pay',
    '--help',
  ]);
  if (!help.includes('outlay pay')) throw new Error(`The built command line says: ${help}`);
} finally {
  await rm(folder, { recursive: true });
}

type Packed = { filename: string; integrity: string; files: { path: string }[] };

/** The path of the packed form. @throws Error where a second build gives other bytes. */
async function packTwice(name: string): Promise<string> {
  const first = await pack(name);
  const { integrity } = await pack(name);
  if (integrity !== first.integrity) throw new Error(`${name} is not packed reproducibly`);
  return first.file;
}

async function pack(name: string): Promise<{ file: string; integrity: string }> {
  const source = join(root, name);
  await rm(join(source, 'dist'), { recursive: true, force: true });
  await call(join(bin, 'tsc'), ['--project', join(source, 'tsconfig.json')]);
  const parameters = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const [packed] = JSON.parse(await call('npm', parameters, source)) as Packed[];
  if (packed === undefined) throw new Error('npm pack names no package');
  const published = /^(package\.json|README\.md|LICENSE|dist\/[\w/-]+\.(js|d\.ts))$/;
  const strange = packed.files.map(({ path }) => path).filter((path) => !published.test(path));
  if (strange.length > 0) throw new Error(`${name} would publish ${strange.join(', ')}`);
  const file = join(folder, packed.filename);
  await call(join(bin, 'publint'), ['--strict', file]);
  return { file, integrity: packed.integrity };
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
