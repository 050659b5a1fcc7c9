import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, test } from 'node:test';
import { runCommand } from '../../../testing/setups/commands.ts';
import { createLiveSetup, type LiveSetup, partnerRail } from '../../../testing/setups/live.ts';
import { describeConfig as describeNacha } from '../../../testing/setups/nacha.ts';
import { type Config, ConfigError } from '../../config.ts';
import { nameSigningKey } from '../../core/environment-keys.ts';
import { openContext } from '../context.ts';
import type { Finding } from '../doctor/finding.ts';
import { compareCells } from './compare.ts';
import { type CellDescription, cellSchema } from './description.ts';
import { examineCells } from './doctor.ts';

/** Two cells as they describe themselves, and everything that they must not have in common. */

const salt = '5a'.repeat(32);
let folder: string;
const setups: LiveSetup[] = [];
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'outlay-cells-'));
  for (const name of ['eu1', 'us1']) {
    const setup = await createLiveSetup();
    setups.push(setup);
    setup.writeRails([partnerRail(), nachaRail(makeBankFolder(name))]);
    for (const part of ['data', 'checkpoints']) mkdirSync(join(setup.folder, part));
  }
});
after(async () => {
  for (const setup of setups) await setup.close();
  rmSync(folder, { recursive: true });
});

function makeBankFolder(name: string): string {
  for (const part of ['outbox', 'inbox', 'archive']) {
    mkdirSync(join(folder, name, part), { recursive: true });
  }
  return join(folder, name);
}

const nachaRail = (
  inFolder: string,
  id = randomBytes(4).readUInt32BE().toString().padStart(10, '1'),
) =>
  partnerRail(
    {
      kind: 'nacha',
      name: 'bank_us',
      config: { ...describeNacha(inFolder), origin: { id, name: 'OUTLAY' } },
    },
    { countryCode: 'USA', deliveryType: 'BANK_DEPOSIT', currencies: ['USD'] },
  );

type Changes = Record<string, string | undefined>;

async function describeAs(
  place: number,
  changes: Changes = {},
  chosenSalt = salt,
): Promise<CellDescription> {
  const setup = setups[place];
  assert.ok(setup !== undefined);
  const name = ['eu1', 'us1'][place] ?? '';
  const config: Config = setup.config({
    OUTLAY_CELL: name,
    OUTLAY_PUBLIC_URL: `https://api.${name}.pay.example`,
    OUTLAY_CHECKPOINTS: join(setup.folder, 'checkpoints'),
    ...changes,
  });
  await using context = await openContext(config, { name: 'live', realNowMs: Date.now });
  const described = await runCommand(context, 'cell describe', {
    salt: chosenSalt,
  });
  return described as CellDescription;
}

const listProblems = (findings: readonly Finding[]): string[] =>
  findings.filter(({ isFine }) => !isFine).map(({ text }) => text);

const compare = (...cells: CellDescription[]): string[] =>
  listProblems(compareCells(cells, Date.now()));

/** All tests share one server, which two cells must not. */
const onOneServer = /share the PostgreSQL server \(eu1\) and the PostgreSQL server \(us1\)/;

describe('two cells', () => {
  it('share nothing but the server of the test', async () => {
    const cells = [await describeAs(0), await describeAs(1)] as const;
    assert.deepEqual(
      cells.map(({ cell, faults, public_url: url }) => [cell, faults, url]),
      [
        ['eu1', [], 'https://api.eu1.pay.example'],
        ['us1', [], 'https://api.us1.pay.example'],
      ],
    );
    const [problem = '', ...others] = compare(...cells);
    assert.match(problem, onOneServer);
    assert.deepEqual(others, []);
  });

  it('describe themselves without a secret, a path or an account', async () => {
    const text = JSON.stringify(await describeAs(0));
    const [own] = setups;
    const key = own?.variables['OUTLAY_LIVE_MASTER_KEY'] ?? '';
    for (const hidden of [key, own?.folder ?? '', folder, salt]) {
      assert.ok(hidden.length > 5 && !text.includes(hidden));
    }
    const [one, other] = [await describeAs(0), await describeAs(0, {}, '11'.repeat(32))];
    const hashes = new Set(one.exclusives.map(({ hash }) => hash));
    assert.ok(other.exclusives.every(({ hash }) => !hashes.has(hash)));
  });

  it('are one installation under two names', async () => {
    const renamed = { OUTLAY_CELL: 'us1', OUTLAY_PUBLIC_URL: 'https://api.us1.pay.example' };
    const problems = compare(await describeAs(0), await describeAs(0, renamed)).join('\n');
    for (const what of [
      'the database',
      'the environment key',
      'the master key',
      'the folder of checkpoints',
      'what the partner knows us by of rail cash_mx',
      'the origin of files at the bank of rail bank_us',
    ]) {
      assert.ok(problems.includes(`the cells share ${what}`), what);
    }
  });

  it('have a name and a host name each', async () => {
    const same = { OUTLAY_CELL: 'eu1', OUTLAY_PUBLIC_URL: 'https://api.eu1.pay.example' };
    const problems = compare(await describeAs(0), await describeAs(1, same));
    assert.match(problems.join('\n'), /the name eu1: give/);
    assert.match(problems.join('\n'), /the host name api\.eu1\.pay\.example: give/);
  });

  it('share a folder under another path, and under another rail', async () => {
    const link = join(folder, 'mounted');
    symlinkSync(join(folder, 'eu1'), link);
    setups[1]?.writeRails([nachaRail(link)]);
    const problems = compare(await describeAs(0), await describeAs(1)).join('\n');
    assert.match(
      problems,
      /share the folder outbox of rail bank_us \(eu1\) and the folder outbox of rail bank_us \(us1\)/,
    );
  });

  it('are told what could not be compared', async () => {
    setups[1]?.writeRails([
      nachaRail('/nowhere'),
      partnerRail({ name: 'other', config: { signingKey: { env: 'ABSENT_KEY' } } }),
      partnerRail({
        name: 'third',
        config: { signingKey: { file: `/odd\u001b/${'x'.repeat(600)}` } },
      }),
    ]);
    const other = await describeAs(1);
    assert.deepEqual(cellSchema.parse(other), other);
    const problems = compare(await describeAs(0), other).join('\n');
    assert.match(problems, /us1: the folder inbox of rail bank_us is not there: describe the cell/);
    assert.match(problems, /us1: rail other: the environment variable ABSENT_KEY is not set/);
  });

  it('have to be named', async () => {
    for (const name of ['OUTLAY_CELL', 'OUTLAY_PUBLIC_URL']) {
      await assert.rejects(
        describeAs(0, { [name]: undefined }),
        (error) => error instanceof ConfigError && error.message.includes(`must have ${name}`),
      );
    }
  });
});

/** A description of another machine, which no test has. */
function makeCell(cell: string, changes: Partial<CellDescription> = {}): CellDescription {
  return {
    format: 'outlay-cell-1',
    cell,
    environment: 'live',
    described_at: new Date().toISOString(),
    database_ahead_ms: 3,
    release: '1.4.0',
    schema: 7,
    public_url: `https://api.${cell}.pay.example`,
    signing_key_id: '0'.repeat(16),
    salt_id: 'a'.repeat(64),
    exclusives: [{ what: 'the database', hash: randomBytes(32).toString('hex') }],
    faults: [],
    ...changes,
  };
}

test('differences of releases, clocks, salts and environments', () => {
  const own = makeCell('eu1');
  const check = (changes: Partial<CellDescription>) => compare(own, makeCell('us1', changes));
  assert.deepEqual(check({}), []);
  assert.deepEqual(check({ release: '1.5.2', schema: 8 }), []);
  assert.match(check({ release: '1.6.0' })[0] ?? '', /more than one release apart/);
  assert.match(check({ release: '2.4.0' })[0] ?? '', /more than one release apart/);
  assert.match(check({ schema: 9 })[0] ?? '', /us1 1\.4\.0 \(schema 9\): more than one/);
  assert.match(check({ environment: 'staging' })[0] ?? '', /eu1 is live, us1 is staging/);
  assert.match(check({ salt_id: 'b'.repeat(64) })[0] ?? '', /different salts/);
  assert.match(check({ database_ahead_ms: -4_000 })[0] ?? '', /us1: the clocks of .* by -4000 ms/);
  assert.match(check({ described_at: '2026-01-01T00:00:00Z' })[0] ?? '', /describe it again/);
  assert.match(compare(own)[0] ?? '', /at least two cells/);
});

test('each public address is answered by its own cell', async () => {
  const keys = ['eu1', 'us1'].map(() => generateKeyPairSync('ed25519').publicKey);
  const files = keys.map((key, place) => {
    const cell = makeCell(['eu1', 'us1'][place] ?? '', { signing_key_id: nameSigningKey(key) });
    const file = join(folder, `${cell.cell}.json`);
    writeFileSync(file, JSON.stringify(cell));
    return file;
  });
  const answer = async (order: readonly number[], aheadS = 0): Promise<string[]> => {
    const nowMs = Date.now();
    const entry = (async (url: string) => {
      const place = url.includes('eu1') ? 0 : 1;
      const pem = keys[order[place] ?? 0]?.export({ type: 'spki', format: 'pem' });
      const date = new Date(nowMs + place * aheadS * 1000).toUTCString();
      return new Response(String(pem), { headers: { date } });
    }) as typeof fetch;
    return listProblems(await examineCells(files, { realNowMs: () => nowMs, fetch: entry }));
  };
  assert.deepEqual(await answer([0, 1]), []);
  assert.deepEqual(await answer([0, 0]), [
    "us1: https://api.us1.pay.example is answered by another installation: correct the entry's map",
  ]);
  assert.match((await answer([0, 1], 60))[0] ?? '', /clock of us1 is about 60 s ahead of .* eu1/);
  const dead = (async () => {
    throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') });
  }) as typeof fetch;
  const silent = await examineCells(files, { realNowMs: Date.now, fetch: dead });
  assert.match(listProblems(silent)[0] ?? '', /eu1: .* cannot be reached: connect ECONNREFUSED/);
});

test('a file that is no description is refused', async () => {
  const file = join(folder, 'odd.json');
  writeFileSync(file, JSON.stringify(makeCell('eu1\u001b[2J')));
  const options = { realNowMs: Date.now };
  assert.match((await examineCells([file], options))[0]?.text ?? '', /cell describe: cell/);
  assert.match((await examineCells(['/nowhere'], options))[0]?.text ?? '', /cannot be read/);
});
