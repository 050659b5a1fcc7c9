import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, mock, test } from 'node:test';
import sharp from 'sharp';
import { createCommander, runCommand } from '../../testing/setups/commands.ts';
import { createLiveSetup, type LiveSetup, partnerRail } from '../../testing/setups/live.ts';
import { getBrand } from '../accounts/accounts.ts';
import { ConfigError, describeConfig } from '../config.ts';
import { newId } from '../core/ids.ts';
import { loadCommands } from './command-groups.ts';
import { commands } from './commands.ts';
import { type CommandContext, openContext } from './context.ts';
import { getHelp } from './options.ts';
import { readCommand } from './program.ts';

test('a shell reads .env.example without running a part of a value', () => {
  const lines = describeConfig().replaceAll(/^# (?=[A-Z_]+=)/gm, '');
  const script = `${lines}\nprintf %s "$OUTLAY_SCREENING_COUNTRIES $OUTLAY_OPERATOR_KEY"`;
  const ran = spawnSync('sh', ['-euc', script], { encoding: 'utf8', env: {} });
  assert.deepEqual([ran.stderr, ran.stdout], ['', 'CUB IRN PRK SYR ']);
});

test('.env.example marks each value that is an example and not the default', () => {
  const text = describeConfig();
  assert.match(text, /answers 503 \(example; default: 0\)\n# OUTLAY_SHUTDOWN_DELAY_SECONDS=10\n/);
  assert.match(text, /^# Address to listen on\n# HOST=127\.0\.0\.1$/m);
});

const uuid = '00000000-0000-7000-8000-000000000001';
const payout = `payout_${uuid}`;
const because = '--reason why';

/** Command lines that are refused, with the message. */
const refused: readonly [string, RegExp][] = [
  ['account list --amount 5', /unknown option '--amount'/],
  ['account list extra', /too many arguments for 'list'/],
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
  [`account set --account ${uuid}`, /one of --accept-both-tokens, .* is missing/],
  [`credential create --account ${uuid} --kind banana`, /--kind must be one of api_key, client/],
  [`credential create --account ${uuid} --kind client --scopes all`, /--scopes must be some of/],
  [`credential create --account ${uuid} --kind client --scopes=`, /--scopes is empty/],
  [`credential create --account ${uuid} --kind client --addresses 10.0.0.0/99`, /--addresses must/],
  [`credential revoke --account ${uuid} --credential 7`, /--credential must be an identifier/],
  ['credential list', /--account is missing/],
  ['rates import --accept-shorter', /unknown option '--accept-shorter'/],
  ['exception list --kind banana', /--kind must be one of unmatched, unreadable/],
  ['exception list --limit 0', /--limit must be a whole number from 1 to 1000/],
  ['exception list --from yesterday', /--from must be a date/],
  ['exception list --to 2026-02-30', /--to must be a date/],
  ['exception list --payout 12', /--payout must be the token of a payout/],
  ['exception list --rail Bank!', /--rail must be the name of a rail/],
  [`exception close --exception ${uuid}`, /--reason is missing/],
  [`exception close --exception 5 ${because}`, /--exception must be an identifier/],
  [
    `exception close --exception ${uuid} --reason wh\u200by`,
    /--reason must be at most 1000 visible/,
  ],
  [`payout explain --payout nope`, /--payout must be the token of a payout/],
  [`payout decide --payout ${payout}`, /--action is missing/],
  [`payout cancel --payout ${payout} --action refund`, /unknown option '--action'/],
  ['payout margin', /--payout is missing/],
  [`account set --account ${uuid} --color red`, /--color must be # and six hexadecimal digits/],
  ['receipt verify', /--key is missing/],
  [`receipt verify --key ${import.meta.filename}`, /give a file or --code/],
  [
    `receipt verify /nowhere.pdf --key ${import.meta.filename}`,
    /--file must be a file that exists/,
  ],
  ['receipt verify a.pdf b.pdf', /too many arguments/],
  ['screening show --user 12', /--user must be the token of a user/],
  ['secret seal --file /nowhere/key', /--file must be a file that exists/],
  ['ledger verify --all', /unknown option '--all'/],
  ['rail check --rail x', /unknown option '--rail'/],
  ['migrate --banana', /unknown option '--banana'/],
  ['rates import --accept-jump', /Did you mean --accept-jumps\?/],
  ['payuot explain', /unknown command 'payuot'\n\(Did you mean payout\?\)/],
  ['payout', /no command given/],
  ['payout explain --payout', /option '--payout <token>' argument missing/],
  ['screening show', /--user or --payout is missing/],
];

describe('a command line', () => {
  for (const [line, message] of refused) {
    it(`is refused: ${line.slice(0, 80)}`, async () => {
      await assert.rejects(
        readCommand(line.split(' ')),
        (error: Error) => error instanceof ConfigError && message.test(error.message),
      );
    });
  }

  it('loads every command that begins with its first word, and all where none does', async () => {
    assert.deepEqual(await loadCommands('payuot'), commands);
    for (const { name } of commands) {
      const [noun = ''] = name.split(' ');
      const sameNoun = commands.filter((command) => command.name.split(' ')[0] === noun);
      const loaded = (await loadCommands(noun)).filter((command) => sameNoun.includes(command));
      assert.deepEqual(loaded, sameNoun, name);
    }
  });

  it('may ask any command for JSON, which most print anyway', async () => {
    for (const line of ['status --json', 'rail list --json', 'account list --json']) {
      assert.equal((await readCommand(line.split(' ')))?.name, line.replace(' --json', ''));
    }
  });

  it('takes the payout as a word, as the commands of clients do', async () => {
    for (const line of [`explain ${payout}`, `decide ${payout} --action refund ${because}`]) {
      assert.match((await readCommand(['payout', ...line.split(' ')]))?.name ?? '', /^payout /);
    }
  });

  it('is accepted where every option is valid', async () => {
    const words = ['create', '--account', uuid, '--kind', 'client', '--scopes', 'users:read'];
    assert.equal((await readCommand(['credential', ...words]))?.name, 'credential create');
  });

  it('asks for the help of a command, which names its options', async () => {
    const printed: string[] = [];
    const write = mock.method(process.stdout, 'write', (text: string) => printed.push(text) > 0);
    try {
      for (const words of [['help'], ['payout', '--help'], ['payout', 'decide', '--help']]) {
        assert.equal(await readCommand(words), undefined);
      }
    } finally {
      write.mock.restore();
    }
    const [all = '', payouts = '', decide = ''] = printed;
    assert.match(all, /^Usage: outlay .*payout +explain payouts and decide about them/s);
    assert.doesNotMatch(all, /^ {2}\S+( \[\w+\])? *$/m, 'every group says what it is about');
    assert.match(payouts, /explain .*decide .*cancel .*margin /s);
    assert.match(decide, /Usage: outlay admin payout decide --payout <token> --action <value>/);
    assert.match(decide, /--action <value> +decision: release, refund, retry/);
  });
});

test('every command and option is described', () => {
  for (const { name, about, options } of commands) {
    assert.match(about, /^\p{L}.*[^.]$/u, name);
    for (const schema of Object.values(options)) assert.notEqual(getHelp(schema).about, '', name);
  }
});

describe('commands on an environment', () => {
  let setup: LiveSetup;
  let context: CommandContext;
  before(async () => {
    setup = await createLiveSetup();
    context = await openContext(setup.config(), { name: 'live', realNowMs: Date.now });
  });
  after(async () => {
    await context[Symbol.asyncDispose]();
    await setup.close();
  });

  const run = (name: string, values: Record<string, string> = {}) =>
    runCommand(context, name, values);
  /** The account, which two operators have created. */
  const createClient = async (name: string): Promise<string> => {
    for (const commander of [`${name}.first`, `${name}.second`]) {
      const create = await createCommander(context, { name: commander.toLowerCase() });
      const created = await create('account create', { name, reason: 'New client' });
      if ('account' in (created as object)) return (created as { account: string }).account;
    }
    return assert.fail('two operators create an account');
  };
  const refuses = (name: string, values: Record<string, string>, message: RegExp) =>
    assert.rejects(
      run(name, values),
      (error: Error) => error instanceof ConfigError && message.test(error.message),
    );

  it('refuse an account that does not exist', async () => {
    const account = newId();
    const kind = { account, kind: 'client' };
    const booking = { reference: 'r', reason: 'a wire' };
    const funding = { account, currency: 'USD', amount: '5', ...booking };
    await refuses('account fund', funding, /account not found/);
    await refuses('account set', { account, 'accept-both-tokens': 'true' }, /account not found/);
    await refuses('credential list', { account }, /account not found/);
    await refuses('credential create', kind, /account not found/);
  });

  it('say that there is nothing to import, instead of an empty list', async () => {
    await refuses('screening import', {}, /no sanctions list is configured/);
    const { OUTLAY_RATES_ECB: _, ...config } = context.config;
    const without = { ...context, config: config as typeof context.config };
    await assert.rejects(runCommand(without, 'rates import'), /no source of rates is configured/);
  });

  it('refuse invalid amounts and addresses, and change nothing', async () => {
    const account = await createClient('One');
    const booking = { account, currency: 'USD', reference: 'r', reason: 'a wire' };
    for (const amount of ['0', '-5', 'much', '1.001', '1e30']) {
      await refuses('account fund', { ...booking, amount }, /--amount (must|has|is)/);
    }
    const addresses = '10.0.0.1/8';
    const wrong = { account, kind: 'api_key', addresses, reason: 'New' };
    for (const name of ['ada', 'bob']) {
      const commander = await createCommander(context, { name });
      const creation = commander('credential create', wrong);
      if (name === 'bob') await assert.rejects(creation, /--addresses/);
      else await creation;
    }
    assert.equal(((await run('credential list', { account })) as unknown[]).length, 2);
    const fund = () => run('account fund', { ...booking, amount: '5.25' });
    assert.deepEqual(await fund(), { result: 'booked', currency: 'USD', balance: '5.25' });
    assert.equal(((await fund()) as { result: string }).result, 'booked_before');
  });

  it('book a large funding and every correction once two people have asked for it', async () => {
    const account = await createClient('Two');
    const cy = await createCommander(context, { name: 'cy' });
    const dee = await createCommander(context, { name: 'dee', role: 'approver' });
    const resultOf = (answer: unknown) => (answer as { result: string }).result;
    const large = { account, currency: 'USD', amount: '10000.01', reference: 'w-1' };
    const why = { reason: 'seen on the statement' };
    assert.equal(resultOf(await cy('account fund', { ...large, ...why })), 'waiting');
    assert.equal(resultOf(await cy('account fund', { ...large, ...why })), 'waiting');
    const booked = await dee('account fund', { ...large, ...why });
    assert.deepEqual(booked, { result: 'booked', currency: 'USD', balance: '10000.01' });
    const repeated = await cy('account fund', { ...large, ...why });
    assert.equal(resultOf(repeated), 'booked_before');
    const taken = { account, currency: 'USD', amount: '-1000.01', reference: 'case 7', ...why };
    assert.equal(resultOf(await cy('account adjust', taken)), 'waiting');
    assert.deepEqual(await dee('account adjust', taken), {
      result: 'booked',
      currency: 'USD',
      balance: '9000',
    });
    const listed = (await run('account bookings', { account })) as Record<string, string>[];
    assert.deepEqual(
      listed.map((row) => [row['reference'], row['booked_by'], row['amount']]),
      [
        ['case 7', 'dee', '-1000.01'],
        ['w-1', 'dee', '10000.01'],
      ],
    );
  });

  it('say where the next page begins, beside the rows of this one', async () => {
    const all = (await run('account list')) as { id: string }[];
    assert.ok(all.length >= 2);
    const notes: string[] = [];
    const listOne = async (...further: string[]) => {
      const words = ['account', 'list', '--limit', String(all.length - 1), ...further];
      const command = await readCommand(words);
      return (await command?.run({
        variables: {},
        realNowMs: Date.now,
        note: (line) => notes.push(line),
        openContext: async () => ({
          ...context,
          operator: { id: newId(), name: 'ada', role: 'viewer' },
          [Symbol.asyncDispose]: async () => undefined,
        }),
        serve: () => assert.fail('not a service'),
      })) as { id: string }[];
    };
    assert.deepEqual(await listOne(), all.slice(0, -1));
    const [, cursor = ''] = /^more rows follow .*: --cursor (\S+)$/.exec(notes[0] ?? '') ?? [];
    assert.deepEqual(await listOne('--cursor', cursor), all.slice(-1));
    assert.equal(notes.length, 1);
  });

  it('set the brand of receipts, of which what is not named stays', async () => {
    const [one] = (await run('account list')) as { id: string }[];
    const account = one?.id ?? '';
    const folder = mkdtempSync(join(tmpdir(), 'brand-'));
    const logo = join(folder, 'logo.jpg');
    await sharp({ create: { width: 2000, height: 500, channels: 3, background: '#7a1fa2' } })
      .jpeg()
      .toFile(logo);
    const read = () => getBrand(context.db.system, account);
    assert.equal((await read()).sender_name, 'One');
    await run('account set', { account, logo });
    await run('account set', { account, 'display-name': 'Aurelia Remit', color: '#7a1fa2' });
    const { sender_name, brand_color, brand_logo } = await read();
    assert.deepEqual([sender_name, brand_color], ['Aurelia Remit', '#7a1fa2']);
    const { format, width, height } = await sharp(brand_logo).metadata();
    assert.deepEqual([format, width, height], ['png', 600, 150]);
    await refuses(
      'account set',
      { account, logo: import.meta.filename },
      /--logo must be a picture/,
    );
    rmSync(folder, { recursive: true });
  });

  it('refuse an environment that is not configured', async () => {
    const options = { name: 'staging', realNowMs: Date.now } as const;
    await assert.rejects(openContext(setup.config(), options), /staging is not configured/);
  });

  it('work beside a rail with faults, which rail check lists with exit code 1', async () => {
    setup.writeRails([partnerRail(), partnerRail({ name: 'broken', kind: 'pigeon' })]);
    await assert.rejects(setup.start('work'), /1 fault:\n {2}rail broken: kind must be/);
    assert.equal(((await run('account list')) as unknown[]).length, 2);
    const exitCodeBefore = process.exitCode;
    const reports = (await run('rail check')) as { rail: string; faults: string[] }[];
    assert.equal(process.exitCode, 1);
    process.exitCode = exitCodeBefore;
    assert.deepEqual(
      reports.map(({ rail }) => rail),
      ['broken', 'cash_mx'],
    );
    assert.match(reports[0]?.faults.join() ?? '', /kind must be one of adyen, .*, not pigeon/);
    assert.match(reports[1]?.faults.join() ?? '', /the partner cannot be reached/);
  });
});
