import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { address } from '@solana/kit';
import { createTestRun, type TestRun } from '../../../testing/setups/solana.ts';

const runs: TestRun[] = [];
after(async () => {
  for (const run of runs) await run.close();
});

async function openRun(changes: Readonly<Record<string, unknown>> = {}): Promise<TestRun> {
  const run = await createTestRun(changes);
  runs.push(run);
  return run;
}

function readBody([, init]: Parameters<typeof fetch>): string {
  return typeof init?.body === 'string' ? init.body : '';
}

test('a payment creates the recipient’s account once and charges fee and rent', async () => {
  const run = await openRun();
  const first = run.instruct(5_000_000n);
  await run.send(first);
  await run.settle();
  const answer = await run.query(first);
  assert.equal(answer.outcome, 'paid');
  const rent = 2_039_280n;
  const fee = 5000n + 1200n;
  assert.deepEqual(
    answer.charges?.map(({ currency, amountMinor }) => [currency, amountMinor]),
    [['SOL', rent + fee]],
  );
  const second = { ...first, reference: `${first.reference}b`, amountMinor: 7_000_000n };
  await run.send(second);
  await run.settle();
  const again = await run.query(second);
  assert.deepEqual(
    again.charges?.map(({ amountMinor }) => amountMinor),
    [fee],
  );
  assert.equal(await run.held(first), 12_000_000n);
  assert.equal(run.solana.readSol(run.payer), 1_000_000_000n - rent - fee - fee);
});

test('a lost transaction is sent again as the same bytes, and nothing else is signed meanwhile', async () => {
  const run = await openRun();
  run.solana.state.losesTransactions = true;
  const instruction = run.instruct(1_000_000n);
  await run.send(instruction);
  for (let turn = 0; turn < 5; turn += 1) {
    await run.work();
    run.solana.advance(30);
  }
  assert.equal(run.solana.state.sends.length, 5);
  assert.equal(new Set(run.solana.state.sends).size, 1);
  run.solana.state.losesTransactions = false;
});

test('a payment is signed anew only when no block can take the first transaction', async () => {
  const run = await openRun();
  run.solana.state.losesTransactions = true;
  const instruction = run.instruct(1_000_000n);
  await run.send(instruction);
  await run.work();
  const [wire] = await run.listWires(instruction);
  assert(wire !== undefined);
  // Blocks up to the last valid one and those kept for safety.
  run.solana.advance(150);
  await run.work();
  assert.equal((await run.listWires(instruction)).length, 1);
  run.solana.advance(40);
  run.solana.state.losesTransactions = false;
  await run.work();
  assert.equal((await run.listWires(instruction)).length, 2);
  // The first one turns up late: no block takes it.
  await run.rpc('sendTransaction', [wire, { encoding: 'base64' }]);
  await run.settle();
  assert.equal(await run.held(instruction), 1_000_000n);
  assert.equal((await run.query(instruction)).outcome, 'paid');
});

test('a transaction that landed is never signed anew while a node does not show it', async () => {
  const run = await openRun();
  const instruction = run.instruct(1_000_000n);
  await run.send(instruction);
  await run.work();
  run.solana.advance(300);
  for (const method of ['getSignatureStatuses', 'getTransaction', 'getSignaturesForAddress']) {
    run.solana.state.refused.add(method);
    await run.work();
    run.solana.state.refused.delete(method);
  }
  // A node without history: it answers that it knows no such signature.
  run.wire.fetch = async (...request) => {
    const body = readBody(request);
    const response = await fetch(...request);
    if (!body.includes('getSignatureStatuses')) return response;
    const { id } = JSON.parse(body) as { id: number };
    const result = { context: { slot: 1e9 }, value: [null] };
    return new Response(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  await run.work();
  await run.work();
  assert.equal((await run.listWires(instruction)).length, 1);
  run.wire.fetch = fetch;
  await run.settle();
  assert.equal(await run.held(instruction), 1_000_000n);
});

test('a last valid height that a node understates does not shorten a transaction’s life', async () => {
  const run = await openRun();
  run.solana.state.losesTransactions = true;
  run.wire.fetch = async (...request) => {
    const response = await fetch(...request);
    if (!readBody(request).includes('getLatestBlockhash')) return response;
    const text = await response.text();
    return new Response(text.replace(/"lastValidBlockHeight":\d+/, '"lastValidBlockHeight":1'));
  };
  const instruction = run.instruct(1_000_000n);
  await run.send(instruction);
  await run.work();
  run.solana.advance(100);
  await run.work();
  assert.equal((await run.listWires(instruction)).length, 1);
});

test('a restored database finds the payments that it lacks, and does not pay them again', async () => {
  const run = await openRun();
  const instruction = run.instruct(3_000_000n);
  await run.send(instruction);
  await run.settle();
  const other = await run.openEmpty();
  assert.match((await other.findUnknownPayments()) ?? '', /records lack/);
  assert.equal((await other.query(instruction)).outcome, 'unknown');
  const recovered = await other.recover();
  assert.deepEqual(
    recovered.map(({ reference, amountMinor, currency }) => [reference, amountMinor, currency]),
    [[instruction.reference, 3_000_000n, 'USDC']],
  );
  await other.send(instruction);
  await other.settle();
  assert.equal((await other.query(instruction)).outcome, 'paid');
  assert.equal(await run.held(instruction), 3_000_000n);
});

test('payments wait for funds, for the cap of a transaction and for that of a day', async () => {
  const unfunded = await openRun();
  const large = unfunded.instruct(2_000_000_000n);
  await unfunded.send(large);
  await unfunded.work();
  assert.deepEqual(await unfunded.explain(large), ['accepted', 'no_funds']);

  const capped = await openRun({ fees: { transactionMaxLamports: 10_000 } });
  const created = capped.instruct(1_000_000n);
  await capped.send(created);
  await capped.work();
  assert.deepEqual(await capped.explain(created), ['accepted', 'fee_limit']);

  const daily = await openRun({ fees: { dayMaxLamports: 3_000_000 } });
  const [one, two] = [daily.instruct(1_000_000n), daily.instruct(1_000_000n)];
  await daily.send(one);
  await daily.send(two);
  await daily.settle(12, [one]);
  assert.deepEqual(await daily.explain(two), ['accepted', 'fee_day_limit']);
  assert.equal((await daily.cancel(two)).outcome, 'rejected');
  assert.equal(await daily.held(two), undefined);
});

test('frozen, given-away and impossible recipients are refused before anything is signed', async () => {
  const run = await openRun();
  const { mint, solana } = run;
  const frozen = run.instruct(1_000_000n);
  const owner = address(frozen.attributes['BankAccountNumber'] ?? '');
  await solana.giveTokens({ owner, mint }, 0n, { isFrozen: true });
  const given = run.instruct(1_000_000n);
  const giver = address(given.attributes['BankAccountNumber'] ?? '');
  await solana.giveTokens({ owner: giver, mint }, 0n, { heldBy: owner });
  const own = { ...run.instruct(1_000_000n), attributes: { BankAccountNumber: run.payer } };
  const ethereum = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
  const wrong = { ...run.instruct(1_000_000n), attributes: { BankAccountNumber: ethereum } };
  for (const instruction of [frozen, given, own, wrong]) await run.send(instruction);
  await run.work();
  const reasons = [];
  for (const instruction of [frozen, given, own, wrong]) {
    const answer = await run.query(instruction);
    reasons.push(answer.outcome === 'rejected' ? answer.reason : answer.outcome);
  }
  const expected = ['account_blocked', 'recipient_refused', 'invalid_details', 'invalid_details'];
  assert.deepEqual(reasons, expected);
  assert.equal(solana.state.sends.length, 0);
});

test('the check names a wrong cluster, wrong decimals and an account without SOL', async () => {
  const run = await openRun({ genesisHash: '1'.repeat(32) });
  assert.match((await run.check()).join(), /serves another cluster/);
  const other = await openRun({ decimals: 9 });
  assert.match((await other.check()).join(), /not a token .* 9 decimals/);
  const fine = await openRun();
  assert.deepEqual(await fine.check(), []);
  assert.deepEqual(await fine.readFunds(), [
    { currency: 'SOL', amount: '1' },
    { currency: 'USDC', amount: '1000' },
  ]);
});
