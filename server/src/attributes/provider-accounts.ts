import { refuseCardNumber } from './check-digits.ts';
import { account, type Field, field, freeText } from './field.ts';
import { getLegalFields } from './remittance-reasons.ts';

/**
 * The fields of payments to what a provider knows by an ID of its own: a card that it has stored, or
 * an account that it keeps. A card number is refused wherever it could be entered (decision 81).
 */

const cardToken = field({
  type: 'CardNumber',
  label: 'Token of the card',
  pattern: '[0-9A-Za-z][0-9A-Za-z_\\-]{6,126}[0-9A-Za-z]',
  hint: 'The token that the payment provider gave to the card when your checkout stored it, never the card number',
  check: refuseCardNumber,
});

const cardholder = field({
  type: 'BillReferenceNumber',
  label: 'Reference of the cardholder',
  pattern: freeText(150),
  hint: 'The reference under which your checkout stored the card at the payment provider',
  check: refuseCardNumber,
});

export function getStoredCardFields(countryCode: string): readonly Field[] {
  return [cardToken, cardholder, ...getLegalFields(countryCode)];
}

const providerAccount = account({
  label: 'Account ID at the payment provider',
  pattern: '[0-9A-Za-z][0-9A-Za-z_\\-]{2,62}[0-9A-Za-z]',
  hint: 'The ID that the payment provider gave to the account, exactly as written there',
  check: refuseCardNumber,
});

export function getProviderAccountFields(countryCode: string): readonly Field[] {
  return [providerAccount, ...getLegalFields(countryCode)];
}
