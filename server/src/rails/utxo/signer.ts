import type { Transaction } from '@scure/btc-signer';
import type { ScriptKind } from './addresses.ts';
import type { Coin } from './coin-selection.ts';
import type { OwnKeys } from './keys.ts';
import type { Node } from './node.ts';
import { buildTransaction, formatPsbt, type Output } from './transaction.ts';

/** Signs with the rail's own keys or with the node's wallet. */
export type Signer = {
  readonly changeKind: ScriptKind;
  /** For the n-th replacement set. */
  getChangeScript(setNumber: number): Promise<string>;
  /** Whether the rail has the key; undefined where the node's wallet decides. */
  readonly owns: ((script: string) => boolean) | undefined;
  /** Unsigned. */
  build(coins: readonly Coin[], outputs: readonly Output[]): Transaction;
  /** The signed transaction, hexadecimal; coins in the order of the inputs. */
  sign(transaction: Transaction, coins: readonly Coin[]): Promise<string>;
};

export function createOwnSigner(keys: OwnKeys): Signer {
  return {
    changeKind: keys.kind,
    getChangeScript: (setNumber) => Promise.resolve(keys.getChangeScript(setNumber)),
    owns: keys.owns,
    build: (coins, outputs) => buildTransaction(coins, outputs, keys),
    sign: (transaction, coins) => {
      keys.sign(
        transaction,
        coins.map(({ script }) => script),
      );
      return Promise.resolve(transaction.hex);
    },
  };
}

export function createNodeSigner(node: Node, changeKind: 'bech32' | 'bech32m'): Signer {
  return {
    changeKind: changeKind === 'bech32' ? 'wpkh' : 'tr',
    getChangeScript: () => node.getChangeScript(changeKind),
    owns: undefined,
    build: (coins, outputs) => buildTransaction(coins, outputs, undefined),
    sign: (transaction) => node.signPsbt(formatPsbt(transaction)),
  };
}
