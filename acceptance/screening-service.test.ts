import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from './commands.ts';
import {
  commitPayout,
  createPayout,
  createRecipient,
  deliveryCases,
  type Recipient,
  readPayout,
} from './recipients.ts';
import { type Account, advance, createAccount, ok, type Service, startService } from './service.ts';

/** A screening service as a second opinion: asked before the sending, and nothing leaves without its answer. */

type Row = Record<string, unknown>;

/** What the service answers next, and what it was asked. */
let reply: { status: number; body: string } = { status: 200, body: '' };
const questions: { key: unknown; authorization: unknown; text: string; body: Row }[] = [];
const clear = JSON.stringify({ result: 'clear', reference: 'case 1' });
const hit = JSON.stringify({
  result: 'hit',
  reference: 'case 2',
  matches: [{ list: 'pep', entry: '77', name: 'Ana Gomez Ruiz', score: 930 }],
});
const company = createServer((request, response) => {
  void text(request).then((body) => {
    questions.push({
      key: request.headers['idempotency-key'],
      authorization: request.headers.authorization,
      text: body,
      body: JSON.parse(body) as Row,
    });
    response.writeHead(reply.status, { 'content-type': 'application/json' });
    response.end(reply.body);
  });
});

let holding: { service: Service; account: Account };
let recording: { service: Service; account: Account };
before(async () => {
  await new Promise<void>((resolve) => company.listen(0, '127.0.0.1', resolve));
  const { port } = company.address() as AddressInfo;
  const start = async (mode: string) => {
    const service = await startService({
      isOwn: true,
      settings: {
        OUTLAY_SCREENING_SERVICE: `http://:secret@127.0.0.1:${port}/screenings`,
        OUTLAY_SCREENING_SERVICE_MODE: mode,
      },
    });
    return { service, account: await createAccount(service, { USD: '100000' }) };
  };
  holding = await start('hold');
  recording = await start('record');
});
after(async () => {
  await holding?.service.stop();
  await recording?.service.stop();
  company.close();
});

async function commit({ api }: Account, recipient: Recipient): Promise<string> {
  const { payout_token: token = '' } = await createPayout(api, recipient);
  assert.equal((await commitPayout(api, recipient, token)).status, 'success');
  return token;
}

async function waitFor(
  { api }: Account,
  [recipient, token]: readonly [Recipient, string],
  isThere: (payout: Row) => boolean,
): Promise<Row> {
  for (const endMs = performance.now() + 60_000; ; await sleep(20)) {
    const payout: Row = await readPayout(api, recipient, token);
    if (isThere(payout)) return payout;
    assert.ok(performance.now() < endMs, JSON.stringify(payout));
  }
}

async function waitForQuestions(count: number): Promise<void> {
  for (const endMs = performance.now() + 60_000; questions.length < count; await sleep(20)) {
    assert.ok(performance.now() < endMs, `${questions.length} questions`);
  }
}

const opinions = ({ service }: { service: Service }, token: string) =>
  runCommand(service, ['screening', 'opinions', '--payout', token]) as unknown as Promise<Row[]>;

test('a payout leaves when the service has cleared it, which is asked once', async () => {
  const { account } = holding;
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  questions.length = 0;
  reply = { status: 503, body: 'later' };
  const token = await commit(account, recipient);
  await waitForQuestions(1);
  reply = { status: 200, body: clear };
  await waitForQuestions(2);
  const [first, second] = questions;
  assert.equal(first?.authorization, 'Bearer secret');
  assert.equal(first?.key, first?.body['id']);
  assert.deepEqual([second?.key, second?.text], [first?.key, first?.text], 'the same question');
  assert.match(first?.text ?? '', /"last_name":"G/);
  assert.equal(first?.body['destination_country'], 'MEX');
  for (const endMs = performance.now() + 60_000; ; await sleep(20)) {
    const [last] = await opinions(holding, token);
    if (last?.['opinion'] === 'clear') break;
    assert.ok(performance.now() < endMs);
  }
  // A question that came before the test had changed the answer was repeated once more.
  const asked = questions.length;
  await advance(account.api, 10 * 86_400);
  await waitFor(account, [recipient, token], ({ status }) => status === 'COMPLETED');
  assert.equal(questions.length, asked, 'one answer, no further question');
});

test('a hit holds the payout until a person releases it, and clients do not learn of it', async () => {
  const { account, service } = holding;
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  questions.length = 0;
  reply = { status: 200, body: hit };
  const token = await commit(account, recipient);
  const held = await waitFor(account, [recipient, token], ({ status }) => status === 'HOLD');
  assert.doesNotMatch(JSON.stringify(held), /pep|case 2|Ruiz/);
  assert.equal(new Set(questions.map(({ key }) => key)).size, 1);
  const asked = questions.length;
  const [found] = await opinions(holding, token);
  assert.deepEqual([found?.['opinion'], found?.['reference']], ['hit', 'case 2']);
  assert.match(JSON.stringify(found?.['matches']), /Ana Gomez Ruiz/);
  const decide = [
    'payout',
    'decide',
    '--payout',
    token,
    '--action',
    'release',
    '--reason',
    'other',
  ];
  await runCommand(service, decide);
  await advance(account.api, 10 * 86_400);
  await waitFor(account, [recipient, token], ({ status }) => status === 'COMPLETED');
  assert.equal(questions.length, asked, 'a released payout is not asked about again');
});

test('the evidence ends with the erasure of the recipient', async () => {
  const { account } = holding;
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  reply = { status: 200, body: clear };
  const token = await commit(account, recipient);
  await advance(account.api, 10 * 86_400);
  await waitFor(account, [recipient, token], ({ status }) => status === 'COMPLETED');
  const erased = await account.api.post(`/user/${recipient.userToken}/erasure`, {
    reason: 'asked',
  });
  ok(erased);
  for (const endMs = performance.now() + 60_000; ; await sleep(50)) {
    const [last] = await opinions(holding, token);
    if (last !== undefined && !('reference' in last)) break;
    assert.ok(performance.now() < endMs);
  }
});

test('where answers are only recorded, a service that is down or hits stops nothing', async () => {
  const { account } = recording;
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  reply = { status: 200, body: hit };
  const token = await commit(account, recipient);
  await advance(account.api, 10 * 86_400);
  await waitFor(account, [recipient, token], ({ status }) => status === 'COMPLETED');
  for (const endMs = performance.now() + 60_000; ; await sleep(20)) {
    const [last] = await opinions(recording, token);
    if (last?.['opinion'] === 'hit') break;
    assert.ok(performance.now() < endMs);
  }
});
