import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import {
  instruct,
  litecoinRegtest,
  openTestRail,
  type TestRail,
} from '../../../testing/setups/utxo.ts';
import { formatScript } from './addresses.ts';

/** Records that lack what the wallet has sent, with a stubbed node. */

type Sent = { txid: string; address: string; amount: string; time: number };

const address = formatScript(litecoinRegtest, `0014${'ab'.repeat(20)}`) ?? '';
const elsewhere = formatScript(litecoinRegtest, `0014${'cd'.repeat(20)}`) ?? '';
const behind = { outcome: 'unknown', reason: 'review', code: 'memory_behind' };
const cancelled = { outcome: 'rejected', reason: 'cancelled' };
const duplicate = { outcome: 'unknown', reason: 'duplicate' };
const config = {
  network: 'litecoin',
  chain: 'regtest',
  rpc: { url: 'http://127.0.0.1:1', credentials: 'a:b' },
  keys: { mode: 'node', wallet: 'w' },
  batch: { waitSeconds: 0 },
};

let sent: Sent[] = [];
let height = 100;
let rail: TestRail;
beforeEach(async () => {
  sent = [];
  height = 100;
  rail = await openTestRail(config, { fetch: answerRequest });
});
afterEach(() => rail.close());

function nameBlock(number: number): string {
  return number === 0 ? litecoinRegtest.firstBlockHash : number.toString(16).padStart(64, '0');
}

/** Its wallet has no coins, so that nothing is built. */
const answerRequest: typeof fetch = (_, init) => {
  const { id, method, params } = JSON.parse(init?.body as string) as {
    id: unknown;
    method: string;
    params: unknown[];
  };
  const results: Record<string, unknown> = {
    getblockchaininfo: {
      chain: 'regtest',
      blocks: height,
      headers: height,
      bestblockhash: nameBlock(height),
      mediantime: Math.floor(Date.now() / 1000),
      initialblockdownload: false,
    },
    getblockhash: nameBlock(Number(params[0])),
    getwalletinfo: { private_keys_enabled: true, scanning: false },
    listunspent: [],
    getrawchangeaddress: address,
    getaddressinfo: { scriptPubKey: `0014${'ab'.repeat(20)}`, ismine: true },
    estimatesmartfee: {},
    getnetworkinfo: { relayfee: 0.00001, incrementalfee: 0.00001 },
    getmempoolinfo: { mempoolminfee: 0.00001 },
    listsinceblock: {
      transactions: sent.map(({ amount, ...rest }) => ({
        ...rest,
        category: 'send',
        amount: `@-${amount}@`,
      })),
    },
    gettransaction: { hex: '00', walletconflicts: [], blockhash: nameBlock(height - 5) },
    getblockheader: { confirmations: 6 },
  };
  // Amounts are JSON numbers with all their decimals.
  const text = JSON.stringify({ id, result: results[method], error: null });
  return Promise.resolve(new Response(text.replaceAll(/"@|@"/g, '')));
};

function spend(to: string, amount: string, ageSeconds = 60): string {
  const txid = (sent.length + 1).toString(16).padStart(64, 'f');
  sent.push({ txid, address: to, amount, time: Math.floor(Date.now() / 1000) - ageSeconds });
  height += 1;
  return txid;
}

async function release(): Promise<void> {
  await rail.calls.confirmRecovery?.({ signal: new AbortController().signal });
}

function check(): Promise<readonly string[] | undefined> {
  return Promise.resolve(rail.calls.check?.({ signal: new AbortController().signal }));
}

test('with a wallet that has sent nothing a payment can be sent or canceled', async () => {
  const instruction = instruct(address, 1_000_000n);
  assert.deepEqual(await rail.query(instruction), { outcome: 'retry', reason: 'other' });
  assert.deepEqual(await rail.cancel(instruction), cancelled);
  assert.deepEqual(await rail.send(instruction), cancelled);
  assert.deepEqual(await rail.query(instruction), cancelled);
  const waiting = instruct(address, 2_000_000n);
  await rail.send(waiting);
  assert.deepEqual(await rail.cancel(waiting), cancelled);
  assert.deepEqual(rail.host.problems, []);
});

test('empty records of a wallet that has sent: nothing is paid until released', async () => {
  const txid = spend(address, '0.01000000');
  const early = instruct(address, 1_000_000n);
  // Accepted before the wallet was compared.
  assert.equal((await rail.send(early)).outcome, 'accepted');
  await rail.pass();
  for (const one of [early, instruct(address, 5_000_000n)]) {
    assert.deepEqual(await rail.query(one), behind);
    assert.deepEqual(await rail.cancel(one), behind);
    assert.deepEqual(await rail.send(one), behind);
  }
  assert.match((await check())?.join() ?? '', /until the recovery is released/);
  assert.deepEqual(
    rail.host.problems.map(({ kind }) => kind),
    ['unmatched'],
  );
  const signal = new AbortController().signal;
  const recovered = await rail.calls.recover?.(Date.now() - 3_600_000, { signal });
  assert.deepEqual(recovered, [
    {
      reference: '',
      currency: 'LTC',
      amountMinor: 1_000_000n,
      outcome: 'paid',
      providerReference: txid,
      atMs: recovered?.[0]?.atMs,
      destination: address,
      detail: '6 confirmations',
    },
  ]);
  await release();
  assert.ok(!(await check())?.join().includes('released'));
  // An identical payment is left to a person, another one is not.
  await rail.pass();
  assert.deepEqual(await rail.query(early), duplicate);
  const other = instruct(address, 5_000_000n);
  assert.equal((await rail.send(other)).outcome, 'accepted');
  assert.deepEqual(await rail.cancel(other), cancelled);
});

test('restored records do not cancel a payment that the wallet has made', async () => {
  const waiting = instruct(address, 1_000_000n);
  await rail.send(waiting);
  await rail.pass();
  const txid = spend(address, '0.01000000');
  spend(elsewhere, '0.02000000');
  for (const one of [waiting, instruct(elsewhere, 2_000_000n)]) {
    assert.deepEqual(await rail.cancel(one), duplicate);
  }
  assert.deepEqual(await rail.cancel(instruct(elsewhere, 1_000_000n)), cancelled);
  assert.deepEqual(
    rail.host.problems.map(({ id, currency, amountMinor }) => [id, currency, amountMinor]).at(0),
    [`unknown:${txid}`, 'LTC', 1_000_000n],
  );
  assert.equal(rail.host.problems.length, 2);
  // Another process finds the same and opens no new exception.
  const again = await rail.again();
  await again.pass();
  assert.deepEqual(await again.query(waiting), duplicate);
  assert.deepEqual(again.host.problems, []);
});

test('recovery lists the wallet’s sends since the given time', async () => {
  spend(address, '0.01000000', 7200);
  const last = spend(elsewhere, '0.02000000', 60);
  const signal = new AbortController().signal;
  const recovered = await rail.calls.recover?.(Date.now() - 3_600_000, { signal });
  assert.deepEqual(
    recovered?.map(({ providerReference }) => providerReference),
    [last],
  );
});

test('recovery follows the clock of the chain where that of the environment is ahead', async () => {
  const last = spend(elsewhere, '0.02000000', 60);
  spend(address, '0.01000000', 7200);
  const aheadMs = 40 * 86_400_000;
  rail.advanceMs(aheadMs);
  const signal = new AbortController().signal;
  const recovered = await rail.calls.recover?.(Date.now() + aheadMs - 3_600_000, { signal });
  assert.deepEqual(
    recovered?.map(({ providerReference }) => providerReference),
    [last],
  );
});
