import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Instruction } from '../contract/contract.ts';
import type { AdyenConfig, PayerOptions } from './config.ts';
import { priorities } from './config.ts';
import { type Counterparty, counterpartySchema, getTarget } from './counterparty.ts';

/** The order of a transfer (`TransferInfo`) and its comparison with the instruction. */

export const orderSchema = z.strictObject({
  amount: z.strictObject({ value: z.int().positive(), currency: z.string() }),
  balanceAccountId: z.string(),
  category: z.enum(['bank', 'card', 'internal']),
  counterparty: counterpartySchema,
  priority: z.enum(priorities).optional(),
  priorities: z.array(z.enum(priorities)).min(2).optional(),
  reference: z.string().max(80),
  referenceForBeneficiary: z.string().max(80).optional(),
  description: z.string().max(140).optional(),
  review: z.strictObject({ numberOfApprovalsRequired: z.int().positive() }).optional(),
  type: z.enum(['bankTransfer', 'internalTransfer']).optional(),
});
export type Order = z.output<typeof orderSchema>;

const categories = {
  bankAccount: { category: 'bank', type: 'bankTransfer' },
  // `type` has no value for cards in TransferInfo.
  card: { category: 'card' },
  balanceAccount: { category: 'internal', type: 'internalTransfer' },
  transferInstrument: { category: 'bank', type: 'bankTransfer' },
} as const;

export function createOrder(
  { reference, amountMinor, currency }: Instruction,
  counterparty: Counterparty,
  { config, options }: { config: AdyenConfig; options: PayerOptions },
): Order {
  return {
    amount: { value: Number(amountMinor), currency },
    balanceAccountId: config.balanceAccountId,
    ...categories[options.counterparty],
    counterparty,
    ...describePriorities(options),
    reference,
    ...describeBeneficiaryReference(counterparty, reference),
    ...(config.description !== '' && { description: config.description }),
    ...(options.approvals > 0 && { review: { numberOfApprovalsRequired: options.approvals } }),
  };
}

/** `priority` for one, `priorities` for several, which Adyen tries in turn; only banks have them. */
function describePriorities({ priorities: chosen }: PayerOptions): Partial<Order> {
  const [first] = chosen;
  return chosen.length > 1 ? { priorities: [...chosen] } : { ...(first && { priority: first }) };
}

/** At most 15 characters for an account without an IBAN; a reference is never shortened. */
function describeBeneficiaryReference(
  counterparty: Counterparty,
  reference: string,
): Partial<Order> {
  const text = reference.replaceAll('-', '');
  const isIban =
    'bankAccount' in counterparty && counterparty.bankAccount.accountIdentification.type === 'iban';
  const lengthMax = isIban ? 35 : 'balanceAccountId' in counterparty ? 80 : 15;
  return text.length <= lengthMax && !('card' in counterparty)
    ? { referenceForBeneficiary: text }
    : {};
}

/**
 * Identifies the destination without containing it: account numbers are few enough to be guessed, but
 * the hash is only stored in sealed records.
 */
export function hashTarget(counterparty: Counterparty): string {
  return createHash('sha256').update(getTarget(counterparty)).digest('hex');
}

/** Whether an order moves the amount of the instruction to its destination. */
export function matchesInstruction(
  order: Order,
  instruction: Pick<Instruction, 'reference' | 'amountMinor' | 'currency'>,
  expected: { readonly target: string; readonly balanceAccountId: string },
): boolean {
  return (
    order.reference === instruction.reference &&
    BigInt(order.amount.value) === instruction.amountMinor &&
    order.amount.currency === instruction.currency &&
    order.balanceAccountId === expected.balanceAccountId &&
    hashTarget(order.counterparty) === expected.target
  );
}
