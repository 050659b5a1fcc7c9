import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pino } from 'pino';
import { runCommand } from '../../testing/setups/commands.ts';
import { createLiveSetup } from '../../testing/setups/live.ts';
import { createFakeRail, createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { openOwner } from '../../testing/setups/owner-session.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { readConfig } from '../config.ts';
import { formatToken } from '../core/ids.ts';
import { connectDatabase, type Database, findSqlState } from '../db/postgres/pool.ts';
import { createOperator } from '../operators/operators.ts';
import { commands } from './commands.ts';
import { type CommandContext, openContext } from './context.ts';

/** Commands that only read act as outlay_reader, which can change nothing. */

async function createReadingLogin(
  run: (text: string) => Promise<unknown>,
  databaseUrl: string,
): Promise<{ name: string; url: string }> {
  const name = `reading_${randomBytes(6).toString('hex')}`;
  await run(`create role ${name} login password 'secret'`);
  await run(`grant outlay_reader to ${name}`);
  const url = new URL(databaseUrl);
  url.username = name;
  url.password = 'secret';
  return { name, url: url.href };
}

/** What the commands get that need an option; `ledger export` writes a file. */
type Words = Readonly<Record<string, string>>;

describe('each command that only reads', () => {
  let money: MoneyTest;
  let reader: Database;
  let login: string;
  let folder: string;
  let wordsOf: Readonly<Record<string, Words>>;
  before(async () => {
    money = await createMoneyTest();
    folder = mkdtempSync(join(tmpdir(), 'outlay-reading-'));
    const { name, url } = await createReadingLogin(money.rows, money.url);
    login = name;
    reader = connectDatabase({ url, connectionsMax: 4, serviceRole: 'outlay_reader' });
    const owner = await money.createOwner({ USD: 10_000_000n });
    const { payoutId } = await money.quoteAndCommit(owner);
    await money.createDispatcher(createFakeRail(() => ({ outcome: 'paid' }))).drain();
    const account = { account: owner.accountId };
    const user = { user: formatToken('user', owner.userId) };
    const payout = { payout: formatToken('payout', payoutId) };
    wordsOf = {
      'cell describe': { salt: '5a'.repeat(32) },
      'limit list': account,
      'link list': user,
      'credential list': account,
      'account bookings': account,
      'account sender': account,
      'reconciliation list': { rail: 'fake' },
      'screening show': user,
      'identity show': user,
      'payout explain': payout,
      'payout margin': payout,
      'report month': { month: new Date(money.clock.nowMs()).toISOString().slice(0, 7) },
      'ledger export': { file: join(folder, 'ledger.ndjson') },
      'tariff list': { country: 'MEX' },
      'routing backtest': { changes: '{"payers":[]}' },
      'rule preview': { policy: '{"rules":[]}' },
    };
  });
  after(async () => {
    await reader.close();
    await money.rows(`drop owned by ${login}`);
    await money.rows(`drop role ${login}`);
    await money[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  const createContext = (): Partial<CommandContext> => ({
    db: reader,
    keys: money.keys,
    clock: money.clock,
    name: 'staging',
    config: readConfig({
      OUTLAY_DATA: folder,
      OUTLAY_CELL: 'eu1',
      OUTLAY_PUBLIC_URL: 'https://staging-api.eu1.pay.example',
      OUTLAY_MASTER_KEY: randomBytes(32).toString('base64'),
    }),
    log: pino({ level: 'silent' }),
    steadyMs: () => performance.now(),
    realNowMs: Date.now,
    fetch,
  });

  const reading = commands.filter(({ isReading }) => isReading === true);
  it('is one with the permission to read, unless it asks rails, counts what reports must not see, or closes a month', () => {
    const others = commands.filter((one) => one.permission === 'read' && one.isReading !== true);
    assert.deepEqual(
      others.map(({ name }) => name),
      ['environment-key list', 'report journal', 'rail list', 'rail check'],
    );
  });
  for (const { name } of reading) {
    it(`${name} needs no more than the reader's rights`, async () => {
      const exitCodeBefore = process.exitCode;
      try {
        await runCommand(createContext(), name, wordsOf[name]);
      } finally {
        process.exitCode = exitCodeBefore;
      }
    });
  }

  it('ledger verify proves the ledger, and its export is written', async () => {
    const proof = (await runCommand(createContext(), 'ledger verify')) as { isSound: boolean };
    assert.equal(proof.isSound, true);
    assert.ok(existsSync(join(folder, 'ledger.ndjson')));
  });

  it('a report reads the views, and no password, session or signing secret', async () => {
    const views = ['ledger_transfers', 'ledger_sides', 'payouts', 'payout_margins'];
    for (const view of views) {
      const { rows } = await reader.system.query({ name: '', text: `select * from ${view}` });
      assert.ok(rows.length > 0, view);
    }
    const secrets = ['operator_logins', 'operator_sessions', 'access_tokens', 'webhook_secrets'];
    for (const table of secrets) {
      await assert.rejects(
        reader.system.query({ name: '', text: `select * from ${table}` }),
        (error) => findSqlState(error) === '42501',
        table,
      );
    }
  });
});

describe('a reading login', () => {
  it('runs commands that read on an environment that is in use, and no other', async () => {
    const setup = await createLiveSetup();
    const owner = openOwner(setup.database.url);
    const run = (text: string) => readRows(owner.session, { name: '', text });
    const live = { name: 'live', realNowMs: Date.now } as const;
    try {
      const whole = await openContext(setup.config(), live);
      const services = { session: whole.db.system, keys: whole.keys };
      const viewer = { name: 'vi', role: 'viewer', createdBy: undefined } as const;
      const { key } = await createOperator(services, viewer);
      await whole[Symbol.asyncDispose]();
      const { name, url } = await createReadingLogin(run, setup.database.url);
      const config = setup.config({ OUTLAY_LIVE_DATABASE_URL: url, OUTLAY_OPERATOR_KEY: key });
      const context = await openContext(config, { ...live, isReading: true });
      const { rows } = await context.db.system.query({ name: '', text: 'select current_user' });
      assert.deepEqual(rows, [{ current_user: 'outlay_reader' }]);
      const screen = await runCommand({ ...context, operator: undefined } as never, 'status');
      assert.match(String(screen), /^live /);
      await context[Symbol.asyncDispose]();
      await assert.rejects(openContext(config, live), /may act as outlay_reader only/);
      await run(`drop owned by ${name}`);
      await run(`drop role ${name}`);
    } finally {
      await owner.close();
      await setup.close();
    }
  });

  it('does not keep the first command from storing what an environment begins with', async () => {
    const setup = await createLiveSetup();
    try {
      const context = await openContext(setup.config(), {
        name: 'live',
        realNowMs: Date.now,
        isReading: true,
      });
      const { rows } = await context.db.system.query({ name: '', text: 'select current_user' });
      assert.deepEqual(rows, [{ current_user: 'outlay_service' }]);
      await context[Symbol.asyncDispose]();
    } finally {
      await setup.close();
    }
  });
});
