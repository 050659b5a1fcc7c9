import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AuthenticationError,
  applyOnce,
  type Client,
  createClient,
  Decimal,
  decimal,
  downloadReceipt,
  type Event,
  EventGapError,
  type EventStore,
  followEvents,
  InvalidRequestError,
  NotFoundError,
  type Payout,
  watchPayout,
  watchReadiness,
} from '../sdk/src/index.ts';
import { describeUser } from './recipients.ts';
import {
  type Account,
  advance,
  createAccount,
  daySeconds,
  type Service,
  startService,
} from './service.ts';

/** The SDK against a running service. */

let service: Service;
let account: Account;
let client: Client;

before(async () => {
  service = await startService();
  account = await createAccount(service, { USD: '1000' });
  client = connect();
});
after(() => service.stop());

function connect(): Client {
  const { client_id: clientId, client_secret: clientSecret } = account.credentials;
  return createClient({ baseUrl: service.baseUrl, credential: { clientId, clientSecret } });
}

type Recipient = { user_token: string; destination_token: string };

/** A recipient in Mexico with a bank account. */
async function createRecipient(): Promise<Recipient> {
  const id = randomUUID();
  const user = await client.createUser({
    body: {
      internal_user_id: id,
      country: 'MEX',
      first_name: 'Ana',
      last_name: 'Gómez',
      email: `${id}@example.org`,
    },
  });
  const { user_token } = user;
  const destination_token = await findBank();
  const place = { user_token, destination_token, currency: 'MXN' };
  const attributes = await client.readAttributes(place);
  const accountNumber = attributes.find(({ type }) => type === 'BankAccountNumber');
  assert.ok(accountNumber !== undefined);
  const values = [{ token: accountNumber.token, value: '032180000118359719' }];
  await client.storeAttributes({ ...place, body: { values } });
  return { user_token, destination_token };
}

async function findBank(): Promise<string> {
  const { companies } = await client.findCheapestDestinations({ country_code: 'MEX' });
  const [payer] = companies
    .flatMap(({ services }) => services)
    .filter(({ delivery_type: type }) => type === 'BANK_DEPOSIT')
    .flatMap(({ payers }) => payers);
  assert.ok(payer !== undefined);
  return payer.destination_token;
}

function quote({ user_token, destination_token }: Recipient, amount = '100'): Promise<Payout> {
  return client.createPayout({
    user_token,
    body: {
      destination_token,
      destination_currency_code: 'MXN',
      source_amount: decimal(amount),
    },
  });
}

test('a first payout: recipient, destination, attributes, quote, commit, end and receipt', async () => {
  const recipient = await createRecipient();
  const { user_token } = recipient;
  const { payout_token, source_amount, fee } = await quote(recipient, '100.10');
  assert.equal(source_amount.text, '100.1');
  const before = await readBalance();
  const tried = await client.commitPayout({ user_token, payout_token }, { dryRun: true });
  assert.equal(tried.dry_run?.balances[0]?.before.text, before.text);
  const result = await client.commitPayout({ user_token, payout_token });
  assert.equal(result.status, 'success', result.errors);
  const spent = before.minus(await readBalance());
  assert.ok(spent.equals(source_amount.plus(fee)), spent.text);

  const states: string[] = [];
  const watching = { pollMs: 50, signal: AbortSignal.timeout(120_000) };
  for await (const { status } of watchPayout(client, { user_token, payout_token }, watching)) {
    states.push(status);
    await advance(account.api, 7 * daySeconds);
  }
  assert.equal(states.at(-1), 'COMPLETED', states.join());
  const pdf = await downloadReceipt(client, { user_token, payout_token });
  assert.equal(new TextDecoder().decode(pdf.slice(0, 5)), '%PDF-');
});

test('the first payout of the README runs as printed', async () => {
  const sdk = join(import.meta.dirname, '../sdk');
  const readme = await readFile(join(sdk, 'README.md'), 'utf8');
  const [, program = ''] = /## A first payout\n\n```ts\n(.*?)```/s.exec(readme) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'outlay-sdk-'));
  const file = join(folder, 'first-payout.mts');
  const replaced = program
    .replace('@outlay/sdk', join(sdk, 'src/index.ts'))
    .replace('http://127.0.0.1:8080', service.baseUrl);
  await writeFile(file, `const [, , clientId, clientSecret] = process.argv;\n${replaced}`);
  const { client_id: id, client_secret: secret } = account.credentials;
  const child = spawn(process.execPath, ['--no-warnings', file, id, secret], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  for await (const chunk of child.stdout) {
    printed += String(chunk);
    // The end is days away unless the clock is moved.
    if (printed.includes('PROCESSING')) child.kill();
  }
  await rm(folder, { recursive: true });
  assert.match(printed, /^PROCESSING/);
});

async function readBalance(): Promise<Decimal> {
  const balances = await client.listBalances();
  const found = balances.find(({ currency_code: currency }) => currency === 'USD');
  assert.ok(found !== undefined);
  assert.ok(found.balance instanceof Decimal);
  return found.balance;
}

test('a list is read page by page as far as it is followed', async () => {
  const made: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    const body = describeUser() as Parameters<Client['createUser']>[0]['body'];
    made.unshift((await client.createUser({ body })).user_token);
  }
  const list = client.listUsers({ number_of_records: 2, country: 'MEX' });
  const read: string[] = [];
  for await (const { user_token } of list) {
    read.push(user_token);
    if (read.length === made.length) break;
  }
  assert.deepEqual(read, made);
  const [page] = await Array.fromAsync(list.pages());
  assert.equal(page?.length, 2);
});

test('a list can be searched by metadata', async () => {
  const recipient = await createRecipient();
  const { user_token, destination_token } = recipient;
  const { payout_token, metadata } = await client.createPayout({
    user_token,
    body: {
      destination_token,
      destination_currency_code: 'MXN',
      source_amount: decimal('5'),
      metadata: { run: 'may', rate: decimal('0.30000000000000000004') },
    },
  });
  assert.equal(String(metadata['rate']), '0.30000000000000000004');
  const found = await Array.fromAsync(client.listPayouts({ metadata: { run: 'may' } }));
  assert.deepEqual(
    found.map((payout) => payout.payout_token),
    [payout_token],
  );
});

test('a refusal is an error with its code and every fault', async () => {
  const body = { ...describeUser(), email: 'none', country: 'MX' };
  const error = await fail(
    client.createUser({ body: body as Parameters<Client['createUser']>[0]['body'] }),
    InvalidRequestError,
  );
  assert.equal(error.retryable, false);
  assert.equal(error.status, 400);
  assert.deepEqual(error.faults.map(({ pointer }) => pointer).toSorted(), ['/country', '/email']);
  assert.notEqual(error.requestId, '');
  const unknown = await fail(client.getUser({ user_token: 'usr_none' }), NotFoundError);
  assert.equal(unknown.code, 'not_found');
});

async function fail<Expected extends Error>(
  call: Promise<unknown>,
  kind: abstract new (...parameters: never[]) => Expected,
): Promise<Expected> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof kind, String(error));
  return error;
}

test('a wrong secret is an AuthenticationError, without a retry', async () => {
  const stranger = createClient({
    baseUrl: service.baseUrl,
    credential: { clientId: account.credentials.client_id, clientSecret: 'wrong' },
  });
  const error = await fail(stranger.listBalances(), AuthenticationError);
  assert.equal(error.code, 'invalid_client');
  assert.equal(error.attempts, 1);
});

test('an access token that has expired is renewed within the call', async () => {
  const lasting = connect();
  await lasting.listBalances();
  await advance(account.api, 2 * 3600);
  assert.ok((await lasting.listBalances()).length > 0);
});

test('a caller ends a call with its own signal', async () => {
  const controller = new AbortController();
  const reason = new Error('the page was left');
  const call = client.listBalances({}, { signal: controller.signal });
  controller.abort(reason);
  await assert.rejects(call, reason);
});

/** A database of one row, whose transactions keep nothing when they fail. */
function openStore(): EventStore<{ position: number; seen: string[] }> & { seen: string[] } {
  let state = { position: 0, seen: [] as string[] };
  return {
    get seen() {
      return state.seen;
    },
    async transaction(work) {
      const draft = structuredClone(state);
      const result = await work(draft);
      state = draft;
      return result;
    },
    readPosition: async ({ position }) => position,
    writePosition: async (draft, position) => {
      draft.position = position;
    },
  };
}

test('events are applied once and in order, over a crash in the middle', async () => {
  const events = await client.listEvents();
  assert.ok(events.length > 5);
  const store = openStore();
  let crashes = 1;
  const apply = async (event: Event, { seen }: { seen: string[] }): Promise<void> => {
    seen.push(`${event.sequence} ${event.type}`);
    if (event.sequence === 3 && crashes-- > 0) throw new Error('the disk is full');
  };
  const controller = new AbortController();
  const follow = () =>
    followEvents(client, { store, apply, signal: controller.signal, pollMs: 20 });
  await assert.rejects(follow(), /the disk is full/);
  assert.equal(store.seen.length, 2);
  const stop = new Error('shut down');
  const following = assert.rejects(follow(), stop);
  while (store.seen.length < events.length) await sleep(10);
  controller.abort(stop);
  await following;
  assert.deepEqual(
    store.seen,
    events.map(({ sequence, type }) => `${sequence} ${type}`),
  );
});

test('a repeated event changes nothing, and one after a gap is refused', async () => {
  const [first, second, third] = await client.listEvents();
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  const store = openStore();
  const apply = async (event: Event, { seen }: { seen: string[] }): Promise<void> => {
    seen.push(event.type);
  };
  assert.equal(await applyOnce(store, first, apply), 'applied');
  assert.equal(await applyOnce(store, first, apply), 'repeated');
  const gap = await fail(applyOnce(store, third, apply), EventGapError);
  assert.deepEqual([gap.expected, gap.received], [2, 3]);
  assert.equal(await applyOnce(store, second, apply), 'applied');
  assert.equal(store.seen.length, 2);
});

test('a position that the driver of a database reads as text is named, not taken for a gap', async () => {
  const [first] = await client.listEvents();
  assert.ok(first !== undefined);
  const store = { ...openStore(), readPosition: async () => '0' as unknown as number };
  const apply = () => assert.fail('nothing is applied');
  await assert.rejects(applyOnce(store, first, apply), /convert a bigint with Number/);
});

test('the event after a restore is applied where no void event was, and refused else', async () => {
  const [first, second] = await client.listEvents();
  assert.ok(first !== undefined && second !== undefined);
  const restored = {
    ...first,
    type: 'account.restored',
    sequence: 10_000_000_002,
    data: { last_sequence: 1 },
  } as Event;
  const store = openStore();
  const apply = async (event: Event, { seen }: { seen: string[] }): Promise<void> => {
    seen.push(event.type);
  };
  await applyOnce(store, first, apply);
  assert.equal(await applyOnce(store, restored, apply), 'applied');
  const other = openStore();
  await applyOnce(other, first, apply);
  await applyOnce(other, second, apply);
  const gap = await fail(applyOnce(other, restored, apply), EventGapError);
  assert.deepEqual([gap.expected, gap.received], [3, 10_000_000_002]);
});

test('a loop over readiness ends when the recipient can be paid', async () => {
  const id = randomUUID();
  const body = { ...describeUser(), internal_user_id: id } as Parameters<
    Client['createUser']
  >[0]['body'];
  const { user_token } = await client.createUser({ body });
  const place = { user_token, destination_token: await findBank(), currency: 'MXN' };
  const reading = watchReadiness(client, { ...place, amount: decimal('200.5') }, { pollMs: 50 });
  const states: string[] = [];
  for await (const { payable, obstacles } of reading) {
    states.push(payable ? 'payable' : obstacles.map(({ code }) => code).join());
    const [missing] = obstacles.flatMap((obstacle) => obstacle.missing);
    if (missing === undefined) continue;
    const values = [{ token: missing.token, value: '032180000118359719' }];
    await client.storeAttributes({ ...place, body: { values } });
  }
  assert.deepEqual(states, ['attributes_missing', 'payable']);
});
