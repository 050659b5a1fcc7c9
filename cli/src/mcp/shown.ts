import { type AnswerOf, Decimal } from '../../../sdk/src/index.ts';

/**
 * What a model gets to see of persons: enough to choose and to check a recipient. Documents, birthday,
 * address and contact stay with the service, and account numbers are masked as in the API's payouts.
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

const maskedTypes: ReadonlySet<string> = new Set([
  'BankAccountNumber',
  'CardNumber',
  'IdentificationNumber',
  'SocialSecurity',
]);

type Attribute = AnswerOf<'readAttributes'>[number];

/** The link of an identity verification is a secret of the recipient. */
export function showAttribute(attribute: Attribute): Record<string, unknown> {
  const { value, type } = attribute;
  const masked = value.length <= 4 ? '*'.repeat(value.length) : `****${value.slice(-4)}`;
  const shown = maskedTypes.has(type) ? masked : value;
  return { ...attribute, value: type === 'IDSelfieCollection' ? '' : shown };
}

type Event = AnswerOf<'listEvents'>[number];

export function showEvent(event: Event): Record<string, unknown> {
  return event.type.startsWith('user.') ? { ...event, data: showRecipient(event.data) } : event;
}

/** Links of obstacles lead to identity verifications, which are for the recipient. */
export function withoutLinks<T>(value: T): T;
export function withoutLinks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((member: unknown) => withoutLinks(member));
  if (typeof value !== 'object' || value === null || value instanceof Decimal) return value;
  const members = Object.entries(value).filter(([name]) => name !== 'link');
  return Object.fromEntries(members.map(([name, member]) => [name, withoutLinks(member)]));
}
