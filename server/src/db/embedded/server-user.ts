import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { EmbeddedDatabaseError } from './error.ts';

/** As whom the embedded server runs. */

/** The user of the PostgreSQL process; undefined: the user of this process. */
export interface ProcessOwner {
  uid: number;
  gid: number;
}

// The number nearly every Unix gives to nobody, for systems without a readable /etc/passwd.
const NOBODY_ID = 65_534;
// Free by systemd's list of ranges, and below the 65,536 numbers that a rootless container has.
const OWN_IDS = { first: 61_100, last: 61_183 };

/**
 * PostgreSQL refuses to run as root, so root starts it as the owner of the existing cluster, or as a
 * user of its own that no other program has: `nobody` is shared. No user is created on the host.
 */
export function chooseOwner(clusterDirectory: string): ProcessOwner | undefined {
  const ourUid = process.getuid?.();
  const cluster = existsSync(clusterDirectory) ? lstatSync(clusterDirectory) : undefined;
  if (ourUid !== 0) {
    if (cluster !== undefined && cluster.uid !== ourUid) {
      throw new EmbeddedDatabaseError(
        `The database files in ${clusterDirectory} belong to user ${cluster.uid}, not to user ${ourUid} who starts Outlay. Start it as that user (or as root), or choose another folder with OUTLAY_DATA.`,
      );
    }
    return undefined;
  }
  const nobody = findNobody();
  // Files keep their owner, so that a later start without root works.
  if (cluster !== undefined && cluster.uid !== 0 && cluster.uid !== nobody.uid) {
    return { uid: cluster.uid, gid: cluster.gid };
  }
  return findOwnUser() ?? nobody;
}

/** Undefined where this system, such as a container with few numbers, does not have them. */
function findOwnUser(): ProcessOwner | undefined {
  const users = readUsers();
  let id = OWN_IDS.first;
  while (new RegExp(`^[^:]*:[^:]*:${id}:`, 'm').test(users)) id += 1;
  if (id > OWN_IDS.last) return undefined;
  const owner = { uid: id, gid: id };
  const trial = spawnSync('/bin/sh', ['-c', ':'], { ...owner, cwd: '/', stdio: 'ignore' });
  return trial.status === 0 ? owner : undefined;
}

/** How initdb is started: by this program with these words before its own, as this user. */
export type InitdbStart = { program: string; words: string[]; owner: ProcessOwner | undefined };

/** Runs a program ($3) as a user ($2) with an entry in /etc/passwd ($1), which only it sees. */
const NAMED_USER_SCRIPT = `
passwd=$1
user=$2
shift 2
mount --bind "$passwd" /etc/passwd && exec setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
`;

/**
 * initdb, unlike the server, refuses a user without an entry in /etc/passwd. Where root may mount, it
 * gets one in a namespace of its own. Elsewhere (macOS, most containers) `nobody` makes the cluster,
 * which then changes hands before its first start.
 */
export function planInitdb(
  initdb: string,
  { owner, passwdFile }: { owner: ProcessOwner | undefined; passwdFile: string },
): InitdbStart {
  if (owner === undefined || !isOwnUser(owner)) return { program: initdb, words: [], owner };
  writeFileSync(passwdFile, `outlay-postgres:x:${owner.uid}:${owner.gid}::/:/bin/false\n`);
  // A strict umask must not hide the entry from its user.
  chmodSync(passwdFile, 0o644);
  const namespace = ['--mount', '--propagation', 'private', '/bin/sh', '-c', NAMED_USER_SCRIPT];
  const words = [...namespace, 'sh', passwdFile, String(owner.uid)];
  const trial = spawnSync('unshare', [...words, '/bin/sh', '-c', ':'], { stdio: 'ignore' });
  if (trial.status !== 0) return { program: initdb, words: [], owner: findNobody() };
  return { program: 'unshare', words: [...words, initdb], owner: undefined };
}

function isOwnUser({ uid }: ProcessOwner): boolean {
  return uid >= OWN_IDS.first && uid <= OWN_IDS.last;
}

function findNobody(): ProcessOwner {
  const [, uid = '', gid = ''] = /^nobody:[^:]*:(-?\d+):(-?\d+):/m.exec(readUsers()) ?? [];
  if (uid === '') return { uid: NOBODY_ID, gid: NOBODY_ID };
  // macOS writes -2 where the system calls want the same bits unsigned.
  return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
}

function readUsers(): string {
  return existsSync('/etc/passwd') ? readFileSync('/etc/passwd', 'utf8') : '';
}
