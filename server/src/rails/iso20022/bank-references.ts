import { z } from 'zod';
import type { RailHost } from '../contract/contract.ts';

/**
 * Which payment, or which batch, the bank's own reference stands for: a bank that returns a payment
 * may give its reference of the debit instead of ours.
 */

const collection = 'bank_references';
const ownerSchema = z.object({ owner: z.string() });

/** Banks with shorter numbers count anew every day. */
const lengthMin = 6;

export type BankReferences = {
  /** A reference that was seen with two payments stands for neither. */
  note(bankReference: string, owner: string): Promise<void>;
  /** Our reference of the payment, or the id of the batch. */
  find(bankReference: string): Promise<string | undefined>;
};

export function openBankReferences({ store }: Pick<RailHost, 'store'>): BankReferences {
  return {
    note: async (bankReference, owner) => {
      if (bankReference.length < lengthMin) return;
      const record = await store.get(collection, bankReference);
      const known = record === undefined ? undefined : ownerSchema.parse(record.value).owner;
      if (known === owner || record?.state === 'ambiguous') return;
      const state = known === undefined ? 'known' : 'ambiguous';
      const revision = record?.revision ?? 0;
      const next = { state, value: { owner: known === undefined ? owner : '' } };
      // Another pass that notes it at the same moment reads the same file.
      await store.write([{ collection, key: bankReference, revision, next }]);
    },
    find: async (bankReference) => {
      if (bankReference === '') return undefined;
      const record = await store.get(collection, bankReference);
      return record?.state === 'known' ? ownerSchema.parse(record.value).owner : undefined;
    },
  };
}
