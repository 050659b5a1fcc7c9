import { createHmac, randomBytes } from 'node:crypto';
import type { RailStore, RecordChange } from '../contract/contract.ts';
import type { Payment, State } from './payment.ts';

/** The rail's memory: a record for each payment, and two that find it by a wallet or a quote. */

export type Held = {
  readonly state: State;
  readonly payment: Payment;
  /** 0: not written yet. */
  readonly revision: number;
};

export type Next = { readonly state: State; readonly payment: Payment };

/** Where another one was quicker over and over, something else is wrong. */
const attemptsMax = 30;

export type PaymentRecords = ReturnType<typeof createPaymentRecords>;

export function createPaymentRecords(store: RailStore) {
  const find = async (transferId: string): Promise<Held | undefined> => {
    const record = await store.get('payments', transferId);
    if (record === undefined) return undefined;
    const { state, revision, value } = record;
    return { state: state as State, revision, payment: value as Payment };
  };

  /** False where the payment is not what was seen any more; nothing is written then. */
  const write = (seen: Held, next: Next): Promise<boolean> => {
    const { state, payment } = next;
    const key = payment.transferId;
    const { revision } = seen;
    return store.write([
      { collection: 'payments', key, revision, next: { state, value: payment } },
      ...describePointer('lookups', seen.revision === 0 ? '' : seen.payment.lookupKey, {
        key: payment.lookupKey,
        transferId: key,
      }),
      ...describePointer('quotes', seen.revision === 0 ? '' : seen.payment.quoteId, {
        key: payment.quoteId,
        transferId: key,
      }),
    ]);
  };

  /**
   * Applies `decide` to the payment as it is now, again if another one was quicker. Undefined where
   * there is no such payment; the payment as it is where `decide` has nothing to change.
   */
  const change = async (
    transferId: string,
    decide: (held: Held) => Next | undefined,
  ): Promise<{ readonly held: Held; readonly isChanged: boolean } | undefined> => {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const held = await find(transferId);
      if (held === undefined) return undefined;
      const next = decide(held);
      if (next === undefined) return { held, isChanged: false };
      if (await write(held, next)) {
        return { held: { ...next, revision: held.revision + 1 }, isChanged: true };
      }
    }
    throw new Error(`the payment ${transferId} does not hold still`);
  };

  /** Those of a state, after one another, so that each is looked at as it is then. */
  async function* list(state: State): AsyncGenerator<Held> {
    const count = 100;
    let after = '';
    for (;;) {
      const records = await store.list('payments', { state, after, count });
      for (const { key, revision, value } of records) {
        after = key;
        yield { state, revision, payment: value as Payment };
      }
      if (records.length < count) return;
    }
  }

  const findByQuote = async (quoteId: string): Promise<string | undefined> =>
    readPointer((await store.get('quotes', quoteId))?.value);

  /** The payments to a wallet whose provider is being looked up. */
  const findByLookup = async (walletKey: string): Promise<string[]> => {
    const found: string[] = [];
    for (let after = `${walletKey}.`; ; ) {
      const records = await store.list('lookups', { after, count: 100 });
      for (const { key, value } of records) {
        if (!key.startsWith(`${walletKey}.`)) return found;
        after = key;
        const transferId = readPointer(value);
        if (transferId !== undefined) found.push(transferId);
      }
      if (records.length < 100) return found;
    }
  };

  return { find, write, change, list, findByQuote, findByLookup };
}

/** Pointers are written once, so that their revision is always the first one. */
function describePointer(
  collection: 'lookups' | 'quotes',
  seenKey: string,
  next: { readonly key: string; readonly transferId: string },
): RecordChange[] {
  if (seenKey === next.key) return [];
  const changes: RecordChange[] = [];
  if (seenKey !== '') {
    changes.push({ collection, key: seenKey, revision: 1, next: undefined });
  }
  if (next.key !== '') {
    const value = { transferId: next.transferId };
    changes.push({ collection, key: next.key, revision: 0, next: { state: 'open', value } });
  }
  return changes;
}

function readPointer(value: unknown): string | undefined {
  return (value as { transferId: string } | undefined)?.transferId;
}

/**
 * Names a wallet without telling its number: keys of records are in the clear, and there are few
 * enough telephone numbers to try them all on a plain hash.
 */
export function createWalletNames(store: RailStore): (msisdn: string) => Promise<string> {
  let key: Buffer | undefined;
  return async (msisdn) => {
    key ??= await openNameKey(store);
    return createHmac('sha256', key).update(msisdn).digest('base64url');
  };
}

/** Made once for a rail; whoever comes second takes what the first one wrote. */
async function openNameKey(store: RailStore): Promise<Buffer> {
  for (;;) {
    const kept = await store.get('settings', 'wallet_names');
    if (kept !== undefined) {
      return Buffer.from((kept.value as { secret: string }).secret, 'base64');
    }
    const value = { secret: randomBytes(32).toString('base64') };
    await store.write([
      { collection: 'settings', key: 'wallet_names', revision: 0, next: { state: 'kept', value } },
    ]);
  }
}
