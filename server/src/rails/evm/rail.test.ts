import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  calm,
  confirmations,
  listErrors,
  listPaid,
  makeAddress,
  makeInstruction,
  openScene,
  query,
  type Scene,
  send,
  settle,
  work,
} from '../../../testing/setups/evm.ts';

describe('a rail of Ethereum', () => {
  let scene: Scene;
  before(async () => {
    scene = await openScene();
  });
  after(() => scene.close());

  test('ether arrives once, and is told as paid when deep enough', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 1_500_000_000n });
    const { outcome } = await send(scene, instruction);
    assert.equal(outcome, 'accepted');
    assert.equal((await send(scene, instruction)).outcome, 'accepted');
    await work(scene);
    await scene.anvil.mine(confirmations - 1);
    await work(scene);
    assert.equal((await query(scene, instruction)).outcome, 'accepted');
    await scene.anvil.mine(1);
    await work(scene);
    const answer = await query(scene, instruction);
    assert.equal(answer.outcome, 'paid');
    const [payment, ...others] = await scene.anvil.listPayments(scene.payer);
    assert.deepEqual(others, []);
    assert.equal(payment?.recipient, to.toLowerCase());
    assert.equal(payment.units, 1_500_000_000n * 10n ** 9n);
    assert.equal(answer.providerReference, payment.hash);
    const spent = 100n * 10n ** 18n - (await balanceOf(scene)) - payment.units;
    const gwei = (spent + 10n ** 9n - 1n) / 10n ** 9n;
    assert.deepEqual(answer.charges, [
      { id: payment.hash, kind: 'network', currency: 'ETH', amountMinor: gwei },
    ]);
    assert.deepEqual(
      scene.host.observations.map(({ outcome: told, reference }) => [told, reference]),
      [['paid', instruction.reference]],
    );
    await settle(scene);
    assert.equal((await send(scene, instruction)).outcome, 'paid');
    assert.equal(await work(scene), undefined);
  });

  test('a token arrives, proven by its event', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 12_345_678n, currency: 'USDC' });
    await send(scene, instruction);
    await settle(scene);
    assert.equal((await query(scene, instruction)).outcome, 'paid');
    const payments = await scene.anvil.listPayments(scene.payer);
    const last = payments.at(-1);
    assert.equal(last?.contract, scene.token.toLowerCase());
    assert.equal(last.recipient, to.toLowerCase());
    assert.equal(last.units, 12_345_678n);
  });

  test('fifty payments at the same moment are paid once each, with no nonce left out', async () => {
    const earlier = await listPaid(scene);
    const instructions = Array.from({ length: 50 }, (_, index) =>
      makeInstruction({
        to: makeAddress(),
        amountMinor: BigInt(1000 + index),
        currency: index % 2 === 0 ? 'ETH' : 'USDC',
      }),
    );
    await Promise.all(instructions.flatMap((one) => [send(scene, one), send(scene, one)]));
    const other = await scene.openAgain();
    // Two processes believe that they have the pass, at every moment.
    for (let turn = 0; turn < 20; turn += 1) {
      await Promise.all([work(scene), work({ rail: other })]);
      await scene.anvil.mine(1);
    }
    await settle(scene);
    for (const one of instructions) assert.equal((await query(scene, one)).outcome, 'paid');
    const expected = instructions.map(({ attributes, amountMinor, currency }) => {
      const units = currency === 'ETH' ? amountMinor * 10n ** 9n : amountMinor;
      return `${attributes['BankAccountNumber']?.toLowerCase()} ${units}`;
    });
    assert.deepEqual(await listPaid(scene), [...earlier, ...expected].toSorted());
    assert.deepEqual(listErrors(scene, 0), []);
    const paid = scene.host.observations.filter(({ outcome }) => outcome === 'paid');
    assert.equal(new Set(paid.map(({ reference }) => reference)).size, paid.length);
  });

  test('what cannot be a destination is refused, and stays refused', async () => {
    const wrongChecksum = '0x52908400098527886E0F7030069857D2E4169Ee7';
    const zero = `0x${'0'.repeat(40)}`;
    for (const to of [
      wrongChecksum,
      zero,
      scene.token,
      scene.payer,
      'DE89370400440532013000',
      '',
    ]) {
      const instruction = makeInstruction({ to, amountMinor: 5n });
      const expected = { outcome: 'rejected', reason: 'invalid_details' };
      assert.deepEqual(await send(scene, instruction), expected, to);
      assert.deepEqual(await query(scene, instruction), expected, to);
    }
    const other = makeInstruction({ to: makeAddress(), amountMinor: 5n, currency: 'BTC' });
    assert.deepEqual(await send(scene, other), { outcome: 'rejected', reason: 'currency_refused' });
  });

  test('a reference stands for one instruction for ever', async () => {
    const instruction = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    await send(scene, instruction);
    const expected = { outcome: 'unknown', reason: 'duplicate' };
    assert.deepEqual(await send(scene, { ...instruction, amountMinor: 6n }), expected);
    const attributes = { BankAccountNumber: makeAddress() };
    assert.deepEqual(await query(scene, { ...instruction, attributes }), expected);
    await settle(scene);
    assert.equal((await query(scene, instruction)).outcome, 'paid');
  });

  test('what waits can be cancelled, what is signed cannot', async () => {
    const { rail } = scene;
    assert(rail.cancel !== undefined);
    const cancelled = { outcome: 'rejected', reason: 'cancelled' };
    const waiting = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    await send(scene, waiting);
    assert.deepEqual(await rail.cancel(waiting, calm), cancelled);
    const unsent = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    assert.deepEqual(await query(scene, unsent), { outcome: 'retry', reason: 'other' });
    assert.deepEqual(await rail.cancel(unsent, calm), cancelled);
    assert.deepEqual(await send(scene, unsent), cancelled);
    const signed = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    await send(scene, signed);
    await work(scene);
    assert.equal((await rail.cancel(signed, calm)).outcome, 'accepted');
    await settle(scene);
    assert.equal((await query(scene, signed)).outcome, 'paid');
    const paid = await listPaid(scene);
    for (const one of [waiting, unsent]) {
      const address = one.attributes['BankAccountNumber']?.toLowerCase() ?? 'none';
      assert.ok(paid.every((line) => !line.startsWith(address)));
    }
  });

  test('the setup is looked at for the operator', async () => {
    assert.deepEqual(await scene.rail.check?.(calm), []);
    const wrong = await scene.openAgain({
      rpcUrls: ['http://127.0.0.1:1/secret-key', scene.anvil.url],
      tokens: [{ currency: 'USDC', address: scene.token, decimals: 18 }],
    });
    assert.deepEqual(await wrong.check?.(calm), [
      'endpoint 1 at eth_chainId gave no answer',
      'the token of USDC has 6 decimals, not 18',
    ]);
    const elsewhere = await scene.openAgain({ chainId: 1 });
    assert.deepEqual(await elsewhere.check?.(calm), [
      'endpoint 1 speaks for chain 31337, not for 1',
    ]);
  });
});

async function balanceOf({ anvil, payer }: Scene): Promise<bigint> {
  return BigInt(await anvil.rpc<string>('eth_getBalance', [payer, 'latest']));
}
