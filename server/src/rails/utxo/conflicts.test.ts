import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Coin } from './coin-selection.ts';
import { findConflictingSpender } from './conflicts.ts';
import type { WalletTransaction } from './node.ts';
import type { ReplacementSet } from './records.ts';
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
const ownVersion = make([first, second], [payment]);
const conflicting = make([first], [{ script, amountMinor: 90_000n }]);
const unknown = make([second, third], [payment]);

const set: ReplacementSet = {
  key: '0000000001',
  state: 'open',
  revision: 1,
  changeScript: script,
  payments: [{ reference: 'one', address: '', ...payment, depthNeeded: 1, isPaid: false }],
  versions: [
    {
      ...ownVersion,
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
  return findConflictingSpender({ node }, set, [first, second]);
}

test('a version without a record is found whatever is deeper', async () => {
  const found = await findAmong(
    new Map([
      [conflicting.txid, { rawHex: conflicting.rawHex, depth: 20 }],
      [unknown.txid, { rawHex: unknown.rawHex, depth: 2 }],
    ]),
  );
  assert.deepEqual(found, { txid: unknown.txid, depth: 2, paysTheSame: true });
});

test('an unreadable transaction does not hide others', async () => {
  // The marker of a Litecoin extension block.
  const rawHex = '0200000000080000000000000000';
  const found = await findAmong(
    new Map([
      ['d'.repeat(64), { rawHex, depth: 3 }],
      [conflicting.txid, { rawHex: conflicting.rawHex, depth: 20 }],
    ]),
  );
  assert.deepEqual(found, { txid: conflicting.txid, depth: 20, paysTheSame: false });
});
