/** The forms of a payment and of an event (docs/partner-openapi.yaml). Outlay counts no other. */

type Fields = Readonly<Record<string, unknown>>;

export const states: readonly string[] = [
  'accepted',
  'ready_for_pickup',
  'paid',
  'rejected',
  'returned',
];

const identifier = /^[0-9A-Za-z._:-]{1,64}$/;
const amount = /^(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?$/;
const currency = /^[A-Z0-9]{3,5}$/;
const reasonWord = /^[a-z0-9_]{1,64}$/;
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

const isText = (value: unknown, form: RegExp): boolean =>
  typeof value === 'string' && form.test(value);
const isOptional = (value: unknown, form: RegExp): boolean =>
  value === undefined || isText(value, form);
const isInstant = (value: unknown): boolean =>
  isText(value, instant) && !Number.isNaN(Date.parse(String(value)));

/** What is wrong with the members beside reference, amount and currency. */
export function findPaymentFault(payment: Fields): string | undefined {
  const { state, reason, code, partner_reference: name, charges, returns, check_at } = payment;
  if (!states.includes(String(state))) return `state must be one of ${states.join(', ')}`;
  if (!isOptional(reason, reasonWord)) return 'reason must be a word such as account_closed';
  if (!isOptional(code, /^[0-9A-Za-z._:-]{1,32}$/)) {
    return 'code must have 1 to 32 of the characters 0-9 A-Z a-z . _ : -';
  }
  if (!isOptional(name, identifier)) {
    return 'partner_reference must have 1 to 64 of the characters 0-9 A-Z a-z . _ : -';
  }
  if (check_at !== undefined && !isInstant(check_at)) return `check_at ${mustBeInstant}`;
  if (!isList(charges) || !isList(returns)) {
    return 'charges and returns must be lists of objects, if only empty ones';
  }
  return findChargeFault(charges) ?? findReturnsFault(payment, returns);
}

const mustBeInstant = 'must be RFC 3339 in UTC, with Z, such as 2030-01-15T18:00:00.000Z';

function isList(value: unknown): value is readonly Fields[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null);
}

function findChargeFault(charges: readonly Fields[]): string | undefined {
  for (const charge of charges) {
    if (!isText(charge['id'], identifier)) return 'id of a charge must be an identifier';
    if (!isText(charge['amount'], amount)) return 'amount of a charge must be a text such as "1.5"';
    if (!isText(charge['currency'], currency)) return 'currency of a charge must be a code';
  }
  return hasSameIds(charges) ? 'charges of a payment must have different ids' : undefined;
}

function findReturnsFault(payment: Fields, returns: readonly Fields[]): string | undefined {
  for (const entry of returns) {
    if (!isText(entry['id'], identifier)) return 'id of a return must be an identifier';
    if (!isText(entry['amount'], amount)) return 'amount of a return must be a text such as "1.5"';
    if (!isText(entry['reason'], reasonWord)) return 'a return must have a reason';
    if (!isInstant(entry['occurred_at'])) return `occurred_at of a return ${mustBeInstant}`;
  }
  if (hasSameIds(returns)) return 'returns must have different ids';
  const back = returns.reduce((sum, entry) => sum + readBillionths(String(entry['amount'])), 0n);
  const paid = isText(payment['amount'], amount) ? readBillionths(String(payment['amount'])) : back;
  if (back > paid) return 'the returns must not be more than the amount of the payment';
  if (payment['state'] === 'returned' && back < paid) {
    return 'a returned payment must list its returns, which are its whole amount; in part it stays paid';
  }
  return undefined;
}

function hasSameIds(entries: readonly Fields[]): boolean {
  return new Set(entries.map(({ id }) => id)).size < entries.length;
}

function readBillionths(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(9, '0'));
}

export function findEventFault(event: unknown): string | undefined {
  const { id, occurred_at: at, payment, return: entry } = (event ?? {}) as Fields;
  if (!isText(id, identifier)) return 'id of an event must be an identifier';
  if (!isInstant(at)) return `occurred_at of an event ${mustBeInstant}`;
  if (typeof payment !== 'object' || payment === null) return 'an event must have its payment';
  const { reference, amount: given, currency: code, state, returns } = payment as Fields;
  if (!isText(reference, identifier)) return 'the payment of an event must have its reference';
  if (!isText(given, amount) || !isText(code, currency)) {
    return 'the payment of an event must have its amount, a text, and its currency';
  }
  const fault = findPaymentFault(payment as Fields);
  if (fault !== undefined) return `the payment of an event: ${fault}`;
  if (entry === undefined) {
    return state === 'returned' ? 'an event of a return must have the return' : undefined;
  }
  const { id: returnId } = (entry ?? {}) as Fields;
  return (returns as readonly Fields[]).some((one) => one['id'] === returnId)
    ? undefined
    : 'the return of an event must be among the returns of its payment';
}
