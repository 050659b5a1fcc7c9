import type { Instruction, RecipientDraft, RecipientFault } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import { toPlainText } from './ascii-text.ts';
import type { NachaConfig } from './config.ts';
import { draftEntry, entryAmountMinorMax } from './drafts.ts';

/** The faults for which an entry for this recipient would be refused. */
export function checkRecipient(
  { attributes, ...draft }: RecipientDraft,
  settings: { config: NachaConfig; payers: readonly PayerDeclaration[] },
): readonly RecipientFault[] {
  const payer = settings.payers.find(({ key }) => key === draft.payerKey);
  const isInternational = draft.countryCode !== 'USA' || payer?.options['entryClass'] === 'IAT';
  const faults = [...listAmountFaults(draft.amountMinor), ...listNameFaults(draft.beneficiary)];
  // Attributes that come later may complete the rest of the recipient.
  if (attributes === undefined) return faults;
  if (isInternational) faults.push(...listAddressFaults(draft, attributes));
  if (faults.length > 0) return faults;
  const result = draftEntry(
    {
      ...draft,
      reference: 'DRAFT',
      attributes,
      originator: { accountId: '', name: '' },
      pickupCode: '',
      committedAtMs: 0,
      availableAtMs: 0,
    },
    settings.config,
    payer,
  );
  if (result.ok) return [];
  return result.reason === 'invalid_details'
    ? [
        {
          field: 'BankAccountNumber',
          code: 'invalid',
          detail: 'account, bank and address must fit the fields of an ACH entry',
        },
      ]
    : [{ field: 'amount', code: 'not_served', detail: 'the payer cannot originate this entry' }];
}

function listAmountFaults(amountMinor: bigint): RecipientFault[] {
  if (amountMinor <= entryAmountMinorMax) return [];
  const detail = 'the amount must be at most 99,999,999.99 USD';
  return [{ field: 'amount', code: 'amount_refused', detail }];
}

/** A name is written as a whole or refused; characters of other scripts are never dropped. */
function listNameFaults(beneficiary: Instruction['beneficiary']): RecipientFault[] {
  const { firstName, middleName, lastName, businessName } = beneficiary;
  const parts =
    businessName === ''
      ? { first_name: firstName, middle_name: middleName, last_name: lastName }
      : { business_name: businessName };
  const detail = 'it must consist of Latin letters, digits and common signs';
  const faults: RecipientFault[] = Object.entries(parts)
    .filter(([, value]) => toPlainText(value) === undefined)
    .map(([field]) => ({ field, code: 'invalid', detail }));
  if (Object.values(parts).every((value) => value === '')) {
    const field = businessName === '' ? 'last_name' : 'business_name';
    faults.push({ field, code: 'missing', detail: "the recipient's name is missing" });
  }
  return faults;
}

/** An IAT entry has the receiver's street and city; see `describeAddress` in drafts.ts. */
function listAddressFaults(
  { beneficiary }: Pick<Instruction, 'beneficiary'>,
  attributes: Instruction['attributes'],
): RecipientFault[] {
  const fields = {
    address1: beneficiary.address1 || (attributes['Address1'] ?? ''),
    city: beneficiary.city || (attributes['City'] ?? ''),
  };
  return Object.entries(fields).flatMap(([field, value]): RecipientFault[] => {
    if (value === '') {
      return [{ field, code: 'missing', detail: 'it is required for an international ACH entry' }];
    }
    if (toPlainText(value) !== undefined) return [];
    return [{ field, code: 'invalid', detail: 'it must consist of Latin letters' }];
  });
}
