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
  paid_at_once:
    'The network pays at once: COMPLETED without waiting for the estimated availability.',
  rejected: 'The network refuses at once: CANCELLED, refunded.',
  rejected_later: 'The network accepts, and refuses when the payout is due: CANCELLED, refunded.',
  returned_late: 'Paid when due, and returned days later: COMPLETED, then CANCELLED, refunded.',
  unknown:
    'The network never gives a clear answer: PROCESSING, the funds kept, until a person decides.',
  unknown_then_paid: 'No clear answer at first; a later query says that it was paid: COMPLETED.',
  unknown_then_rejected:
    'No clear answer at first; a later query says refused: CANCELLED, refunded.',
  retry_then_paid: 'The network cannot be reached at first, nothing was sent; a later try is paid.',
  ready_for_pickup:
    'Ready at once, and stays so until the sandbox is told otherwise: READY_FOR_PICKUP.',
  ready_then_collected: 'Ready, and fetched soon after: READY_FOR_PICKUP, then COMPLETED.',
  ready_then_unclaimed:
    'Ready, and not fetched in time: READY_FOR_PICKUP, then CANCELLED, refunded.',
  refused_by_payer:
    'A payer with a dynamic token refuses, and the best other one within the quoted cost takes over; where none is, ERROR, the funds kept, until a person decides. Any other payer pays.',
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
