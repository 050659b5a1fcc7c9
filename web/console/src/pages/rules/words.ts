import { formatAmount } from '../../format/amount.ts';
import { nameDelivery, readable } from '../../format/words.ts';
import {
  isMembers,
  type Members,
  readMembers,
  readText,
  readTexts,
} from '../documents/document.ts';

/** Approval rules in words (docs/guides/approvals.md). */

const bounds = [
  { name: 'above', label: 'above' },
  { name: 'at_least', label: 'at least' },
  { name: 'below', label: 'below' },
  { name: 'at_most', label: 'at most' },
] as const;

const lists: readonly { name: string; label: string; word?: (code: string) => string }[] = [
  { name: 'country', label: 'Country' },
  { name: 'delivery_type', label: 'Delivery', word: nameDelivery },
  { name: 'source_currency', label: 'Source currency' },
  { name: 'destination_currency', label: 'Destination currency' },
  { name: 'rail', label: 'Rail' },
  { name: 'balance', label: 'Balance' },
  { name: 'creator', label: 'Created by' },
];

const known = new Set(['amount', 'recipient', 'metadata', ...lists.map(({ name }) => name)]);

const either = (texts: readonly string[]): string => texts.join(' or ');

/** Each condition as a sentence; none: the rule holds every payout. All of them must hold. */
export function describeConditions(when: Members): string[] {
  const metadata = readMembers(when, 'metadata');
  const recipient = readText(when, 'recipient');
  return [
    ...describeAmount(readMembers(when, 'amount')),
    ...lists.flatMap(({ name, label, word = String }) => {
      const values = readTexts(when, name).map((value) => word(value));
      return values.length === 0 ? [] : [`${label}: ${either(values)}`];
    }),
    ...(recipient === 'new' ? ['Recipient: new, without a completed payout'] : []),
    ...(recipient === 'known' ? ['Recipient: known, with a completed payout'] : []),
    ...Object.keys(metadata).map((key) => `Metadata ${key}: ${either(readTexts(metadata, key))}`),
    ...Object.entries(when)
      .filter(([name]) => !known.has(name))
      .map(([name, value]) => `${readable(name)}: ${JSON.stringify(value)}`),
  ];
}

function describeAmount(amount: Members): string[] {
  const currency = readText(amount, 'currency');
  const present = bounds.flatMap(({ name, label }) => {
    const value = readText(amount, name);
    if (value === '') return [];
    const isAmount = /^\d+(?:\.\d+)?$/.test(value) && /^[A-Z]{3,5}$/.test(currency);
    return [`${label} ${isAmount ? formatAmount(value, currency) : value} ${currency}`];
  });
  return present.length === 0 ? [] : [`Amount: ${present.join(' and ')}`];
}

/** What the service takes where a rule does not say it. */
export const defaults = { approvers: '1', hours: '72' } as const;

/** How many persons release a payout, and within how many hours. */
export function describeRelease(rule: Members): { approvers: string; hours: string } {
  return {
    approvers: readText(rule, 'approvers') || defaults.approvers,
    hours: readText(rule, 'expires_hours') || defaults.hours,
  };
}

export const readWhen = (rule: Members): Members => (isMembers(rule['when']) ? rule['when'] : {});
