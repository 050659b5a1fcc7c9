import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { formatUnits } from 'viem';
import {
  confirmations,
  context,
  listErrors,
  listPaid,
  makeAddress,
  makeInstruction,
  openTestRun,
  query,
  send,
  settle,
  type TestRun,
  work,
} from '../../../testing/setups/evm.ts';

describe('a rail of Ethereum', () => {
  let run: TestRun;
  before(async () => {
    run = await openTestRun();
  });
  after(() => run.close());

  test('ether is paid once and reported as paid at the configured depth', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 1_500_000_000n });
    const { outcome } = await send(run, instruction);
    assert.equal(outcome, 'accepted');
    assert.equal((await send(run, instruction)).outcome, 'accepted');
    await work(run);
    await run.anvil.mine(confirmations - 1);
    await work(run);
    assert.equal((await query(run, instruction)).outcome, 'accepted');
    await run.anvil.mine(1);
    await work(run);
    const answer = await query(run, instruction);
    assert.equal(answer.outcome, 'paid');
    const [payment, ...others] = await run.anvil.listPayments(run.payer);
    assert.deepEqual(others, []);
    assert.equal(payment?.recipient, to.toLowerCase());
    assert.equal(payment.units, 1_500_000_000n * 10n ** 9n);
    assert.equal(answer.providerReference, payment.hash);
    const spent = 100n * 10n ** 18n - (await balanceOf(run)) - payment.units;
    const gwei = (spent + 10n ** 9n - 1n) / 10n ** 9n;
    assert.deepEqual(answer.charges, [
      { id: payment.hash, kind: 'network', currency: 'ETH', amountMinor: gwei },
    ]);
    assert.deepEqual(
      run.host.observations.map(({ outcome: reported, reference }) => [reported, reference]),
      [['paid', instruction.reference]],
    );
    await settle(run);
    assert.equal((await send(run, instruction)).outcome, 'paid');
    assert.equal(await work(run), undefined);
  });

  test('a token payment is proven by its Transfer event', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 12_345_678n, currency: 'USDC' });
    await send(run, instruction);
    await settle(run);
    assert.equal((await query(run, instruction)).outcome, 'paid');
    const payments = await run.anvil.listPayments(run.payer);
    const last = payments.at(-1);
    assert.equal(last?.contract, run.token.toLowerCase());
    assert.equal(last.recipient, to.toLowerCase());
    assert.equal(last.units, 12_345_678n);
  });

  test('the funds are the balances of the account, in units of each currency', async () => {
    const funds = await run.rail.readFunds?.(context);
    const ether = funds?.find(({ currency }) => currency === 'ETH');
    assert.equal(ether?.amount, formatUnits(await balanceOf(run), 18));
    const usdc = funds?.find(({ currency }) => currency === 'USDC');
    assert.ok(Number(usdc?.amount) > 12);
  });

  test('fifty concurrent payments are paid once each without a nonce gap', async () => {
    const earlier = await listPaid(run);
    const instructions = Array.from({ length: 50 }, (_, index) =>
      makeInstruction({
        to: makeAddress(),
        amountMinor: BigInt(1000 + index),
        currency: index % 2 === 0 ? 'ETH' : 'USDC',
      }),
    );
    await Promise.all(instructions.flatMap((one) => [send(run, one), send(run, one)]));
    const other = await run.openAgain();
    // Two processes run passes at the same time.
    for (let turn = 0; turn < 20; turn += 1) {
      await Promise.all([work(run), work({ rail: other })]);
      await run.anvil.mine(1);
    }
    await settle(run);
    for (const one of instructions) assert.equal((await query(run, one)).outcome, 'paid');
    const expected = instructions.map(({ attributes, amountMinor, currency }) => {
      const units = currency === 'ETH' ? amountMinor * 10n ** 9n : amountMinor;
      return `${attributes['BankAccountNumber']?.toLowerCase()} ${units}`;
    });
    assert.deepEqual(await listPaid(run), [...earlier, ...expected].toSorted());
    assert.deepEqual(listErrors(run, 0), []);
    const paid = run.host.observations.filter(({ outcome }) => outcome === 'paid');
    assert.equal(new Set(paid.map(({ reference }) => reference)).size, paid.length);
  });

  test('an invalid destination is rejected for good', async () => {
    const wrongChecksum = '0x52908400098527886E0F7030069857D2E4169Ee7';
    const zero = `0x${'0'.repeat(40)}`;
    for (const to of [wrongChecksum, zero, run.token, run.payer, 'DE89370400440532013000', '']) {
      const instruction = makeInstruction({ to, amountMinor: 5n });
      const expected = { outcome: 'rejected', reason: 'invalid_details' };
      assert.deepEqual(await send(run, instruction), expected, to);
      assert.deepEqual(await query(run, instruction), expected, to);
    }
    const other = makeInstruction({ to: makeAddress(), amountMinor: 5n, currency: 'BTC' });
    assert.deepEqual(await send(run, other), { outcome: 'rejected', reason: 'currency_refused' });
  });

  test('a reference cannot be reused for another instruction', async () => {
    const instruction = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    await send(run, instruction);
    const expected = { outcome: 'unknown', reason: 'duplicate' };
    assert.deepEqual(await send(run, { ...instruction, amountMinor: 6n }), expected);
    const attributes = { BankAccountNumber: makeAddress() };
    assert.deepEqual(await query(run, { ...instruction, attributes }), expected);
    await settle(run);
    assert.equal((await query(run, instruction)).outcome, 'paid');
  });

  test('a waiting payment can be canceled, a signed one cannot', async () => {
    const { rail } = run;
    assert(rail.cancel !== undefined);
    const cancelled = { outcome: 'rejected', reason: 'cancelled' };
    const waiting = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    await send(run, waiting);
    assert.deepEqual(await rail.cancel(waiting, context), cancelled);
    const unsent = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    assert.deepEqual(await query(run, unsent), { outcome: 'retry', reason: 'other' });
    assert.deepEqual(await rail.cancel(unsent, context), cancelled);
    assert.deepEqual(await send(run, unsent), cancelled);
    const signed = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    await send(run, signed);
    await work(run);
    assert.equal((await rail.cancel(signed, context)).outcome, 'accepted');
    await settle(run);
    assert.equal((await query(run, signed)).outcome, 'paid');
    const paid = await listPaid(run);
    for (const one of [waiting, unsent]) {
      const address = one.attributes['BankAccountNumber']?.toLowerCase() ?? 'none';
      assert.ok(paid.every((line) => !line.startsWith(address)));
    }
  });

  test('check lists problems of the setup', async () => {
    assert.deepEqual(await run.rail.check?.(context), []);
    const wrong = await run.openAgain({
      rpcUrls: ['http://127.0.0.1:1/secret-key', run.anvil.url],
      tokens: [{ currency: 'USDC', address: run.token, decimals: 18 }],
    });
    assert.deepEqual(await wrong.check?.(context), [
      'endpoint 1 at eth_chainId gave no answer',
      'the token of USDC has 6 decimals instead of 18',
    ]);
    const elsewhere = await run.openAgain({ chainId: 1 });
    assert.deepEqual(await elsewhere.check?.(context), [
      'endpoint 1 serves chain 31337 instead of 1',
    ]);
  });
});

async function balanceOf({ anvil, payer }: TestRun): Promise<bigint> {
  return BigInt(await anvil.rpc<string>('eth_getBalance', [payer, 'latest']));
}
