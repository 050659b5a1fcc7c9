import type { RailStore } from '../contract.ts';
import { readAddress } from './addresses.ts';
import type { PassContext } from './compose.ts';
import { changePayment, knowsTransaction, type Payment } from './records.ts';

/**
 * Payments that the wallet has made and the rail's memory knows nothing of, as after a restore of
 * the database from a backup. A chain carries no reference, so that such a payment is recognised by
 * what it pays to whom: one that waits with the same script and amount is held for a person.
 */
export type ForgottenPayments = {
  /** The payments that may be made; the others are held from now on. */
  sift(context: PassContext, payments: readonly Payment[]): Promise<readonly Payment[]>;
};

/** How far back the first look of a process goes: longer than the newest backup is old. */
const lookBackSeconds = 3 * 86_400;

export function createForgottenPayments(store: RailStore): ForgottenPayments {
  /** By script and amount, the transaction that nobody remembers. */
  const found = new Map<string, string>();
  let sinceHash: string | undefined;

  const lookAround = async ({ node, network, tip }: PassContext): Promise<void> => {
    const blocks = Math.ceil(lookBackSeconds / network.blockSeconds);
    const from = sinceHash ?? (await node.getBlockHash(Math.max(0, tip.height - blocks)));
    const known = new Map<string, boolean>();
    for (const { txid, address, amountMinor } of await node.listSends(from)) {
      if (!known.has(txid)) known.set(txid, await knowsTransaction(store, txid));
      const script = readAddress(network, address)?.script;
      if (known.get(txid) === true || script === undefined) continue;
      found.set(nameWhat({ script, amountMinor }), txid);
    }
    sinceHash = tip.hash;
  };

  return {
    sift: async (context, payments) => {
      await lookAround(context);
      const free: Payment[] = [];
      for (const payment of payments) {
        const txid = found.get(nameWhat(payment));
        if (txid === undefined) {
          free.push(payment);
          continue;
        }
        const { reference } = payment;
        context.note(
          'error',
          'the wallet seems to have made a payment that is not remembered; a person must look',
          { reference, txid },
        );
        await store.write([changePayment(payment, 'held', payment)]);
      }
      return free;
    },
  };
}

function nameWhat({ script, amountMinor }: { script: string; amountMinor: bigint }): string {
  return `${amountMinor}:${script}`;
}
