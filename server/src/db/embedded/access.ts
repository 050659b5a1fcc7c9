import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import {
  chownSync,
  closeSync,
  fchownSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type Cluster, SUPERUSER } from './cluster.ts';
import { isSystemError } from './error.ts';
import { signalProcess, waitUntilClusterIsFree } from './process.ts';
import { dismissGuard, type ServerStart, startOnceFree } from './server.ts';

/**
 * Who may log in to the embedded server: the owner of the data folder, by a password that lies beside
 * the cluster. The permissions of the socket's folder keep other users out too.
 */

const passwordFile = 'postgres.password';
const rulesFile = 'pg_hba.conf';
/** For the server that sets the password. It never replaces the rules of a running service. */
const setupRulesFile = 'pg_hba.setup.conf';

/** Undefined where a service of an earlier version runs, or none has run. */
export function readPassword(dataDirectory: string): string | undefined {
  try {
    return readFileSync(join(dataDirectory, passwordFile), 'utf8').trim();
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/**
 * Sets the password of a new cluster, of one that an earlier version made, and of one whose password
 * is lost, and returns it. No server may run on the cluster.
 */
export async function prepareAccess(start: ServerStart, dataDirectory: string): Promise<string> {
  const { cluster } = start;
  const password = readPassword(dataDirectory) ?? createPassword(dataDirectory);
  const mark = `# outlay ${createHash('sha256').update(password).digest('hex').slice(0, 32)}\n`;
  if (readFileSync(join(cluster.directory, rulesFile), 'utf8').startsWith(mark)) return password;
  await waitUntilClusterIsFree(cluster.directory);
  writeInCluster(cluster, setupRulesFile, `local all ${SUPERUSER} trust\n`);
  await setPassword({ ...start, rulesFile: setupRulesFile }, password);
  const rules = ['local all all scram-sha-256', 'local replication all scram-sha-256'];
  // The mark comes last: until then the next start repeats all of it.
  writeInCluster(cluster, rulesFile, `${mark}${rules.join('\n')}\n`);
  rmSync(join(cluster.directory, setupRulesFile));
  return password;
}

function createPassword(dataDirectory: string): string {
  const password = randomBytes(32).toString('base64url');
  const file = join(dataDirectory, passwordFile);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${password}\n`, { mode: 0o600 });
  // After one start as root, starts without root must work again.
  const { uid, gid } = statSync(dataDirectory);
  if (process.getuid?.() === 0) chownSync(draft, uid, gid);
  renameSync(draft, file);
  return password;
}

/** The server's user could have put a link in place of a file, which root must not follow. */
function writeInCluster({ directory, owner }: Cluster, name: string, text: string): void {
  const draft = join(directory, `${name}.draft`);
  rmSync(draft, { force: true });
  const file = openSync(draft, 'wx', 0o600);
  try {
    if (owner !== undefined) fchownSync(file, owner.uid, owner.gid);
    writeFileSync(file, text);
  } finally {
    closeSync(file);
  }
  renameSync(draft, join(directory, name));
}

/** Runs a server that trusts every user who can enter the socket's folder: its own user and root. */
async function setPassword(start: ServerStart, password: string): Promise<void> {
  const server = await startOnceFree(start);
  const ended = new Promise((resolve) => server.child.once('exit', resolve));
  const client = new pg.Client({
    host: start.socketDirectory,
    user: SUPERUSER,
    database: 'postgres',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const verifier = client.escapeLiteral(createVerifier(password));
    await client.query(`alter role ${SUPERUSER} password ${verifier}`);
  } finally {
    await client.end();
    signalProcess(server.child.pid ?? 0, 'SIGINT');
    await ended;
    dismissGuard(server);
  }
}

/** As PostgreSQL stores it (RFC 5803), so that the password itself never reaches the server. */
function createVerifier(password: string): string {
  const [salt, iterations] = [randomBytes(16), 4096];
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const derive = (name: string): Buffer => createHmac('sha256', salted).update(name).digest();
  const storedKey = createHash('sha256').update(derive('Client Key')).digest('base64');
  const serverKey = derive('Server Key').toString('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}
