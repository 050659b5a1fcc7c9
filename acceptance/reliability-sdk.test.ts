import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type Client,
  ConnectionError,
  createClient,
  decimal,
  TimeoutError,
} from '../sdk/src/index.ts';
import {
  type FaultProxy,
  faultMatching,
  formatHttpAnswer,
  openFaultProxy,
} from '../server/testing/fault-proxy/fault-proxy.ts';
import { add, subtract } from './exact.ts';
import { createPayout, createRecipient, deliveryCases, type Recipient } from './recipients.ts';
import { type Account, createAccount, readBalance, type Service, startService } from './service.ts';

/** The SDK over a network that loses requests and answers: every payout is paid once. */

let service: Service;
let proxy: FaultProxy;
let account: Account;
let recipient: Recipient;

before(async () => {
  service = await startService();
  const { hostname, port } = new URL(service.baseUrl);
  proxy = await openFaultProxy({ host: hostname, port: Number(port) });
  account = await createAccount(service, { USD: '10000' });
  recipient = await createRecipient(account.api, deliveryCases.bank);
});
after(async () => {
  await proxy.close();
  await service.stop();
});

function connect(retries = 4): Client {
  return createClient({
    baseUrl: `http://${proxy.address.host}:${proxy.address.port}`,
    credential: { apiKey: account.credentials.api_key },
    timeoutMs: 1_000,
    retry: { retries, baseMs: 10 },
  });
}

const commit = /^PUT \/v[^ ]+\/payout\//;

type Quote = { user_token: string; payout_token: string; debit: string };

async function quote(): Promise<Quote> {
  const { payout_token = '', source_amount, fee } = await createPayout(account.api, recipient);
  return { user_token: recipient.userToken, payout_token, debit: add(source_amount, fee) };
}

/** Does the work, and asserts that the payout was debited once. */
async function assertPaidOnce(debit: string, work: () => Promise<void>): Promise<void> {
  const before = await readBalance(account.api);
  await work();
  assert.equal(subtract(before, await readBalance(account.api)), debit);
}

const faults = {
  'a lost answer': { kind: 'drop_answer' },
  'an answer that ends in the middle': { kind: 'truncate_answer', afterBytes: 300 },
  'a connection that is reset before the request': { kind: 'reset' },
  'an error page of a proxy instead of the answer': {
    kind: 'replace_answer',
    answer: formatHttpAnswer(502, '<html>Bad Gateway</html>'),
  },
} as const;

for (const [name, fault] of Object.entries(faults)) {
  test(`a commit over ${name} is retried and pays once`, async () => {
    const { debit, ...payout } = await quote();
    proxy.decide(faultMatching(commit, fault));
    await assertPaidOnce(debit, async () => {
      const result = await connect().commitPayout(payout);
      assert.equal(result.status, 'success');
    });
  });
}

test('a quote whose answer was lost is made once', async () => {
  const { userToken, payer, attrSetToken } = recipient;
  const listed = async (): Promise<number> =>
    (await Array.fromAsync(connect().listUserPayouts({ user_token: userToken }))).length;
  const before = await listed();
  proxy.decide(faultMatching(/^POST \/v[^ ]+\/payout\//, { kind: 'drop_answer' }, 2));
  const client = connect();
  await client.createPayout({
    user_token: userToken,
    body: {
      destination_token: payer.destination_token,
      destination_currency_code: 'MXN',
      attr_set_token: attrSetToken,
      source_amount: decimal('100'),
    },
  });
  assert.equal((await listed()) - before, 1);
});

test('when no retry is left, the error has the key with which the commit is repeated safely', async () => {
  const { debit, ...payout } = await quote();
  proxy.decide(faultMatching(commit, { kind: 'drop_answer' }, 2));
  await assertPaidOnce(debit, async () => {
    const error: unknown = await connect(1)
      .commitPayout(payout)
      .catch((reason: unknown) => reason);
    assert.ok(error instanceof TimeoutError && error instanceof ConnectionError);
    assert.equal(error.attempts, 2);
    const { idempotencyKey } = error;
    assert.ok(idempotencyKey !== undefined);
    const result = await connect().commitPayout(payout, { idempotencyKey });
    assert.equal(result.status, 'success');
  });
});
