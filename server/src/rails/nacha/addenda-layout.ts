import { type Layout, recordLength, type Values } from './record-layout.ts';

/**
 * Addenda records: details of an entry beyond its 94 characters. Their layout follows from their type
 * code, and that of a return (99) also from its reason.
 */

type Part = readonly [name: string, length: number, form: 'digits' | 'text'];

function addenda(title: string, parts: readonly Part[]): Layout<string> {
  const fields: readonly Part[] = [
    ['recordType', 1, 'digits'],
    ['typeCode', 2, 'digits'],
    ...parts,
  ];
  const length = fields.reduce((sum, part) => sum + part[1], 0);
  if (length !== recordLength) throw new Error(`the layout of the ${title} has ${length} places`);
  return { title, fields };
}

const sequence: Part = ['entrySequence', 7, 'digits'];

/** The bank of either side: name, kind of number, number, country. */
function bankOf(title: string): Layout<string> {
  return addenda(title, [
    ['bankName', 35, 'text'],
    ['bankIdQualifier', 2, 'text'],
    ['bankId', 34, 'text'],
    ['bankCountry', 3, 'text'],
    ['reserved', 10, 'text'],
    sequence,
  ]);
}

function twoTexts(title: string, first: string, second: string): Layout<string> {
  return addenda(title, [
    [first, 35, 'text'],
    [second, 35, 'text'],
    ['reserved', 14, 'text'],
    sequence,
  ]);
}

const byType: Readonly<Record<string, Layout<string>>> = {
  '02': addenda('terminal addenda', [
    ['terminal', 76, 'text'],
    ['trace', 15, 'digits'],
  ]),
  '05': addenda('payment addenda', [
    ['information', 80, 'text'],
    ['addendaSequence', 4, 'digits'],
    sequence,
  ]),
  '10': addenda('first IAT addenda', [
    ['transactionType', 3, 'text'],
    ['foreignAmount', 18, 'digits'],
    ['foreignTrace', 22, 'text'],
    ['receiverName', 35, 'text'],
    ['reserved', 6, 'text'],
    sequence,
  ]),
  '11': twoTexts('second IAT addenda', 'originatorName', 'originatorStreet'),
  '12': twoTexts('third IAT addenda', 'originatorCity', 'originatorCountry'),
  '13': bankOf('fourth IAT addenda'),
  '14': bankOf('fifth IAT addenda'),
  '15': addenda('sixth IAT addenda', [
    ['receiverId', 15, 'text'],
    ['receiverStreet', 35, 'text'],
    ['reserved', 34, 'text'],
    sequence,
  ]),
  '16': twoTexts('seventh IAT addenda', 'receiverCity', 'receiverCountry'),
  '17': addenda('IAT remittance addenda', [
    ['information', 80, 'text'],
    ['addendaSequence', 4, 'digits'],
    sequence,
  ]),
  '18': addenda('IAT correspondent bank addenda', [
    ['bankName', 35, 'text'],
    ['bankIdQualifier', 2, 'text'],
    ['bankId', 34, 'text'],
    ['bankCountry', 3, 'text'],
    ['reserved', 6, 'text'],
    ['addendaSequence', 4, 'digits'],
    sequence,
  ]),
  '98': addenda('notification of change addenda', [
    ['code', 3, 'text'],
    ['originalTrace', 15, 'digits'],
    ['reserved', 6, 'text'],
    ['originalRdfi', 8, 'text'],
    ['correctedData', 29, 'text'],
    ['reservedToo', 15, 'text'],
    ['trace', 15, 'digits'],
  ]),
};

const returnLayout = addenda('return addenda', [
  ['code', 3, 'text'],
  ['originalTrace', 15, 'digits'],
  ['dateOfDeath', 6, 'text'],
  ['originalRdfi', 8, 'text'],
  ['information', 44, 'text'],
  ['trace', 15, 'digits'],
]);

/** A return that our bank did not accept (R61 to R70). */
const dishonoredLayout = addenda('dishonored return addenda', [
  ['code', 3, 'text'],
  ['originalTrace', 15, 'digits'],
  ['reserved', 6, 'text'],
  ['originalRdfi', 8, 'text'],
  ['reservedToo', 3, 'text'],
  ['returnTrace', 15, 'text'],
  ['returnSettlementDate', 3, 'text'],
  ['returnCode', 2, 'text'],
  ['information', 21, 'text'],
  ['trace', 15, 'digits'],
]);

/** A dishonored return that the receiving bank insists on (R71 to R77). */
const contestedLayout = addenda('contested return addenda', [
  ['code', 3, 'text'],
  ['originalTrace', 15, 'digits'],
  ['originalReturnDate', 6, 'text'],
  ['originalRdfi', 8, 'text'],
  ['originalSettlementDate', 3, 'text'],
  ['returnTrace', 15, 'text'],
  ['returnSettlementDate', 3, 'text'],
  ['returnCode', 2, 'text'],
  ['dishonoredTrace', 15, 'text'],
  ['dishonoredSettlementDate', 3, 'text'],
  ['dishonoredCode', 2, 'text'],
  ['reserved', 1, 'text'],
  ['trace', 15, 'digits'],
]);

export type Addenda = { readonly typeCode: string; readonly values: Values<string> };

/** The layout by type code and return code; undefined where the type is unknown. */
export function findAddendaLayout(typeCode: string, code: string): Layout<string> | undefined {
  if (typeCode !== '99') return byType[typeCode];
  if (isDishonored(code)) return dishonoredLayout;
  return isContested(code) ? contestedLayout : returnLayout;
}

function isDishonored(code: string): boolean {
  return /^R6[1-9]$|^R70$/.test(code);
}

function isContested(code: string): boolean {
  return /^R7[1-7]$/.test(code);
}

/** A field of an addenda record; "" where its type has none of the name. */
export function readAddendaField(record: Addenda, name: string): string {
  return record.values[name] ?? '';
}
