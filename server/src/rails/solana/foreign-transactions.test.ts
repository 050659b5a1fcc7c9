import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makeKey } from '../../../testing/counterparties/solana/solana-simulator.ts';
import { createTestRun, type TestRun } from '../../../testing/setups/solana.ts';
import { openKey } from './key.ts';
import { signTransfer } from './transfer.ts';

/**
 * Anyone can name the paying account in a transaction and write any memo into it, as an exchange does
 * that sends funds to it. Only what the account has signed is its payment.
 */

const context = { signal: new AbortController().signal };

let run: TestRun;
before(async () => {
  run = await createTestRun();
});
after(() => run.close());

type Answer = { readonly result: { readonly value: { readonly blockhash: string } } };

/** Another account sends tokens to the paying account, and creates the account for them. */
async function sendToPayer(memo: string): Promise<void> {
  const { solana, mint, payer } = run;
  const { secretKey, address: owner } = makeKey();
  solana.giveSol(owner, 1_000_000_000n);
  await solana.giveTokens({ owner, mint }, 50_000_000n);
  const { result } = (await run.rpc('getLatestBlockhash', [])) as Answer;
  const { wire } = await signTransfer(
    { payer: await openKey(secretKey), priorityMicroLamports: 1 },
    { reference: memo, recipient: payer, mint, units: 1n, decimals: 6, createsAccount: true },
    { ...result.value, lastValidBlockHeight: 1_000_000 },
  );
  await run.rpc('sendTransaction', [wire, { encoding: 'base64' }]);
  solana.advance(3);
}

test('funds with a memo are no payment that the records lack', async () => {
  await sendToPayer('invoice123');
  assert.equal(await run.findUnknownPayments(), undefined);
  assert.deepEqual(await run.recover(), []);
});

test('a payment that waits is not paid because another account writes its reference', async () => {
  const instruction = run.instruct(5_000_000_000n);
  await run.send(instruction);
  await run.work();
  assert.deepEqual(await run.explain(instruction), ['accepted', 'no_funds']);
  await sendToPayer(instruction.reference);
  for (let turn = 0; turn < 4; turn += 1) await run.work();
  assert.deepEqual(await run.explain(instruction), ['accepted', 'no_funds']);
  assert.equal(await run.held(instruction), undefined);
  await run.solana.giveTokens({ owner: run.payer, mint: run.mint }, 6_000_000_000n);
  await run.settle();
  assert.equal((await run.query(instruction)).outcome, 'paid');
  assert.equal(await run.held(instruction), 5_000_000_000n);
});

/** Answers one method in place of the cluster. */
function replaceAnswer(method: string, result: unknown): { calls: number } {
  const seen = { calls: 0 };
  run.wire.fetch = async (...request) => {
    const [, init] = request;
    const body = typeof init?.body === 'string' ? init.body : '';
    if (!body.includes(`"${method}"`) || body.includes('"until"') || seen.calls > 9) {
      return fetch(...request);
    }
    seen.calls += 1;
    const { id } = JSON.parse(body) as { id: number };
    return new Response(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  return seen;
}

test('a list of sent payments is not complete while a node hides one of them', async () => {
  const instruction = run.instruct(1_000_000n);
  await run.send(instruction);
  await run.settle();
  replaceAnswer('getTransaction', null);
  await assert.rejects(run.recover(), /lists a transaction that it does not show/);
  run.wire.fetch = fetch;
  assert.ok((await run.recover()).some(({ reference }) => reference === instruction.reference));
});

test('the list of sent payments reads no more of the history than was asked for', async () => {
  const old = { slot: 1, err: null, memo: '[3] old', blockTime: 1_500_000_000 };
  const page = Array.from({ length: 1000 }, () => ({ ...old, signature: '5'.repeat(88) }));
  const sinceMs = Date.now() - 86_400_000;
  const before = await run.rail.recover?.(sinceMs, context);
  assert.equal(before?.length, 2);
  const seen = replaceAnswer('getSignaturesForAddress', page);
  assert.deepEqual(await run.rail.recover?.(sinceMs, context), []);
  assert.equal(seen.calls, 1);
});
