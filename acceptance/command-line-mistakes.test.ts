import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openShell, type Ran, type Shell } from './command-line-kit.ts';
import { createAccount, type Service, startService } from './service.ts';

/** Mistakes on the command line that could pay the wrong person, twice, or not at all. */

let service: Service;
let shell: Shell;

before(async () => {
  service = await startService();
  shell = openShell(service, await createAccount(service, { USD: '1000' }));
  const person = ['--first-name', 'Ana', '--last-name', 'Gómez', '--email', 'ana@example.org'];
  const further = ['--country', 'MEX', '--set', 'mobile_number=+52 55 1234 5678'];
  const created = await shell.run(['recipient', 'create', '--id', 'ana', ...person, ...further]);
  assert.equal(created.exitCode, 0, created.error);
});
after(async () => {
  shell[Symbol.dispose]();
  await service.stop();
});

type Failed = {
  error: { code: string; detail: string; next?: string; payout_token?: string; exit_code: number };
};

async function fail(
  words: readonly string[],
  code: string,
  exitCode = 1,
): Promise<Failed['error']> {
  const ran = await shell.run([...words, '--json']);
  assert.equal(ran.exitCode, exitCode, `${words.join(' ')}\n${ran.out}${ran.error}`);
  const { error } = ran.json<Failed>();
  assert.equal(error.code, code);
  return error;
}

const bank = ['--by', 'BANK_DEPOSIT', '--currency', 'MXN'];
const clabe = ['--detail', 'BankAccountNumber=032180000118359719'];
const ana = ['pay', '--to', 'ana', ...bank, '--yes', '--wait', '0s'];

async function done(words: readonly string[]): Promise<Ran> {
  const ran = await shell.run([...words, '--json']);
  assert.equal(ran.exitCode, 0, `${words.join(' ')}\n${ran.out}${ran.error}`);
  return ran;
}

test('pay refuses a recipient who is another person than the options describe', async () => {
  const bob = ['--first-name', 'Bob', '--email', 'bob@example.org', '--set', 'city=Leeds'];
  const { detail } = await fail([...ana, ...clabe, '--amount', '20', ...bob], 'recipient_differs');
  assert.equal(detail, 'The recipient ana has another first_name, email, city. Nothing was paid.');
  assert.deepEqual((await done(['payout', 'list'])).json(), [], 'nothing was quoted');
  const same = ['--first-name', 'ana', '--email', 'ANA@example.org', '--country', 'mex'];
  const mobile = ['--set', 'mobile_number=525512345678'];
  await done([...ana, ...clabe, '--amount', '200', ...same, ...mobile]);
});

test('a field that recipients do not have is refused before anything happens', async () => {
  const set = ['--set', 'mobile_nubmer=525512345678'];
  const { detail } = await fail([...ana, '--amount', '20', ...set], 'usage', 2);
  assert.match(
    detail,
    /--set must name a field of a recipient, such as .*mobile_number.*: mobile_nubmer/,
  );
  const eva = ['--id', 'eva', '--first-name', 'E', '--last-name', 'V', '--email', 'e@example.org'];
  await fail(['recipient', 'create', ...eva, '--country', 'MEX', ...set], 'usage', 2);
});

test('pay takes the payer whose details are stored before a cheaper one without details', async () => {
  const ran = await shell.run([...ana, '--amount', '10', '--dry-run']);
  assert.equal(ran.exitCode, 0, ran.out + ran.error);
  assert.match(ran.error, /is cheaper, and needs details: --destination [0-9a-f-]{36}/);
  await done([...ana, '--amount', '10']);
});

test('the payer of an amount to receive is the cheapest for it, not for 200 dollars', async () => {
  const zoe = [
    '--id',
    'zoe',
    '--first-name',
    'Zoe',
    '--last-name',
    'M',
    '--email',
    'z@example.org',
  ];
  await done(['recipient', 'create', ...zoe, '--country', 'MEX']);
  const chosen: Record<string, unknown>[] = [];
  for (const amount of [
    ['--amount', '10'],
    ['--receive', '182.23'],
    ['--receive', '3600'],
  ]) {
    const words = ['pay', '--to', 'zoe', ...bank, ...amount, '--dry-run', '--json'];
    chosen.push((await shell.run(words)).json());
  }
  const [small, received, large] = chosen.map((quote) => quote['payer_name']);
  assert.equal(received, small);
  assert.notEqual(large, small);
  assert.equal(chosen[1]?.['total_debit'], '10.55');
  const coins = ['--currency', 'MXN', '--receive', '182', '--from', 'usdc', '--dry-run'];
  await fail(['pay', '--to', 'zoe', ...bank.slice(0, 2), ...coins], 'no_balance_in_currency');
});

test('a dry run without details says what to do without a token that it has not', async () => {
  const cash = ['pay', '--to', 'ana', '--by', 'CASH_PICKUP', '--currency', 'MXN'];
  const ran = await shell.run([...cash, '--amount', '10', '--dry-run']);
  assert.equal(ran.exitCode, 1);
  assert.match(ran.error, /Next: correct this, then repeat the command\n/);
});

test('a reference that was paid on other terms names the payout that has it', async () => {
  const terms = [...ana, '--reference', 'rent'];
  const paid = (await done([...terms, '--amount', '10'])).json();
  const fails = async (words: string[], difference: RegExp): Promise<void> => {
    const error = await fail(words, 'duplicate_transfer');
    assert.equal(error.payout_token, paid['payout_token']);
    assert.equal(error.next, `outlay payout show ${error.payout_token}`);
    assert.match(error.detail, difference);
  };
  await fails([...terms, '--amount', '10.01'], /another --amount:/);
  await fails([...terms, '--amount', '10', '--at', '2099-01-01'], /another --at:/);
  await fails([...terms, '--amount', '10', '--from', 'USDC'], /another --from:/);
  const account = 'BankAccountNumber=646180110400000007';
  await fails([...terms, '--amount', '10', '--detail', account], /another --detail:/);
  const [pay, , , ...others] = [...terms, '--amount', '10'];
  await fails([pay ?? '', '--to', 'zoe', ...others], /another --to/);
  const again = (await done([...terms, '--amount', '10.0'])).json();
  assert.deepEqual([again['payout_token'], again['repeated']], [paid['payout_token'], true]);
});

test('a recipient is announced once it exists', async () => {
  const eva = ['--first-name', 'Eva', '--last-name', 'Gómez', '--email', 'not an address'];
  const words = ['pay', '--to', 'new', ...eva, '--country', 'MEX', ...bank, ...clabe, '--yes'];
  const ran = await shell.run([...words, '--amount', '10']);
  assert.equal(ran.exitCode, 1);
  assert.doesNotMatch(ran.error, /New recipient/);
});

test('the upload of a batch that was committed is followed to its result', async () => {
  const header =
    'client_transfer_id,internal_user_id,delivery_type,destination_currency_code,source_amount';
  writeFileSync(join(shell.folder, 'one.csv'), `${header}\npart-1,ana,BANK_DEPOSIT,MXN,10\n`);
  const words = ['batch', 'send', 'one.csv', '--yes', '--idempotency-key', 'upload-1'];
  const first = (await done(words)).json<{ batch_token: string }>();
  const again = (await done(words)).json<{ batch_token: string; result: string; status: string }>();
  assert.deepEqual(
    { token: again.batch_token, status: again.status, result: again.result },
    { token: first.batch_token, status: 'COMMITTED', result: 'one.csv.result.csv' },
  );
  assert.match(shell.read('one.csv.result.csv'), /part-1/);
});

test('a batch without a row that can be paid is not advised to leave the faults out', async () => {
  const header =
    'client_transfer_id,internal_user_id,delivery_type,destination_currency_code,source_amount';
  writeFileSync(join(shell.folder, 'bad.csv'), `${header}\nbad-1,nobody,BANK_DEPOSIT,MXN,10\n`);
  const ran = await shell.run(['batch', 'send', 'bad.csv', '--yes', '--mode', 'valid']);
  assert.equal(ran.exitCode, 1);
  assert.doesNotMatch(ran.error, /--mode valid/);
});

test('an upload that gets no answer says how to continue it', async () => {
  const server = createServer((request) => void request.socket.destroy());
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  writeFileSync(join(shell.folder, 'cut.csv'), 'client_transfer_id\n');
  const env = { OUTLAY_URL: `http://127.0.0.1:${port}` };
  const ran = await shell.run(['batch', 'send', 'cut.csv', '--yes', '--mode', 'valid'], { env });
  await new Promise((resolve) => void server.close(resolve));
  assert.equal(ran.exitCode, 3, ran.error);
  assert.match(
    ran.error,
    /Nothing was paid\.\nNext: outlay batch send cut\.csv --mode valid --idempotency-key \S+\n/,
  );
});

test('a file that cannot be read, an address without a scheme, and types without events are named', async () => {
  const missing = await fail(['batch', 'send', 'none.csv', '--yes'], 'usage', 2);
  assert.equal(missing.detail, 'There is no file none.csv');
  const folder = await fail(['batch', 'send', '.', '--yes'], 'usage', 2);
  assert.equal(folder.detail, '. is a folder, not a file');
  const bare = await shell.run(['balances'], { env: { OUTLAY_URL: '127.0.0.1:8080' } });
  assert.equal(bare.exitCode, 2);
  assert.match(bare.error, /must begin with https:\/\/ or http:\/\//);
  const tail = ['events', 'tail', '--after', '0', '--count', '1', '--type'];
  await fail([...tail, 'payot.*'], 'invalid_value');
  await fail([...tail, 'payout.complete'], 'invalid_value');
});

test('a page of another server is no answer of the service', async () => {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<p>Sign in</p>');
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const env = { OUTLAY_URL: `http://127.0.0.1:${port}` };
  const ran = await shell.run(['balances'], { env });
  await new Promise((resolve) => void server.close(resolve));
  assert.equal(ran.exitCode, 3);
  assert.match(ran.error, /status 200 and text\/html content\nNext: The answer is not from Outlay/);
});
