import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ExactNumber } from './exact.ts';
import {
  attributePath,
  type CommitResult,
  commitPayout,
  createPayout,
  createRecipient,
  createUser,
  type DeliveryCase,
  deliveryCases,
  findPayer,
  type Payout,
  pay,
  payoutPath,
  type Recipient,
  readAttributes,
} from './recipients.ts';
import { serveTests } from './serve.ts';
import { type Api, advance, createAccount, ok, type Service } from './service.ts';
import { assertProblem, locate } from './shapes.ts';

/** What an answer tells a client to do: the refusals of a commit, and the readiness of a recipient. */

let service: Service;
let api: Api;
serveTests({ USD: '100000' }, (served) => {
  ({ service, api } = served);
});

type Missing = {
  token: string;
  type: string;
  field: string;
  label: string;
  code: string;
  why: string;
  link: string;
};
type Refusal = CommitResult & {
  code: string;
  actor: string;
  retryable: boolean;
  missing: Missing[];
  shortfall?: { amount: ExactNumber; currency_code: string };
};

async function commit(
  client: Api,
  recipient: Pick<Recipient, 'userToken'>,
  payout: Payout,
): Promise<Refusal> {
  return (await commitPayout(client, recipient, payout['payout_token'])) as Refusal;
}

const saysOf = ({ status, code, actor, retryable }: Refusal) => [status, code, actor, retryable];

/** A recipient of the case without any attribute value. */
async function createBareRecipient(
  client: Api,
  delivery: DeliveryCase = deliveryCases.bank,
): Promise<Recipient> {
  const userToken = await createUser(client, { country: delivery.country });
  return { userToken, payer: await findPayer(client, delivery), delivery, attrSetToken: '' };
}

const destinationOf = ({ userToken, payer, delivery }: Recipient) => ({
  userToken,
  destinationToken: payer.destination_token,
  currency: delivery.currency,
});

test('a successful commit answers its four fields and no other', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const payout = await createPayout(api, recipient);
  const names = ['payout_token', 'status', 'pickup_code', 'errors'];
  assert.deepEqual(Object.keys(await commit(api, recipient, payout)), names);
  assert.deepEqual(Object.keys(await commit(api, recipient, payout)), names, 'again');
});

test('a commit without attributes names each one that is missing, and why', async () => {
  const recipient = await createBareRecipient(api);
  const payout = await createPayout(api, recipient);
  const refusal = await commit(api, recipient, payout);
  assert.deepEqual(saysOf(refusal), ['addtl_attr_req', 'attributes_missing', 'client', true]);
  const attributes = await readAttributes(api, destinationOf(recipient));
  const required = attributes.filter((attribute) => !attribute.is_optional);
  assert.ok(required.length > 0);
  assert.deepEqual(
    refusal.missing.map(({ token, label, type, code }) => ({ token, label, type, code })),
    required.map(({ token, label, type }) => ({ token, label, type, code: 'value_missing' })),
  );
  for (const { why } of refusal.missing) assert.match(why, /^The destination requires it.+\. .+/);
  assert.equal(refusal.shortfall, undefined);
});

test('a commit with an Idempotency-Key replays the whole refusal', async () => {
  const recipient = await createBareRecipient(api);
  const { payout_token: token = '' } = await createPayout(api, recipient);
  const headers = { 'idempotency-key': randomUUID() };
  const put = () => api.put(payoutPath(recipient, token), undefined, headers);
  const [first, second] = [await put(), await put()];
  assert.equal(second.headers['idempotent-replayed'], 'true');
  assert.equal(second.text, first.text);
  assert.match(first.text, /"attributes_missing"/);
});

test('a partial set is missing only what it lacks', async () => {
  const recipient = await createBareRecipient(api, deliveryCases.cash);
  const destination = destinationOf(recipient);
  const [type, number] = await readAttributes(api, destination);
  const values = [{ token: type?.token, value: 'PASSPORT' }];
  const stored = ok(await api.post<{ missing: Missing[] }>(attributePath(destination), { values }));
  const refusal = await commit(api, recipient, await createPayout(api, recipient));
  assert.deepEqual(
    refusal.missing.map(({ token }) => token),
    [number?.token],
  );
  assert.deepEqual(refusal.missing, stored.missing, 'storing says the same');
});

test('a commit that the balance does not cover says how much it lacks', async () => {
  const unfunded = (await createAccount(service, { USD: '50' })).api;
  const recipient = await createRecipient(unfunded, deliveryCases.bank);
  const payout = await createPayout(unfunded, recipient, { source_amount: 100 });
  const refusal = await commit(unfunded, recipient, payout);
  assert.deepEqual(saysOf(refusal), ['failure', 'insufficient_funds', 'client', true]);
  assert.equal(refusal.shortfall?.currency_code, 'USD');
  const fee = Number(payout.fee.text);
  assert.equal(Number(refusal.shortfall.amount.text), 50 + fee);
  assert.deepEqual(refusal.missing, []);
});

test('an expired, a repeated and an ended payout say that a new one is needed', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const id = randomUUID();
  const twice = await createPayout(api, recipient, { client_transfer_id: id });
  const paid = await pay(api, recipient, { client_transfer_id: id });
  assert.deepEqual(saysOf(await commit(api, recipient, twice)), [
    'failure',
    'duplicate_transfer',
    'client',
    false,
  ]);
  ok(await api.post(`/sandbox/payout/${paid.payout_token}`, { outcome: 'rejected' }));
  assert.deepEqual(saysOf(await commit(api, recipient, paid)), [
    'failure',
    'payout_ended',
    'client',
    false,
  ]);
  const late = await createPayout(api, recipient);
  await advance(api, 3600);
  assert.deepEqual(saysOf(await commit(api, recipient, late)), [
    'ex_rate_expired',
    'ex_rate_expired',
    'client',
    false,
  ]);
});

test('a commit that needs a verification says how far it is, and where it continues', async () => {
  const query = 'amount=1200';
  const recipient = await createRecipient(api, deliveryCases.cash, { query });
  const payout = await createPayout(api, recipient, { source_amount: 1200 });
  const begun = await commit(api, recipient, payout);
  assert.deepEqual(saysOf(begun), ['addtl_attr_req', 'identity_not_started', 'recipient', true]);
  const [identity] = begun.missing;
  assert.equal(identity?.type, 'IDSelfieCollection');
  assert.match(identity.link, /\/verify\//);
  ok(await api.post(`/sandbox/kyc/${recipient.userToken}`, { decision: 'declined' }));
  const declined = await commit(api, recipient, payout);
  assert.deepEqual(saysOf(declined), ['addtl_attr_req', 'identity_declined', 'recipient', true]);
  assert.match(declined.missing[0]?.link ?? '', /\/verify\//);
  ok(await api.post(`/sandbox/kyc/${recipient.userToken}`, { decision: 'approved' }));
  assert.equal((await commit(api, recipient, payout)).status, 'success');
});

test('a row of a batch names what its recipient lacks', async () => {
  const query = 'amount=1200';
  const unverified = await createRecipient(api, deliveryCases.cash, { query });
  const bare = await createBareRecipient(api);
  const attributes = await readAttributes(api, destinationOf(bare));
  const row = ({ userToken, payer, delivery }: Recipient) => ({
    client_transfer_id: randomUUID(),
    user_token: userToken,
    destination_token: payer.destination_token,
    destination_currency_code: delivery.currency,
    source_amount: 1200,
  });
  const rows = [bare, unverified].map((recipient) => JSON.stringify(row(recipient)));
  const headers = { 'content-type': 'application/x-ndjson' };
  type Fault = { row: ExactNumber; code: string; detail: string; missing: Missing[] };
  const batch = ok(
    await api.post<{ batch_token: string; faults: Fault[] }>('/batches', rows.join('\n'), headers),
  );
  const describe = ({ token, code }: Missing) => ({ token, code });
  const [lacking, waiting, ...others] = batch.faults;
  assert.deepEqual(others, []);
  assert.equal(lacking?.code, 'addtl_attr_req');
  const required = attributes.filter((attribute) => !attribute.is_optional);
  assert.deepEqual(
    lacking.missing.map(describe),
    required.map(({ token }) => ({ token, code: 'value_missing' })),
  );
  for (const { label } of required) assert.ok(lacking.detail.includes(label), lacking.detail);
  assert.deepEqual(
    waiting?.missing.map(({ type, code }) => [type, code]),
    [['IDSelfieCollection', 'identity_not_started']],
  );
  const [first] = ok(await api.get<{ faults: Fault[] }[]>(`/batches/${batch.batch_token}/rows`));
  assert.deepEqual(first?.faults[0]?.missing, lacking.missing);
});

type Readiness = {
  payable: boolean;
  obstacles: Omit<Refusal, 'status' | 'errors'>[];
  source_currency_code: string;
  source_amount?: ExactNumber;
  fee?: ExactNumber;
};

const askReadiness = (client: Api, { userToken, payer, delivery }: Recipient, query: string) =>
  client.get<Readiness>(
    `/user/${userToken}/readiness?destination_token=${payer.destination_token}&currency=${delivery.currency}${query}`,
  );
const readinessOf = async (client: Api, recipient: Recipient, query = '') =>
  ok(await askReadiness(client, recipient, query));
const codesOf = ({ obstacles }: Readiness) => obstacles.map(({ code }) => code);

test('a recipient whose payout would be committed is payable, and its price is known', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const ready = await readinessOf(api, recipient, '&amount=1000.50');
  assert.deepEqual([ready.payable, ready.obstacles], [true, []]);
  const payout = await createPayout(api, recipient, { destination_amount: 1000.5 });
  assert.deepEqual(ready.source_amount, payout.source_amount);
  assert.deepEqual(ready.fee, payout.fee);
  assert.equal((await commit(api, recipient, payout)).status, 'success');
  const without = await readinessOf(api, recipient);
  assert.deepEqual([without.payable, without.source_amount], [true, undefined]);
});

test('every obstacle is listed at once, as a commit would say it', async () => {
  const unfunded = (await createAccount(service, { USD: '10' })).api;
  const bare = await createBareRecipient(unfunded, deliveryCases.cash);
  const ready = await readinessOf(unfunded, bare, '&amount=30000');
  assert.equal(ready.payable, false);
  assert.deepEqual(codesOf(ready), [
    'attributes_missing',
    'identity_not_started',
    'insufficient_funds',
  ]);
  const [attributes, identity, funds] = ready.obstacles;
  const payout = await createPayout(unfunded, bare, {
    destination_amount: 30_000,
    attr_set_token: undefined,
  });
  const refusal = await commit(unfunded, bare, payout);
  assert.deepEqual(refusal.missing, [...(attributes?.missing ?? []), ...(identity?.missing ?? [])]);
  assert.match(identity?.missing[0]?.link ?? '', /\/verify\//);
  const lacking = Number(payout.source_amount.text) + Number(payout.fee.text) - 10;
  assert.equal(Number(funds?.shortfall?.amount.text).toFixed(2), lacking.toFixed(2));
});

test('limits and a balance in another currency stand in the way as well', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  assert.deepEqual(codesOf(await readinessOf(api, recipient, '&amount=0.01')), ['below_minimum']);
  const most = await readinessOf(api, recipient, '&amount=900000000');
  assert.deepEqual(codesOf(most), ['above_maximum']);
  assert.deepEqual(most.obstacles[0]?.retryable, false);
  assert.deepEqual(codesOf(await readinessOf(api, recipient, '&amount=1000&source_currency=CHF')), [
    'no_balance_in_currency',
  ]);
});

test('a question about readiness that cannot be answered names its parameters', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  for (const [query, names] of [
    ['&amount=ten', ['amount']],
    ['&amount=0', ['amount']],
    ['&amount=1.001', ['amount']],
    ['&source_currency=XXQ', ['source_currency']],
  ] as const) {
    const reply = await askReadiness(api, recipient, query);
    assert.deepEqual(locate(assertProblem(reply, 400)), names, query);
  }
  const unknown = await askReadiness(api, recipient, '&amout=10');
  assertProblem(unknown, 400, 'unknown_parameter');
  const wrong = { ...recipient, delivery: { ...recipient.delivery, currency: 'EUR' } };
  assert.deepEqual(locate(assertProblem(await askReadiness(api, wrong, ''), 400)), ['currency']);
  const other = (await createAccount(service)).api;
  assertProblem(await askReadiness(other, recipient, ''), 404);
});
