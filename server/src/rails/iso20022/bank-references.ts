import { z } from 'zod';
import type { RailHost } from '../contract/contract.ts';
import { openRecords } from '../kit/records.ts';

/** Banks with shorter numbers use them again every day. */
const lengthMin = 6;

/**
 * Which payment, or which batch, the bank's own reference belongs to: a bank that returns a payment
 * may give its reference of the debit instead of ours.
 */
export type BankReferences = {
  /** A reference that was given for two payments identifies neither. */
  note(bankReference: string, owner: string): Promise<void>;
  /** Our reference of the payment, or the id of the batch. */
  find(bankReference: string): Promise<string | undefined>;
};

export function openBankReferences({ store }: Pick<RailHost, 'store'>): BankReferences {
  const records = openRecords(store, {
    collection: 'bank_references',
    states: ['known', 'ambiguous'],
    value: z.object({ owner: z.string() }),
  });
  return {
    note: async (bankReference, owner) => {
      if (bankReference.length < lengthMin) return;
      await records.update(bankReference, (record) => {
        if (record === undefined) return { state: 'known', value: { owner } };
        if (record.value.owner === owner || record.state === 'ambiguous') return undefined;
        return { state: 'ambiguous', value: { owner: '' } };
      });
    },
    find: async (bankReference) => {
      if (bankReference === '') return undefined;
      const record = await records.find(bankReference);
      return record?.state === 'known' ? record.value.owner : undefined;
    },
  };
}
