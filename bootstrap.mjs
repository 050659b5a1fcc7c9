/**
 * Makes a fresh clone runnable and prints the path of the Node (24 or newer) to run it with.
 * Runs on Node 18 and up with nothing installed, so it uses built-in modules only.
 *
 * stdout: that path. stderr: progress, only when something takes long. Exit code 1: not possible.
 * `--dev` also installs what the tests and checks need. `--fonts` installs the fonts of receipts in all scripts,
 * `--ocr` what reads identity documents, `--faces` what compares faces.
 * `--console` builds the console of operators where its sources have changed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findLockfileFaults } from './lockfile.mjs';

const root = dirname(fileURLToPath(import.meta.url));
const runtime = join(root, 'runtime');
const modules = join(root, 'node_modules');
/** Exists while npm works: npm takes a package that was unpacked in part for a whole one. */
const unfinished = join(modules, '.outlay-unfinished');
const lock = join(root, '.install-lock');
const heartbeatMs = 1_000;
const staleMs = 15_000;
const nodeMajorMin = 24;
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** A reason for the person at the keyboard, printed without a stack. */
class SetupError extends Error {}

try {
  const wantsDev = process.argv.includes('--dev');
  await installOnce(
    () => hasPackages(wantsDev),
    () => installPackages(wantsDev),
  );
  if (wantsDev || process.argv.includes('--ocr')) {
    await installFolder(join(root, 'ocr'), 'Installing the reader of identity documents');
  }
  if (wantsDev || process.argv.includes('--faces')) {
    await installFolder(join(root, 'faces'), 'Installing what compares faces');
  }
  if (wantsDev || process.argv.includes('--fonts')) {
    await installFolder(join(root, 'fonts'), 'Installing the fonts of receipts');
  }
  if (wantsDev) await installFolder(join(root, 'anvil'), 'Installing the Ethereum node of tests');
  const isNewEnough = Number.parseInt(process.versions.node, 10) >= nodeMajorMin;
  const node = isNewEnough ? process.execPath : await provideNode();
  if (process.argv.includes('--console')) await buildConsole(node);
  if (!wantsDev) warmCompileCache(node);
  process.stdout.write(`${node}\n`);
} catch (error) {
  report(`outlay: ${error instanceof SetupError ? error.message : error.stack}`);
  process.exitCode = 1;
}

/**
 * Builds the console, in about two seconds, unless what is there was built from the same files. The
 * service also runs without it, so a failure is reported and is not the end.
 */
async function buildConsole(node) {
  const folder = join(root, 'web', 'console');
  const stamp = join(folder, 'dist', 'sources.sha256');
  const sources = hashFiles([
    ...['src', 'index.html', 'first-paint.ts', 'vite.config.ts', 'package.json'].map((name) =>
      join(folder, name),
    ),
    join(root, 'sdk', 'src'),
    join(root, 'package-lock.json'),
  ]);
  const isBuilt = () => fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === sources;
  await installOnce(isBuilt, () => {
    report('Building the console');
    const program = join(modules, 'vite', 'bin', 'vite.js');
    const env = { ...process.env, NODE_ENV: 'production' };
    const built = spawnSync(node, [program, 'build', '--logLevel', 'warn'], { cwd: folder, env });
    if (built.status === 0) return fs.writeFileSync(stamp, sources);
    const reason = String(built.stderr).trim().split('\n').slice(0, 8).join('\n');
    report(`The console was not built; the service runs without it.\n${reason}`);
  });
}

/**
 * A number for the names and contents of the files, and of those in the folders: the sum of their
 * hashes, because the order in which a folder lists its files is not the same everywhere.
 */
function hashFiles(paths) {
  let sum = 0n;
  const visit = (path) => {
    if (fs.statSync(path).isDirectory()) {
      for (const name of fs.readdirSync(path)) visit(join(path, name));
      return;
    }
    const hash = createHash('sha256').update(`${path.slice(root.length)}\0`);
    sum += BigInt(`0x${hash.update(fs.readFileSync(path)).digest('hex')}`);
  };
  for (const path of paths) visit(path);
  return sum.toString(16);
}

/**
 * Loads the program once, so that Node keeps it compiled. A service that finds everything compiled
 * never loads the TypeScript transformer, which would stay in its memory (20 MB).
 */
function warmCompileCache(node) {
  const cache = join(modules, '.cache', 'compile');
  if (fs.existsSync(cache)) return;
  report('Preparing the program');
  const env = { ...process.env, NODE_COMPILE_CACHE: cache };
  // The program loads the service only where a command runs it.
  const service = pathToFileURL(join(root, 'server/src/app.ts')).href;
  const words = ['--import', service, join(root, 'server/src/main.ts'), 'help'];
  spawnSync(node, words, { env, stdio: 'ignore' });
}

/** Compares the lockfile with npm's record of what it has installed. */
function hasPackages(wantsDev) {
  if (fs.existsSync(unfinished) || !fs.existsSync(join(root, 'package-lock.json'))) return false;
  const [wanted, present] = readLockfiles();
  return Object.entries(wanted).every(
    ([path, entry]) =>
      !isNeeded(path, entry, wantsDev) ||
      (present[path]?.version === entry.version && present[path].integrity === entry.integrity),
  );
}

/** A folder with packages of its own, which nothing else works in. */
function installFolder(folder, title) {
  return installOnce(
    () => isFolderInstalled(folder),
    () => {
      requireWholeLockfile(folder);
      return runNpm(['ci'], folder, title);
    },
  );
}

/** npm writes its own lockfile last, so an interrupted installation has none. */
function isFolderInstalled(folder) {
  const wanted = Object.entries(readJson(join(folder, 'package-lock.json')).packages).filter(
    ([path, entry]) => isNeeded(path, entry, true),
  );
  const present = join(folder, 'node_modules', '.package-lock.json');
  if (!fs.existsSync(present)) return wanted.length === 0;
  const { packages } = readJson(present);
  return wanted.every(([path, { integrity }]) => packages[path]?.integrity === integrity);
}

/** Optional packages are one per kind of machine; where a C library decides, npm knows which. */
function isNeeded(path, { link, dev, devOptional, optional, os, cpu, libc }, wantsDev) {
  if (!path.startsWith('node_modules/') || link || (!wantsDev && (dev || devOptional)))
    return false;
  const isForThisMachine = os?.includes(process.platform) && cpu?.includes(process.arch) && !libc;
  return !optional || isForThisMachine;
}

/** @throws SetupError with every fault of the lockfile, before npm is asked for anything. */
function requireWholeLockfile(folder) {
  const faults = findLockfileFaults(folder);
  if (faults.length === 0) return;
  const shown = faults.slice(0, 8);
  if (faults.length > shown.length) shown.push(`and ${faults.length - shown.length} more`);
  throw new SetupError(
    `Nothing was installed, because package-lock.json does not hold together:
${shown.map((fault) => `  - ${fault}`).join('\n')}
Restore the committed file: git checkout -- '*package-lock.json'`,
  );
}

/**
 * The rules of `npm ci`, without its emptying of the folder, from which a service may be running: the
 * lockfile has to say everything before npm runs, so that npm has nothing to add, and what npm has
 * installed is compared with it afterwards.
 */
async function installPackages(wantsDev) {
  requireWholeLockfile(root);
  if (fs.existsSync(unfinished)) fs.rmSync(modules, { recursive: true });
  fs.mkdirSync(modules, { recursive: true });
  fs.writeFileSync(unfinished, '');
  const groups = wantsDev ? '--include=dev' : '--omit=dev';
  await runNpm(['install', '--no-save', groups], root, 'Installing the dependencies');
  const [wanted, present] = readLockfiles();
  const unlocked = Object.entries(present)
    .filter(([path, { link, integrity }]) => !link && integrity !== wanted[path]?.integrity)
    .map(([path]) => path);
  if (unlocked.length > 0) {
    throw new SetupError(
      `npm installed what package-lock.json does not have: ${unlocked.join(', ')}`,
    );
  }
  fs.rmSync(unfinished);
  if (hasPackages(wantsDev)) return;
  throw new SetupError('npm left packages out. Remove node_modules and run this again.');
}

function readLockfiles() {
  const files = [join(root, 'package-lock.json'), join(modules, '.package-lock.json')];
  return files.map((file) => (fs.existsSync(file) ? readJson(file).packages : {}));
}

/** Installs Node from npm, into a folder of its own. */
async function provideNode() {
  const { outlayNodePackages, optionalDependencies } = readJson(join(runtime, 'package.json'));
  const machine = `${process.platform}-${process.arch}`;
  const name = outlayNodePackages[machine];
  const advice = `Install Node ${nodeMajorMin} or newer (nodejs.org) and run this again.`;
  if (name === undefined) {
    const { node } = process.versions;
    throw new SetupError(`This is Node ${node}, and npm has no Node for ${machine}. ${advice}`);
  }
  const version = optionalDependencies[name];
  const folder = join(runtime, 'node_modules', name);
  const node = join(folder, 'bin', 'node');
  const isPresent = () =>
    fs.existsSync(node) && readJson(join(folder, 'package.json')).version === version;
  await installOnce(isPresent, async () => {
    requireWholeLockfile(runtime);
    const title = `Getting Node ${version} for this folder`;
    await runNpm(['ci', '--include=optional'], runtime, title);
    if (spawnSync(node, ['--version']).status === 0) return;
    // Alpine, for one, has another C library.
    fs.rmSync(node, { force: true });
    throw new SetupError(`The Node of npm does not run on this system. ${advice}`);
  });
  return node;
}

/** Runs npm and reports that it still runs; its output only if it fails. */
async function runNpm(parameters, cwd, title) {
  // No package needs an install script. The others are settings of a person or a machine (`.npmrc`) under
  // which npm would not follow the lockfile, or would refuse the Node that runs it instead of Node 24.
  const fixed = ['--ignore-scripts', '--package-lock=true', '--engine-strict=false'];
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  const npm = process.env.npm_execpath ?? '';
  const [file, first] = basename(npm) === 'npm-cli.js' ? [process.execPath, [npm]] : ['npm', []];
  const child = spawn(file, [...first, ...parameters, ...fixed, ...quiet], {
    cwd,
    env: npmEnvironment(),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  }
  // The lock is released when npm has ended.
  const stop = (signal) => child.kill(signal);
  for (const signal of stopSignals) process.on(signal, stop);
  const startMs = Date.now();
  const seconds = () => `${Math.round((Date.now() - startMs) / 1000)} s`;
  report(`${title} ...`);
  const timer = setInterval(() => report(`${title} ... ${seconds()}`), 5_000);
  const end = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (status, signal) => resolve(signal ?? status));
  });
  clearInterval(timer);
  for (const signal of stopSignals) process.off(signal, stop);
  if (end === 0) return report(`${title}: done in ${seconds()}`);
  const isStack = /^npm \S+ +at /;
  const lines = output.split('\n').filter((line) => line.trim() !== '' && !isStack.test(line));
  const reason = lines.slice(0, 8).join('\n');
  const advice =
    'Fix the problem that npm reports below (for a network error, check the connection, the proxy and `npm config get registry`), then run this again.';
  throw new SetupError(`${title} failed (npm ${parameters[0]}: ${end}). ${advice}\n${reason}`);
}

/** npm hands its settings to scripts; those of the outer call must not reach this one. */
function npmEnvironment() {
  const ofOneCall =
    /^npm_config_(local_prefix|prefix|workspaces?|include_workspace_root|global|location|omit|include|only|production|dry_run|package_lock_only|ignore_scripts|offline_mode)$/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofOneCall.test(name)));
}

/** Does the work unless it is done; of several processes that start at once, one does it. */
async function installOnce(isDone, install) {
  if (isDone()) return;
  for (let waits = 0; !tryToLock(); waits += 1) {
    if (waits === 5) report('Waiting for another installation in this folder');
    removeStaleLock();
    // Longer than another waiter needs from its look at a stale lock to its removal.
    await sleep(200);
  }
  const beat = () => fs.utimes(lock, new Date(), new Date(), () => undefined);
  const heartbeat = setInterval(beat, heartbeatMs);
  try {
    if (!isDone()) await install();
  } finally {
    clearInterval(heartbeat);
    fs.rmSync(lock, { recursive: true, force: true });
  }
}

/** A folder is the lock, because one process only can make it, on every file system. */
function tryToLock() {
  try {
    fs.mkdirSync(lock);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw new SetupError(`${root} is not writable, and packages are missing: ${error.message}`);
  }
}

/** The owner of a lock without a heartbeat was killed. */
function removeStaleLock() {
  try {
    if (Date.now() - fs.statSync(lock).mtimeMs > staleMs) fs.rmSync(lock, { recursive: true });
  } catch {
    // It was released meanwhile.
  }
}

function readJson(file) {
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

function report(line) {
  process.stderr.write(`${line}\n`);
}
