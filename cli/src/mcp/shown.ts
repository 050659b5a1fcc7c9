import type { AnswerOf } from '../../../sdk/src/index.ts';

/**
 * What a model gets to see of persons: enough to choose and to check a recipient. Documents, birthday,
 * address and contact stay with the service, account numbers are masked as in the API's payouts, and
 * nothing with which someone else could collect the money is shown.
 */

const recipientMembers = [
  'user_token',
  'internal_user_id',
  'status',
  'first_name',
  'middle_name',
  'last_name',
  'business_name',
  'country',
  'language',
  'created_on',
] as const;

/** Of a user, or of the data of an event about one. */
export function showRecipient(user: object): Record<string, unknown> {
  const members = Object.entries(user);
  const shown = new Set<string>(recipientMembers);
  return Object.fromEntries(members.filter(([name]) => shown.has(name)));
}

/** Values that describe a bank, a document's kind or a purpose, or are names. */
const plainTypes: ReadonlySet<string> = new Set([
  'BankAccountBranchNumber',
  'BankAccountName',
  'BankAccountType',
  'BankCity',
  'BankName',
  'BankRoutingNumber',
  'BankState',
  'Country',
  'IdentificationType',
  'RemittanceReason',
  'Relationship',
  'SecondLastName',
  'SourceOfFunds',
  'SWIFT',
]);

/** Of these the last four characters are shown, with which a person compares them. */
const numberTypes: ReadonlySet<string> = new Set([
  'BankAccountNumber',
  'BillReferenceNumber',
  'CardNumber',
  'IdentificationNumber',
  'SocialSecurity',
]);

function showValue(type: string, value: string): string {
  if (value === '' || plainTypes.has(type)) return value;
  return numberTypes.has(type) && value.length > 4 ? `****${value.slice(-4)}` : '****';
}

type Attribute = AnswerOf<'readAttributes'>[number];

/** The link of an identity verification is a secret of the recipient. */
export function showAttribute(attribute: Attribute): Record<string, unknown> {
  const { value, type } = attribute;
  return { ...attribute, value: type === 'IDSelfieCollection' ? '' : showValue(type, value) };
}

type Event = AnswerOf<'listEvents'>[number];

export function showEvent(event: Event): Record<string, unknown> {
  return event.type.startsWith('user.') ? { ...event, data: showRecipient(event.data) } : event;
}

/** The values of a payout's or an event's `attrs`; the API has masked account numbers. */
function showAttrs(attrs: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(attrs).map(([type, value]) => [
      type,
      numberTypes.has(type) ? value : showValue(type, String(value)),
    ]),
  );
}

/**
 * The result of a tool, as JSON, without secrets. Links of obstacles lead to identity verifications, which
 * are for the recipient. Who has the code of a cash pickup can collect the money.
 */
export function hideSecrets<T>(value: T): T;
export function hideSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((member: unknown) => hideSecrets(member));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([name]) => name !== 'link');
  return Object.fromEntries(members.map(([name, member]) => [name, hideMember(name, member)]));
}

function hideMember(name: string, member: unknown): unknown {
  if (name === 'metadata') return member;
  if (name === 'pickup_code') return member === '' ? '' : '********';
  if (name === 'attrs' && typeof member === 'object' && member !== null) return showAttrs(member);
  return hideSecrets(member);
}
