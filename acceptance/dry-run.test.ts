import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import * as batches from './batch-kit.ts';
import type { ExactNumber } from './exact.ts';
import { createKey } from './proposal-kit.ts';
import {
  type CommitResult,
  commitPayout,
  createPayout,
  createRecipient,
  createUser,
  deliveryCases,
  describePayout,
  describeUser,
  findPayer,
  type Payout,
  pay,
  payoutPath,
  type Recipient,
  readPayout,
} from './recipients.ts';
import {
  type Account,
  type Api,
  createAccount,
  ok,
  type Reply,
  readBalance,
  type Service,
  startService,
} from './service.ts';
import { assertProblem } from './shapes.ts';

/** `Prefer: dry-run`: what a request would do, without doing it. */

let service: Service;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'outlay-limits-'));
  const path = join(folder, 'limits.json');
  const limits = [
    { name: 'five a day', per: 'account', windowHours: 24, countMax: 5 },
    { name: 'a recipient', per: 'recipient', windowHours: 24, usdMax: '1000.00' },
  ];
  writeFileSync(path, JSON.stringify({ limits }));
  service = await startService({ isOwn: true, settings: { OUTLAY_VELOCITY_LIMITS: path } });
});
after(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

type DryRun = {
  postings: { from: string; to: string; amount: ExactNumber; currency_code: string }[];
  balances: { currency_code: string; before: ExactNumber; after: ExactNumber }[];
  route: { destination_token: string; is_chosen: boolean; fee: string }[];
  holds: string[];
  limits: { name: string; count_left?: ExactNumber; usd_left?: ExactNumber }[];
};
type DryCommit = CommitResult & { code?: string; dry_run: DryRun };
type DryQuote = Payout & { dry_run: DryRun & { commit: CommitResult & { code?: string } } };

const dry = { prefer: 'dry-run' };

/** @throws Error unless the answer says that it is one of a dry run. */
function okDry<T>(reply: Reply<T>): T {
  assert.equal(reply.headers['preference-applied'], 'dry-run', reply.text);
  return ok(reply);
}

async function tryCommit(api: Api, recipient: Recipient, payout: Payout): Promise<DryCommit> {
  const path = payoutPath(recipient, payout['payout_token'] ?? '');
  return okDry(await api.put<DryCommit>(path, undefined, dry));
}

async function createPayer(money: Record<string, string> = { USD: '10000' }) {
  const account: Account = await createAccount(service, money);
  return { ...account, recipient: await createRecipient(account.api, deliveryCases.bank) };
}

const sumOf = (payout: Payout): number => Number(payout.source_amount) + Number(payout.fee);

/** All that an account can read of what was written. */
async function readTraces(api: Api) {
  return {
    balance: await readBalance(api),
    payouts: ok(await api.get<Payout[]>('/payout')),
    events: (await api.get('/events')).text,
  };
}

test('a dry run of a commit posts nothing, and the commit then does what it said', async () => {
  const { api, recipient } = await createPayer();
  const payout = await createPayout(api, recipient);
  const traces = await readTraces(api);
  const tried = await tryCommit(api, recipient, payout);
  assert.equal(tried.status, 'success');
  assert.equal(tried.pickup_code, '');
  assert.deepEqual(await readTraces(api), traces);
  const { postings, balances, route, holds } = tried.dry_run;
  const [toExchange, toFees, toRail] = postings;
  assert.deepEqual(
    [toExchange?.from, toExchange?.to, toFees?.to, toRail?.from],
    ['wallet', 'fx', 'fees', 'fx'],
  );
  assert.equal(String(toExchange?.amount), '100');
  assert.equal(String(toFees?.amount), String(payout.fee));
  assert.equal(String(toRail?.amount), String(payout.destination_amount));
  assert.deepEqual(holds, []);
  const chosen = route.filter((candidate) => candidate.is_chosen);
  assert.deepEqual(
    chosen.map(({ destination_token: token }) => token),
    [recipient.payer.destination_token],
  );
  await commitPayout(api, recipient, payout['payout_token']);
  assert.equal(await readBalance(api), String(balances[0]?.after));
  assert.equal(Number(balances[0]?.before) - Number(balances[0]?.after), sumOf(payout));
});

test('a dry run of a payout quotes it, tries its commit, and leaves neither', async () => {
  const { api, recipient } = await createPayer();
  const traces = await readTraces(api);
  const clientTransferId = randomUUID();
  const request = describePayout(recipient, { client_transfer_id: clientTransferId });
  const path = `/payout/${recipient.userToken}`;
  const quote = okDry(await api.post<DryQuote>(path, request, dry));
  assert.equal(quote['payout_token'], '');
  assert.equal(quote.dry_run.commit.status, 'success');
  assert.equal(quote.dry_run.postings.length, 3);
  assert.deepEqual(await readTraces(api), traces);
  const payout = await pay(api, recipient, { client_transfer_id: clientTransferId });
  assert.equal(String(payout.fee), String(quote.fee));
});

test('a dry run names what a commit lacks', async () => {
  const { api, recipient } = await createPayer({ USD: '10' });
  const unfunded = await createPayout(api, recipient);
  const short = await tryCommit(api, recipient, unfunded);
  assert.deepEqual([short.status, short.code], ['failure', 'insufficient_funds']);
  assert.deepEqual(short.dry_run.postings, []);
  const userToken = await createUser(api, { country: 'MEX' });
  const payer = await findPayer(api, deliveryCases.bank);
  const bare = { ...recipient, userToken, payer };
  const { attr_set_token: _set, ...request } = describePayout(bare);
  const quote = okDry(await api.post<DryQuote>(`/payout/${userToken}`, request, dry));
  assert.equal(quote.dry_run.commit.status, 'addtl_attr_req');
  assert.equal(quote.dry_run.commit.code, 'attributes_missing');
});

test('a dry run of a committed payout posts nothing anew', async () => {
  const { api, recipient } = await createPayer();
  const payout = await pay(api, recipient);
  const tried = await tryCommit(api, recipient, payout);
  assert.equal(tried.status, 'success');
  assert.deepEqual(tried.dry_run.postings, []);
});

test('a dry run shows what limits leave, and that a person would have to decide', async () => {
  const { api, recipient } = await createPayer();
  const first = await tryCommit(api, recipient, await createPayout(api, recipient));
  const describe = ({ dry_run: { limits } }: DryCommit) =>
    limits.map(({ name, count_left: count, usd_left: usd }) => [name, count, usd].map(String));
  assert.deepEqual(describe(first), [
    ['five a day', '4', 'undefined'],
    ['a recipient', 'undefined', '900'],
  ]);
  assert.deepEqual(first.dry_run.holds, []);
  const large = await createPayout(api, recipient, { source_amount: 1000.01 });
  const held = await tryCommit(api, recipient, large);
  assert.equal(held.status, 'success');
  assert.deepEqual(held.dry_run.holds, ['review']);
  assert.equal(describe(held)[1]?.[2], '0');
  // Nothing of it was counted.
  assert.equal(
    describe(await tryCommit(api, recipient, await createPayout(api, recipient)))[0]?.[1],
    '4',
  );
});

test('a dry run shows no balance to a credential that may not read balances', async () => {
  const { api, credentials, recipient } = await createPayer();
  const key = await createKey(service, { api, credentials }, { scopes: 'payouts:create' });
  const path = `/payout/${recipient.userToken}`;
  const quote = okDry(await key.api.post<DryQuote>(path, describePayout(recipient), dry));
  assert.equal(quote.dry_run.commit.status, 'success');
  assert.equal(quote.dry_run.postings.length, 3);
  assert.deepEqual(quote.dry_run.balances, []);
});

test('an Idempotency-Key stays free after a dry run', async () => {
  const { api, recipient } = await createPayer();
  const payout = await createPayout(api, recipient);
  const path = payoutPath(recipient, payout['payout_token'] ?? '');
  const key = { 'idempotency-key': randomUUID() };
  okDry(await api.put(path, undefined, { ...dry, ...key }));
  assert.equal((await readPayout(api, recipient, payout['payout_token']))['status'], 'PENDING');
  const committed = await api.put<CommitResult>(path, undefined, key);
  assert.equal(ok(committed).status, 'success');
  assert.equal(committed.headers['idempotent-replayed'], undefined);
  // The stored answer belongs to the commit, not to a dry run.
  const again = okDry(await api.put<DryCommit>(path, undefined, { ...dry, ...key }));
  assert.deepEqual(again.dry_run.postings, []);
});

test('a dry run is refused where there is none, instead of having its effect', async () => {
  const { api } = await createPayer();
  const body = describeUser();
  const refused = await api.post('/user', body, { prefer: 'respond-async, Dry-Run; wait=10' });
  assertProblem(refused, 400, 'dry_run_unsupported');
  ok(await api.post('/user', body));
  ok(await api.get('/account/balance', dry));
});

test('a dry run of a batch shows what its commit would reserve', async () => {
  const sender = await batches.createSender(service, { funds: '1000' });
  const { api } = sender;
  const uploaded = await batches.uploadRows(api, batches.describeRows(sender, 3));
  const batch = await batches.quote(api, uploaded);
  const traces = await readTraces(api);
  const path = batches.pathOf(batch);
  const tried = okDry(await api.put<DryCommit>(path, { mode: 'all' }, dry));
  assert.equal(tried.status, 'success');
  const { postings, balances } = tried.dry_run;
  assert.deepEqual(
    postings.map(({ from, to }) => [from, to]),
    [['wallet', 'reserved']],
  );
  assert.deepEqual(await readTraces(api), traces);
  await batches.commit(api, batch);
  assert.equal(await readBalance(api), String(balances[0]?.after));
});
