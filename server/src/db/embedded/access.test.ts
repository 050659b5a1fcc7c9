import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { copyCluster } from '../../../testing/setups/prepared-cluster.ts';
import { type EmbeddedServer, findRunningServer, startEmbedded } from './embedded.ts';
import { changeOwner } from './files.ts';

/** Who may log in to the embedded server: finding 10 of the security review. */

const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const folders: string[] = [];

after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-access-'));
  folders.push(folder);
  chmodSync(folder, 0o711);
  return folder;
}

/** A data folder with a cluster on which no server has run. */
async function makeFolderWithCluster(): Promise<string> {
  const folder = makeFolder();
  await copyCluster(folder);
  return folder;
}

async function query(url: string, statement: string): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<pg.QueryResultRow>(statement)).rows;
  } finally {
    await client.end();
  }
}

function withoutPassword(server: EmbeddedServer): string {
  const url = new URL(server.connectionUrl('postgres'));
  url.password = '';
  return url.href;
}

/** Asks as another user, in a process of its own. */
function connectAs(uid: number, url: string): string {
  const script = `
    const pg = require('pg');
    const client = new pg.Client({ connectionString: process.argv[1] });
    client.connect().then(() => console.log('connected'), (error) => console.log(error.code)).finally(() => client.end());`;
  const { stdout } = spawnSync(process.execPath, ['-e', script, url], {
    uid,
    gid: uid,
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  return stdout.trim();
}

const refused = { code: '28P01' };
const hba = (folder: string): string => readFileSync(join(folder, 'postgres/pg_hba.conf'), 'utf8');

describe('a server that has made its cluster', () => {
  let dataDirectory: string;
  let server: EmbeddedServer;
  before(async () => {
    dataDirectory = makeFolder();
    server = await startEmbedded({ dataDirectory });
  });
  after(() => server.close());

  test('a login needs the password, which only the owner of the service can read', async () => {
    assert.equal((await query(server.connectionUrl('postgres'), 'select 1')).length, 1);
    await assert.rejects(query(withoutPassword(server), 'select 1'));
    const wrong = server.connectionUrl('postgres').replace(/:[^:@]+@/, ':wrong@');
    await assert.rejects(query(wrong, 'select 1'), refused);
    assert.doesNotMatch(hba(dataDirectory), /\btrust\b/);
    assert.equal(statSync(join(dataDirectory, 'postgres.password')).mode & 0o777, 0o600);
    const running = findRunningServer(dataDirectory);
    assert.equal((await query(running?.connectionUrl('postgres') ?? '', 'select 1')).length, 1);
    const stored = await query(
      server.connectionUrl('postgres'),
      'select rolpassword from pg_authid where rolname = current_user',
    );
    assert.match(String(stored[0]?.['rolpassword']), /^SCRAM-SHA-256\$/);
  });

  test('started by root, the server runs as a user of its own, whom no other process shares', (context) => {
    if (!isRoot) return context.skip('only root can start it as another user');
    const { uid } = statSync(join(dataDirectory, 'postgres'));
    assert.notEqual(uid, nobody);
    assert.notEqual(uid, 0);
    const users = readFileSync('/etc/passwd', 'utf8');
    assert.doesNotMatch(users, new RegExp(`^[^:]*:[^:]*:${uid}:`, 'm'));
    assert.match(
      readFileSync(`/proc/${server.processId}/status`, 'utf8'),
      new RegExp(`^Uid:\\s+${uid}\\s`, 'm'),
    );
    assert.equal(connectAs(nobody, server.connectionUrl('postgres')), 'EACCES');
  });
});

test('a strict umask does not keep root from making a cluster', async (context) => {
  if (!isRoot) return context.skip('only root can start it as another user');
  const dataDirectory = makeFolder();
  const former = process.umask(0o077);
  try {
    const server = await startEmbedded({ dataDirectory });
    await server.close();
  } finally {
    process.umask(former);
  }
});

test('a data folder of an earlier version gets the password and the user', async () => {
  const dataDirectory = await makeFolderWithCluster();
  const first = await startEmbedded({ dataDirectory });
  await query(first.connectionUrl('postgres'), 'create table kept as select 7 as id');
  await first.close();
  // As in earlier versions: every local user of the socket is trusted, the files belong to `nobody`.
  rmSync(join(dataDirectory, 'postgres.password'));
  writeFileSync(join(dataDirectory, 'postgres/pg_hba.conf'), 'local all all trust\n');
  if (isRoot) changeOwner({ uid: nobody, gid: nobody }, join(dataDirectory, 'postgres'));
  for (let starts = 0; starts < 2; starts += 1) {
    const server = await startEmbedded({ dataDirectory });
    const rows = await query(server.connectionUrl('postgres'), 'select id from kept');
    assert.deepEqual(rows, [{ id: 7 }]);
    await assert.rejects(query(withoutPassword(server), 'select 1'));
    await server.close();
  }
  if (isRoot) assert.notEqual(statSync(join(dataDirectory, 'postgres')).uid, nobody);
  assert.doesNotMatch(hba(dataDirectory), /\btrust\b/);
});

test('a start that was killed while it set the password is repeated by the next one', async () => {
  const dataDirectory = await makeFolderWithCluster();
  await (await startEmbedded({ dataDirectory })).close();
  const password = readFileSync(join(dataDirectory, 'postgres.password'), 'utf8');
  const { uid, gid } = statSync(join(dataDirectory, 'postgres'));
  // The state between the two writes of pg_hba.conf.
  writeFileSync(join(dataDirectory, 'postgres/pg_hba.conf'), 'local all outlay trust\n');
  chownSync(join(dataDirectory, 'postgres/pg_hba.conf'), uid, gid);
  const server = await startEmbedded({ dataDirectory });
  await assert.rejects(query(withoutPassword(server), 'select 1'));
  await server.close();
  assert.equal(readFileSync(join(dataDirectory, 'postgres.password'), 'utf8'), password);
});

test("an operator's own rules of login stay", async () => {
  const dataDirectory = await makeFolderWithCluster();
  await (await startEmbedded({ dataDirectory })).close();
  const file = join(dataDirectory, 'postgres/pg_hba.conf');
  writeFileSync(file, `${readFileSync(file, 'utf8')}# mine\n`);
  await (await startEmbedded({ dataDirectory })).close();
  assert.match(readFileSync(file, 'utf8'), /^# mine$/m);
  assert.ok(existsSync(join(dataDirectory, 'postgres.password')));
});
