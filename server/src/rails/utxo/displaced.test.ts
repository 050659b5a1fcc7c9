import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Coin } from './coin-selection.ts';
import { findForeignSpender } from './displaced.ts';
import type { WalletTransaction } from './node.ts';
import type { Family } from './records.ts';
import { buildTransaction, formatUnsigned, readTransaction } from './transaction.ts';

const script = `0014${'11'.repeat(20)}`;
const payment = { script, amountMinor: 50_000n };

function makeCoin(digit: string): Coin {
  const txid = digit.repeat(64);
  return { txid, vout: 0, amountMinor: 100_000n, script, kind: 'wpkh' };
}

function make(coins: readonly Coin[], outputs: readonly { script: string; amountMinor: bigint }[]) {
  const rawHex = formatUnsigned(buildTransaction(coins, outputs, undefined));
  return { rawHex, txid: readTransaction(rawHex).txid };
}

const [first, second, third] = [makeCoin('a'), makeCoin('b'), makeCoin('c')];
const ours = make([first, second], [payment]);
const foreign = make([first], [{ script, amountMinor: 90_000n }]);
const forgotten = make([second, third], [payment]);

const family: Family = {
  key: '0000000001',
  state: 'open',
  revision: 1,
  changeScript: script,
  payments: [{ reference: 'one', address: '', ...payment, depthNeeded: 1, isPaid: false }],
  versions: [
    {
      ...ours,
      coins: [first, second],
      changeMinor: 0n,
      feeMinor: 1n,
      rate: 1n,
      builtHeight: 1,
      wasTaken: true,
    },
  ],
  sinceBlockHash: '0'.repeat(64),
  confirmed: null,
  displacedBy: null,
};

function findAmong(transactions: ReadonlyMap<string, { rawHex: string; depth: number }>) {
  const node = {
    listWalletTransactions: () => Promise.resolve([...transactions.keys()]),
    findTransaction: (txid: string): Promise<WalletTransaction | undefined> => {
      const found = transactions.get(txid);
      if (found === undefined) return Promise.resolve(undefined);
      const { rawHex, depth } = found;
      const block = depth === 0 ? undefined : { hash: '0'.repeat(64), depth };
      return Promise.resolve({ rawHex, block, conflicts: [] });
    },
  };
  return findForeignSpender({ node }, family, [first, second]);
}

test('a version that is forgotten is seen however deep another transaction lies', async () => {
  const found = await findAmong(
    new Map([
      [foreign.txid, { rawHex: foreign.rawHex, depth: 20 }],
      [forgotten.txid, { rawHex: forgotten.rawHex, depth: 2 }],
    ]),
  );
  assert.deepEqual(found, { txid: forgotten.txid, depth: 2, paysTheSame: true });
});

test('a transaction of the wallet that cannot be read hides no other one', async () => {
  // The mark of a Litecoin transaction with an extension block.
  const rawHex = '0200000000080000000000000000';
  const found = await findAmong(
    new Map([
      ['d'.repeat(64), { rawHex, depth: 3 }],
      [foreign.txid, { rawHex: foreign.rawHex, depth: 20 }],
    ]),
  );
  assert.deepEqual(found, { txid: foreign.txid, depth: 20, paysTheSame: false });
});
