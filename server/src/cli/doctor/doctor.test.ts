import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import {
  createLiveSetup,
  type LiveSetup,
  partnerRail,
  yesterday,
} from '../../../testing/setups/live.ts';
import { describeConfig as describeNacha } from '../../../testing/setups/nacha.ts';
import { type PartnerProcess, startPartner } from '../../../testing/setups/partner.ts';
import { copyCluster } from '../../../testing/setups/prepared-cluster.ts';
import { readConfig } from '../../config.ts';
import { type EmbeddedServer, startEmbedded } from '../../db/embedded/embedded.ts';
import { migrate } from '../../db/migrate.ts';
import { createSession } from '../../db/postgres/connection.ts';
import { createDatabaseIfAbsent } from '../../db/postgres/create-database.ts';
import { describeAdvice } from './database-checks.ts';
import { examine } from './doctor.ts';
import { reportFindings } from './finding.ts';
import { checkDecoder } from './machine-checks.ts';
import { inspectServer } from './server-checks.ts';

/** A live set-up without problems, and each problem that the doctor finds. */

let folder: string;
let server: EmbeddedServer;
let partner: PartnerProcess;
let setup: LiveSetup;
let occupied: Server;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'outlay-doctor-'));
  chmodSync(folder, 0o755);
  const dataDirectory = join(folder, 'data');
  await copyCluster(dataDirectory);
  server = await startEmbedded({ dataDirectory, temporary: true });
  partner = await startPartner();
  const url = await createDatabaseIfAbsent(server, 'right');
  setup = await createLiveSetup({ url, drop: async () => undefined });
  setup.writeRates(yesterday(), { USD: '1', MXN: '18' });
  setup.writeRails([healthyRail()]);
  const app = await setup.start('work');
  await app.app.environments.live?.importRates();
  await app.close();
  await prepareDatabases();
  occupied = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await new Promise((resolve) => {
    occupied.once('listening', resolve);
  });
});
after(async () => {
  occupied.close();
  await setup.close();
  await partner.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const healthyRail = (config: object = {}) =>
  partnerRail({
    config: {
      baseUrl: partner.url,
      signingKey: partner.keys.outlay,
      partnerKeys: [partner.keys.partner],
      ...config,
    },
  });

async function run(database: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: server.connectionUrl(database) });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** A database of staging, an empty one with no rights in it, and a role with a password. */
async function prepareDatabases(): Promise<void> {
  await migrate({ url: await createDatabaseIfAbsent(server, 'of_staging') });
  await run('of_staging', `insert into environment (name, master_key_id) values ('staging', 'x')`);
  await run(
    'postgres',
    'create database bare',
    `create role plain login password 'plain'`,
    `create role guarded login password 'right'`,
  );
}

const urlOf = (database: string, role?: string) =>
  role === undefined
    ? server.connectionUrl(database)
    : server.connectionUrl(database).replace(/\/\/[^@]*@/, `//${role}@`);

type Changes = Record<string, string | undefined>;

async function listProblems(changes: Changes = {}, uid = 1000): Promise<string[]> {
  const findings = await examine({ ...setup.variables, ...changes }, { realNowMs: Date.now, uid });
  return findings.filter(({ isFine }) => !isFine).map(({ text }) => text);
}

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const rails = (name: string, ...list: readonly object[]) => ({
  OUTLAY_LIVE_RAILS: write(`${name}.json`, JSON.stringify({ rails: list })),
});

const nachaRail = (inFolder: string) =>
  partnerRail(
    { kind: 'nacha', name: 'bank_us', config: describeNacha(inFolder) },
    { countryCode: 'USA', deliveryType: 'BANK_DEPOSIT', currencies: ['USD'] },
  );

const key = () => Buffer.alloc(32, 7).toString('base64');

/** What is broken, how, and the finding. */
const broken: readonly [string, () => Changes | Promise<Changes>, RegExp][] = [
  [
    'the password',
    () => ({ OUTLAY_LIVE_DATABASE_URL: urlOf('right', 'guarded:wrong') }),
    /password authentication failed.*correct role or password in OUTLAY_LIVE_DATABASE_URL/,
  ],
  [
    'the certificate of the authority',
    () => ({ OUTLAY_LIVE_DATABASE_URL: `${urlOf('right')}&sslrootcert=/nowhere/ca.pem` }),
    /nowhere\/ca\.pem.*correct the path in OUTLAY_LIVE_DATABASE_URL/,
  ],
  [
    'the address of the database',
    () => ({ OUTLAY_LIVE_DATABASE_URL: 'postgresql://outlay@127.0.0.1:2/outlay' }),
    /ECONNREFUSED.*correct host and port in OUTLAY_LIVE_DATABASE_URL/,
  ],
  [
    'the name of the database',
    () => ({ OUTLAY_LIVE_DATABASE_URL: urlOf('absent') }),
    /database "absent" does not exist; create the database/,
  ],
  [
    'the master key',
    () => ({ OUTLAY_LIVE_MASTER_KEY: key() }),
    /OUTLAY_LIVE_MASTER_KEY is not the master key of this database/,
  ],
  [
    'a missing master key',
    () => ({ OUTLAY_LIVE_MASTER_KEY: undefined }),
    /the master key is missing: set OUTLAY_LIVE_MASTER_KEY or restore .*live\.key/,
  ],
  [
    'a key file that others can read',
    () => {
      const data = join(folder, 'open');
      mkdirSync(data, { recursive: true });
      writeFileSync(join(data, 'live.key'), setup.variables['OUTLAY_LIVE_MASTER_KEY'] ?? '');
      chmodSync(join(data, 'live.key'), 0o644);
      return { OUTLAY_DATA: data };
    },
    /live\.key can be read by others: chmod 600/,
  ],
  ['no rails in live', () => ({ OUTLAY_LIVE_RAILS: undefined }), /no rails.*set OUTLAY_LIVE_RAILS/],
  [
    'the file of rails',
    () => ({ OUTLAY_LIVE_RAILS: '/nowhere/rails.json' }),
    /nowhere\/rails\.json\): the file cannot be read/,
  ],
  [
    'a calendar in the file of rails',
    () => {
      const availability = { calendar: 'TARGET', delay: { minutes: 5 } };
      return rails('calendar', partnerRail({}, { availability }));
    },
    /availability\.calendar: must be null or the ISO 3166-1 alpha-2 code/,
  ],
  [
    'the secret of a rail',
    () => rails('secret', healthyRail({ signingKey: { env: 'CASH_MX_KEY' } })),
    /rail cash_mx: the environment variable CASH_MX_KEY is not set/,
  ],
  [
    'a partner that does not answer',
    () => rails('silent', partnerRail()),
    /rail cash_mx \(partner\): the partner cannot be reached/,
  ],
  [
    'the folder of a bank',
    () => rails('bank', nachaRail(join(folder, 'unmounted'))),
    /rail bank_us \(nacha\): .*unmounted/,
  ],
  [
    'the file of sanctions',
    () => ({ OUTLAY_SCREENING_UN: '/nowhere/un.xml' }),
    /the sanctions list un_consolidated: .*; correct OUTLAY_SCREENING_UN/,
  ],
  [
    'the file of rates',
    () => ({ OUTLAY_RATES_ECB: '/nowhere/ecb.xml' }),
    /OUTLAY_RATES_ECB \(\/nowhere\/ecb\.xml\): .*; correct OUTLAY_RATES_ECB/,
  ],
  [
    'the name of a setting',
    () => ({ OUTLAY_RATES_EBC: 'x' }),
    /OUTLAY_RATES_EBC is not a setting: did you mean OUTLAY_RATES_ECB\?/,
  ],
  [
    'the name of a setting with a prefix too many',
    () => ({ OUTLAY_DATABASE_URL: 'x' }),
    /OUTLAY_DATABASE_URL is not a setting: did you mean DATABASE_URL\?/,
  ],
  [
    'the name of a setting with a prefix too many, which is nearer to another one',
    () => ({ OUTLAY_PORT: '1' }),
    /OUTLAY_PORT is not a setting: did you mean PORT\?/,
  ],
  ['the value of a setting', () => ({ PORT: 'http' }), /PORT must be a whole number/],
  [
    'the velocity limits',
    () => ({ OUTLAY_VELOCITY_LIMITS: write('limits.json', '{"limits":[{"name":"x"}]}') }),
    /OUTLAY_VELOCITY_LIMITS: .*limits\.0/,
  ],
  [
    'a port in use',
    () => ({ PORT: String((occupied.address() as { port: number }).port) }),
    /PORT \d+ on 127\.0\.0\.1 is in use by another program/,
  ],
  [
    'the database of another environment',
    () => ({ OUTLAY_LIVE_DATABASE_URL: urlOf('of_staging') }),
    /live: this is the database of staging: correct OUTLAY_LIVE_DATABASE_URL/,
  ],
  [
    'more connections than the server has',
    () => ({ OUTLAY_DATABASE_CONNECTIONS: '200' }),
    /needs up to 40\d connections.*lower OUTLAY_DATABASE_CONNECTIONS or raise max_connections/,
  ],
  [
    'no right to create tables',
    () => ({ OUTLAY_LIVE_DATABASE_URL: urlOf('bare', 'plain:plain') }),
    /plain cannot create tables: .* grant create on schema public to plain/,
  ],
  [
    'a missing grant',
    async () => {
      await run('right', 'revoke select on credentials from outlay_tenant');
      return {};
    },
    /outlay_tenant lacks 1 grants: restart the service/,
  ],
  [
    'a missing tenant role, as after a restore on another server',
    async () => {
      for (const database of ['right', 'of_staging']) {
        await run(database, 'drop owned by outlay_tenant');
      }
      await run('postgres', 'drop role outlay_tenant');
      return {};
    },
    /role of the service is missing.*create role outlay_tenant nologin; grant outlay_tenant, outlay_service to outlay/,
  ],
];

describe('the doctor', () => {
  it('finds no problem in a sound installation, and changes nothing', async () => {
    assert.deepEqual(await listProblems(), []);
    const exitCodeBefore = process.exitCode;
    const text = reportFindings(
      await examine(setup.variables, { realNowMs: Date.now, uid: 1000 }),
    ).writeText();
    assert.match(text, /\n0 problems found\.$/);
    assert.equal(process.exitCode, exitCodeBefore);
  });

  it('knows a login for each task, which owns nothing and lacks nothing', async () => {
    for (const [login, roles, said] of [
      ['serving', 'outlay_api, outlay_tenant', /serving owns no table and is a login for serve$/],
      ['working', 'outlay_worker, outlay_tenant', /working owns no table .* login for work$/],
      ['commanding', 'outlay_service, outlay_tenant', /commanding .* every task but migrate$/],
      ['reading', 'outlay_reader', /reading .* commands that only read$/],
    ] as const) {
      const limit = login === 'reading' ? 'connection limit 10' : '';
      await run(
        'postgres',
        `create role ${login} login password 'task' ${limit}`,
        `grant ${roles} to ${login}`,
      );
      const changes = { OUTLAY_LIVE_DATABASE_URL: urlOf('right', `${login}:task`) };
      assert.deepEqual(await listProblems(changes), [], login);
      const variables = { ...setup.variables, ...changes };
      const findings = await examine(variables, { realNowMs: Date.now, uid: 1000 });
      assert.ok(
        findings.some(({ text }) => said.test(text)),
        login,
      );
    }
  });

  it('finds a machine whose clock differs from that of the database', async () => {
    const realNowMs = (): number => Date.now() - 3_600_000;
    const findings = await examine(setup.variables, { realNowMs, uid: 1000 });
    const texts = findings.filter(({ isFine }) => !isFine).map(({ text }) => text);
    assert.match(
      texts.join('\n'),
      /^live: the clocks of .* differ by 3[56]\d{5} ms: synchronize them/m,
    );
  });

  it('finds a login that may do nothing, beside the tables of another one', async () => {
    const problems = await listProblems({
      OUTLAY_LIVE_DATABASE_URL: urlOf('right', 'plain:plain'),
    });
    assert.match(problems.join('\n'), /permission denied|tables belong to another role/);
  });

  it('finds that live runs as root', async () => {
    assert.deepEqual(await listProblems({}, 0), [
      'live must not run as root: start it as a user of its own',
    ]);
  });

  for (const [what, breakIt, said] of broken) {
    it(`finds ${what}`, async () => {
      const problems = await listProblems(await breakIt());
      assert.ok(
        problems.some((text) => said.test(text)),
        problems.join('\n'),
      );
    });
  }

  it('finds that images of live are decoded without limits, as where a sandbox forbids them', () => {
    const unconfined = { words: [], lacks: ['limits'] };
    const limited = { words: ['/usr/bin/prlimit'], lacks: ['another user (needs root)'] };
    const live = { OUTLAY_ENVIRONMENTS: 'live', OUTLAY_DEFAULT_ENVIRONMENT: 'live' };
    assert.equal(checkDecoder(readConfig(live), unconfined).isFine, false);
    assert.equal(checkDecoder(readConfig(live), limited).isFine, true);
    assert.equal(checkDecoder(readConfig({}), unconfined).isFine, true);
  });

  it('does not create a missing folder', () => {
    assert.equal(existsSync(join(folder, 'unmounted')), false);
  });

  it('ends with exit code 1 and counts the problems', async () => {
    const exitCodeBefore = process.exitCode;
    const text = reportFindings(
      await examine({ PORT: 'x', OUTLAY_NO: '1' }, { realNowMs: Date.now, uid: 1000 }),
    ).writeText();
    assert.equal(process.exitCode, 1);
    process.exitCode = exitCodeBefore;
    assert.deepEqual(
      text.split('\n').map((line) => line.slice(0, 8)),
      ['PROBLEM ', 'PROBLEM ', '2 proble'],
    );
  });
});

describe('a server with unsafe settings', () => {
  const settings: readonly [object, RegExp][] = [
    [{ is_standby: true }, /this server is a standby.*use the address of the primary/],
    [{ fsync: 'off' }, /fsync is off, so a power failure loses payouts/],
    [{ full_page_writes: 'off' }, /full_page_writes is off/],
    [{ synchronous_commit: 'off' }, /synchronous_commit is off/],
    [{ server_encoding: 'LATIN1' }, /the encoding is LATIN1/],
    [{ version: 140_000 }, /must be 15 or newer/],
    [{ foreign_tables: 3 }, /3 tables belong to another role/],
  ];
  for (const [changes, said] of settings) {
    it(`is reported: ${JSON.stringify(changes)}`, async () => {
      const client = new pg.Client({ connectionString: server.connectionUrl('right') });
      await client.connect();
      // What this server would answer, but for one setting that cannot be changed while it runs.
      const changed = createSession(async ({ text }) => {
        const answer = await client.query<Record<string, unknown>>(text);
        return { ...answer, rows: answer.rows.map((row) => ({ ...row, ...changes })) };
      });
      const config = readConfig(setup.variables);
      const { findings } = await inspectServer({ name: 'live', config }, changed);
      await client.end();
      const problems = findings.filter(({ isFine }) => !isFine).map(({ text }) => text);
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0] ?? '', said);
    });
  }

  it('with a certificate of an unknown authority gets advice on how to trust it', () => {
    for (const code of ['SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE']) {
      const error = Object.assign(new Error(code), { code });
      assert.match(describeAdvice(error, 'DATABASE_URL'), /in DATABASE_URL: sslrootcert=PATH/);
    }
  });

  it('on a full disk gets no advice about its address', () => {
    const error = Object.assign(new Error('could not write init file'), { code: '53100' });
    assert.equal(describeAdvice(error, 'DATABASE_URL'), 'free space on the disk of the database');
  });
});
