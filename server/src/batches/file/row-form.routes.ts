import { currencyPattern, findCurrency } from '../../core/currency.ts';
import { type ExactJson, JsonNumber } from '../../core/exact-json.ts';
import { findTokenId } from '../../core/ids.ts';
import { hashMetadata, type Metadata, metadataField } from '../../http/metadata.ts';
import { controlCharacters } from '../../http/schema.ts';
import type { DraftRow } from '../draft-row.ts';
import type { FileRow, RowFields } from './file-row.ts';

/**
 * The form of a row, field by field as in the request of a single payout. Written out, because a
 * schema would take most of the time that a hundred thousand rows take.
 */

/** What a token without the form of ours is taken for: it names nothing either. */
const nilUuid = '00000000-0000-0000-0000-000000000000';

/** Reads the form of a row: fills in what is in order, and tells everything that is not. */
export function readRowForm({ line, fields, fault }: FileRow, number: number): DraftRow {
  const row: DraftRow = {
    number,
    line,
    faults: [],
    clientTransferId: undefined,
    userId: undefined,
    internalUserId: undefined,
    destinationToken: undefined,
    destinationCurrency: undefined,
    sourceCurrency: undefined,
    amount: undefined,
    attrSetId: undefined,
    notifyUser: false,
    metadata: undefined,
    metadataHashes: [],
  };
  if (fault !== undefined) {
    row.faults.push(fault);
    return row;
  }
  row.clientTransferId = readTransferId(row, fields);
  readUser(row, fields);
  row.destinationToken = readText(row, fields, { column: 'destination_token', isRequired: true });
  row.destinationCurrency = readCurrency(row, fields, 'destination_currency_code');
  row.sourceCurrency = readCurrency(row, fields, 'source_currency_code');
  row.amount = readAmount(row, fields);
  const attrSet = readText(row, fields, { column: 'attr_set_token' });
  if (attrSet !== undefined) row.attrSetId = findTokenId('attributeSet', attrSet) ?? nilUuid;
  row.notifyUser = readFlag(row, fields);
  readMetadata(row, fields);
  return row;
}

type TextColumn = { column: string; lengthMax?: number; isRequired?: boolean };

function tell(row: DraftRow, column: string, fault: { code: string; what: string }): void {
  const detail = `${column} ${fault.what}`;
  row.faults.push({ column, code: fault.code, detail });
}

/** A text that is there and in order; a fault where it is not. Empty counts as absent. */
function readText(
  row: DraftRow,
  fields: RowFields,
  { column, lengthMax = 100, isRequired = false }: TextColumn,
): string | undefined {
  const value = fields[column];
  if (value === undefined || value === '') {
    if (isRequired) tell(row, column, { code: 'required', what: 'is required' });
    return undefined;
  }
  if (typeof value !== 'string') {
    tell(row, column, { code: 'invalid_type', what: 'must be of type string' });
    return undefined;
  }
  if (value.length > lengthMax) {
    tell(row, column, { code: 'too_long', what: `must have at most ${lengthMax} characters` });
    return undefined;
  }
  if (controlCharacters.test(value)) {
    tell(row, column, { code: 'invalid_value', what: 'must not have control characters' });
    return undefined;
  }
  return value;
}

function readTransferId(row: DraftRow, fields: RowFields): string | undefined {
  const column = 'client_transfer_id';
  const value = readText(row, fields, { column, lengthMax: 50, isRequired: true });
  if (value === undefined || value.trim() === value) return value;
  tell(row, column, { code: 'invalid_value', what: 'must not begin or end with a space' });
  return undefined;
}

function readUser(row: DraftRow, fields: RowFields): void {
  const token = readText(row, fields, { column: 'user_token' });
  if (token !== undefined) row.userId = findTokenId('user', token) ?? nilUuid;
  row.internalUserId = readText(row, fields, { column: 'internal_user_id', lengthMax: 75 });
  const isAbsent = [fields['user_token'], fields['internal_user_id']].every(
    (value) => value === undefined || value === '',
  );
  if (!isAbsent) return;
  const detail = 'user_token or internal_user_id is required';
  row.faults.push({ column: 'user_token', code: 'required', detail });
}

function readCurrency(
  row: DraftRow,
  fields: RowFields,
  column: 'destination_currency_code' | 'source_currency_code',
): string | undefined {
  const isSource = column === 'source_currency_code';
  const code = readText(row, fields, { column, isRequired: !isSource });
  if (code === undefined) {
    const isAbsent = fields[column] === undefined || fields[column] === '';
    return isSource && isAbsent ? 'USD' : undefined;
  }
  if (!currencyPattern.test(code)) {
    const what = 'must be an ISO 4217 code or a ticker';
    tell(row, column, { code: 'invalid_value', what });
    return undefined;
  }
  if (findCurrency(code) === undefined) {
    tell(row, column, { code: 'unknown_currency', what: 'is not a currency that is known here' });
    return undefined;
  }
  return code;
}

/** The decimal text of the one amount that is given; its digits are counted with its currency. */
function readAmount(row: DraftRow, fields: RowFields): DraftRow['amount'] {
  const source = readDecimal(row, fields, 'source_amount');
  const destination = readDecimal(row, fields, 'destination_amount');
  if (source !== undefined && destination !== undefined) {
    const detail = 'destination_amount excludes source_amount: give exactly one';
    row.faults.push({ column: 'destination_amount', code: 'amounts_exclusive', detail });
    return undefined;
  }
  if (source === undefined && destination === undefined) {
    const detail = 'source_amount or destination_amount is required';
    row.faults.push({ column: 'source_amount', code: 'required', detail });
    return undefined;
  }
  const side = source === undefined ? 'destination' : 'source';
  const text = source ?? destination;
  return text === undefined || text === '' ? undefined : { side, text };
}

/** Undefined where there is none, '' where it is no number, which has been told then. */
function readDecimal(
  row: DraftRow,
  fields: RowFields,
  column: 'source_amount' | 'destination_amount',
): string | undefined {
  const value = fields[column];
  if (value === undefined || value === '') return undefined;
  // The cells of a CSV file are texts; JSON has numbers of its own, and a text may stand for one.
  const text = value instanceof JsonNumber ? value.text : value;
  if (typeof text === 'string' && text.length <= 60) return text;
  tell(row, column, { code: 'invalid_type', what: 'must be a number' });
  return '';
}

function readFlag(row: DraftRow, fields: RowFields): boolean {
  const value = fields['notify_user'];
  if (value === undefined || value === '') return false;
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'string' ? value.toLowerCase() : undefined;
  if (word === 'true' || word === 'false') return word === 'true';
  tell(row, 'notify_user', { code: 'invalid_type', what: 'must be true or false' });
  return false;
}

function readMetadata(row: DraftRow, fields: RowFields): void {
  const value = fields['metadata'];
  if (value === undefined || value === '') return;
  if (isPlainMetadata(value)) {
    keepMetadata(row, value);
    return;
  }
  const result = metadataField.safeParse(value);
  if (!result.success) {
    for (const issue of result.error.issues) {
      const code: unknown = issue.code === 'custom' ? issue.params?.['code'] : undefined;
      const known = typeof code === 'string' ? code : 'invalid_type';
      tell(row, 'metadata', { code: known, what: issue.message });
    }
    return;
  }
  keepMetadata(row, result.data);
}

const plainKeysMax = 20;
const plainLengthMax = 200;

/** A few short texts without control characters: most metadata, seen at a glance to be in order. */
function isPlainMetadata(value: ExactJson): value is Metadata {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  if (value instanceof JsonNumber) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= plainKeysMax &&
    entries.every(
      ([key, text]) =>
        typeof text === 'string' &&
        key.length + text.length <= plainLengthMax &&
        !controlCharacters.test(key) &&
        !controlCharacters.test(text),
    )
  );
}

function keepMetadata(row: DraftRow, metadata: Metadata): void {
  if (Object.keys(metadata).length === 0) return;
  row.metadata = JSON.stringify(metadata);
  row.metadataHashes = hashMetadata(metadata);
}
