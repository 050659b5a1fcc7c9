import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { RailHost, RailStore, RecordChange } from '../contract/contract.ts';
import { openPaymentBook, type PaymentBook } from '../kit/payment-book.ts';
import { openRecords, type Records } from '../kit/records.ts';
import {
  describeAnswer,
  isSame,
  nameTransfer,
  type Payment,
  paymentSchema,
  type State,
  states,
} from './payment.ts';

/** The rail's records: one for each payment by transferId, and pointers from wallets and quotes. */

export type PaymentRecords = PaymentBook<State, Payment> & {
  /** The transfer that an open quote is for. */
  findByQuote(quoteId: string): Promise<string | undefined>;
  /** The transfers whose look-up of this wallet is open. */
  findByLookup(walletKey: string): Promise<string[]>;
};

type Pointers = Records<'open', { transferId: string }>;

export function openPaymentRecords(host: RailHost): PaymentRecords {
  const openPointers = (collection: string): Pointers =>
    openRecords(host.store, {
      collection,
      states: ['open'],
      value: z.object({ transferId: z.string() }),
    });
  const lookups = openPointers('lookups');
  const quotes = openPointers('quotes');
  const book = openPaymentBook(host, {
    collection: 'payments',
    states,
    value: paymentSchema,
    formatKey: nameTransfer,
    isSame: ({ value }, instruction) => isSame(value, instruction),
    answer: (stored) => describeAnswer(stored, host),
    changeCompanions: (before, { value, key: transferId }) => [
      ...changePointer(lookups, before?.value.lookupKey, { key: value.lookupKey, transferId }),
      ...changePointer(quotes, before?.value.quoteId, { key: value.quoteId, transferId }),
    ],
  });
  return {
    ...book,
    findByQuote: async (quoteId) => (await quotes.find(quoteId))?.value.transferId,
    findByLookup: async (walletKey) => {
      const found = await Array.fromAsync(lookups.list({ prefix: `${walletKey}.` }));
      return found.map(({ value }) => value.transferId);
    },
  };
}

/** Pointers are written once, so that an existing one has revision 1; key "": none. */
function changePointer(
  pointers: Pointers,
  before: string | undefined,
  { key, transferId }: { readonly key: string; readonly transferId: string },
): RecordChange[] {
  if (key === (before ?? '')) return [];
  return [
    ...(before ? [pointers.change({ key: before, revision: 1 }, undefined)] : []),
    ...(key === ''
      ? []
      : [pointers.change({ key, revision: 0 }, { state: 'open', value: { transferId } })]),
  ];
}

/**
 * Names a wallet without revealing its number. Keys of records are not encrypted, and there are few
 * enough telephone numbers to try them all on a plain hash.
 */
export function createWalletNames(store: RailStore): (msisdn: string) => Promise<string> {
  let key: Buffer | undefined;
  return async (msisdn) => {
    key ??= await openNameKey(store);
    return createHmac('sha256', key).update(msisdn).digest('base64url');
  };
}

/** Made once for a rail; of several processes the first one to write wins. */
async function openNameKey(store: RailStore): Promise<Buffer> {
  const settings = openRecords(store, {
    collection: 'settings',
    states: ['kept'],
    value: z.object({ secret: z.base64() }),
  });
  const key = 'wallet_names';
  for (;;) {
    const stored = await settings.find(key);
    if (stored !== undefined) return Buffer.from(stored.value.secret, 'base64');
    const value = { secret: randomBytes(32).toString('base64') };
    await settings.write({ key, revision: 0 }, { state: 'kept', value });
  }
}
