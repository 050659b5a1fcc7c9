import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { findOperatorWords } from '../cli/src/admin/admin.ts';
import { openShell, type Ran, type Shell } from './command-line-kit.ts';
import { printCommand } from './commands.ts';
import { type Account, createAccount, type Service, startService } from './service.ts';
import { startReceiver, webhookSettings } from './webhook-receiver.ts';

/** The commands of clients against a running service. */

let service: Service;
let account: Account;
let shell: Shell;

before(async () => {
  service = await startService({ settings: webhookSettings });
  account = await createAccount(service, { USD: '1000' });
  shell = openShell(service, account);
  await done(['recipient', 'create', ...person('ana'), '--set', 'city=Puebla']);
});
after(async () => {
  shell[Symbol.dispose]();
  await service.stop();
});

const person = (id: string): string[] => {
  const name = ['--id', id, '--first-name', 'Ana', '--last-name', 'Gómez'];
  return [...name, '--email', `${id}@example.org`, '--country', 'MEX'];
};
const bank = ['--by', 'BANK_DEPOSIT', '--currency', 'MXN'];
const clabe = ['--detail', 'BankAccountNumber=032 1800 0011 8359 719'];

async function done(words: readonly string[], options = {}): Promise<Ran> {
  const ran = await shell.run(words, options);
  assert.equal(ran.exitCode, 0, `${words.join(' ')}\n${ran.out}${ran.error}`);
  return ran;
}

const json = async <Value = Record<string, string>>(...words: string[]): Promise<Value> =>
  (await done([...words, '--json'])).json<Value>();

async function refused(words: readonly string[], exitCode: number, code: string): Promise<Ran> {
  const ran = await shell.run([...words, '--json']);
  assert.equal(ran.exitCode, exitCode, `${words.join(' ')}\n${ran.out}${ran.error}`);
  assert.equal(ran.json<{ error: { code: string; exit_code: number } }>().error.code, code);
  assert.equal(ran.json<{ error: { exit_code: number } }>().error.exit_code, exitCode);
  return ran;
}

test('pay goes from nothing to a receipt, and its reference is paid only once', async () => {
  const words = ['pay', '--to', 'eva', ...person('eva').slice(2), ...bank, ...clabe];
  const paid = await json<{
    payout_token: string;
    commit: { status: string };
    payout: { status: string; total_debit: string };
    receipt: string;
  }>(...words, '--amount', '20.50', '--reference', 'rent-1', '--yes', '--wait', '0s');
  assert.equal(paid.commit.status, 'success');
  assert.equal(paid.payout.status, 'PROCESSING');
  assert.match(paid.payout.total_debit, /^2\d\.\d+$/);
  assert.match(shell.read(paid.receipt), /^%PDF-/);
  const again = [
    'pay',
    '--to',
    'eva',
    ...bank,
    '--amount',
    '20.50',
    '--reference',
    'rent-1',
    '--yes',
  ];
  const { payout_token: token, repeated, commit } = await json(...again);
  assert.deepEqual([token, repeated, commit], [paid.payout_token, true, paid.commit]);
  assert.equal((await json('payout', 'show', 'rent-1'))['payout_token'], paid.payout_token);
});

test('output without a terminal has no colors, in continuous integration too', async () => {
  const env = { CI: 'true', TERM: 'xterm-256color' };
  const list = await shell.spawn(['balances'], { env });
  assert.match(list.out, /USD/);
  const unknown = await shell.spawn(['payout', 'show', 'nothing-like-this'], { env });
  assert.deepEqual([list.exitCode, unknown.exitCode], [0, 1]);
  assert.match(unknown.error, /^outlay: /);
  assert.doesNotMatch(list.out + list.error + unknown.out + unknown.error, /\u001B/);
});

test('a dry run of pay shows the balance after it and pays nothing', async () => {
  const words = ['pay', '--to', 'eva', ...bank, '--amount', '10'];
  const before = await json('balances');
  const dry = await json<{ dry_run: { balances: unknown[]; commit: { status: string } } }>(
    ...words,
    '--dry-run',
  );
  assert.equal(dry.dry_run.commit.status, 'success');
  assert.equal(dry.dry_run.balances.length, 1);
  assert.match((await done([...words, '--dry-run'])).out, /nothing was written/);
  assert.deepEqual(await json('balances'), before);
});

test('a payout that lacks details says which, and pays nothing', async () => {
  const words = ['pay', '--to', 'ana', ...bank, '--amount', '10', '--yes'];
  const ran = await shell.run([...words, '--json']);
  assert.equal(ran.exitCode, 1);
  const { commit } = ran.json<{ commit: { code: string; missing: { type: string }[] } }>();
  assert.equal(commit.code, 'attributes_missing');
  assert.match(ran.error, /CLABE[\s\S]*Next: repeat outlay pay with --detail BankAccountNumber=…/);
  const wrong = [...words, '--detail', 'BankAccountNumber=032180000118359710'];
  const { error } = await refused(wrong, 1, 'check_digit');
  assert.match(error, /^CLABE: .*check digit/m);
  await refused([...words, '--detail', 'Nonsense=1'], 2, 'usage');
});

test('without a terminal, all missing options are named at once', async () => {
  const ran = await refused(['pay'], 2, 'usage');
  assert.match(ran.error, /--to, --destination or --by, --currency, --amount or --receive, --yes/);
  await refused(['pay', '--amount', '1,000', '--to', 'ana', ...bank, '--yes'], 2, 'usage');
  await refused(['recipient', 'create'], 2, 'usage');
  await refused(['payout', 'frobnicate'], 2, 'usage');
  const help = await shell.run(['payout', 'commit']);
  assert.equal(help.exitCode, 2);
  assert.match(help.error, /missing required argument/);
});

test('amounts of a result are texts with every digit', async () => {
  const [balance] = await json<{ balance: string; currency_code: string }[]>('balances');
  assert.equal(balance?.currency_code, 'USD');
  assert.match(balance.balance, /^\d+(\.\d+)?$/);
  const { out } = await done(['balances']);
  assert.match(out, /^currency\s+available\s+token\nUSD\s+\d/);
  assert.doesNotMatch(out, /\u001b/);
});

test('recipients are listed, shown and judged', async () => {
  const list = await json<{ internal_user_id: string }[]>('recipient', 'list', '--country', 'mex');
  assert.ok(list.some(({ internal_user_id: id }) => id === 'ana'));
  const limit = ['--country', 'mex', '--limit', String(list.length - 1)];
  const cut = await done(['recipient', 'list', ...limit, '--json']);
  assert.deepEqual(cut.json(), list.slice(0, -1));
  assert.match(cut.error, /^More follow: these are the first \d+; --limit shows more\.$/m);
  assert.equal((await json('recipient', 'show', 'ana'))['city'], 'Puebla');
  await refused(['recipient', 'show', 'nobody'], 1, 'not_found');
  const [offer] = await json<{ destination_token: string }[]>(
    'destinations',
    'MEX',
    '--by',
    'bank_deposit',
  );
  const place = [
    '--destination',
    offer?.destination_token ?? '',
    '--currency',
    'MXN',
    '--amount',
    '100',
  ];
  const ran = await shell.run(['recipient', 'readiness', 'ana', ...place, '--json']);
  assert.equal(ran.exitCode, 1);
  assert.equal(ran.json()['payable'], false);
});

test('destinations are a table with cost, what arrives, time and rating, best price first', async () => {
  const { out } = await done(['destinations', 'MEX', '--amount', '100', '--currency', 'MXN']);
  assert.match(out, /^delivery +payer +fee +costs +arrives +by +rating +token$/m);
  assert.match(
    out,
    /^bank deposit .* USD .* MXN  \d{4}-\d\d-\d\d \d\d:\d\d UTC  none yet  [0-9a-f-]{36}$/m,
  );
});

test('a quote is committed, followed to its end by the sandbox clock, and its receipt verifies', async () => {
  const paid = [
    'pay',
    '--to',
    'eva',
    ...bank,
    '--amount',
    '11',
    '--reference',
    'r-2',
    '--yes',
    '--wait',
    '0s',
  ];
  await done(paid);
  await done(['sandbox', 'outcome', 'r-2', 'completed']);
  const { now } = await json('sandbox', 'clock', '--advance', '10d');
  assert.equal((await json('sandbox', 'clock'))['now']?.slice(0, 10), now?.slice(0, 10));
  const watched = await done(['payout', 'watch', 'r-2', '--json']);
  assert.equal(watched.lines().at(-1)?.['status'], 'COMPLETED');
  assert.match((await done(['payout', 'show', 'r-2'])).out, /UTC {2}completed/);
  assert.equal((await json('payout', 'commit', 'r-2'))['status'], 'success');
  await done(['payout', 'receipt', 'r-2', '--file', 'r.pdf']);
  await done(['receipt', 'key', '--file', 'key.pem']);
  await done(['receipt', 'key', '--all']);
  for (const key of ['key.pem', 'receipt-keys.json']) {
    const verified = await done(['receipt', 'verify', 'r.pdf', '--key', key, '--json']);
    assert.equal(verified.json()['result'], 'genuine');
  }
  const list = await json<{ client_transfer_id: string }[]>('payout', 'list', '--recipient', 'eva');
  assert.ok(list.some(({ client_transfer_id: id }) => id === 'r-2'));
});

test('a canceled payout ends watch with exit code 1', async () => {
  await done([
    'pay',
    '--to',
    'eva',
    ...bank,
    '--amount',
    '12',
    '--reference',
    'r-3',
    '--yes',
    '--wait',
    '0s',
  ]);
  await done(['sandbox', 'outcome', 'r-3', 'rejected']);
  await done(['sandbox', 'clock', '--advance', '5d']);
  const { exitCode, out, error } = await shell.run(['payout', 'watch', 'r-3']);
  assert.equal(exitCode, 1);
  assert.match(out, /cancelled/);
  assert.match(error, /The payout is cancelled/);
  assert.doesNotMatch((await done(['payout', 'show', 'r-3'])).out, /expected by/);
});

test('a scheduled payout is canceled before it runs', async () => {
  const { now = '' } = await json('sandbox', 'clock');
  const day = new Date(Date.parse(`${now.slice(0, 10)}T00:00:00Z`) + 5 * 86_400_000);
  const terms = ['--amount', '13', '--reference', 'r-4', '--at', day.toISOString().slice(0, 10)];
  await done(['pay', '--to', 'eva', ...bank, ...terms, '--yes', '--wait', '0s']);
  assert.match(
    (await done(['payout', 'show', 'r-4'])).out,
    /^status +scheduled$[\s\S]*^runs at +20/m,
  );
  assert.equal((await json('payout', 'cancel', 'r-4'))['status'], 'CANCELLED');
});

test('a batch is paid to its result file; a file with faults pays nothing', async () => {
  const head =
    'client_transfer_id,internal_user_id,delivery_type,destination_currency_code,source_amount';
  const rows = [head, 'run-1,eva,BANK_DEPOSIT,MXN,10', 'run-2,eva,BANK_DEPOSIT,MXN,10.50'];
  const wrong = [...rows, 'run-3,eva,BANK_DEPOSIT,MXN,abc'];
  writeFileSync(join(shell.folder, 'run.csv'), rows.join('\n'));
  writeFileSync(join(shell.folder, 'wrong.csv'), wrong.join('\n'));
  const faulty = await shell.run(['batch', 'send', 'wrong.csv', '--yes']);
  assert.equal(faulty.exitCode, 1);
  assert.match(faulty.out, /line 4, source_amount/);
  await refused(['batch', 'send', 'run.csv'], 2, 'usage');
  const sending = 'batch send run.csv --yes --name November'.split(' ');
  type Sent = { batch_token: string; rows: { committed: number }; result: string };
  const sent = await json<Sent>(...sending);
  assert.equal(sent.rows.committed, 2);
  assert.equal(shell.read(sent.result).trim().split('\n').length, 3);
  assert.match((await done(['batch', 'show', sent.batch_token])).out, /November/);
  assert.equal((await shell.run(['batch', 'commit', sent.batch_token])).exitCode, 0);
  const other = await shell.run(['batch', 'commit', sent.batch_token, '--quote-number', '2']);
  assert.equal(other.exitCode, 1);
  assert.match(other.error, /quote 1 of the batch was committed/);
  await done(['batch', 'result', sent.batch_token, '--file', 'again.csv']);
  assert.match(shell.read('again.csv'), /COMMITTED/);
});

test('events are read from a sequence on, and only those of a type', async () => {
  const tail = await done([
    'events',
    'tail',
    '--after',
    '0',
    '--type',
    'payout.*',
    '--count',
    '2',
    '--json',
  ]);
  const types = tail.lines<{ type: string }>().map(({ type }) => type);
  assert.deepEqual(types, ['payout.pending', 'payout.processing']);
  const created = ['events', 'tail', '--type', 'user.created', '--count', '1'];
  const [, oldest = ''] = /^(\d+) /.exec((await done([...created, '--after', '0'])).out) ?? [];
  const pending = done(created);
  let isPending = true;
  void pending.finally(() => (isPending = false));
  // It begins with what is new: recipients are created until it has begun.
  for (let count = 0; isPending; count += 1) {
    await done(['recipient', 'create', ...person(`leo-${count}`)]);
  }
  const [, newer = ''] = /^(\d+) .* user\.created {2}usr_/.exec((await pending).out) ?? [];
  assert.ok(Number(newer) > Number(oldest), `${newer} after ${oldest}`);
});

test('forwarded events carry the exact amounts of the log, and the reference verifier accepts them', async () => {
  await using receiver = await startReceiver();
  const options = ['--after', '0', '--type', 'payout.processing', '--count', '1'];
  const forwarded = await done(['webhooks', 'forward', receiver.url, ...options]);
  const secret = /whsec_\S+/.exec(forwarded.error)?.[0] ?? '';
  assert.equal(forwarded.error.match(/whsec_/g)?.length, 1);
  assert.match(forwarded.out, /payout\.processing .*→ 200/);
  const [message] = receiver.received;
  assert.ok(message !== undefined);
  new Webhook(secret).verify(message.text, message.headers as Record<string, string>);
  assert.match(message.text, /"source_amount":20\.5,/);
  const listened = await done(['webhooks', 'listen', ...options, '--secret', secret, '--json']);
  const [{ headers, body } = { headers: {}, body: '' }] = listened.lines<{
    headers: Record<string, string>;
    body: string;
  }>();
  new Webhook(secret).verify(body, headers);
  assert.equal(body, message.text);
});

test('a webhook is created, tested and listed', async () => {
  await using receiver = await startReceiver();
  const made = await json('webhooks', 'create', receiver.url, '--type', 'payout.completed');
  assert.match(made['secret'] ?? '', /^whsec_/);
  const token = made['webhook_token'] ?? '';
  assert.equal((await json('webhooks', 'test', token))['result'], 'delivered');
  receiver.behave(() => 500);
  assert.equal((await shell.run(['webhooks', 'test', token])).exitCode, 1);
  assert.match((await done(['webhooks', 'list'])).out, new RegExp(`enabled .*${token}`));
});

test('a profile is checked, stored for its owner alone, used, and removed', async () => {
  const bare = { OUTLAY_URL: '', OUTLAY_KEY: '' };
  const none = await shell.run(['balances', '--json'], { env: bare });
  assert.equal(none.exitCode, 4);
  assert.match(none.error, /Next: outlay login/);
  const login = ['login', '--name', 'work', '--url', service.baseUrl];
  const wrong = await shell.run(login, { env: bare, input: 'test_wrong\n' });
  assert.equal(wrong.exitCode, 4);
  const { api_key: key, client_id: id, client_secret: secret } = account.credentials;
  // In a process of its own, because it reads standard input.
  const entered = await shell.spawn(login, { env: bare, input: `${key}\n` });
  assert.equal(entered.exitCode, 0, entered.error);
  const file = join(shell.folder, 'config/outlay/config.json');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  await done(['login', '--name', 'other', '--url', service.baseUrl, '--client-id', id], {
    env: bare,
    input: secret,
  });
  await done(['profile', 'use', 'work'], { env: bare });
  assert.match((await done(['profile', 'list'], { env: bare })).out, /^\* +work/m);
  await done(['balances'], { env: bare });
  await done(['balances', '--profile', 'other'], { env: bare });
  await done(['logout', 'other'], { env: bare });
  assert.equal((await shell.run(['balances', '--profile', 'other'], { env: bare })).exitCode, 2);
});

test('a stored key goes to no other address than its own, and none in clear text', async () => {
  const elsewhere = { OUTLAY_URL: 'https://other.example', OUTLAY_KEY: '' };
  const alone = await shell.run(['balances'], { env: elsewhere });
  assert.equal(alone.exitCode, 2);
  assert.match(alone.error, /OUTLAY_KEY must be set together with OUTLAY_URL/);
  const clear = await shell.run(['balances'], { env: { OUTLAY_URL: 'http://other.example' } });
  assert.equal(clear.exitCode, 2);
  assert.match(clear.error, /must begin with https/);
  const named = await shell.run(['balances', '--profile', 'nobody']);
  assert.equal(named.exitCode, 2);
});

test('the Demo account of a local service needs no login', async () => {
  const env = {
    OUTLAY_URL: '',
    OUTLAY_KEY: '',
    OUTLAY_DATA: service.dataDirectory ?? '',
    XDG_CONFIG_HOME: '/nowhere',
  };
  assert.match((await done(['balances'], { env })).out, /USD/);
  // A file in the folder must not choose the address that gets a key of the environment.
  const { error } = await shell.run(['balances'], { env: { ...env, OUTLAY_KEY: 'live_1' } });
  assert.match(error, /OUTLAY_URL must be set together with OUTLAY_KEY/);
});

test('a service that cannot be reached is exit code 3', async () => {
  const ran = await shell.run(['balances', '--json'], {
    env: { OUTLAY_URL: 'http://127.0.0.1:9' },
  });
  assert.equal(ran.exitCode, 3);
  assert.equal(ran.json<{ error: { code: string } }>().error.code, 'not_reachable');
});

test('help of every command teaches by an example, and the completion knows them all', async () => {
  const top = (await done(['complete', '--', ''])).out.trim().split('\n');
  assert.ok(top.includes('pay') && top.includes('admin'));
  assert.equal((await done(['complete', '--', 'payout', 'rec'])).out, 'receipt\n');
  assert.match((await done(['complete', '--', 'pay', '--rec'])).out, /--receive\n/);
  for (const shellName of ['bash', 'zsh', 'fish']) {
    assert.match((await done(['completion', shellName])).out, /outlay complete/);
  }
  assert.match((await done([])).out, /Usage: outlay/);
  assert.match((await done(['pay', '--help'])).out, /Examples:\n {2}outlay pay\n[\s\S]*Then:/);
});

test('operators run their commands below admin, and the ledger verifies', async () => {
  const env = { OUTLAY_DATA: service.dataDirectory ?? '', ...service.settings };
  const verified = await done(['ledger', 'verify'], { env });
  assert.equal(verified.json()['isSound'], true);
  // The first one showed that a process finds the program; the others need none.
  const operate = (...words: string[]) =>
    printCommand(service, findOperatorWords(words) ?? assert.fail('operators have this command'));
  assert.ok(Array.isArray(JSON.parse(await operate('admin', 'account', 'list'))));
  assert.match(await operate('rails'), /^NOW\n +rail +kind/);
  const rails: unknown = JSON.parse(await operate('rails', '--json'));
  assert.match(JSON.stringify(rails), /^\[\{"rail":"sandbox"/);
  const unknown = await shell.run(['admin', 'nonsense'], { env });
  assert.equal(unknown.exitCode, 1);
});
