import { base64, hex } from '@scure/base';
import { Transaction } from '@scure/btc-signer';
import type { Coin } from './coin-selection.ts';
import type { OwnKeys } from './keys.ts';

/**
 * Transactions: built from coins and outputs, and read back from their bytes. What is about to be
 * signed or sent is judged by its bytes and never by the plan that it was made from.
 */

export type Output = { readonly script: string; readonly amountMinor: bigint };

/** May be replaced by one of a higher fee (BIP 125). */
const replaceableSequence = 0xffff_fffd;

export type Outpoint = { readonly txid: string; readonly vout: number };

export function nameOutpoint({ txid, vout }: Outpoint): string {
  return `${txid}:${vout}`;
}

export type ReadTransaction = {
  readonly txid: string;
  readonly inputs: readonly Outpoint[];
  readonly outputs: readonly Output[];
};

/** Transactions of others are looked at too, whatever is in them. */
const anyTransaction = {
  allowUnknownInputs: true,
  allowUnknownOutputs: true,
  allowUnknownVersion: true,
  disableScriptCheck: true,
};

/** @throws Error when the text is no transaction. */
export function readTransaction(rawHex: string): ReadTransaction {
  const transaction = Transaction.fromRaw(hex.decode(rawHex), anyTransaction);
  return {
    txid: transaction.id,
    inputs: Array.from({ length: transaction.inputsLength }, (_, index) => {
      const { txid, index: vout } = transaction.getInput(index);
      if (txid === undefined || vout === undefined) throw new Error('an input spends nothing');
      return { txid: hex.encode(txid), vout };
    }),
    outputs: Array.from({ length: transaction.outputsLength }, (_, index) => {
      const { script, amount } = transaction.getOutput(index);
      if (script === undefined || amount === undefined) throw new Error('an output pays nothing');
      return { script: hex.encode(script), amountMinor: amount };
    }),
  };
}

/**
 * Not signed yet. The outputs are in the order of amount and script (as BIP 69 has it), so that
 * their places do not tell which one is the change.
 */
export function buildTransaction(
  coins: readonly Coin[],
  outputs: readonly Output[],
  keys: OwnKeys | undefined,
): Transaction {
  const transaction = new Transaction({ version: 2 });
  for (const { txid, vout, amountMinor, script } of coins) {
    const internalKey = keys?.findInternalKey(script);
    transaction.addInput({
      txid,
      index: vout,
      sequence: replaceableSequence,
      // The node adds what it knows of its own coins; ours are all of the kinds that need this.
      ...(keys === undefined
        ? {}
        : { witnessUtxo: { amount: amountMinor, script: hex.decode(script) } }),
      ...(internalKey === undefined ? {} : { tapInternalKey: internalKey }),
    });
  }
  for (const { script, amountMinor } of outputs.toSorted(compareOutputs)) {
    transaction.addOutput({ script: hex.decode(script), amount: amountMinor });
  }
  return transaction;
}

function compareOutputs(left: Output, right: Output): number {
  if (left.amountMinor !== right.amountMinor) return left.amountMinor < right.amountMinor ? -1 : 1;
  if (left.script === right.script) return 0;
  return left.script < right.script ? -1 : 1;
}

export function formatUnsigned(transaction: Transaction): string {
  return hex.encode(transaction.unsignedTx);
}

/** A signed transaction as `formatUnsigned` has it. @throws Error when the text is no transaction. */
export function stripSignatures(rawHex: string): string {
  return formatUnsigned(Transaction.fromRaw(hex.decode(rawHex), anyTransaction));
}

export function formatPsbt(transaction: Transaction): string {
  return base64.encode(transaction.toPSBT(0));
}

export type Expectation = {
  readonly coins: readonly Coin[];
  readonly payments: readonly Output[];
  /** Undefined: there is none. */
  readonly change: Output | undefined;
  readonly feeMaxMinor: bigint;
};

/**
 * The last look before a signature and before a transaction leaves: it spends these coins and no
 * other, has one output for each payment with its script and amount, beside them at most the change
 * and nothing else, and what is left for the network is not too much.
 * @throws Error that says what differs, without addresses.
 */
export function assertTransaction(rawHex: string, expected: Expectation): void {
  const { inputs, outputs } = readTransaction(rawHex);
  const spent = inputs.map(nameOutpoint);
  const allowed = new Set(expected.coins.map(nameOutpoint));
  if (spent.length !== allowed.size || new Set(spent).size !== spent.length) {
    throw new Error(`the transaction has ${spent.length} inputs instead of ${allowed.size}`);
  }
  for (const name of spent) {
    if (!allowed.has(name)) throw new Error(`the transaction spends ${name}, which was not chosen`);
  }
  const wanted = [
    ...expected.payments,
    ...(expected.change === undefined ? [] : [expected.change]),
  ];
  if (outputs.length !== wanted.length) {
    throw new Error(`the transaction has ${outputs.length} outputs instead of ${wanted.length}`);
  }
  const ordered = wanted.toSorted(compareOutputs);
  outputs.toSorted(compareOutputs).forEach((output, index) => {
    const other = ordered[index];
    if (other?.script !== output.script || other.amountMinor !== output.amountMinor) {
      throw new Error('an output of the transaction is not what was instructed');
    }
  });
  const feeMinor =
    expected.coins.reduce((sum, coin) => sum + coin.amountMinor, 0n) -
    outputs.reduce((sum, output) => sum + output.amountMinor, 0n);
  if (feeMinor <= 0n) throw new Error('the transaction leaves no fee');
  if (feeMinor > expected.feeMaxMinor) {
    throw new Error(`the fee of ${feeMinor} exceeds the bound of ${expected.feeMaxMinor}`);
  }
}
