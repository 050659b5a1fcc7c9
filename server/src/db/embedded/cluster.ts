import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../make-folder.ts';
import { EmbeddedDatabaseError, isSystemError } from './error.ts';
import { type Binaries, canReach, changeOwner, prepareBinaries } from './files.ts';
import { identifyService, isServiceAlive, waitUntilClusterIsFree } from './process.ts';
import { chooseOwner, type ProcessOwner, planInitdb } from './server-user.ts';

export interface Cluster {
  directory: string;
  logFile: string;
  owner: ProcessOwner | undefined;
  binaries: Binaries;
}

export const SUPERUSER = 'outlay';

/** The caller's environment (PGOPTIONS, a locale, a time zone) must not change the server. */
export const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: process.env['PATH'] ?? '/usr/bin:/bin' };

/** Written to postgresql.conf of a new cluster, where an operator may change them. */
const INITIAL_SETTINGS = {
  max_connections: '300',
  shared_buffers: '128MB',
  max_wal_size: '2GB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/** Finds or creates the cluster in the data folder, and checks that this version can run it. */
export async function prepareCluster(
  dataDirectory: string,
  report: (line: string) => void,
): Promise<Cluster> {
  const directory = join(dataDirectory, 'postgres');
  // Root's server runs as another user, who must be able to pass through, though not to look around.
  makeFolder(dataDirectory, process.getuid?.() === 0 ? 0o711 : 0o700);
  const owner = chooseOwner(directory);
  const binaries = prepareBinaries(owner, report);
  const cluster = { directory, logFile: join(dataDirectory, 'postgres.log'), owner, binaries };
  if (existsSync(directory)) {
    checkVersion(cluster);
    // A copy of the folder made by root belongs to root, and copies often lose the narrow mode.
    const { uid, mode } = statSync(directory);
    if (owner !== undefined && uid !== owner.uid) {
      await waitUntilClusterIsFree(directory);
      changeOwner(owner, directory);
    }
    if ((mode & 0o077) !== 0) chmodSync(directory, 0o700);
  } else {
    report('Creating the database');
    await createCluster(cluster, dataDirectory);
  }
  return cluster;
}

function checkVersion({ directory, binaries }: Cluster): void {
  const file = join(directory, 'PG_VERSION');
  if (!existsSync(file)) {
    throw new EmbeddedDatabaseError(
      `${directory} holds no PostgreSQL cluster (PG_VERSION is missing). Restore it from a backup, or move the folder away to begin with an empty database.`,
    );
  }
  const found = readFileSync(file, 'utf8').trim();
  if (found === binaries.major) return;
  throw new EmbeddedDatabaseError(
    `${directory} was made by PostgreSQL ${found}, and this version of Outlay comes with PostgreSQL ${binaries.major}, which cannot read it. Go on with the Outlay that made it, or move the data over with pg_dump.`,
  );
}

/** Creates the cluster under another name and renames it, so that a partial one is never used. */
async function createCluster(cluster: Cluster, dataDirectory: string): Promise<void> {
  const prefix = 'postgres.unfinished.';
  for (const name of readdirSync(dataDirectory)) {
    if (!name.startsWith(prefix) || isServiceAlive(name.slice(prefix.length))) continue;
    rmSync(join(dataDirectory, name), { recursive: true, force: true });
  }
  const unfinished = join(dataDirectory, `${prefix}${identifyService()}`);
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  changeOwner(cluster.owner, unfinished);
  try {
    await runInitdb(cluster, unfinished);
    renameSync(unfinished, cluster.directory);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // Another service that started at the same time has created the cluster.
    if (!isSystemError(error, 'ENOTEMPTY', 'EEXIST')) throw error;
  }
}

async function runInitdb({ binaries, owner }: Cluster, directory: string): Promise<void> {
  const place = placeIn(owner, directory);
  // No role can log in before its password is set.
  const fixed = ['-U', SUPERUSER, '-A', 'reject', '-E', 'UTF8', '--data-checksums'];
  const locale = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--no-locale'];
  const settings = Object.entries(INITIAL_SETTINGS).flatMap(([name, value]) => [
    '--set',
    `${name}=${value}`,
  ]);
  const words = ['-D', place.path, '--no-instructions', ...fixed, ...locale, ...settings];
  const passwdFile = `${directory}.passwd`;
  const plan = planInitdb(binaries.initdb, { owner, passwdFile });
  if (plan.owner !== undefined) changeOwner(plan.owner, directory);
  const child = spawn(plan.program, [...plan.words, ...words], {
    ...plan.owner,
    cwd: place.cwd,
    env: ENVIRONMENT,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const status = await new Promise<number | null>((settle, fail) => {
    child.once('error', fail).once('close', settle);
  });
  rmSync(passwdFile, { force: true });
  if (status !== 0) throw explainInitdb(complaints, dirname(directory));
  changeOwner(owner, directory);
}

function explainInitdb(complaints: string, directory: string): EmbeddedDatabaseError {
  if (complaints.includes('could not look up effective user')) {
    return new EmbeddedDatabaseError(
      `The user with number ${process.getuid?.()} has no entry in /etc/passwd, and PostgreSQL cannot create a database without one. Add the entry, or set DATABASE_URL to a PostgreSQL server.`,
    );
  }
  if (complaints.includes('No space left on device')) return describeFullDisk(directory);
  const line = complaints.split('\n').find((text) => /error:|FATAL:|PANIC:/.test(text));
  return new EmbeddedDatabaseError(
    `PostgreSQL could not create its cluster in ${directory}: ${line?.trim() ?? 'no reason given'}`,
  );
}

/**
 * How a server finds its cluster. A user who cannot pass through the folders above (a clone in
 * root's 0700 home) can still work inside a folder in which it was put: on Linux /proc/self/cwd
 * names that folder without walking the path. So the data stays where the operator wants it.
 */
export function placeIn(
  owner: ProcessOwner | undefined,
  directory: string,
): { path: string; cwd: string } {
  if (owner === undefined || canReach(owner, directory)) return { path: directory, cwd: '/' };
  if (process.platform === 'linux') return { path: '/proc/self/cwd', cwd: directory };
  throw new EmbeddedDatabaseError(
    `User ${owner.uid}, as whom PostgreSQL runs when Outlay is started by root, cannot enter ${directory}. Start Outlay as an ordinary user, or choose another folder with OUTLAY_DATA.`,
  );
}

export function describeFullDisk(directory: string): EmbeddedDatabaseError {
  return new EmbeddedDatabaseError(
    `The disk that holds ${directory} is full. Make room, or choose another folder with OUTLAY_DATA.`,
  );
}
