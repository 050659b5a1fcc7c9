import type { Transaction } from '@scure/btc-signer';
import type { ScriptKind } from './addresses.ts';
import type { Coin } from './coin-selection.ts';
import type { OwnKeys } from './keys.ts';
import type { Node } from './node.ts';
import { buildTransaction, formatPsbt, type Output } from './transaction.ts';

/** Who holds the keys: the rail itself, or the wallet in the node. */
export type Signer = {
  readonly changeKind: ScriptKind;
  /** Of the n-th family. */
  getChangeScript(familyNumber: number): Promise<string>;
  /** Whose the scripts are; undefined where the node's wallet says what it can spend. */
  readonly owns: ((script: string) => boolean) | undefined;
  /** Not signed yet. */
  build(coins: readonly Coin[], outputs: readonly Output[]): Transaction;
  /** The signed transaction, hexadecimal. The coins are in the order of the inputs. */
  sign(transaction: Transaction, coins: readonly Coin[]): Promise<string>;
};

export function createOwnSigner(keys: OwnKeys): Signer {
  return {
    changeKind: keys.kind,
    getChangeScript: (familyNumber) => Promise.resolve(keys.getChangeScript(familyNumber)),
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
