import { writeCsvLine } from '../../format/csv.ts';

/** The columns of a batch (docs/guides/batches.md), with names under which files of others have them. */
export type Column = { name: string; label: string; aliases: readonly string[] };

export const columns: readonly Column[] = [
  {
    name: 'client_transfer_id',
    label: 'Your identifier',
    aliases: ['id', 'reference', 'invoice', 'payment id', 'transfer id'],
  },
  {
    name: 'internal_user_id',
    label: 'Recipient (your identifier)',
    aliases: [
      'employee',
      'employee id',
      'recipient',
      'recipient id',
      'user id',
      'vendor',
      'vendor id',
    ],
  },
  { name: 'user_token', label: 'Recipient (token)', aliases: ['user', 'token'] },
  { name: 'source_amount', label: 'Amount to send', aliases: ['amount', 'gross', 'net pay'] },
  {
    name: 'destination_amount',
    label: 'Amount to receive',
    aliases: ['payout amount', 'receive amount', 'local amount'],
  },
  { name: 'source_currency_code', label: 'Currency to send', aliases: ['source currency'] },
  {
    name: 'destination_currency_code',
    label: 'Currency to receive',
    aliases: ['currency', 'destination currency', 'payout currency'],
  },
  { name: 'delivery_type', label: 'Delivery', aliases: ['delivery', 'method', 'payment method'] },
  { name: 'destination_token', label: 'Payer (token)', aliases: ['destination', 'payer'] },
  { name: 'country_code', label: 'Country', aliases: ['country'] },
  { name: 'attr_set_token', label: 'Details (token)', aliases: ['details'] },
];

export type Sheet = { header: string[]; rows: string[][] };

/** For each column of the file the column of the batch; '' leaves it out. */
export type Mapping = readonly string[];

export function guessMapping(header: readonly string[]): Mapping {
  const used = new Set<string>();
  return header.map((title) => {
    const plain = title
      .toLowerCase()
      .replace(/[_\-.]+/g, ' ')
      .trim();
    const found = columns.find(
      ({ name, aliases }) =>
        !used.has(name) && (name.replaceAll('_', ' ') === plain || aliases.includes(plain)),
    );
    if (found !== undefined) used.add(found.name);
    if (found === undefined && /^metadata\.\w+/.test(title)) return title;
    return found?.name ?? '';
  });
}

/** What the mapping lacks, as sentences. */
export function findGaps(mapping: Mapping): string[] {
  const has = (...names: string[]): boolean => names.some((name) => mapping.includes(name));
  return [
    has('client_transfer_id') ? '' : 'Your identifier of each payment',
    has('internal_user_id', 'user_token') ? '' : 'The recipient',
    has('source_amount', 'destination_amount') ? '' : 'An amount',
    has('destination_currency_code') ? '' : 'The currency to arrive',
    has('delivery_type', 'destination_token') ? '' : 'The delivery or the payer',
    ...listRepeated(mapping).map((label) => `Only one column for: ${label}`),
  ].filter((gap) => gap !== '');
}

function listRepeated(mapping: Mapping): string[] {
  const repeated = mapping.filter((name, index) => name !== '' && mapping.indexOf(name) < index);
  return [...new Set(repeated)].map(
    (name) => columns.find((column) => column.name === name)?.label ?? name,
  );
}

export function writeSheet({ rows }: Sheet, mapping: Mapping): string {
  const kept = mapping.flatMap((name, index) => (name === '' ? [] : [{ name, index }]));
  const lines = rows.map((row) => writeLine(kept.map(({ index }) => row[index] ?? '')));
  return [writeCsvLine(kept.map(({ name }) => name)), ...lines].join('');
}

/** Values go to the service as they were shown, with quotes where a reader could change them. */
function writeLine(values: readonly string[]): string {
  const cells = values.map((value) =>
    /[",;\t\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value,
  );
  return `${cells.join(',')}\r\n`;
}
