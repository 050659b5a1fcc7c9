/**
 * The fields of every record, as the Nacha Operating Rules (Appendix Three, ACH Record Format
 * Specifications) place them. A record has 94 characters; a layout lists its fields from the first
 * to the last, so that positions follow from the lengths.
 */

/** `digits`: right-justified and filled with zeros; `text`: left-justified and filled with blanks. */
type Form = 'digits' | 'text';
type Field<Name extends string> = readonly [name: Name, length: number, form: Form];

export type Layout<Name extends string> = {
  /** For error messages. */
  readonly title: string;
  readonly fields: readonly Field<Name>[];
};

/** Texts without the blanks that fill them; digits with their leading zeros. */
export type Values<Name extends string> = Readonly<Record<Name, string>>;
export type ValuesOf<SomeLayout> =
  SomeLayout extends Layout<infer Name extends string> ? Values<Name> : never;

export const recordLength = 94;

/** A fault of a file; the message holds no contents of the file but codes. */
export class AchFormatError extends Error {
  override readonly name = 'AchFormatError';
}

function defineLayout<const Name extends string>(
  title: string,
  fields: readonly Field<Name>[],
): Layout<Name> {
  const length = fields.reduce((sum, [, fieldLength]) => sum + fieldLength, 0);
  if (length !== recordLength) throw new Error(`the layout of the ${title} has ${length} places`);
  return { title, fields };
}

export const fileHeaderLayout = defineLayout('file header', [
  ['recordType', 1, 'digits'],
  ['priorityCode', 2, 'digits'],
  ['immediateDestination', 10, 'text'],
  ['immediateOrigin', 10, 'text'],
  ['creationDate', 6, 'digits'],
  ['creationTime', 4, 'text'],
  ['fileIdModifier', 1, 'text'],
  ['recordSize', 3, 'digits'],
  ['blockingFactor', 2, 'digits'],
  ['formatCode', 1, 'digits'],
  ['destinationName', 23, 'text'],
  ['originName', 23, 'text'],
  ['referenceCode', 8, 'text'],
]);

export const batchHeaderLayout = defineLayout('batch header', [
  ['recordType', 1, 'digits'],
  ['serviceClass', 3, 'digits'],
  ['companyName', 16, 'text'],
  ['discretionaryData', 20, 'text'],
  ['companyId', 10, 'text'],
  ['entryClass', 3, 'text'],
  ['entryDescription', 10, 'text'],
  ['descriptiveDate', 6, 'text'],
  ['effectiveDate', 6, 'text'],
  ['settlementDate', 3, 'text'],
  ['originatorStatus', 1, 'text'],
  ['odfi', 8, 'digits'],
  ['batchNumber', 7, 'digits'],
]);

export const iatBatchHeaderLayout = defineLayout('IAT batch header', [
  ['recordType', 1, 'digits'],
  ['serviceClass', 3, 'digits'],
  ['iatIndicator', 16, 'text'],
  ['exchangeIndicator', 2, 'text'],
  ['exchangeReferenceIndicator', 1, 'text'],
  ['exchangeReference', 15, 'text'],
  ['destinationCountry', 2, 'text'],
  ['companyId', 10, 'text'],
  ['entryClass', 3, 'text'],
  ['entryDescription', 10, 'text'],
  ['originatingCurrency', 3, 'text'],
  ['destinationCurrency', 3, 'text'],
  ['effectiveDate', 6, 'text'],
  ['settlementDate', 3, 'text'],
  ['originatorStatus', 1, 'text'],
  ['odfi', 8, 'digits'],
  ['batchNumber', 7, 'digits'],
]);

export const entryLayout = defineLayout('entry', [
  ['recordType', 1, 'digits'],
  ['transactionCode', 2, 'digits'],
  ['rdfi', 8, 'digits'],
  ['checkDigit', 1, 'digits'],
  ['account', 17, 'text'],
  ['amount', 10, 'digits'],
  ['individualId', 15, 'text'],
  ['individualName', 22, 'text'],
  ['discretionaryData', 2, 'text'],
  ['addendaIndicator', 1, 'digits'],
  ['trace', 15, 'digits'],
]);

export const iatEntryLayout = defineLayout('IAT entry', [
  ['recordType', 1, 'digits'],
  ['transactionCode', 2, 'digits'],
  ['rdfi', 8, 'digits'],
  ['checkDigit', 1, 'digits'],
  ['addendaCount', 4, 'text'],
  ['reserved', 13, 'text'],
  ['amount', 10, 'digits'],
  ['account', 35, 'text'],
  ['reservedToo', 2, 'text'],
  ['gatewayScreening', 1, 'text'],
  ['secondaryScreening', 1, 'text'],
  ['addendaIndicator', 1, 'digits'],
  ['trace', 15, 'digits'],
]);

/** An accounting advice (ADV): totals from an operator to its bank; it moves no money. */
export const adviceEntryLayout = defineLayout('ADV entry', [
  ['recordType', 1, 'digits'],
  ['transactionCode', 2, 'digits'],
  ['rdfi', 8, 'digits'],
  ['checkDigit', 1, 'digits'],
  ['account', 15, 'text'],
  ['amount', 12, 'digits'],
  ['adviceRouting', 9, 'text'],
  ['fileIdentification', 5, 'text'],
  ['operatorData', 1, 'text'],
  ['individualName', 22, 'text'],
  ['discretionaryData', 2, 'text'],
  ['addendaIndicator', 1, 'digits'],
  ['trace', 15, 'digits'],
]);

export const batchControlLayout = defineLayout('batch control', [
  ['recordType', 1, 'digits'],
  ['serviceClass', 3, 'digits'],
  ['entryAddendaCount', 6, 'digits'],
  ['entryHash', 10, 'digits'],
  ['debitTotal', 12, 'digits'],
  ['creditTotal', 12, 'digits'],
  ['companyId', 10, 'text'],
  ['authentication', 19, 'text'],
  ['reserved', 6, 'text'],
  ['odfi', 8, 'digits'],
  ['batchNumber', 7, 'digits'],
]);

export const adviceBatchControlLayout = defineLayout('ADV batch control', [
  ['recordType', 1, 'digits'],
  ['serviceClass', 3, 'digits'],
  ['entryAddendaCount', 6, 'digits'],
  ['entryHash', 10, 'digits'],
  ['debitTotal', 20, 'digits'],
  ['creditTotal', 20, 'digits'],
  ['operatorData', 19, 'text'],
  ['odfi', 8, 'digits'],
  ['batchNumber', 7, 'digits'],
]);

export const fileControlLayout = defineLayout('file control', [
  ['recordType', 1, 'digits'],
  ['batchCount', 6, 'digits'],
  ['blockCount', 6, 'digits'],
  ['entryAddendaCount', 8, 'digits'],
  ['entryHash', 10, 'digits'],
  ['debitTotal', 12, 'digits'],
  ['creditTotal', 12, 'digits'],
  ['reserved', 39, 'text'],
]);

export const adviceFileControlLayout = defineLayout('ADV file control', [
  ['recordType', 1, 'digits'],
  ['batchCount', 6, 'digits'],
  ['blockCount', 6, 'digits'],
  ['entryAddendaCount', 8, 'digits'],
  ['entryHash', 10, 'digits'],
  ['debitTotal', 20, 'digits'],
  ['creditTotal', 20, 'digits'],
  ['reserved', 23, 'text'],
]);

/** A record from its values. @throws AchFormatError where one does not fit; nothing is cut. */
export function writeRecord<Name extends string>(
  layout: Layout<Name>,
  values: Values<Name>,
): string {
  let line = '';
  for (const [name, length, form] of layout.fields) {
    const value = values[name];
    if (value.length > length) {
      throw new AchFormatError(`the ${layout.title}'s ${name} is longer than ${length} characters`);
    }
    if (form === 'digits') {
      if (!/^[0-9]+$/.test(value)) {
        throw new AchFormatError(`the ${layout.title}'s ${name} must be digits`);
      }
      line += value.padStart(length, '0');
    } else {
      if (/[\u0000-\u001f\u007f]/.test(value)) {
        throw new AchFormatError(`the ${layout.title}'s ${name} has a control character`);
      }
      line += value.padEnd(length, ' ');
    }
  }
  return line;
}

/** @throws AchFormatError where a field of digits has other characters. */
export function readRecord<Name extends string>(
  layout: Layout<Name>,
  line: string,
  lineNumber: number,
): Values<Name> {
  const values: Partial<Record<Name, string>> = {};
  let start = 0;
  for (const [name, length, form] of layout.fields) {
    const raw = line.slice(start, start + length);
    if (form === 'digits' && !/^[0-9]+$/.test(raw)) {
      const places = `${start + 1} to ${start + length}`;
      throw new AchFormatError(
        `line ${lineNumber}: places ${places}, the ${layout.title}'s ${name}, must be digits`,
      );
    }
    values[name] = form === 'digits' ? raw : raw.trimEnd();
    start += length;
  }
  // Every name of the layout has been set by the loop.
  return values as Values<Name>;
}
