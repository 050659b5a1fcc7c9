import { z } from 'zod';
import { openBytes, rowContext, sealBytes } from '../core/sealing.ts';
import type { PayeeAnswer, Rail, RecipientFault } from '../rails/contract/contract.ts';
import { payeeOutcomes } from '../rails/contract/instruction.ts';

/** What a bank said about the name of an account, as it is stored, and what follows from it. */

const resultSchema = z.object({
  outcome: z.enum(payeeOutcomes),
  name: z.string().optional(),
  checkedAtMs: z.number(),
});
export type PayeeResult = PayeeAnswer & {
  /** The environment's time. */
  readonly checkedAtMs: number;
};

/** The values that the answer is about. */
export type PayeeVersions = {
  readonly accountId: string;
  readonly userId: string;
  readonly setId: string;
  readonly attrVersion: number;
  readonly userVersion: number;
};

function contextOf(versions: PayeeVersions): string {
  const { accountId, userId, setId, attrVersion, userVersion } = versions;
  return rowContext('payee_checks', accountId, userId, setId, attrVersion, userVersion);
}

export function sealPayee(userKey: Buffer, result: PayeeResult, versions: PayeeVersions): Buffer {
  return sealBytes(userKey, Buffer.from(JSON.stringify(result)), contextOf(versions));
}

export function openPayee(userKey: Buffer, sealed: Buffer, versions: PayeeVersions): PayeeResult {
  const plain = openBytes(userKey, sealed, contextOf(versions));
  return resultSchema.parse(JSON.parse(plain.toString()));
}

export const payeeTexts = {
  payee_no_match: 'the bank says that the account belongs to another name',
  payee_close_match: 'the bank says that the account belongs to a similar name',
} as const;

/** The rail with a check of recipients that refuses an account of another name. */
export function refusePayees(rail: Rail): Rail {
  if (rail.checkPayee === undefined) return rail;
  return {
    ...rail,
    checkRecipient: (draft) => {
      const own = rail.checkRecipient?.(draft) ?? [];
      if (draft.payee?.outcome !== 'no_match') return own;
      const fault: RecipientFault = {
        field: 'BankAccountNumber',
        code: 'payee_no_match',
        detail: payeeTexts.payee_no_match,
      };
      return [...own, fault];
    },
  };
}
