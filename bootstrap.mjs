/**
 * Makes a fresh clone runnable and prints the path of the Node (24 or newer) to run it with.
 * Runs on Node 18 and up with nothing installed, so it uses built-in modules only.
 *
 * stdout: that one path. stderr: progress, and only when something takes long. Exit 1: not possible.
 * `--dev` also installs what the tests and checks need, `--fonts` the fonts of receipts in all scripts.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(fileURLToPath(import.meta.url));
const RUNTIME = join(ROOT, 'runtime');
const FONTS = join(ROOT, 'fonts');
const LOCK = join(ROOT, '.install-lock');
const NODE_MAJOR_MIN = 24;
const HEARTBEAT_MS = 1_000;
const STALE_MS = 30_000;
const POLL_MS = 200;

/** Of the environment: what npm may see. */
const passedToNpm =
  /^(npm_.*|path|home|user|logname|shell|te?mp|tmpdir|lang|lc_.*|tz|ci|xdg_.*|(https?|no|all)_proxy|node_(extra_ca_certs|options|use_env_proxy)|ssl_cert_(file|dir)|systemroot|systemdrive|windir|comspec|pathext|appdata|localappdata|userprofile|homedrive|homepath|programfiles.*|programdata)$/i;

/** A reason for the person at the keyboard, printed without a stack. */
class SetupError extends Error {}

try {
  const wantsDev = process.argv.includes('--dev');
  await installOnce(
    () => areDependenciesInstalled(wantsDev),
    () => installDependencies(wantsDev),
  );
  if (wantsDev || process.argv.includes('--fonts')) {
    await installOnce(areFontsInstalled, () =>
      runNpm(['ci'], FONTS, 'Installing the fonts of receipts'),
    );
  }
  const node = findNodeOnPath() ?? (await provideNode());
  if (!wantsDev) warmCompileCache(node);
  process.stdout.write(`${node}\n`);
} catch (error) {
  const text = error instanceof SetupError ? error.message : (error?.stack ?? String(error));
  process.stderr.write(`outlay: ${text}\n`);
  process.exitCode = 1;
}

/**
 * Loads the program once, so that Node keeps it compiled. A service that finds everything compiled
 * never loads the TypeScript transformer, which would stay in its memory (20 MB) for good.
 */
function warmCompileCache(node) {
  const cache = join(ROOT, 'node_modules', '.cache', 'compile');
  if (fs.existsSync(cache)) return;
  process.stderr.write('Preparing the program\n');
  spawnSync(node, [join(ROOT, 'server', 'src', 'main.ts'), 'help'], {
    env: { ...process.env, NODE_COMPILE_CACHE: cache },
    stdio: 'ignore',
  });
}

// Dependencies

/** The quick check: a stamp of both lockfiles. npm rewrites the second whenever it changes anything. */
function areDependenciesInstalled(wantsDev) {
  if (fs.existsSync(join(ROOT, 'node_modules', '.outlay-unfinished'))) return false;
  const locks = [join(ROOT, 'package-lock.json'), join(ROOT, 'node_modules', '.package-lock.json')];
  if (!locks.every((file) => fs.existsSync(file))) return false;
  const texts = locks.map((file) => fs.readFileSync(file, 'utf8'));
  const hash = createHash('sha256').update(texts.join('\n')).digest('hex');
  const stampFile = join(ROOT, 'node_modules', '.outlay-stamp');
  const stamp = fs.existsSync(stampFile) ? fs.readFileSync(stampFile, 'utf8') : '';
  if (stamp === `${hash} dev` || (stamp === `${hash} production` && !wantsDev)) return true;

  // Somebody may have installed with npm directly; that need not be done again.
  const [wanted, present] = texts.map((text) => JSON.parse(text).packages);
  const isSame = (path) =>
    present[path]?.version === wanted[path].version &&
    present[path]?.integrity === wanted[path].integrity;
  const hasAll = (withDev) => listNeededPackages(wanted, withDev).every(isSame);
  if (!hasAll(wantsDev)) return false;
  try {
    fs.writeFileSync(stampFile, `${hash} ${wantsDev || hasAll(true) ? 'dev' : 'production'}`);
  } catch {
    // A read-only installation is complete all the same; the check is only slower.
  }
  return true;
}

/** npm writes its own lockfile last, so an interrupted installation has none. */
function areFontsInstalled() {
  const present = join(FONTS, 'node_modules', '.package-lock.json');
  if (!fs.existsSync(present)) return false;
  const { packages } = readJson(present);
  return Object.entries(readJson(join(FONTS, 'package-lock.json')).packages).every(
    ([path, { integrity }]) => path === '' || packages[path]?.integrity === integrity,
  );
}

function listNeededPackages(packages, withDev) {
  return Object.entries(packages)
    .filter(([path, entry]) => path.startsWith('node_modules/') && entry.link !== true)
    .filter(([, entry]) => withDev || !(entry.dev || entry.devOptional))
    .filter(([, entry]) => !entry.optional || isForThisMachine(entry))
    .map(([path]) => path);
}

/**
 * Optional packages are one per kind of machine, and npm leaves the others out. Those for a certain
 * C library, and helpers of packages for other machines, are not judged: npm knows better.
 */
function isForThisMachine({ os, cpu, libc }) {
  return libc === undefined && os?.includes(process.platform) && cpu?.includes(process.arch);
}

/**
 * `npm install --no-save` takes the versions and hashes of the lockfile, as `npm ci` would. But
 * `npm ci` refuses a lockfile that lacks a package for some other kind of machine, which happens
 * whenever one is published late; and it empties the folder first, from which a running service (its
 * database loads libraries when they are needed) would suffer when somebody only starts the tests.
 */
async function installDependencies(wantsDev) {
  const modules = join(ROOT, 'node_modules');
  const unfinished = join(modules, '.outlay-unfinished');
  // npm takes a package whose unpacking was interrupted for a whole one.
  if (fs.existsSync(unfinished)) fs.rmSync(modules, { recursive: true });
  fs.mkdirSync(modules, { recursive: true });
  fs.writeFileSync(unfinished, '');
  const groups = wantsDev ? '--include=dev' : '--omit=dev';
  await runNpm(['install', '--no-save', groups], ROOT, 'Installing the dependencies');
  fs.rmSync(unfinished);
  if (areDependenciesInstalled(wantsDev)) return;
  throw new SetupError(
    'npm ended well, but packages are missing. Remove node_modules and try again.',
  );
}

// Node

/** The Node a person chose; not one that some package put on the PATH of an npm script. */
function findNodeOnPath() {
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    if (directory === '' || /[/\\]node_modules[/\\]\.bin[/\\]?$/.test(directory)) continue;
    const file = join(directory, 'node');
    if (!isExecutable(file)) continue;
    if (fs.realpathSync(file) === fs.realpathSync(process.execPath)) {
      return isNewEnough(process.versions.node) ? process.execPath : undefined;
    }
    // It may be a version manager's script; asking it gives the program behind it.
    const answer = askNode(file);
    return answer !== undefined && isNewEnough(answer.version) ? answer.path : undefined;
  }
  return undefined;
}

function askNode(file) {
  const script = 'JSON.stringify({ path: process.execPath, version: process.versions.node })';
  const { status, stdout } = spawnSync(file, ['-p', script], { cwd: ROOT, encoding: 'utf8' });
  return status === 0 ? JSON.parse(stdout) : undefined;
}

function isNewEnough(version) {
  return Number.parseInt(version, 10) >= NODE_MAJOR_MIN;
}

function isExecutable(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    // Absent and not allowed mean the same: look further.
    return false;
  }
}

async function provideNode() {
  const { outlayNodePackages, optionalDependencies } = readJson(join(RUNTIME, 'package.json'));
  const name = outlayNodePackages[`${process.platform}-${process.arch}`];
  const advice = `Install Node ${NODE_MAJOR_MIN} or newer (nodejs.org) and run this again.`;
  if (name === undefined) {
    throw new SetupError(
      `This is Node ${process.versions.node}, and npm has no Node for ${process.platform}-${process.arch}. ${advice}`,
    );
  }
  const folder = join(RUNTIME, 'node_modules', name);
  const isPresent = () =>
    isExecutable(join(folder, 'bin', 'node')) &&
    readJson(join(folder, 'package.json')).version === optionalDependencies[name];
  const title = `Getting Node ${optionalDependencies[name]} for this folder`;
  await installOnce(isPresent, async () => {
    await runNpm(['ci', '--include=optional'], RUNTIME, title);
    const node = join(folder, 'bin', 'node');
    // An Alpine system, for one, installs the package but cannot run it.
    if (isPresent() && askNode(node) === undefined) fs.rmSync(node);
    if (!isPresent()) throw new SetupError(`npm's Node does not run on this system. ${advice}`);
  });
  return join(folder, 'bin', 'node');
}

function readJson(file) {
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

// npm

/** Runs npm quietly and tells every few seconds that it still runs; its output only if it fails. */
async function runNpm(parameters, directory, title) {
  // Nothing here needs an install script, and not to run them is the same with every version of npm.
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = process.env.npm_execpath ?? '';
  const [file, first] = basename(npm) === 'npm-cli.js' ? [process.execPath, [npm]] : ['npm', []];
  const child = spawn(file, [...first, ...parameters, ...quiet], {
    cwd: directory,
    env: npmEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  const stop = (signal) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, stop);
  const progress = showProgress(title);
  const end = await new Promise((settle) => {
    child.once('error', (error) => settle(error.message));
    child.once('close', (status, signal) => settle(signal ?? status));
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, stop);
  progress.end(end === 0);
  if (end === 0) return;
  // The reason comes first; after it npm explains its parameters and names its log.
  const said = output.trim().split('\n').slice(0, 8).join('\n');
  throw new SetupError(
    `${title} failed (npm ${parameters[0]}: ${end}). Is the network there? Run this again when it is.\n${said}`,
  );
}

/**
 * What npm needs, and no setting or secret of the service. npm hands its own settings to scripts;
 * those about one call must not reach another npm.
 */
function npmEnvironment() {
  const ofOneCall =
    /^npm_config_(local_prefix|prefix|workspaces?|include_workspace_root|global|location|omit|include|only|production|dry_run|package_lock_only|ignore_scripts|offline_mode)$/i;
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => passedToNpm.test(name) && !ofOneCall.test(name)),
  );
}

function showProgress(title) {
  const startMs = Date.now();
  const seconds = () => Math.round((Date.now() - startMs) / 1000);
  const isTerminal = process.stderr.isTTY === true;
  process.stderr.write(isTerminal ? `${title} ...` : `${title} ...\n`);
  const show = () =>
    process.stderr.write(
      isTerminal ? `\r${title} ... ${seconds()} s` : `${title} ... ${seconds()} s\n`,
    );
  const timer = setInterval(show, isTerminal ? 1_000 : 5_000);
  return {
    end(isDone) {
      clearInterval(timer);
      const text = isDone ? `${title}: done in ${seconds()} s\n` : '';
      process.stderr.write(isTerminal ? `\r${text || '\n'}` : text);
    },
  };
}

// One installation at a time

/** Does the work unless it is done; of several processes that come at once, one does it. */
async function installOnce(isDone, install) {
  if (isDone()) return;
  const release = await takeLock();
  try {
    if (!isDone()) await install();
  } finally {
    release();
  }
}

/** A folder is the lock, because making one either succeeds or fails, on every file system. */
async function takeLock() {
  const mark = `${process.pid} ${randomBytes(8).toString('hex')}`;
  const ownerFile = join(LOCK, 'owner');
  for (let waits = 0; ; waits++) {
    if (tryToMakeLock()) break;
    if (waits === 5) process.stderr.write('Waiting for another installation in this folder\n');
    removeLockIfStale();
    await new Promise((settle) => setTimeout(settle, POLL_MS));
  }
  fs.writeFileSync(ownerFile, mark);
  const heartbeat = setInterval(() => {
    const now = new Date();
    fs.utimes(ownerFile, now, now, () => undefined);
  }, HEARTBEAT_MS);
  return () => {
    clearInterval(heartbeat);
    if (readOwner(LOCK).mark === mark) fs.rmSync(LOCK, { recursive: true, force: true });
  };
}

function tryToMakeLock() {
  try {
    fs.mkdirSync(LOCK);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw new SetupError(`${ROOT} cannot be written, and packages are missing: ${error.message}`);
  }
}

/** A killed owner's number names no process; on another machine or container its heart has stopped. */
function removeLockIfStale() {
  const { mark, ageMs } = readOwner(LOCK);
  if (ageMs === undefined || (ageMs < STALE_MS && isRunning(mark))) return;
  const aside = `${LOCK}.${randomBytes(4).toString('hex')}`;
  try {
    fs.renameSync(LOCK, aside);
  } catch {
    // It was released, or somebody else was faster.
    return;
  }
  // Between looking and renaming, a new owner may have come; it gets its lock back.
  if (readOwner(aside).mark !== mark && tryToRename(aside, LOCK)) return;
  fs.rmSync(aside, { recursive: true, force: true });
}

function tryToRename(from, to) {
  try {
    fs.renameSync(from, to);
    return true;
  } catch {
    // A third process made a lock meanwhile.
    return false;
  }
}

/** The age is undefined when there is no lock; the mark is empty before the owner has written it. */
function readOwner(lock) {
  try {
    const file = join(lock, 'owner');
    const place = fs.existsSync(file) ? file : lock;
    const mark = place === file ? fs.readFileSync(file, 'utf8') : '';
    return { mark, ageMs: Date.now() - fs.statSync(place).mtimeMs };
  } catch {
    // It was released while we looked.
    return { mark: '', ageMs: undefined };
  }
}

function isRunning(mark) {
  if (mark === '') return true;
  try {
    process.kill(Number.parseInt(mark, 10), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
