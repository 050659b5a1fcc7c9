import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { findFreePort } from '../rails-trial/processes.ts';
import {
  endProgram,
  findPostmaster,
  give,
  killServer,
  makeFolder,
  startProgram,
  waitFor,
} from './machine.ts';

/** Two PostgreSQL servers under Patroni, with etcd and a synchronous standby. */

/**
 * Seconds. Patroni wants ttl >= loop_wait + 2 * retry_timeout; its defaults are 30, 10 and 10. A server
 * whose machine is gone is replaced when its leader key has expired, after `ttl` at most.
 */
export const timing = { ttl: 8, loop_wait: 1, retry_timeout: 3 };

const version = '15';
const binaries = `/usr/lib/postgresql/${version}/bin`;

type Node = {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  readonly dataFolder: string;
  readonly configFile: string;
  readonly logFile: string;
  patroni: ChildProcess;
};

export type Cluster = {
  /** For the service: both hosts, of which the writable one is used. */
  readonly url: string;
  /** Resolves with the primary's name once the other one is its synchronous standby. */
  waitUntilSynchronous(): Promise<string>;
  /** kill -9 of the primary's server alone, or of its Patroni too, as when the machine dies. */
  killPrimary(isWholeNode: boolean): Promise<string>;
  /** Starts what was killed of the node. */
  revive(name: string): void;
  close(): Promise<void>;
};

type Member = { name: string; role: string; state: string; lag?: number | string };

export async function openCluster(folder: string): Promise<Cluster> {
  const [client, peer] = [await findFreePort(), await findFreePort()];
  const etcd = startEtcd(folder, { client, peer });
  const passwords = { superuser: newPassword(), replication: newPassword() };
  const nodes: Node[] = [];
  for (const name of ['pg1', 'pg2']) {
    const own = makeFolder(join(folder, name));
    const node = {
      name,
      port: await findFreePort(),
      restPort: await findFreePort(),
      dataFolder: join(own, 'data'),
      configFile: join(own, 'patroni.yml'),
      logFile: join(folder, `${name}.log`),
    };
    writeFileSync(node.configFile, JSON.stringify(configure(node, { own, client, passwords })));
    give(node.configFile);
    nodes.push({ ...node, patroni: startPatroni(node) });
  }
  const find = (name: string): Node => {
    const node = nodes.find((one) => one.name === name);
    if (node === undefined) throw new Error(`no node ${name}`);
    return node;
  };
  const waitUntilSynchronous = async (): Promise<string> => {
    let primary = '';
    await waitFor('a primary with a synchronous standby', async () => {
      const members = await listMembers(nodes);
      primary = members.find(({ role }) => role === 'leader')?.name ?? '';
      return primary !== '' && members.some(isStandby);
    });
    return primary;
  };
  const primary = find(await waitUntilSynchronous());
  const url = await createDatabase({ nodes, primary, password: passwords.superuser });
  return {
    url,
    waitUntilSynchronous,
    killPrimary: async (isWholeNode) => {
      const node = find(await waitUntilSynchronous());
      const postmaster = findPostmaster(node.dataFolder);
      if (postmaster === undefined) throw new Error(`${node.name} has no server`);
      if (isWholeNode) node.patroni.kill('SIGKILL');
      killServer(postmaster);
      return node.name;
    },
    revive: (name) => {
      const node = find(name);
      const { exitCode, signalCode } = node.patroni;
      if (exitCode !== null || signalCode !== null) node.patroni = startPatroni(node);
    },
    close: async () => {
      for (const node of nodes) {
        await endProgram(node.patroni, 'SIGKILL');
        const postmaster = findPostmaster(node.dataFolder);
        if (postmaster !== undefined) killServer(postmaster);
      }
      await endProgram(etcd, 'SIGTERM');
    },
  };
}

const newPassword = (): string => randomBytes(18).toString('base64url');
const isStandby = ({ role, state }: Member): boolean =>
  role === 'sync_standby' && (state === 'running' || state === 'streaming');

function startEtcd(folder: string, ports: { client: number; peer: number }): ChildProcess {
  const [client, peer] = [`http://127.0.0.1:${ports.client}`, `http://127.0.0.1:${ports.peer}`];
  const options = {
    name: 'drill',
    'data-dir': makeFolder(join(folder, 'etcd')),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `drill=${peer}`,
  };
  const words = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  return startProgram(['/usr/bin/etcd', ...words], join(folder, 'etcd.log'));
}

function startPatroni({ configFile, logFile }: Pick<Node, 'configFile' | 'logFile'>): ChildProcess {
  return startProgram(['/usr/bin/patroni', configFile], logFile);
}

/** Patroni's configuration; JSON is YAML. */
function configure(
  node: Omit<Node, 'patroni'>,
  { own, client, passwords }: { own: string; client: number; passwords: Record<string, string> },
): Record<string, unknown> {
  const [address, rest] = [`127.0.0.1:${node.port}`, `127.0.0.1:${node.restPort}`];
  return {
    scope: 'drill',
    name: node.name,
    restapi: { listen: rest, connect_address: rest },
    etcd3: { host: `127.0.0.1:${client}` },
    bootstrap: {
      dcs: {
        ...timing,
        // A server that was killed is replaced at once, not started again in its place.
        master_start_timeout: 0,
        synchronous_mode: true,
        postgresql: {
          use_pg_rewind: true,
          // After a crash the server flushes whole file systems instead of each file.
          parameters: { max_connections: 100, recovery_init_sync_method: 'syncfs' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
    },
    postgresql: {
      listen: address,
      connect_address: address,
      data_dir: node.dataFolder,
      bin_dir: binaries,
      pgpass: join(own, 'pgpass'),
      authentication: {
        superuser: { username: 'postgres', password: passwords['superuser'] },
        replication: { username: 'replicator', password: passwords['replication'] },
      },
      parameters: { unix_socket_directories: own, password_encryption: 'scram-sha-256' },
      pg_hba: [
        'local all all trust',
        'host replication replicator 127.0.0.1/32 scram-sha-256',
        'host all all 127.0.0.1/32 scram-sha-256',
      ],
    },
  };
}

/** As the first node that answers sees them. */
async function listMembers(nodes: readonly Node[]): Promise<Member[]> {
  for (const { restPort } of nodes) {
    try {
      const reply = await fetch(`http://127.0.0.1:${restPort}/cluster`, {
        signal: AbortSignal.timeout(2_000),
      });
      const { members } = (await reply.json()) as { members: Member[] };
      return members;
    } catch {
      // Its Patroni does not run.
    }
  }
  return [];
}

async function createDatabase(server: {
  nodes: readonly Node[];
  primary: Node;
  password: string;
}): Promise<string> {
  const password = newPassword();
  const client = new pg.Client({
    host: '127.0.0.1',
    port: server.primary.port,
    user: 'postgres',
    password: server.password,
    database: 'postgres',
  });
  await client.connect();
  await client.query(`create role outlay login createrole password '${password}'`);
  await client.query('create database outlay_staging owner outlay');
  await client.end();
  const hosts = server.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return `postgresql://outlay:${password}@${hosts}/outlay_staging?target_session_attrs=read-write`;
}
