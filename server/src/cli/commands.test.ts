import assert from 'node:assert/strict';
import { after, before, describe, it, test } from 'node:test';
import {
  createLiveSetup,
  type LiveApp,
  type LiveSetup,
  partnerRail,
} from '../../testing/setups/live.ts';
import { ConfigError } from '../config.ts';
import { newId } from '../core/ids.ts';
import type { Environment } from '../environment/environment.ts';
import { commandOptions, type Values } from './command-values.ts';
import { commands, readCommand } from './commands.ts';

const uuid = '00000000-0000-7000-8000-000000000001';
const payout = `payout_${uuid}`;
const by = '--by ada --reason why';

/** A command line, and what is said of it. */
const refused: readonly [string, RegExp][] = [
  ['account list --amount 5', /account list does not take --amount/],
  ['account list extra', /unknown command account list extra/],
  ['account list --environment production', /--environment must be one of staging, live/],
  ['account create', /--name is missing/],
  ['account create --name=', /--name is empty/],
  [`account create --name ${'n'.repeat(201)}`, /--name must be at most 200 visible characters/],
  [`account fund --account ${uuid}`, /--currency is missing; --amount is missing/],
  [
    `account fund --account me --currency USX --amount 1`,
    /--account must be .*; --currency must be/,
  ],
  [`account set --account ${uuid} --accept-both-tokens maybe`, /must be one of true, false/],
  [`account set --account ${uuid}`, /--accept-both-tokens or --identity-two-persons is missing/],
  [`credential create --account ${uuid} --kind banana`, /--kind must be one of api_key, client/],
  [`credential create --account ${uuid} --kind client --scopes all`, /--scopes must be some of/],
  [`credential create --account ${uuid} --kind client --scopes=`, /--scopes is empty/],
  [`credential create --account ${uuid} --kind client --addresses 10.0.0.0/99`, /--addresses must/],
  [`credential revoke --account ${uuid} --credential 7`, /--credential must be an identifier/],
  ['credential list', /--account is missing/],
  ['rates import --accept-doubts', /rates import does not take --accept-doubts/],
  ['exception list --kind banana', /--kind must be one of unmatched, unreadable/],
  ['exception list --limit 0', /--limit must be a whole number from 1 to 1000/],
  ['exception list --from yesterday', /--from must be a date/],
  ['exception list --to 2026-02-30', /--to must be a date/],
  ['exception list --payout 12', /--payout must be the token of a payout/],
  ['exception list --rail Bank!', /--rail must be the name of a rail/],
  [`exception close --exception ${uuid}`, /--by is missing; --reason is missing/],
  [`exception close --exception 5 ${by}`, /--exception must be an identifier/],
  [
    `exception close --exception ${uuid} --by a\u200bda --reason why`,
    /--by must be at most 100 visible/,
  ],
  [`payout explain --payout nope`, /--payout must be the token of a payout/],
  [`payout decide --payout ${payout}`, /--action is missing/],
  [`payout cancel --payout ${payout} --action refund`, /payout cancel does not take --action/],
  ['payout margin', /--payout is missing/],
  ['screening show --user 12', /--user must be the token of a user/],
  ['secret seal --file /nowhere/key', /--file must be a file that exists/],
  ['verify --all', /verify does not take --all/],
  ['rail check --rail x', /rail check does not take --rail/],
  ['migrate --banana', /Unknown option/],
];

describe('a command line', () => {
  for (const [line, what] of refused) {
    it(`is refused: ${line.slice(0, 80)}`, () => {
      const [command = '', ...words] = line.split(' ');
      assert.throws(
        () => readCommand(command, words),
        (error: Error) => error instanceof ConfigError && what.test(error.message),
      );
    });
  }

  it('is taken where every option is right', () => {
    const words = ['create', '--account', uuid, '--kind', 'client', '--scopes', 'users:read'];
    assert.equal(readCommand('credential', words).name, 'credential create');
  });
});

test('every command says which options it takes', () => {
  const listed = Object.keys(commandOptions).filter((name) => name !== 'doctor');
  assert.deepEqual(Object.keys(commands).toSorted(), listed.toSorted());
});

describe('commands on an environment', () => {
  let setup: LiveSetup;
  let service: LiveApp;
  let env: Environment;
  before(async () => {
    setup = await createLiveSetup();
    service = await setup.start('serve');
    assert.ok(service.app.environments.live);
    env = service.app.environments.live;
  });
  after(() => setup.close());

  const run = (name: string, values: Values) => {
    const command = commands[name];
    assert.ok(command);
    return command(env, values);
  };
  const refuses = (name: string, values: Values, what: RegExp) =>
    assert.rejects(
      async () => run(name, values),
      (error: Error) => error instanceof ConfigError && what.test(error.message),
    );

  it('refuse an account that is not there', async () => {
    const account = newId();
    const kind = { account, kind: 'client' };
    await refuses('account fund', { account, currency: 'USD', amount: '5' }, /account not found/);
    await refuses('account set', { account, 'accept-both-tokens': 'true' }, /account not found/);
    await refuses('credential list', { account }, /account not found/);
    await refuses('credential create', kind, /account not found/);
  });

  it('refuse amounts and addresses that mean nothing, and change nothing', async () => {
    const created = (await run('account create', { name: 'One' })) as { account: string };
    const { account } = created;
    for (const amount of ['0', '-5', 'much', '1.001', '1e30']) {
      await refuses('account fund', { account, currency: 'USD', amount }, /--amount (must|has|is)/);
    }
    const addresses = '10.0.0.1/8';
    await refuses('credential create', { account, kind: 'api_key', addresses }, /--addresses/);
    assert.equal(((await run('credential list', { account })) as unknown[]).length, 2);
    const funded = await run('account fund', { account, currency: 'USD', amount: '5.25' });
    assert.equal((funded as { balance: string }).balance, '5.25');
  });

  it('go on beside a rail with faults, which rail check lists with exit code 1', async () => {
    const { createApp } = await import('../app.ts');
    const { pino } = await import('pino');
    setup.writeRails([partnerRail(), partnerRail({ name: 'broken', kind: 'pigeon' })]);
    const options = { role: 'work', realNowMs: Date.now, log: pino({ level: 'silent' }) } as const;
    await assert.rejects(
      createApp(setup.config(), options),
      /1 fault:\n  rail broken: kind must be/,
    );
    const app = await createApp(setup.config(), { ...options, toleratesFaults: true });
    try {
      const { live } = app.environments;
      assert.ok(live);
      assert.equal(await commands['migrate']?.(live, {}), 'The databases are up to date.');
      assert.deepEqual(live.railNames, ['cash_mx']);
      const reports = (await commands['rail check']?.(live, {})) as { faults: string[] }[];
      assert.equal(process.exitCode, 1);
      assert.match(reports[0]?.faults.join() ?? '', /kind must be one of evm, .*, not pigeon/);
      assert.match(reports[1]?.faults.join() ?? '', /the partner cannot be reached/);
    } finally {
      process.exitCode = 0;
      await app.close();
    }
  });
});
