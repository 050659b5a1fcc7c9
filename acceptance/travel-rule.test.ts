import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { validate } from 'ivms101';
import { describeRows, quote, readRows, uploadRows } from './batch-kit.ts';
import { runCommand } from './commands.ts';
import {
  type CommitResult,
  commitPayout,
  createPayout,
  createRecipient,
  deliveryCases,
  payoutPath,
  type Recipient,
  readPayout,
} from './recipients.ts';
import {
  type Account,
  advance,
  createAccount,
  ok,
  readBalance,
  type Service,
  startService,
} from './service.ts';

/** Rules on the data of senders and recipients: complete before the commit, accepted before the sending. */

type Row = Record<string, unknown>;

/** What the provider answers next, and what it was sent. */
let status = 'accepted';
const messages: Row[] = [];
const provider = createServer((request, response) => {
  void text(request).then((body) => {
    messages.push({
      authorization: request.headers.authorization,
      key: request.headers['idempotency-key'],
      ...(JSON.parse(body) as Row),
    });
    response.setHeader('content-type', 'application/json');
    response.statusCode = status === 'down' ? 503 : 200;
    response.end(JSON.stringify({ status, reference: `message ${messages.length}` }));
  });
});

const folder = mkdtempSync(join(tmpdir(), 'outlay-travel-rule-'));
const path = join(folder, 'rules.json');
writeFileSync(
  path,
  JSON.stringify({
    rules: [
      {
        name: 'chains',
        deliveryTypes: ['CRYPTOCURRENCY'],
        sender: ['name', 'address', 'registration'],
        recipient: ['town'],
        passOn: true,
      },
      { name: 'large', deliveryTypes: ['BANK_DEPOSIT'], aboveUsd: '90', recipient: ['address'] },
    ],
  }),
);
let service: Service;
after(async () => {
  await service.stop();
  provider.close();
  rmSync(folder, { recursive: true });
});

let account: Account;
before(async () => {
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const { port } = provider.address() as AddressInfo;
  service = await startService({
    isOwn: true,
    settings: {
      OUTLAY_TRAVEL_RULE: path,
      OUTLAY_TRAVEL_RULE_PROVIDER: `http://:secret@127.0.0.1:${port}/messages`,
    },
  });
  account = await createAccount(service, { USD: '100000' });
});

const sender = (...words: string[]) =>
  runCommand(service, [
    'account',
    'set-sender',
    '--account',
    account.credentials.account,
    ...words,
  ]);

async function commit(recipient: Recipient, amount = 100) {
  const quoted = await createPayout(account.api, recipient, { source_amount: amount });
  const token = quoted['payout_token'] ?? '';
  return { token, answer: await commitPayout(account.api, recipient, token) };
}

async function waitFor(recipient: Recipient, token: string, wanted: string): Promise<Row> {
  for (const endMs = performance.now() + 60_000; ; await sleep(20)) {
    const payout: Row = await readPayout(account.api, recipient, token);
    if (payout['status'] === wanted) return payout;
    assert.ok(performance.now() < endMs, `is ${String(payout['status'])}, not ${wanted}`);
  }
}

test('missing data of a rule is named at the quote and in rows of batches', async () => {
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  const refused = await account.api.post<{ errors: Row[] }>(`/payout/${recipient.userToken}`, {
    destination_token: recipient.payer.destination_token,
    destination_currency_code: 'MXN',
    source_amount: 100,
  });
  assert.equal(refused.status, 400, JSON.stringify(refused.body));
  assert.match(JSON.stringify(refused.body), /recipient_missing/);
  assert.match(JSON.stringify(refused.body), /address1: the rule large needs it/);

  const small = await commit(recipient, 80);
  assert.equal(small.answer.status, 'success', 'below the value of the rule');

  const rows = describeRows({ ...account, recipients: [recipient] }, 1, { source_amount: '100' });
  const batch = await quote(account.api, await uploadRows(account.api, rows));
  const [row] = await readRows(account.api, batch);
  assert.deepEqual(
    row?.faults.map(({ code }) => code),
    ['recipient_missing', 'recipient_missing'],
  );

  const complete = { address1: 'Calle 1', city: 'Puebla' };
  const known = await createRecipient(account.api, deliveryCases.bank, { person: complete });
  assert.equal((await commit(known)).answer.status, 'success');
});

test('a commit waits for what became incomplete after the quote', async () => {
  const person = { address1: 'Calle 2', city: 'Puebla' };
  const recipient = await createRecipient(account.api, deliveryCases.bank, { person });
  const { payout_token: token } = await createPayout(account.api, recipient);
  const user = `/user/${recipient.userToken}`;
  ok(await account.api.put(user, { address1: '' }));
  const answer = ok(await account.api.put<CommitResult & Row>(payoutPath(recipient, token ?? '')));
  assert.equal(answer.status, 'addtl_attr_req');
  assert.deepEqual([answer['code'], answer['actor']], ['recipient_missing', 'client']);
  assert.match(JSON.stringify(answer['missing']), /"field":"address1"/);
  ok(await account.api.put(user, { address1: 'Calle 3' }));
  const again = ok(await account.api.put<CommitResult>(payoutPath(recipient, token ?? '')));
  assert.equal(again.status, 'success');
});

test('a payout on a chain needs the sender, and leaves when the provider has accepted it', async () => {
  const person = { city: 'Puebla' };
  const recipient = await createRecipient(account.api, deliveryCases.crypto, { person });
  const request = {
    destination_token: recipient.payer.destination_token,
    destination_currency_code: 'LTC',
    attr_set_token: recipient.attrSetToken,
    source_amount: 100,
  };
  const refused = await account.api.post<Row>(`/payout/${recipient.userToken}`, request);
  assert.match(JSON.stringify(refused.body), /sender_incomplete/);

  const place = ['--address1', 'Beispielweg 7', '--city', 'Bonn', '--country', 'DEU'];
  const named = ['--legal-name', 'Muster GmbH', ...place, '--reason', 'verified'];
  await assert.rejects(
    sender(...named, '--registration-type', 'LEIX', '--registration', '529900T8BM49AURSDO56'),
    /legal entity identifier/,
  );
  await sender(...named, '--registration-type', 'LEIX', '--registration', '529900T8BM49AURSDO55');

  status = 'pending';
  messages.length = 0;
  const { token, answer } = await commit(recipient);
  assert.equal(answer.status, 'success');
  for (const endMs = performance.now() + 60_000; messages.length === 0; await sleep(20)) {
    assert.ok(performance.now() < endMs, 'the provider is asked');
  }
  const [first] = messages;
  assert.equal(first?.['authorization'], 'Bearer secret');
  assert.equal(first?.['currency'], 'LTC');
  validate(first?.['ivms101']);
  assert.match(JSON.stringify(first?.['ivms101']), /Muster GmbH.*Gómez/s);
  assert.equal((await readPayout(account.api, recipient, token))['status'], 'PROCESSING');

  status = 'accepted';
  await advance(account.api, 120);
  for (const endMs = performance.now() + 60_000; messages.length < 2; await sleep(20)) {
    assert.ok(performance.now() < endMs, 'the provider is asked again');
  }
  assert.equal(messages[1]?.['key'], first?.['key'], 'the same message');
  await advance(account.api, 2 * 86_400);
  await waitFor(recipient, token, 'COMPLETED');
  assert.equal(messages.length, 2, 'what was accepted is not asked again');

  const words = ['payout', 'explain', '--payout', token, '--json'];
  const { travel_rule: shown } = (await runCommand(service, words)) as Row;
  assert.equal((shown as Row)['state'], 'accepted');
  assert.equal('message' in (shown as Row), false);
});

test('data that were corrected while the provider thought are another message', async () => {
  const person = { city: 'Puebla' };
  const recipient = await createRecipient(account.api, deliveryCases.crypto, { person });
  status = 'pending';
  messages.length = 0;
  const { token } = await commit(recipient);
  for (const endMs = performance.now() + 60_000; messages.length === 0; await sleep(20)) {
    assert.ok(performance.now() < endMs, 'the provider is asked');
  }
  ok(await account.api.put(`/user/${recipient.userToken}`, { city: 'Oaxaca' }));
  status = 'accepted';
  await advance(account.api, 2 * 86_400);
  await waitFor(recipient, token, 'COMPLETED');
  const [first, last] = [messages[0], messages.at(-1)];
  assert.equal(last?.['id'], first?.['id'], 'the same payout');
  assert.notEqual(last?.['key'], first?.['key']);
  assert.match(JSON.stringify(last), /Oaxaca/);
});

test('a message that is refused sends the money back, and one without an answer waits', async () => {
  const person = { city: 'Puebla' };
  const recipient = await createRecipient(account.api, deliveryCases.crypto, { person });
  const before = await readBalance(account.api);
  status = 'down';
  messages.length = 0;
  const { token } = await commit(recipient);
  for (const endMs = performance.now() + 60_000; messages.length === 0; await sleep(20)) {
    assert.ok(performance.now() < endMs, 'the provider is asked');
  }
  status = 'refused';
  await advance(account.api, 120);
  const ended = await waitFor(recipient, token, 'CANCELLED');
  assert.equal(ended['reason_code'], 'compliance');
  assert.equal(await readBalance(account.api), before);
});
