import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { cliEnvironment, cliMain, createProfiles, type Model, startModel } from './mcp-kit.ts';
import { click, createKey, openPage } from './proposal-kit.ts';
import { createRecipient, deliveryCases, pay, readAttributes, readPayout } from './recipients.ts';
import {
  type Account,
  advance,
  createAccount,
  daySeconds,
  type Service,
  startService,
} from './service.ts';

/** `outlay mcp` as a model and the person beside it use it. */

let service: Service;
let account: Account;
let profiles: { folder: string; remove(): Promise<void> };
let model: Model;

// Another one than the hint of the sandbox.
const clabe = '002010077777777771';

before(async () => {
  service = await startService({ takesCommands: true });
  account = await createAccount(service, { USD: '100000' });
  const agent = await createKey(service, account, {
    budget: ['--currency', 'USD', '--per-proposal', '1000'],
  });
  const approver = await createKey(service, account, { scopes: 'payouts:confirm payouts:read' });
  profiles = await createProfiles(service, {
    agent: agent.api.token,
    approver: approver.api.token,
    person: account.credentials.api_key,
  });
  model = await startModel(profiles.folder, {
    words: ['--profile', 'agent', '--confirm-profile', 'approver'],
    opens: 'accept',
  });
});
after(async () => {
  await model.close();
  await profiles.remove();
  await service.stop();
});

type Row = Record<string, string>;
type Proposed = { proposal: Row; confirmation: string; next: string };

/** Everything up to a quote, as a model does it. */
async function quote(by: Model, changes: Row = {}): Promise<Row> {
  const id = randomUUID();
  const { recipient } = await by.call<{ recipient: Row }>('create_recipient', {
    internal_user_id: id,
    country: 'MEX',
    first_name: 'Ana',
    last_name: 'Gómez',
    email: `${id}@example.org`,
    date_of_birth: '1990-02-01',
  });
  const user_token = recipient['user_token'] ?? '';
  const { destinations } = await by.call<{ destinations: Row[] }>('list_destinations', {
    country_code: 'MEX',
    amount: '100',
    destination_currency: 'MXN',
  });
  const bank = destinations.find((row) => row['delivery_type'] === 'BANK_DEPOSIT');
  const place = {
    user_token,
    destination_token: bank?.['destination_token'] ?? '',
    currency: 'MXN',
  };
  const { attributes } = await by.call<{ attributes: Row[] }>('get_requirements', place);
  const needed = attributes.filter((row) => String(row['is_optional']) !== 'true');
  const values = needed.map(({ token, type, expected_value: expected = '', validation = '' }) => ({
    token,
    value: type === 'BankAccountNumber' ? clabe : (validation.split('|')[0] ?? expected),
  }));
  await by.call('store_requirements', { ...place, values });
  const terms = {
    user_token,
    destination_token: place.destination_token,
    destination_currency_code: 'MXN',
    source_amount: '125.50',
    ...changes,
  };
  const { payout } = await by.call<{ payout: Row }>('create_quote', terms);
  return { ...payout, ...place, payout_token: payout['payout_token'] ?? '' };
}

function propose(by: Model, { user_token, payout_token }: Row): Promise<Proposed> {
  return by.call('propose_payout', { user_token, payout_token, reason: 'Invoice 4711' });
}

async function run(...words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [cliMain, ...words], {
    env: cliEnvironment(profiles.folder),
  });
  return stdout;
}

test('the tools say what they change, none pays, and the server teaches the way', async () => {
  const { tools } = await model.client.listTools();
  for (const { name, annotations, outputSchema, description = '' } of tools) {
    assert.equal(annotations?.destructiveHint, false, name);
    assert.equal(annotations.readOnlyHint, /^(get|list|check|preview)_/.test(name), name);
    assert.ok(outputSchema !== undefined && description.length > 20, name);
    assert.doesNotMatch(name, /commit|confirm|decide|link/);
  }
  assert.match(model.client.getInstructions() ?? '', /you cannot pay[\s\S]*It is data/);
});

test('a model proposes a payout, a person confirms the page, and the model sees it paid', async () => {
  const payout = await quote(model);
  const { proposal, confirmation } = await propose(model, payout);
  assert.deepEqual([proposal['status'], confirmation], ['OPEN', 'shown']);
  const shown = model.opened.at(-1);
  assert.equal(shown?.elicitationId, proposal['proposal_token']);
  const page = await openPage(shown?.url ?? '');
  assert.match(page.html, /Ana Gómez/);
  assert.equal((await click(page, 'CONFIRMED')).status, 303);
  const { proposal_token } = proposal;
  const read = await model.call<{ proposal: Row }>('get_proposal', { proposal_token });
  assert.deepEqual(
    [read.proposal['status'], read.proposal['decided_through']],
    ['CONFIRMED', 'link'],
  );
  await advance(service.demo, 5 * daySeconds);
  const { user_token, payout_token } = payout;
  const paid = await model.call<{ payout: Row }>('get_payout', { user_token, payout_token });
  assert.equal(paid.payout['status'], 'COMPLETED');
  assert.deepEqual(model.completed, [proposal_token], 'the client can close its page');
});

test('every reading tool answers what its schema describes', async () => {
  const payout = await quote(model);
  const { user_token, destination_token } = payout;
  const { balances } = await model.call<{ balances: Row[] }>('list_balances');
  assert.ok(
    balances.some((row) => row['currency_code'] === 'USD' && /^\d/.test(row['balance'] ?? '')),
  );
  const { recipients } = await model.call<{ recipients: Row[] }>('list_recipients', { limit: 2 });
  assert.equal(recipients.length, 2);
  const { recipient } = await model.call<{ recipient: Row }>('get_recipient', { user_token });
  assert.equal(recipient['last_name'], 'Gómez');
  const subject = { user_token, destination_token, currency: 'MXN', amount: '500' };
  const { readiness } = await model.call<{ readiness: { payable: boolean } }>(
    'check_readiness',
    subject,
  );
  assert.equal(readiness.payable, true);
  const preview = await model.call<{ payout: { dry_run: { commit: Row } } }>('preview_payout', {
    user_token,
    destination_token,
    destination_currency_code: 'MXN',
    destination_amount: '500',
  });
  assert.equal(preview.payout.dry_run.commit['status'], 'success');
  const { payouts } = await model.call<{ payouts: Row[] }>('list_payouts', { user_token });
  assert.deepEqual(
    payouts.map(({ payout_token: token }) => token),
    [payout['payout_token']],
    'a preview stores nothing',
  );
  await model.call('list_proposals', { status: 'OPEN' });
  const { events } = await model.call<{ events: { type: string }[] }>('list_events', { after: 0 });
  assert.ok(events.some(({ type }) => type === 'user.created'));
});

test('guides, pages of codes and receipts are resources', async () => {
  const { user_token, payout_token } = await quote(model);
  const read = async (uri: string) => (await model.client.readResource({ uri })).contents[0];
  const list = await read('outlay://guides');
  assert.ok(list !== undefined && 'text' in list && list.text.includes('webhooks'));
  const guide = await read('outlay://guide/interface');
  assert.ok(guide !== undefined && 'text' in guide && guide.text.startsWith('# '));
  const problem = await read('outlay://problem/budget_exceeded');
  assert.ok(problem !== undefined && 'text' in problem && problem.text.includes('budget'));
  const receipt = await read(`outlay://receipt/${user_token}/${payout_token}`);
  assert.ok(receipt !== undefined && 'blob' in receipt);
  assert.equal(Buffer.from(receipt.blob, 'base64').subarray(0, 5).toString(), '%PDF-');
});

test('refusals have their code: a budget, an unknown recipient, a key that may not', async () => {
  const large = await quote(model, { source_amount: '1500' });
  const { user_token, payout_token } = large;
  const proposal = { user_token, payout_token, reason: 'Too much' };
  assert.equal(await model.fail('propose_payout', proposal), 'budget_exceeded');
  const unknown = 'usr_00000000-0000-7000-8000-000000000000';
  assert.equal(await model.fail('get_recipient', { user_token: unknown }), 'not_found');
  const narrow = await startModel(profiles.folder, { words: ['--profile', 'approver'] });
  assert.equal(await narrow.fail('list_balances', {}), 'insufficient_scope');
  await narrow.close();
});

test('without a way to show links a person decides with the command line', async () => {
  const plain = await startModel(profiles.folder, { words: ['--profile', 'agent'] });
  const { proposal, confirmation, next } = await propose(plain, await quote(plain));
  assert.equal(confirmation, 'command');
  assert.match(next, /outlay proposal list/);
  await plain.close();
  const token = proposal['proposal_token'] ?? '';
  assert.match(await run('proposal', 'list', '--profile', 'person'), new RegExp(token));
  const shown = await run('proposal', 'show', token, '--profile', 'person');
  assert.match(shown, /Ana Gómez[\s\S]*\*{4}7771[\s\S]*Invoice 4711/);
  const words = ['proposal', 'confirm', token, '--profile', 'person', '--json'];
  await assert.rejects(run(...words), /--yes/);
  const confirmed = await run(...words, '--yes');
  assert.equal((JSON.parse(confirmed) as Row)['status'], 'CONFIRMED');
  await assert.rejects(run('proposal', 'decline', token, '--profile', 'person'), /CONFIRMED/);
});

test('a person who does not open the link leaves the proposal open', async () => {
  const words = ['--profile', 'agent', '--confirm-profile', 'approver'];
  const closed = await startModel(profiles.folder, { words, opens: 'decline' });
  const { proposal, confirmation } = await propose(closed, await quote(closed));
  assert.deepEqual([proposal['status'], confirmation], ['OPEN', 'refused']);
  await closed.close();
});

test('the code of a cash pickup and what identifies its recipient stay hidden', async () => {
  const { api } = account;
  const cash = await createRecipient(api, deliveryCases.cash, {
    chosen: { PhoneNumber: '525512345678' },
  });
  const place = {
    user_token: cash.userToken,
    destination_token: cash.payer.destination_token,
    currency: cash.delivery.currency,
  };
  const { payout_token } = await pay(api, cash, { source_amount: 50 });
  const { pickup_code = '' } = await readPayout(api, cash, payout_token);
  assert.match(pickup_code, /^\d{8}$/);
  const address = { user_token: cash.userToken, payout_token };
  const before = model.read.length;
  const { payout } = await model.call<{ payout: Row }>('get_payout', address);
  assert.equal(payout['pickup_code'], '********');
  await model.call('list_payouts', { user_token: cash.userToken });
  const { attributes } = await model.call<{ attributes: Row[] }>('get_requirements', place);
  const phone = attributes.find(({ type }) => type === 'PhoneNumber');
  assert.equal(phone?.['value'], '****', 'it is stored, and not shown');
  let after = 0;
  for (;;) {
    const { events } = await model.call<{ events: { sequence: number }[] }>('list_events', {
      after,
    });
    const last = events.at(-1);
    if (last === undefined) break;
    after = last.sequence;
  }
  const read = model.read.slice(before).join('\n');
  const stored = await readAttributes(api, {
    userToken: cash.userToken,
    destinationToken: place.destination_token,
    currency: place.currency,
  });
  const number = stored.find(({ type }) => type === 'PhoneNumber')?.value ?? '';
  assert.ok(number.length > 8);
  for (const secret of [pickup_code, number]) assert.ok(!read.includes(secret), secret);
  const uri = `outlay://receipt/${cash.userToken}/${payout_token}`;
  await assert.rejects(model.client.readResource({ uri }), /pickup code/);
});

test('a misspelled argument is refused, because the payout would be another one', async () => {
  const { user_token, destination_token } = await quote(model);
  const asked = { user_token, destination_token, destination_currency_code: 'MXN' };
  const result = await model.client.callTool({
    name: 'create_quote',
    arguments: { ...asked, source_amount: '10', source_currency: 'EUR' },
  });
  assert.equal(result.isError, true);
  assert.match(JSON.stringify(result.content), /source_currency/);
});

test('no tool has given the model a link, an account number or a date of birth', () => {
  const all = model.read.join('\n');
  assert.ok(model.opened.length > 0 && model.read.length > 20);
  for (const secret of ['/confirm/', clabe, '1990-02-01', '@example.org']) {
    assert.ok(!all.includes(secret), secret);
  }
});
