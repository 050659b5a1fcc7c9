import { base64, hex } from '@scure/base';
import { Transaction } from '@scure/btc-signer';
import type { Coin } from './coin-selection.ts';
import type { OwnKeys } from './keys.ts';

/**
 * Transactions are built from coins and outputs and read back from their bytes. Checks before signing
 * and sending use the bytes, never the plan.
 */

export type Output = { readonly script: string; readonly amountMinor: bigint };

/** Equal for outputs with the same script and amount. */
export function formatOutput({ script, amountMinor }: Output): string {
  return `${amountMinor}:${script}`;
}

/** Allows replacement by a higher fee (BIP 125). */
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

/** Transactions of others may contain anything. */
const anyTransaction = {
  allowUnknownInputs: true,
  allowUnknownOutputs: true,
  allowUnknownVersion: true,
  disableScriptCheck: true,
};

/** @throws Error when the text is not a transaction. */
export function readTransaction(rawHex: string): ReadTransaction {
  const transaction = Transaction.fromRaw(hex.decode(rawHex), anyTransaction);
  return {
    txid: transaction.id,
    inputs: Array.from({ length: transaction.inputsLength }, (_, index) => {
      const { txid, index: vout } = transaction.getInput(index);
      if (txid === undefined || vout === undefined) throw new Error('an input has no outpoint');
      return { txid: hex.encode(txid), vout };
    }),
    outputs: Array.from({ length: transaction.outputsLength }, (_, index) => {
      const { script, amount } = transaction.getOutput(index);
      if (script === undefined || amount === undefined)
        throw new Error('an output has no script or amount');
      return { script: hex.encode(script), amountMinor: amount };
    }),
  };
}

/**
 * Unsigned. The outputs are sorted by amount and script (BIP 69), so that their position does not
 * reveal the change.
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
      // The node adds this for its own coins; all kinds of the rail's coins need it.
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

/** A signed transaction as `formatUnsigned` has it. @throws Error when it is not a transaction. */
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
 * The last check before signing and before sending: the transaction spends exactly these coins, has
 * exactly one output for each payment and at most one for the change, and its fee is within the limit.
 * @throws Error that names the difference, without addresses.
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
