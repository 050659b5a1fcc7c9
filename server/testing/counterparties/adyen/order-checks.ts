import { isValidIBAN } from 'ibantools';
import { z } from 'zod';

/** What Adyen checks of an order before it accepts it, written apart from the rail. */

const text = (max: number) => z.string().min(1).max(max);
const address = z.strictObject({
  country: z.string().regex(/^[A-Z]{2}$/),
  city: z.string().min(3).optional(),
  line1: text(200).optional(),
  line2: text(200).optional(),
  postalCode: z.string().min(3).max(10).optional(),
  stateOrProvince: z
    .string()
    .regex(/^[A-Z]{2}$/)
    .optional(),
});
const fullName = z.string().regex(/^[A-Za-z0-9,.;:—/\\+&!?@()"' -]{1,200}$/);
const personName = z.string().regex(/^[A-Za-z./— -]{1,100}$/);

const identification = z
  .looseObject({ type: z.string().default('iban') })
  .superRefine((account, context) => {
    const refuse = (path: string): void => {
      context.addIssue({ code: 'custom', message: 'is invalid', path: [path] });
    };
    const value = (name: string): string => {
      const member = account[name];
      return typeof member === 'string' ? member : '';
    };
    const need = (name: string, form: RegExp): void => {
      if (!form.test(value(name))) refuse(name);
    };
    switch (account.type) {
      case 'iban':
        if (!isValidIBAN(value('iban'))) refuse('iban');
        return;
      case 'numberAndBic':
        need('accountNumber', /^[0-9A-Za-z]{1,34}$/);
        return need('bic', /^[A-Z0-9]{8}(?:[A-Z0-9]{3})?$/);
      case 'usLocal':
        need('accountNumber', /^\d{2,18}$/);
        return need('routingNumber', /^\d{9}$/);
      case 'ukLocal':
        need('accountNumber', /^\d{8}$/);
        return need('sortCode', /^\d{6}$/);
      case 'auLocal':
        need('accountNumber', /^\d{5,9}$/);
        return need('bsbCode', /^\d{6}$/);
      case 'caLocal':
        need('institutionNumber', /^\d{3}$/);
        need('transitNumber', /^\d{5}$/);
        return need('accountNumber', /^\d{5,12}$/);
      case 'nzLocal':
        return need('accountNumber', /^\d{15,16}$/);
      case 'sgLocal':
        need('bic', /^[A-Z0-9]{8}(?:[A-Z0-9]{3})?$/);
        return need('accountNumber', /^\d{4,19}$/);
      case 'hkLocal':
        need('clearingCode', /^\d{3}$/);
        return need('accountNumber', /^\d{9,17}$/);
      case 'brLocal':
        need('bankCode', /^\d{3}$/);
        need('branchNumber', /^[0-9X]{1,4}$/);
        return need('accountNumber', /^[0-9X]{1,10}$/);
      default:
        return refuse('type');
    }
  });

const priority = z.enum(['regular', 'fast', 'instant', 'wire', 'crossBorder', 'internal']);

export const orderSchema = z
  .strictObject({
    amount: z.strictObject({ value: z.int().positive(), currency: z.string().length(3) }),
    balanceAccountId: z.string(),
    category: z.enum(['bank', 'card', 'internal']),
    counterparty: z.strictObject({
      balanceAccountId: text(40).optional(),
      bankAccount: z
        .strictObject({
          accountHolder: z.strictObject({
            fullName,
            type: z.enum(['individual', 'organization', 'unknown']).optional(),
            address: address.optional(),
          }),
          accountIdentification: identification,
        })
        .optional(),
      card: z
        .strictObject({
          cardHolder: z.strictObject({
            type: z.literal('individual'),
            firstName: personName,
            lastName: personName,
            reference: text(150).optional(),
            address: address.required({ city: true, line1: true, line2: true }),
          }),
          cardIdentification: z.union([
            z.strictObject({ storedPaymentMethodId: text(200) }),
            z.strictObject({
              number: z.string().regex(/^\d{12,19}$/),
              expiryMonth: z.string().length(2),
              expiryYear: z.string().length(4),
            }),
          ]),
        })
        .optional(),
      transferInstrumentId: text(40).optional(),
    }),
    priority: priority.optional(),
    priorities: z.array(priority).min(1).optional(),
    reference: z.string().max(80).optional(),
    referenceForBeneficiary: z
      .string()
      .regex(/^[A-Za-z0-9]+$/)
      .max(80)
      .optional(),
    description: z.string().max(140).optional(),
    review: z.strictObject({ numberOfApprovalsRequired: z.int().min(0).optional() }).optional(),
    type: z.enum(['bankTransfer', 'internalTransfer', 'internalDirectDebit']).optional(),
  })
  .superRefine((order, context) => {
    for (const name of listMissing(order)) {
      context.addIssue({ code: 'custom', message: 'is required', path: name.split('.') });
    }
  });
export type SentOrder = z.output<typeof orderSchema>;

type DraftOrder = Pick<SentOrder, 'category' | 'counterparty' | 'priority' | 'priorities'> & {
  readonly referenceForBeneficiary?: string | undefined;
};

/** Rules between members. */
function listMissing({ category, counterparty, ...order }: DraftOrder): string[] {
  const faults: string[] = [];
  const { bankAccount, card, balanceAccountId, transferInstrumentId } = counterparty;
  if (category === 'bank') {
    if ((bankAccount === undefined) === (transferInstrumentId === undefined)) {
      faults.push('counterparty.bankAccount');
    }
    if ((order.priority === undefined) === (order.priorities === undefined))
      faults.push('priority');
    const type = bankAccount?.accountIdentification.type;
    const lengthMax = type === 'iban' ? 35 : 15;
    if ((order.referenceForBeneficiary ?? '').length > lengthMax) {
      faults.push('referenceForBeneficiary');
    }
    const { address: known } = bankAccount?.accountHolder ?? {};
    const isComplete = known?.city !== undefined && known.line1 !== undefined;
    const needsAddress =
      type === 'numberAndBic' || order.priority === 'wire' || order.priority === 'crossBorder';
    if (bankAccount !== undefined && needsAddress && !isComplete) {
      faults.push('counterparty.bankAccount.accountHolder.address');
    }
  } else if (order.priority !== undefined || order.priorities !== undefined) {
    faults.push('priority');
  }
  if (category === 'card') {
    if (card === undefined) faults.push('counterparty.card');
    const isStored = card !== undefined && 'storedPaymentMethodId' in card.cardIdentification;
    if (isStored && card.cardHolder.reference === undefined) {
      faults.push('counterparty.card.cardHolder.reference');
    }
  }
  if (category === 'internal' && balanceAccountId === undefined) {
    faults.push('counterparty.balanceAccountId');
  }
  return faults;
}
