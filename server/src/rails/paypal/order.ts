import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { z } from 'zod';
import { getCurrency } from '../../core/currency.ts';
import { formatScaled, parseAmount } from '../../core/money.ts';
import type { CollectedAttributes, RecipientDraft, RecipientFault } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import { parseJson } from '../kit/answers.ts';
import type { PaypalConfig } from './config.ts';
import { moneySchema } from './messages.ts';

/** What is ordered, and which recipients and amounts PayPal accepts. */

/** Payouts, supported currencies (PayPal's documentation), as far as the service knows them. */
export const currencies: readonly string[] =
  'AUD BRL CAD CHF CZK DKK EUR GBP HKD HUF ILS JPY MXN MYR NOK NZD PHP PLN SEK SGD THB TWD USD'.split(
    ' ',
  );

/** PayPal refuses decimals of these, although ISO 4217 gives two to HUF and TWD. */
const wholeCurrencies: ReadonlySet<string> = new Set(['HUF', 'JPY', 'TWD']);

const phoneType = 'PhoneNumber';
const receiverLengthMax = 127;

export type Receiver = { readonly type: 'EMAIL' | 'PHONE'; readonly receiver: string };

type Payer = Pick<PayerDeclaration, 'options'> | undefined;

/** By what a payer's recipients are found: `options.recipient`, an e-mail address by default. */
function isByPhone(payer: Payer): boolean {
  return payer?.options['recipient'] === 'phone';
}

/** The recipient in PayPal's form, or why there is none; undefined: its attributes come later. */
export function readReceiver(
  payer: Payer,
  { beneficiary, attributes }: Pick<RecipientDraft, 'beneficiary' | 'attributes'>,
): Receiver | RecipientFault | undefined {
  if (isByPhone(payer)) {
    return attributes === undefined ? undefined : readPhone(attributes[phoneType] ?? '');
  }
  const { email } = beneficiary;
  if (email === '') {
    return { field: 'email', code: 'missing', detail: 'PayPal finds the recipient by e-mail' };
  }
  // Single-byte characters, and one @ that is not quoted.
  const isAddress = /^[!#-?A-~]{1,64}@[0-9A-Za-z.-]{1,120}\.[0-9A-Za-z-]{2,63}$/.test(email);
  if (isAddress && email.length <= receiverLengthMax) return { type: 'EMAIL', receiver: email };
  const detail = 'must be an e-mail address of at most 127 ASCII characters';
  return { field: 'email', code: 'invalid', detail };
}

/** All that the instruction names the recipient by, whatever the payer is configured for by now. */
export function listReceivers(draft: Pick<RecipientDraft, 'beneficiary' | 'attributes'>) {
  const found = (['email', 'phone'] as const).map((recipient) =>
    readReceiver({ options: { recipient } }, draft),
  );
  return found.flatMap((one) => (one === undefined || 'field' in one ? [] : [one]));
}

function readPhone(text: string): Receiver | RecipientFault {
  if (text === '') {
    const detail = 'PayPal finds the recipient by mobile number';
    return { field: phoneType, code: 'missing', detail };
  }
  const phone = parsePhoneNumberFromString(text);
  if (phone?.isValid() === true) {
    return { type: 'PHONE', receiver: `${phone.countryCallingCode}-${phone.nationalNumber}` };
  }
  const detail = 'must be a mobile number in international form, such as +14085551234';
  return { field: phoneType, code: 'invalid', detail };
}

/** Every fault for which PayPal would refuse the item. */
export function checkRecipient(
  payer: Payer,
  draft: RecipientDraft,
  { itemMax }: Pick<PaypalConfig, 'itemMax'>,
): readonly RecipientFault[] {
  const receiver = readReceiver(payer, draft);
  const fault = receiver !== undefined && 'field' in receiver ? [receiver] : [];
  return [...fault, ...checkAmount(draft, itemMax)];
}

function checkAmount(
  { amountMinor, currency: code }: Pick<RecipientDraft, 'amountMinor' | 'currency'>,
  itemMax: PaypalConfig['itemMax'],
): RecipientFault[] {
  const refuse = (detail: string): RecipientFault[] => [
    { field: 'amount', code: 'amount_refused', detail },
  ];
  const currency = getCurrency(code);
  if (wholeCurrencies.has(code) && amountMinor % 10n ** BigInt(currency.scale) !== 0n) {
    return refuse(`PayPal pays whole ${code} only`);
  }
  const limit = itemMax[code];
  const max = limit === undefined ? undefined : parseAmount(limit, currency);
  return max?.ok === true && amountMinor > max.minor
    ? refuse(`the amount must be at most ${limit} ${code}`)
    : [];
}

/** Why the payer could never be paid. */
export function checkPayer(
  payer: PayerDeclaration,
  { attributes }: CollectedAttributes,
): readonly string[] {
  const { recipient = 'email' } = payer.options;
  if (recipient !== 'email' && recipient !== 'phone') {
    return [`options.recipient must be "email" or "phone", not ${JSON.stringify(recipient)}`];
  }
  const hasPhone = attributes.some(({ type, isOptional }) => type === phoneType && !isOptional);
  return recipient === 'phone' && !hasPhone
    ? [`options.recipient "phone" needs ${phoneType}, which recipients of this payer do not give`]
    : [];
}

/** With all of its decimals, as PayPal writes amounts: 10010n USD is "100.10". */
export function formatValue(amountMinor: bigint, code: string): string {
  const { scale } = getCurrency(code);
  const text = formatScaled(amountMinor, scale);
  if (scale === 0 || wholeCurrencies.has(code)) return text;
  const [whole = '', fraction = ''] = text.split('.');
  return `${whole}.${fraction.padEnd(scale, '0')}`;
}

/** Undefined where it is no amount of a known currency. */
export function readMoney(money: z.output<typeof moneySchema>) {
  if (!currencies.includes(money.currency)) return undefined;
  const amount = parseAmount(money.value, getCurrency(money.currency));
  return amount.ok ? { currency: money.currency, amountMinor: amount.minor } : undefined;
}

/** One payment of an order. */
export type OrderItem = Receiver & {
  readonly reference: string;
  readonly currency: string;
  readonly amountMinor: bigint;
};

/** `POST /v1/payments/payouts`: each item has the reference of its payment. */
export function createOrder(
  batchKey: string,
  items: readonly OrderItem[],
  { emailSubject, emailMessage }: Pick<PaypalConfig, 'emailSubject' | 'emailMessage'>,
): string {
  return JSON.stringify({
    sender_batch_header: {
      sender_batch_id: batchKey,
      email_subject: emailSubject,
      ...(emailMessage === undefined ? {} : { email_message: emailMessage }),
    },
    items: items.map(({ type, receiver, reference, currency, amountMinor }) => ({
      recipient_type: type,
      amount: { value: formatValue(amountMinor, currency), currency },
      receiver,
      sender_item_id: reference,
    })),
  });
}

const orderSchema = z.object({
  sender_batch_header: z.object({ sender_batch_id: z.string() }),
  items: z.array(
    z.object({
      recipient_type: z.string(),
      amount: moneySchema,
      receiver: z.string(),
      sender_item_id: z.string(),
    }),
  ),
});

/** Compares the final text with the instruction again. */
export function matchesItems(body: string, batchKey: string, items: readonly OrderItem[]): boolean {
  const order = orderSchema.safeParse(parseJson(body)).data;
  if (order === undefined || order.items.length !== items.length) return false;
  if (order.sender_batch_header.sender_batch_id !== batchKey) return false;
  return order.items.every((item, index) => {
    const expected = items[index];
    const amount = readMoney(item.amount);
    return (
      item.sender_item_id === expected?.reference &&
      item.recipient_type === expected.type &&
      item.receiver === expected.receiver &&
      amount?.amountMinor === expected.amountMinor &&
      amount.currency === expected.currency
    );
  });
}
