import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { commands } from '../cli/src/commands/index.ts';
import { describeRows, type Sender, writeCsv } from './batch-kit.ts';
import { openShell, type Shell } from './command-line-kit.ts';
import { createKey, type Key, proposeNew } from './proposal-kit.ts';
import { createPayout, createRecipient, deliveryCases, type Recipient } from './recipients.ts';
import { isoOf, readNowMs } from './schedule-kit.ts';
import { createAccount, daySeconds, type Service, startService } from './service.ts';
import { type Receiver, startReceiver, webhookSettings } from './webhook-receiver.ts';

/**
 * What every command of clients writes on a terminal, on a pipe and with `--json`. Those of operators
 * are in command-output-of-operators.test.ts.
 */

let service: Service;
let sender: Sender;
let recipient: Recipient;
let proposer: Key;
let receiver: Receiver;
let shell: Shell;

before(async () => {
  service = await startService({ settings: webhookSettings });
  const account = await createAccount(service, { USD: '100000' });
  recipient = await createRecipient(account.api, deliveryCases.bank);
  sender = { ...account, recipients: [recipient] };
  proposer = await createKey(service, account, { budget: ['--currency', 'USD', '--open', '20'] });
  receiver = await startReceiver();
  shell = openShell(service, account);
});
after(async () => {
  shell[Symbol.dispose]();
  await receiver[Symbol.asyncDispose]();
  await service.stop();
});

const quote = async (changes = {}): Promise<string> =>
  (await createPayout(sender.api, recipient, changes))['payout_token'] ?? '';

async function commit(changes = {}): Promise<string> {
  const token = await quote(changes);
  assert.equal((await shell.run(['payout', 'commit', token])).exitCode, 0);
  return token;
}

async function json(...words: string[]): Promise<Record<string, string>> {
  return (await shell.run([...words, '--json'])).json();
}

const to = (): string[] => [
  '--destination',
  recipient.payer.destination_token,
  '--currency',
  recipient.delivery.currency,
];

const propose = async (): Promise<string> =>
  (await proposeNew(proposer.api, recipient)).proposal_token;
const quoteFile = async (): Promise<string> => {
  const file = join(shell.folder, 'run.csv');
  writeFileSync(file, writeCsv(describeRows(sender, 1)));
  return file;
};
const sendFile = async (): Promise<string> =>
  (await json('batch', 'send', await quoteFile(), '--yes'))['batch_token'] ?? '';
const login = ['login', '--name', 'work', '--url'];
const logIn = () => shell.run([...login, service.baseUrl], { input: sender.credentials.api_key });
const createWebhook = async (): Promise<string> =>
  (await json('webhooks', 'create', receiver.url, '--type', 'batch.draft'))['webhook_token'] ?? '';
const oneEvent = ['--after', '0', '--type', 'user.created', '--count', '1'];
/** By the clock of the service, which other files may have moved. */
async function findLater(): Promise<string> {
  return isoOf((await readNowMs(sender.api)) + 20 * daySeconds * 1000);
}

/** The words after the name of the command; each form gets objects of its own. */
type Line = {
  words(form: string): readonly string[] | Promise<readonly string[]>;
  input?(): string;
};
const say = (...words: string[]): Line => ({ words: () => words });
const on = (find: () => Promise<string>, ...words: string[]): Line => ({
  words: async () => [await find(), ...words],
});

const lines: Readonly<Record<string, Line>> = {
  login: {
    words: () => [...login.slice(1), service.baseUrl],
    input: () => sender.credentials.api_key,
  },
  logout: { words: async () => (await logIn(), ['work']) },
  'profile list': say(),
  'profile use': { words: async () => (await logIn(), ['work']) },
  balances: say(),
  'recipient create': {
    words: (form) =>
      `--id ${form} --first-name Ana --last-name Sol --email ${form}@example.org --country MEX`.split(
        ' ',
      ),
  },
  'recipient list': say(),
  'recipient show': { words: () => [recipient.userToken] },
  'recipient readiness': {
    words: () => [recipient.userToken, ...to(), '--amount', '200'],
  },
  destinations: say('MEX'),
  pay: {
    words: (form) =>
      `--to ${recipient.userToken} --amount 10 --reference ${form} --yes --wait 0s`
        .split(' ')
        .concat(to()),
  },
  'payout list': say(),
  'payout show': on(quote),
  'payout commit': on(quote),
  'payout cancel': on(async () => commit({ scheduled_for: await findLater() })),
  'payout watch': on(async () => {
    const token = await commit();
    await shell.run(['sandbox', 'outcome', token, 'completed']);
    await shell.run(['sandbox', 'clock', '--advance', '5d']);
    return token;
  }),
  'payout receipt': on(commit),
  'payout proof': on(commit),
  'proposal list': say(),
  'proposal show': on(propose),
  'proposal confirm': on(propose, '--yes'),
  'proposal decline': on(propose),
  'proposal link': on(propose),
  'batch send': on(quoteFile, '--yes'),
  'batch show': on(sendFile),
  'batch commit': on(sendFile),
  'batch result': on(sendFile, '--file', 'result.csv'),
  'events tail': say(...oneEvent),
  'webhooks list': say(),
  'webhooks create': { words: () => [receiver.url] },
  'webhooks test': on(createWebhook),
  'webhooks listen': say(...oneEvent),
  'webhooks forward': { words: () => [receiver.url, ...oneEvent] },
  'sandbox clock': say(),
  'sandbox outcome': on(commit, 'completed'),
  'receipt key': say('--file', 'key.pem'),
  completion: say('bash'),
};

/** A model speaks with the first; the second is in server/src/rails/partner/partner-check.test.ts. */
const others = ['mcp', 'partner-check'];
const streams = new Set(['payout watch', 'events tail', 'webhooks listen', 'webhooks forward']);

describe('a command of clients', () => {
  it('is in this list', () => {
    const listed = [...Object.keys(lines), ...others];
    assert.deepEqual(commands.map(({ name }) => name).toSorted(), listed.toSorted());
  });

  for (const [name, { words, input }] of Object.entries(lines)) {
    it(`${name} writes text, and JSON alone when asked`, async () => {
      for (const form of ['terminal', 'pipe', 'json']) {
        const line = [...name.split(' '), ...(await words(form))];
        const given = input === undefined ? {} : { input: input() };
        const ran = await shell.run(form === 'json' ? [...line, '--json'] : line, {
          ...given,
          isTerminal: form === 'terminal',
        });
        assert.equal(ran.exitCode, 0, `${form}: ${line.join(' ')}\n${ran.out}${ran.error}`);
        assert.notEqual(ran.out.trim(), '', `${form}: ${name} must write its result`);
        if (form === 'pipe') assert.doesNotMatch(ran.out + ran.error, /\u001B/);
        if (form !== 'json') assert.throws(() => JSON.parse(ran.out), SyntaxError, ran.out);
        else if (streams.has(name)) assert.ok(ran.lines().length > 0);
        else assert.equal(typeof ran.json(), 'object');
      }
    });
  }
});
