import type { DeliveryType } from '../contract/declarations.ts';

/** The outcomes that magic values stand for, and the form in which the data file holds them. */

/** What happens to the payout, and the two digits that most of its values show after 7717. */
export const magicOutcomes = {
  paid_at_once: '01',
  rejected: '02',
  rejected_later: '03',
  returned_late: '04',
  unknown: '05',
  unknown_then_paid: '06',
  unknown_then_rejected: '07',
  retry_then_paid: '08',
  ready_for_pickup: '09',
  ready_then_collected: '10',
  ready_then_unclaimed: '11',
  refused_by_payer: '12',
} as const;
export type MagicOutcome = keyof typeof magicOutcomes;

/** One sentence per outcome, for the documentation. */
export const magicOutcomeMeanings: Readonly<Record<MagicOutcome, string>> = {
  paid_at_once: 'Paid at once: COMPLETED without waiting for the estimated availability.',
  rejected: 'Rejected at once: CANCELLED, refunded.',
  rejected_later: 'Accepted, and rejected when the payout is due: CANCELLED, refunded.',
  returned_late: 'Paid when due, and returned days later: COMPLETED, then CANCELLED, refunded.',
  unknown: 'Never a definite answer: PROCESSING, funds reserved, until a person decides.',
  unknown_then_paid: 'No definite answer at first; a later query answers paid: COMPLETED.',
  unknown_then_rejected:
    'No definite answer at first; a later query answers rejected: CANCELLED, refunded.',
  retry_then_paid:
    'The network is unreachable at first and nothing is sent; a later attempt is paid.',
  ready_for_pickup:
    'Ready at once, and stays so until you script another outcome: READY_FOR_PICKUP.',
  ready_then_collected: 'Ready, and collected soon after: READY_FOR_PICKUP, then COMPLETED.',
  ready_then_unclaimed:
    'Ready, and not collected in time: READY_FOR_PICKUP, then CANCELLED, refunded.',
  refused_by_payer:
    'A payer with a dynamic token refuses, and the best other payer within the quoted cost takes over; if there is none, ERROR, funds reserved, until a person decides. Any other payer pays.',
};

/** The attributes that can carry a magic value. */
export const magicTypes = [
  'BankAccountNumber',
  'BillReferenceNumber',
  'IdentificationNumber',
  'PhoneNumber',
] as const;
export type MagicType = (typeof magicTypes)[number];

export type MagicRow = {
  /** `MEX MXN`, or `*` for every country; a currency stands only where the form depends on it. */
  readonly destinations: readonly string[];
  readonly deliveryTypes: readonly DeliveryType[];
  readonly type: MagicType;
  /** What other required attributes must hold for the value's check digits to fit. */
  readonly companions: Readonly<Record<string, string>>;
  readonly values: Readonly<Partial<Record<MagicOutcome, string>>>;
};

export const outcomeNames = Object.keys(magicOutcomes) as MagicOutcome[];

/** A row as one line of the data file: five parts, the values in the order of the outcomes. */
export function formatMagicRow(row: MagicRow): string {
  const companions = Object.entries(row.companions).map(([type, value]) => `${type}=${value}`);
  const values = outcomeNames.map((outcome) => row.values[outcome] ?? '-');
  return [
    row.destinations.join(','),
    row.deliveryTypes.join(','),
    row.type,
    companions.join(','),
    values.join(' '),
  ].join('|');
}

function parsePair(text: string): [string, string] {
  const [name = '', value = ''] = text.split('=');
  return [name, value];
}

/** Reads a line of the data file. */
export function parseMagicRow(line: string): MagicRow {
  const [destinations = '', deliveryTypes = '', type, companions = '', values = ''] =
    line.split('|');
  const pairs = companions === '' ? [] : companions.split(',').map(parsePair);
  const valueList = values.split(' ');
  const present = outcomeNames.flatMap((outcome, index) => {
    const value = valueList[index];
    return value === undefined || value === '-' ? [] : [[outcome, value] as const];
  });
  return {
    destinations: destinations.split(','),
    deliveryTypes: deliveryTypes.split(',') as DeliveryType[],
    type: type as MagicType,
    companions: Object.fromEntries(pairs),
    values: Object.fromEntries(present),
  };
}
