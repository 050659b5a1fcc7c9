import type { RecipientDraft, RecipientFault } from '../contract/contract.ts';
import type { PaymentOrder } from './orders.ts';
import { listNameFaults, nameCreditor } from './recipient.ts';
import { type DraftSettings, draftTransfer } from './transfer.ts';

/** The faults for which a transfer to this recipient would be refused. */
export function checkRecipient(
  { attributes, ...draft }: RecipientDraft,
  settings: DraftSettings,
): readonly RecipientFault[] {
  const order: PaymentOrder = {
    ...draft,
    reference: 'DRAFT',
    attributes: attributes ?? {},
    originator: { accountId: '', name: '' },
  };
  // Attributes that come later may complete the rest of the recipient.
  const faults =
    attributes === undefined
      ? listNameFaults(order, nameCreditor(order, 140))
      : listFaults(order, settings);
  return faults.map(({ field, code, detail }) => ({ field, code, detail }));
}

function listFaults(order: PaymentOrder, settings: DraftSettings) {
  const result = draftTransfer(order, settings);
  return result.ok ? [] : result.faults;
}
