/** Codes of the API as words of the screen. A code without words is shown readable, never hidden. */

const deliveryTypes: Readonly<Record<string, string>> = {
  CASH_PICKUP: 'Cash pickup',
  BANK_DEPOSIT: 'Bank deposit',
  HOME_DELIVERY: 'Home delivery',
  MOBILE_WALLET: 'Mobile wallet',
  PAPER_CHECK: 'Paper check',
  BILL: 'Bill payment',
  CRYPTOCURRENCY: 'Cryptocurrency',
};

export const deliveryTypeNames = Object.keys(deliveryTypes);

export function nameDelivery(type: string): string {
  return deliveryTypes[type] ?? readable(type);
}

/** For a filter or an optional field. */
export const deliveryChoices = [
  { value: '', label: 'Any' },
  ...Object.entries(deliveryTypes).map(([value, label]) => ({ value, label })),
];

const accountForms: Readonly<Record<string, string>> = {
  stored_card: 'Stored card',
  provider_account: 'Account at the provider',
};

/** How a payer delivers, with what identifies the recipient where that is unusual. */
export function nameOffer(delivery: string, accountForm: string): string {
  const form = accountForms[accountForm] ?? readable(accountForm);
  return form === '' ? nameDelivery(delivery) : `${nameDelivery(delivery)} · ${form}`;
}

/** Attributes whose meaning is another one for a card, of which the service has only a token. */
const cardAttributes: Readonly<Record<string, string>> = {
  CardNumber: 'Token of the card',
  BillReferenceNumber: 'Reference of the cardholder',
};

/** `attrs` of a payout by their types, such as `BankAccountNumber`. */
export function nameAttribute(type: string, attrs: Readonly<Record<string, string>>): string {
  const ofCard = 'CardNumber' in attrs ? cardAttributes[type] : undefined;
  return ofCard ?? readable(type.replace(/([a-z])([A-Z])/g, '$1_$2'));
}

/** `insufficient_funds` and `READY_FOR_PICKUP` as sentences begin: "Insufficient funds". */
export function readable(code: string): string {
  const words = code.replace(/[_.]+/g, ' ').trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export type Tone = 'neutral' | 'progress' | 'success' | 'warning' | 'danger';

type Status = { label: string; tone: Tone; meaning: string };

const statuses: Readonly<Record<string, Status>> = {
  PENDING: {
    label: 'Quoted',
    tone: 'neutral',
    meaning: 'Quoted and not committed. No money has moved.',
  },
  SCHEDULED: { label: 'Scheduled', tone: 'neutral', meaning: 'Committed, and runs at its time.' },
  PROCESSING: { label: 'Processing', tone: 'progress', meaning: 'On its way to the recipient.' },
  HOLD: { label: 'On hold', tone: 'warning', meaning: 'On hold until an operator decides.' },
  ERROR: {
    label: 'Needs a decision',
    tone: 'danger',
    meaning: 'Failed in a way that a person has to resolve.',
  },
  READY_FOR_PICKUP: {
    label: 'Ready for pickup',
    tone: 'progress',
    meaning: 'The cash waits for the recipient.',
  },
  COMPLETED: { label: 'Completed', tone: 'success', meaning: 'The payer reported it paid.' },
  CANCELLED: {
    label: 'Canceled',
    tone: 'neutral',
    meaning: 'Ended without payment, or sent back.',
  },
};

export const payoutStatuses = Object.keys(statuses);

export function describeStatus(status: string): Status {
  return statuses[status] ?? { label: readable(status), tone: 'neutral', meaning: '' };
}

const actors: Readonly<Record<string, string>> = {
  client: 'You (the client)',
  recipient: 'The recipient',
  operator: 'An operator of the service',
  payer: 'The payer',
};

export function nameActor(actor: string): string {
  return actors[actor] ?? '';
}

/** First characters and last ones of a token; the whole one stands in its tooltip and is copied. */
export function shortenToken(token: string): string {
  return token.length <= 20 ? token : `${token.slice(0, 12)}…${token.slice(-5)}`;
}
