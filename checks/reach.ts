import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/**
 * What a change can reach. A module reaches the files that its text names: by an import, or by a path that it
 * reads or runs. A file that is no module (SQL, a document, a manifest) is also reached by the modules of the
 * nearest folder above it that has any, because such files are read by folder.
 */

const moduleName = /\.(?:ts|tsx|mjs|cjs)$/;
/** They decide about every file. */
const foundations =
  /^(?:package(?:-lock)?\.json|tsconfig\.json|checks\/test[^/]*\.ts|server\/testing\/setups\/(?:global-setup|database|shared-databases)\.ts)$/;
/** Types are erased before a module runs. */
const typeImport = /^(?:import|export) type [^;]*? from '[^']*';/gm;
const quoted = /(['"`])((?:\.{1,2}\/)*[\w@./-]+)\1/g;

export type Reach = {
  /** Relative to the root; files of the working tree and of the last commit. */
  readonly changed: readonly string[];
  /** Set where a change reaches everything: its first cause. */
  readonly everything: string | undefined;
  /** All files from which a changed one is reached, the changed ones included. */
  readonly reaching: ReadonlySet<string>;
};

/** @throws Error outside a git checkout. */
export function findReach(root: string): Reach {
  const run = (...words: string[]): string[] =>
    execFileSync('git', words, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 })
      .split('\0')
      .filter((path) => path !== '');
  const untracked = run('ls-files', '-z', '--others', '--exclude-standard');
  const isFirst = run('rev-list', '-z', '--max-count=2', 'HEAD').length < 2;
  const since = isFirst ? 'HEAD' : 'HEAD~1';
  const changed = [...run('diff', '-z', '--name-only', '--no-renames', since), ...untracked];
  const files = [...run('ls-files', '-z'), ...untracked];
  return {
    changed,
    everything: changed.find((path) => foundations.test(path)),
    reaching: follow(changed, drawReaders(root, files)),
  };
}

/** By file, those that read it. */
function drawReaders(root: string, files: readonly string[]): Map<string, Set<string>> {
  const known = new Set(files);
  const byFolder = Map.groupBy(files, (path) => dirname(path));
  const modulesOf = (folder: string): string[] =>
    byFolder.get(folder)?.filter((path) => moduleName.test(path)) ?? [];
  const readers = new Map<string, Set<string>>();
  const add = (file: string, reader: string): void => {
    readers.set(file, (readers.get(file) ?? new Set()).add(reader));
  };
  for (const file of files) {
    if (moduleName.test(file)) {
      for (const path of listNamed(root, file)) {
        if (known.has(path)) add(path, file);
        else if (path.includes('/') && isFolder(join(root, path))) add(`${path}/`, file);
      }
      continue;
    }
    let folder = dirname(file);
    while (folder !== '.' && modulesOf(folder).length === 0) folder = dirname(folder);
    if (folder !== '.') for (const reader of modulesOf(folder)) add(file, reader);
  }
  return readers;
}

/** Paths in the text of a module, relative to its folder and to the root. */
function listNamed(root: string, file: string): Set<string> {
  const text = readTextOrNothing(join(root, file)).replaceAll(typeImport, '');
  const paths = new Set<string>();
  for (const [, , name = ''] of text.matchAll(quoted)) {
    if (!name.includes('/') && !name.includes('.')) continue;
    paths.add(normalize(join(dirname(file), name)));
    if (!name.startsWith('.')) paths.add(normalize(name));
    // A path from a module two folders below the root: `join(root, '../docs/x.md')`.
    else paths.add(normalize(name.replace(/^(?:\.{1,2}\/)+/, '')));
  }
  return paths;
}

function readTextOrNothing(path: string): string {
  // A changed file may have been deleted.
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
    ? readFileSync(path, 'utf8')
    : '';
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function follow(changed: readonly string[], readers: Map<string, Set<string>>): Set<string> {
  const found = new Set<string>();
  const queue = [...changed];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    queue.push(...(readers.get(file) ?? []));
    if (moduleName.test(file)) continue;
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) {
      queue.push(...(readers.get(`${folder}/`) ?? []));
    }
  }
  return found;
}
