import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, type Hex, parseTransaction } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { checkSigned, isRefusal, makePayload, signTransfer, type Transfer } from './transaction.ts';

const account = privateKeyToAccount(generatePrivateKey());
const makeAddress = (): Address => privateKeyToAccount(generatePrivateKey()).address;
const plan = {
  chainId: 1,
  nonce: 0,
  gas: 60_000n,
  maxFeePerGas: 2_000_000_000n,
  maxPriorityFeePerGas: 1_000_000_000n,
};
const coin: Transfer = { recipient: makeAddress(), units: 10n ** 18n, contract: null };
const tokens: Transfer = { recipient: makeAddress(), units: 5_000_000n, contract: makeAddress() };

test('the signed bytes contain the order', async () => {
  for (const transfer of [coin, tokens]) {
    const { raw } = await signTransfer(account, transfer, plan);
    await checkSigned(raw, account.address, { transfer, plan });
    const { to, value = 0n } = parseTransaction(raw);
    const expected = transfer.contract ?? transfer.recipient;
    assert.equal(to?.toLowerCase(), expected.toLowerCase());
    assert.equal(value, transfer.contract === null ? transfer.units : 0n);
  }
});

test('signed bytes that differ from the order are refused', async () => {
  for (const transfer of [coin, tokens]) {
    const { raw } = await signTransfer(account, transfer, plan);
    const orders = [
      { transfer: { ...transfer, units: transfer.units + 1n }, plan },
      { transfer: { ...transfer, recipient: makeAddress() }, plan },
      { transfer: { ...transfer, contract: makeAddress() }, plan },
      { transfer: transfer === coin ? tokens : coin, plan },
      ...(['chainId', 'nonce'] as const).map((name) => ({
        transfer,
        plan: { ...plan, [name]: plan[name] + 1 },
      })),
      ...(['gas', 'maxFeePerGas', 'maxPriorityFeePerGas'] as const).map((name) => ({
        transfer,
        plan: { ...plan, [name]: plan[name] + 1n },
      })),
    ];
    for (const order of orders) {
      await assert.rejects(checkSigned(raw, account.address, order), /^Error: impossible: /);
    }
    await assert.rejects(checkSigned(raw, makeAddress(), { transfer, plan }), /of the rail/);
  }
});

test('extra bytes after a call are refused', async () => {
  const payload = makePayload(tokens);
  const data: Hex = `${payload.data}00`;
  const raw = await account.signTransaction({ type: 'eip1559', ...payload, data, ...plan });
  await assert.rejects(checkSigned(raw, account.address, { transfer: tokens, plan }), /the order/);
});

test('a simulated transfer is refused by false and not by an empty answer', () => {
  const word = (last: string): Hex => `0x${last.padStart(64, '0')}`;
  assert.equal(isRefusal('0x'), false);
  assert.equal(isRefusal(word('1')), false);
  assert.equal(isRefusal(word('0')), true);
  assert.equal(isRefusal(word('2')), true);
  assert.equal(isRefusal('0x01'), true);
});
