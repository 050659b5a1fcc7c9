import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { runCommand } from './commands.ts';
import {
  createKey,
  decide,
  type Key,
  mexicanBank,
  type Proposal,
  propose,
  proposeNew,
  quote,
} from './proposal-kit.ts';
import { createRecipient, type Recipient } from './recipients.ts';
import {
  type Account,
  advance,
  createAccount,
  daySeconds,
  ok,
  type Reply,
  type Service,
  startService,
} from './service.ts';
import { assertProblem } from './shapes.ts';

/** The budgets of keys: what they may propose, and what of it can be confirmed. */

let service: Service;
let account: Account;
let recipient: Recipient;

before(async () => {
  service = await startService({ takesCommands: true });
  account = await createAccount(service, { USD: '100000', EUR: '1000' });
  recipient = await createRecipient(account.api, mexicanBank);
});
after(() => service.stop());

const createLimited = (...budget: string[]): Promise<Key> =>
  createKey(service, account, { budget: ['--currency', 'USD', ...budget] });

async function proposeAmount(
  { api }: Key,
  amount: number,
  changes: Record<string, unknown> = {},
): Promise<Reply<Proposal>> {
  const payoutToken = await quote(api, recipient, { source_amount: amount, ...changes });
  return propose(api, recipient, { payoutToken });
}

function assertBeyond(reply: Reply<unknown>, limit: string): void {
  assertProblem(reply, 409, 'budget_exceeded');
  assert.match(reply.text, new RegExp(`"limit":"${limit}"`));
}

test('a proposal above the amount or in another currency than the budget is refused', async () => {
  const key = await createLimited('--per-proposal', '100');
  assertBeyond(await proposeAmount(key, 100), 'per_proposal');
  assertBeyond(await proposeAmount(key, 20, { source_currency_code: 'EUR' }), 'currency');
  assert.equal(ok(await proposeAmount(key, 50)).status, 'OPEN');
});

test('open proposals count until they are decided, however many come at once', async () => {
  const key = await createLimited('--open', '3');
  const tokens = [];
  for (let index = 0; index < 8; index += 1) tokens.push(await quote(key.api, recipient));
  const replies = await Promise.all(
    tokens.map((payoutToken) => propose(key.api, recipient, { payoutToken })),
  );
  const made = replies.filter(({ status }) => status === 200);
  assert.equal(made.length, 3);
  for (const reply of replies.filter(({ status }) => status !== 200)) {
    assertBeyond(reply, 'open_proposals');
  }
  const [first] = made;
  assert.ok(first !== undefined);
  ok(await decide(account.api, ok(first), 'DECLINED'));
  ok(await proposeAmount(key, 20));
});

test('the amounts of a day are not exceeded, and another day has its own', async () => {
  const key = await createLimited('--per-day', '500');
  const first = ok(await proposeAmount(key, 200));
  ok(await proposeAmount(key, 200));
  assertBeyond(await proposeAmount(key, 200), 'per_day');
  ok(await decide(account.api, first, 'CONFIRMED'));
  assertBeyond(await proposeAmount(key, 200), 'per_day');
  await advance(service.demo, daySeconds);
  ok(await proposeAmount(key, 200));
});

test('a rotation of the key makes no new budget', async () => {
  const key = await createLimited('--per-day', '500', '--open', '2');
  ok(await proposeAmount(key, 200));
  const { account: id } = account.credentials;
  const words = ['--account', id, '--credential', key.credentialId];
  const rotated = await runCommand(service, ['credential', 'rotate', ...words]);
  const successor: Key = {
    api: account.api.withToken(rotated['api_key'] ?? ''),
    credentialId: rotated['credential_id'] ?? '',
  };
  assertBeyond(await proposeAmount(successor, 400), 'per_day');
  ok(await proposeAmount(successor, 200));
  assertBeyond(await proposeAmount(successor, 20), 'open_proposals');
  assertBeyond(await proposeAmount(key, 200), 'per_day');
});

test('a budget that was lowered holds for confirmations of open proposals too', async () => {
  const key = await createLimited('--per-day', '1000');
  const proposals = [];
  for (let index = 0; index < 4; index += 1) {
    proposals.push(await proposeNew(key.api, recipient, { source_amount: 100 }));
  }
  const { account: id } = account.credentials;
  const words = ['--account', id, '--credential', key.credentialId, '--currency', 'USD'];
  await runCommand(service, ['credential', 'budget', ...words, '--per-day', '250']);
  const replies = await Promise.all(
    proposals.map((proposal) => decide(account.api, proposal, 'CONFIRMED')),
  );
  assert.equal(replies.filter(({ status }) => status === 200).length, 2);
  for (const reply of replies.filter(({ status }) => status !== 200)) {
    assertBeyond(reply, 'per_day');
  }
  await runCommand(service, ['credential', 'budget', ...words, '--remove']);
  const open = proposals[replies.findIndex(({ status }) => status !== 200)];
  assert.ok(open !== undefined);
  assert.equal(ok(await decide(account.api, open, 'CONFIRMED')).status, 'CONFIRMED');
});

test('a budget is for a credential that may propose', async () => {
  const { account: id } = account.credentials;
  const words = ['credential', 'create', '--account', id, '--kind', 'api_key'];
  const budget = ['--currency', 'USD', '--per-day', '250'];
  const refused = runCommand(service, [...words, '--scopes', 'payouts:commit', ...budget]);
  await assert.rejects(refused, /payouts:propose/);
  await assert.rejects(runCommand(service, [...words, '--per-day', '250']), /--currency/);
});
