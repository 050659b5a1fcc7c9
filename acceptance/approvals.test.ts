import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { commit as commitBatch, describeRows, quote, uploadRows } from './batch-kit.ts';
import { runCommand } from './commands.ts';
import {
  type CommitResult,
  commitPayout,
  createPayout,
  createRecipient,
  deliveryCases,
  pay,
  payoutPath,
  type Recipient,
  readPayout,
} from './recipients.ts';
import {
  type Account,
  advance,
  createAccount,
  daySeconds,
  ok,
  readBalance,
  type Service,
  startService,
} from './service.ts';

/** Rules hold payouts until persons have approved them; who made a payout does not approve it. */

let service: Service;
const folder = mkdtempSync(join(tmpdir(), 'outlay-rules-'));
after(async () => {
  rmSync(folder, { recursive: true });
  await service.stop();
});

type Row = Record<string, unknown>;
type HeldCommit = CommitResult & { payout_status?: string; status_reason?: string };

let account: Account;
let recipient: Recipient;
const operators: Record<string, string> = {};

before(async () => {
  service = await startService({ isOwn: true });
  for (const name of ['bea', 'carl']) {
    const words = ['operator', 'create', '--name', name, '--role', 'approver', '--reason', 'test'];
    operators[name] = (await runCommand(service, words))['key'] ?? '';
  }
});

beforeEach(async () => {
  account = await createAccount(service, { USD: '100000' });
  recipient = await createRecipient(account.api, deliveryCases.bank);
});

async function setRules(rules: unknown[], owner: Account = account): Promise<void> {
  const path = join(folder, 'rules.json');
  writeFileSync(path, JSON.stringify({ rules }));
  const id = owner.credentials.account;
  const words = ['rule', 'set', '--account', id, '--policy', `@${path}`, '--reason', 'a test'];
  await runCommand(service, words);
}

const large = {
  name: 'large',
  when: { amount: { currency: 'USD', above: '500' }, country: [deliveryCases.bank.country] },
};

/** As an operator, over HTTP. */
async function call(name: string, request: string, body?: unknown) {
  const [method = '', path = ''] = request.split(' ');
  const response = await fetch(`${account.api.baseUrl}/v0.1.4${path}`, {
    method,
    headers: {
      authorization: `Bearer ${operators[name]}`,
      'outlay-account': account.credentials.account,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Row };
}

const decide = (name: string, payout: string, action = 'release') =>
  call(name, `POST /operator/payouts/${payout}/decision`, { action, reason: 'seen' });

/** Past the time that the simulated bank takes. */
async function waitForEnd(payoutToken: string): Promise<Row> {
  await advance(account.api, 7 * daySeconds);
  return waitFor(payoutToken, 'COMPLETED');
}

async function waitFor(payoutToken: string, status: string): Promise<Row> {
  for (const endMs = performance.now() + 60_000; ; await sleep(20)) {
    const payout: Row = await readPayout(account.api, recipient, payoutToken);
    if (payout['status'] === status) return payout;
    assert.ok(performance.now() < endMs, `is ${String(payout['status'])}, not ${status}`);
  }
}

test('a commit answers HOLD where a rule asks for approval, and pays once it is given', async () => {
  await setRules([large]);
  const small = await pay(account.api, recipient, { source_amount: 500 });
  assert.equal((await waitForEnd(small.payout_token))['status_reason'], '');

  const key = { 'idempotency-key': 'hold-1' };
  const quoted = await createPayout(account.api, recipient, { source_amount: 501 });
  const token = quoted['payout_token'] ?? '';
  const path = payoutPath(recipient, token);
  const commit = ok(await account.api.put<HeldCommit>(path, undefined, key));
  assert.equal(commit.status, 'success');
  assert.equal(commit.payout_status, 'HOLD');
  assert.equal(commit.status_reason, 'waits for approval');
  assert.deepEqual(
    ok(await account.api.put(path, undefined, key)),
    commit,
    'a repeat with the key',
  );
  const again = ok(await account.api.put<HeldCommit>(path));
  assert.equal(again.payout_status, 'HOLD', 'a repeat without it');

  const held: Row = await readPayout(account.api, recipient, token);
  assert.equal(held['status'], 'HOLD');
  assert.equal(held['reason_code'], 'needs_approval');
  assert.equal(held['actor'], 'operator');
  const open = await call('bea', 'GET /operator/exceptions?kind=approval');
  const exception = (open.body['data'] as Row[]).find(({ kind }) => kind === 'approval');
  assert.equal(exception?.['detail'], 'large');
  assert.equal(exception?.['approvers'], 1);

  assert.equal((await decide('bea', token)).status, 200);
  await waitForEnd(token);
});

test('a payout that is not approved in time is canceled and refunded', async () => {
  await setRules([{ ...large, expires_hours: 24 }]);
  const before = await readBalance(account.api);
  const { payout_token: token } = await pay(account.api, recipient, { source_amount: 600 });
  await advance(account.api, daySeconds - 60);
  assert.equal((await readPayout(account.api, recipient, token))['status'], 'HOLD');
  await advance(account.api, 120);
  const ended = await waitFor(token, 'CANCELLED');
  assert.equal(ended['reason_code'], 'not_approved');
  assert.equal(await readBalance(account.api), before);
});

test('an operator who made a payout can withdraw it, but not approve it', async () => {
  await setRules([large]);
  const { payer, delivery, attrSetToken, userToken } = recipient;
  const created = await call('bea', `POST /payout/${userToken}`, {
    destination_token: payer.destination_token,
    destination_currency_code: delivery.currency,
    attr_set_token: attrSetToken,
    source_amount: 700,
  });
  const token = String(created.body['payout_token']);
  const commit = await commitPayout(account.api, recipient, token);
  assert.equal((commit as HeldCommit).payout_status, 'HOLD');
  const own = await decide('bea', token);
  assert.deepEqual([own.status, own.body['code']], [409, 'own_payout']);
  assert.equal((await decide('carl', token)).status, 200);
  await waitForEnd(token);

  const other = await call('bea', `POST /payout/${userToken}`, {
    destination_token: payer.destination_token,
    destination_currency_code: delivery.currency,
    attr_set_token: attrSetToken,
    source_amount: 701,
  });
  const second = String(other.body['payout_token']);
  await commitPayout(account.api, recipient, second);
  assert.equal((await decide('bea', second, 'refund')).status, 200);
  await waitFor(second, 'CANCELLED');
});

test('a rule may ask for two people, and one person twice is one', async () => {
  await setRules([{ ...large, approvers: 2 }]);
  const { payout_token: token } = await pay(account.api, recipient, { source_amount: 900 });
  for (const _ of [1, 2]) {
    const { body } = await decide('bea', token);
    assert.deepEqual([body['result'], (body['outcome'] as Row | null) ?? null], ['waiting', null]);
  }
  assert.equal((await readPayout(account.api, recipient, token))['status'], 'HOLD');
  assert.equal((await decide('carl', token)).body['result'], 'done');
  await waitForEnd(token);
});

test('rows of a batch, and payouts that were committed before, wait too', async () => {
  const earlier = await createPayout(account.api, recipient, { source_amount: 800 });
  await setRules([large]);
  const commit = await commitPayout(account.api, recipient, earlier['payout_token']);
  assert.equal((commit as HeldCommit).payout_status, 'HOLD');

  const sender = { ...account, recipients: [recipient] };
  const rows = ['700', '100'].flatMap((amount) =>
    describeRows(sender, 1, { source_amount: amount }),
  );
  const batch = await quote(account.api, await uploadRows(account.api, rows));
  await commitBatch(account.api, batch);
  for (const endMs = performance.now() + 60_000; ; await sleep(50)) {
    const data = ok(await account.api.get<Row[]>('/payout?number_of_records=10'));
    const states = data.map(
      ({ status, source_amount: amount }) => `${String(amount)} ${String(status)}`,
    );
    if (states.includes('700 HOLD') && states.includes('100 PROCESSING')) break;
    assert.ok(performance.now() < endMs, states.join(', '));
  }
});

test('rules are tried on past payouts before they are set', async () => {
  await pay(account.api, recipient, { source_amount: 600, metadata: { team: 'payroll' } });
  await pay(account.api, recipient, { source_amount: 100, metadata: { team: 'payroll' } });
  await pay(account.api, recipient, { source_amount: 100 });
  const policy = {
    rules: [large, { name: 'payroll', when: { metadata: { team: ['payroll'] } } }],
  };
  const path = '/operator/approval-rules/preview';
  const { status, body } = await call('bea', `POST ${path}`, {
    account: account.credentials.account,
    policy,
  });
  assert.equal(status, 200, JSON.stringify(body));
  const { payouts, held, rules } = body['outcome'] as Row;
  assert.deepEqual([payouts, held], [3, 2]);
  assert.deepEqual(rules, [
    { name: 'large', held: 1 },
    { name: 'payroll', held: 2 },
  ]);
  const broken = await call('bea', `POST ${path}`, { policy: { rules: [{ name: 'x' }] } });
  assert.equal(broken.status, 400);
  assert.match(JSON.stringify(broken.body), /rules\.0\.when/);
});
