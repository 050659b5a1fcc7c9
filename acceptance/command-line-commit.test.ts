import assert from 'node:assert/strict';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, mock, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createContext } from '../cli/src/command.ts';
import { payCommands } from '../cli/src/commands/pay.ts';
import { createOutput } from '../cli/src/output.ts';
import { decimal } from '../sdk/src/index.ts';
import { openShell, type Ran, type Shell } from './command-line-kit.ts';
import { readValues } from './documented-values.ts';
import { mexicanBank, proposeNew, quote, readProposal } from './proposal-kit.ts';
import { type CountryLookup, createRecipient, listPayers } from './recipients.ts';
import { isoOf, readNowMs } from './schedule-kit.ts';
import {
  type Account,
  createAccount,
  daySeconds,
  ok,
  readBalance,
  type Service,
  startService,
} from './service.ts';

/** What a person must be able to trust: a lost answer is no failure, and nothing is paid unasked. */

let service: Service;
let account: Account;
let shell: Shell;

before(async () => {
  service = await startService();
  account = await createAccount(service, { USD: '1000' });
  shell = openShell(service, account);
  // Retries wait for a random part of their delay: here for none of it.
  mock.method(Math, 'random', () => 0);
});
after(async () => {
  mock.restoreAll();
  shell[Symbol.dispose]();
  await service.stop();
});

const pay = (id: string): string[] =>
  `pay --to ${id} --first-name Ana --last-name Gómez --country MEX --email ${id}@example.org
   --by BANK_DEPOSIT --currency MXN --amount 10 --detail BankAccountNumber=032180000118359719
   --reference ${id} --yes --wait 0s`.split(/\s+/);

/**
 * Hands everything on, but loses the answers of the first commits: they have taken effect; or everything
 * after the first commit. A decision about a proposal is a commit, too.
 */
async function losingAnswers(
  count: number,
  rest: 'after the commit' | 'nothing' = 'nothing',
): Promise<Proxy> {
  const keys: string[] = [];
  const server = createServer((incoming, outgoing) => {
    const { method, url = '', headers } = incoming;
    const { hostname, port } = new URL(service.baseUrl);
    const isCommit = method === 'PUT' || url.endsWith('/decision');
    const handed = request({ hostname, port, method, path: url, headers }, (answer) => {
      const isLate = keys.length > 0 && !isCommit && rest === 'after the commit';
      if (isCommit) keys.push(String(headers['idempotency-key']));
      if (isLate || (isCommit && keys.length <= count)) {
        answer.resume().once('end', () => outgoing.destroy());
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(handed);
  });
  return { ...(await listen(server)), keys };
}

type Proxy = AsyncDisposable & { url: string; keys: string[] };

async function listen(server: Server): Promise<Omit<Proxy, 'keys'>> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('a commit whose answers are lost is repeated with one key, and pays once', async () => {
  await using proxy = await losingAnswers(6);
  const before = await readBalance(account.api, 'USD');
  const ran = await shell.run([...pay('lost'), '--json'], { env: { OUTLAY_URL: proxy.url } });
  assert.equal(ran.exitCode, 0, ran.error);
  assert.equal(new Set(proxy.keys).size, 1);
  assert.equal(proxy.keys.length, 7);
  const { payout } = ran.json<{ payout: { total_debit: string } }>();
  const left = decimal(await readBalance(account.api, 'USD'));
  assert.equal(decimal(before).minus(left).text, payout.total_debit);
});

test('a commit without any answer is an unknown outcome, which payout show resolves', async () => {
  await using proxy = await losingAnswers(Number.POSITIVE_INFINITY);
  const ran = await shell.run([...pay('unknown'), '--json'], { env: { OUTLAY_URL: proxy.url } });
  assert.equal(ran.exitCode, 3);
  const { error } = ran.json<{ error: { code: string; next: string } }>();
  assert.equal(error.code, 'outcome_unknown');
  const [, token = ''] = /ask with: outlay payout show (payout_\S+);/.exec(error.next) ?? [];
  assert.match(ran.error, /outcome unknown/);
  const shown = await shell.run(['payout', 'show', token, '--json']);
  assert.equal(shown.json()['status'], 'PROCESSING');
  const [, repeat = ''] = /outlay (payout commit .*)$/.exec(error.next) ?? [];
  const repeated = await shell.run([...repeat.split(' '), '--json']);
  assert.equal(repeated.json()['status'], 'success');
});

test('a dry run without an answer has no unknown outcome, and no advice that would pay', async () => {
  await using proxy = await losingAnswers(Number.POSITIVE_INFINITY);
  const token = await quote(account.api, await createRecipient(account.api, mexicanBank));
  const words = ['payout', 'commit', token, '--dry-run'];
  const ran = await shell.run(words, { env: { OUTLAY_URL: proxy.url } });
  assert.equal(ran.exitCode, 3);
  assert.doesNotMatch(ran.error, /may have paid|payout commit/);
});

test('a commit that is still in progress after all attempts is an unknown outcome', async () => {
  const token = await quote(account.api, await createRecipient(account.api, mexicanBank));
  const refusal = { status: 409, code: 'idempotency_in_progress', detail: 'In progress' };
  const answer = { type: 'about:blank', title: 'x', request_id: 'r', errors: [], ...refusal };
  const server = createServer((incoming, outgoing) => {
    incoming.resume();
    const isCommit = incoming.method === 'PUT';
    outgoing.writeHead(isCommit ? 409 : 200, { 'content-type': 'application/json' });
    const row = { token, user_token: 'usr_1', status: 'PENDING' };
    outgoing.end(JSON.stringify(isCommit ? answer : [row]));
  });
  await using proxy = await listen(server);
  const words = ['payout', 'commit', token, '--json'];
  const ran = await shell.run(words, { env: { OUTLAY_URL: proxy.url } });
  assert.equal(ran.exitCode, 3, ran.error);
  assert.equal(ran.json<{ error: { code: string } }>().error.code, 'outcome_unknown');
});

test('a confirmation without any answer is an unknown outcome; repeated, it says what happened', async () => {
  await using proxy = await losingAnswers(Number.POSITIVE_INFINITY);
  const recipient = await createRecipient(account.api, mexicanBank);
  const proposal = await proposeNew(account.api, recipient);
  const words = ['proposal', 'confirm', proposal.proposal_token, '--yes', '--json'];
  const ran = await shell.run(words, { env: { OUTLAY_URL: proxy.url } });
  assert.equal(ran.exitCode, 3);
  assert.equal(new Set(proxy.keys).size, 1);
  const { error } = ran.json<{ error: { code: string; next: string } }>();
  assert.equal(error.code, 'outcome_unknown');
  assert.match(error.next, /outlay proposal show proposal_\S+; .*: outlay proposal confirm/);
  assert.equal((await readProposal(account.api, proposal)).status, 'CONFIRMED');
  assert.equal((await shell.run(words)).json()['status'], 'CONFIRMED');
});

test('the commands of a message have the profile of the command that wrote it', async () => {
  await using proxy = await losingAnswers(Number.POSITIVE_INFINITY);
  mkdirSync(join(shell.folder, 'config/outlay'), { recursive: true });
  const file = join(shell.folder, 'config/outlay/config.json');
  const work = { base_url: proxy.url, api_key: account.credentials.api_key };
  writeFileSync(file, JSON.stringify({ profiles: { work } }));
  const token = await quote(account.api, await createRecipient(account.api, mexicanBank));
  const ran = await shell.run(['payout', 'commit', token, '--profile', 'work']);
  assert.match(ran.error, /ask with: outlay --profile work payout show payout_/);
  assert.match(ran.error, /: outlay --profile work payout commit payout_\S+ --idempotency-key/);
  const shown = await shell.run(['--profile', 'work', 'payout', 'show', token]);
  assert.equal(shown.exitCode, 0, shown.error);
  writeFileSync(file, `{"profiles": {"work": {"api_key": ${work.api_key}}}}`);
  const broken = await shell.run(['balances', '--profile', 'work']);
  assert.equal(broken.exitCode, 2);
  assert.match(broken.error, /config\.json is not valid JSON/);
  assert.doesNotMatch(broken.error, new RegExp(work.api_key.slice(0, 8)));
  for (const content of ['[]', '{"profiles": {"work": {"api_key": "abc"}}}']) {
    writeFileSync(file, content);
    const unusable = await shell.run(['balances', '--profile', 'work']);
    assert.equal(unusable.exitCode, 2);
    assert.match(unusable.error, /config\.json does not have the expected form\. Correct it/);
  }
});

test('receipts and proofs, which name recipients, are for their owner alone', async () => {
  assert.equal((await shell.run(pay('private'))).exitCode, 0);
  await shell.run(['payout', 'receipt', 'private', '--file', 'private.pdf']);
  await shell.run(['payout', 'proof', 'private', '--file', 'private.json']);
  for (const file of ['private.pdf', 'private.json']) {
    assert.equal(statSync(join(shell.folder, file)).mode & 0o777, 0o600, file);
  }
});

test('pay that is run again after lost answers shows what happened, and pays once', async () => {
  await using proxy = await losingAnswers(Number.POSITIVE_INFINITY);
  const words = [...pay('again'), '--json'];
  const before = await readBalance(account.api, 'USD');
  const lost = await shell.run(words, { env: { OUTLAY_URL: proxy.url } });
  assert.equal(lost.exitCode, 3);
  const [first, second] = await Promise.all([shell.run(words), shell.run(words)]);
  const results = [first, second].map((ran) => {
    assert.equal(ran.exitCode, 0, ran.error);
    return ran.json<{ payout_token: string; repeated: boolean; payout: { total_debit: string } }>();
  });
  const { payout_token: token = '', payout } = results[0] ?? {};
  assert.deepEqual(
    results.map((result) => [result.payout_token, result.repeated]),
    [
      [token, true],
      [token, true],
    ],
  );
  assert.ok(lost.error.includes(token));
  const left = decimal(await readBalance(account.api, 'USD'));
  assert.equal(decimal(before).minus(left).text, payout?.total_debit);
  assert.match(first.error, /^The reference again was paid before; nothing is paid again\.$/m);
});

test('of two runs with one reference at the same time one pays, and both show it', async () => {
  const words = [...pay('twice'), '--json'];
  // The recipient and the details exist.
  const other = words.map((word, index) => (words[index - 1] === '--reference' ? 'once' : word));
  assert.equal((await shell.run(other)).exitCode, 0);
  const before = await readBalance(account.api, 'USD');
  const ran = await Promise.all([shell.run(words), shell.run(words)]);
  const results = ran.map(({ exitCode, error, json }) => {
    assert.equal(exitCode, 0, error);
    return json<{ payout_token: string; payout: { total_debit: string } }>();
  });
  assert.equal(new Set(results.map(({ payout_token: token }) => token)).size, 1);
  const left = decimal(await readBalance(account.api, 'USD'));
  assert.equal(decimal(before).minus(left).text, results[0]?.payout.total_debit);
});

test('pay that is run again after the payout was canceled says so', async () => {
  const later = isoOf((await readNowMs(account.api)) + 90 * daySeconds * 1000);
  const words = [...pay('ended'), '--at', later.slice(0, 10)];
  assert.equal((await shell.run(words)).exitCode, 0);
  assert.equal((await shell.run(['payout', 'cancel', 'ended'])).exitCode, 0);
  const ran = await shell.run(words);
  assert.equal(ran.exitCode, 1);
  assert.match(ran.error, /not paid: .*\nNext: outlay payout show payout_/);
});

test('pay names every fault of its options before anything happens', async () => {
  const words = `pay --to nobody --first-name No --last-name Body --country MEX
    --email nobody@example.org --by BANK_DEPOSIT --currency MXN --amount -3 --receive 1,5
    --detail oops --wait soon --receipt /nowhere/at/all.pdf --yes`.split(/\s+/);
  const ran = await shell.run(words);
  assert.equal(ran.exitCode, 2);
  for (const option of ['amount and --receive', 'amount', 'receive', 'detail', 'wait', 'receipt']) {
    assert.ok(ran.error.includes(`--${option} `), `${option} is not named: ${ran.error}`);
  }
  const shown = await shell.run(['recipient', 'show', 'nobody']);
  assert.equal(shown.exitCode, 1, 'a recipient was created');
});

test('a payout that waits for an operator after a refusal has not ended unpaid', async () => {
  const number = readValues('Bank accounts', 'MEX MXN').get('refused_by_payer') ?? '';
  const lookup = ok(await account.api.get<CountryLookup>('/country/MEX?amount=10'));
  const dynamic = listPayers(lookup, mexicanBank).filter(
    ({ is_dynamic_token }) => is_dynamic_token,
  );
  const states = new Map<string, Ran>();
  for (const [index, { destination_token: token }] of dynamic.entries()) {
    const words = pay(`refused-${index}`).flatMap((word, place, all) => {
      if (word === '--by') return ['--destination', token];
      if (all[place - 1] === '--by') return [];
      return word.startsWith('BankAccountNumber=') ? `BankAccountNumber=${number}` : word;
    });
    const ran = await shell.run([...words, '--json', '--wait', '5s']);
    const { payout } = ran.json<{ payout: { status: string } }>();
    states.set(payout.status, ran);
    if (payout.status === 'ERROR') break;
  }
  const ran = states.get('ERROR');
  assert.ok(ran !== undefined, [...states.keys()].join());
  assert.equal(ran.exitCode, 0, ran.error);
  assert.doesNotMatch(ran.error, /not_paid/);
});

test('what fails after the commit does not look like a payout that failed', async () => {
  await using proxy = await losingAnswers(0, 'after the commit');
  const ran = await shell.run([...pay('after'), '--json'], { env: { OUTLAY_URL: proxy.url } });
  assert.equal(ran.exitCode, 3);
  const { commit, payout, payout_token } = ran.json();
  assert.deepEqual(
    [(commit as { status: string }).status, payout, typeof payout_token],
    ['success', null, 'string'],
  );
  assert.match(ran.error, /Committed, but/);
  assert.match(ran.error, /outlay payout watch payout_/);
});

test('in a terminal pay asks for recipient, way and details, again after a fault, and for consent', async () => {
  const asked: string[] = [];
  const answers: Record<string, string[]> = {
    'Your own identifier for the recipient': ['joao'],
    'First name': ['João'],
    'Last name': ['Silva'],
    'E-mail address': ['joao@example.org'],
    'Country (three letters)': ['bra'],
    'How much do you send, in USD?': ['10'],
    'CPF or CNPJ': ['111.444.777-36', '111.444.777-35'],
    'Account number or Pix key': ['joao@example.org'],
  };
  const choices: Record<string, RegExp> = {
    'Who is paid?': /new recipient/,
    'Which currency should arrive?': /^BRL$/,
    'How should it arrive?': /^bank deposit/,
    'Which of these do you have?': /^Pix key/,
    'Purpose of payment': /^GIFT$/,
    'Account type (optional)': /^leave out$/,
  };
  const notes: string[] = [];
  const terminal = {
    out: process.stdout,
    error: {
      isTTY: true,
      write: (text: string) => notes.push(text),
    } as unknown as NodeJS.WriteStream,
    input: process.stdin,
    environment: {
      OUTLAY_URL: service.baseUrl,
      OUTLAY_KEY: account.credentials.api_key,
      NO_COLOR: '1',
    },
  };
  const written: unknown[] = [];
  const output = {
    ...createOutput(terminal, false),
    isInteractive: true,
    result: (value: unknown) => void written.push(value),
  };
  const { signal } = new AbortController();
  const time = { nowMs: Date.now, sleep: () => assert.fail('nothing is repeated') };
  const context = {
    ...createContext(terminal, { output, profileName: undefined, signal, ...time }),
    ask: {
      text: async ({
        message,
        check,
      }: {
        message: string;
        check?: (answer: string) => string | undefined;
      }) => {
        asked.push(message);
        const [question = ''] = Object.keys(answers).filter((name) => message.startsWith(name));
        const answer = answers[question]?.shift() ?? '';
        assert.notEqual(answer, '', message);
        assert.equal(check?.(answer), undefined, message);
        return answer;
      },
      secret: () => assert.fail('no secret is asked'),
      select: async <Value>(
        message: string,
        offered: readonly { value: Value; label: string }[],
      ) => {
        asked.push(message);
        const chosen = offered.find(({ label }) => choices[message]?.test(label));
        assert.ok(chosen !== undefined, `${message}: ${offered.map(({ label }) => label).join()}`);
        return chosen.value;
      },
      confirm: async (message: string, untilMs = 0) => {
        asked.push(message);
        assert.ok(untilMs > Date.now() + 60_000 && untilMs < Date.now() + 16 * 60_000);
        return 'yes' as const;
      },
    },
  };
  const file = `${shell.folder}/receipt.pdf`;
  const values = { set: [], detail: [], yes: false, dryRun: false, wait: '0s', receipt: file };
  await payCommands[0]?.run(context, values);
  assert.equal((written[0] as { commit: { status: string } }).commit.status, 'success');
  // The wrong check digit was asked again, alone.
  assert.equal(asked.filter((message) => message.startsWith('CPF')).length, 2);
  assert.match(notes.join(''), /CPF or CNPJ: .*check digit/);
  assert.match(asked.at(-1) ?? '', /Pay 1\d\.?\d* USD to João Silva through http/);
});

test('a payout can be followed for weeks', async () => {
  const words = pay('weeks').map((word) => (word === '0s' ? '4w' : word));
  const running = shell.run([...words, '--json']);
  const find = async () => {
    const list = await shell.run(['payout', 'list', '--reference', 'weeks', '--json']);
    return list.json<{ status: string }[]>().some(({ status }) => status === 'PROCESSING');
  };
  while (!(await find())) await pause(50);
  await shell.run(['sandbox', 'clock', '--advance', '1d']);
  const { payout } = (await running).json<{ payout: { status: string } }>();
  assert.equal(payout.status, 'COMPLETED');
});
