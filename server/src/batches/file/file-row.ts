import { z } from 'zod';
import { attributeTypes } from '../../attributes/field.ts';
import { identityCodes } from '../../attributes/missing.ts';
import { AppError, codes, type FaultCode } from '../../core/errors.ts';
import type { ExactJson } from '../../core/exact-json.ts';
import { findMeant } from '../../core/nearest-word.ts';
import { accountForms, deliveryTypes } from '../../rails/contract/declarations.ts';

/** One row of a batch's file, and the errors that reject a whole file. */

export const fileFormats = ['csv', 'ndjson', 'json'] as const;
export type FileFormat = (typeof fileFormats)[number];

export const faultFields = {
  column: z.string().describe('"" for a fault of the row as a whole'),
  code: z.enum(codes),
  detail: z.string(),
};

/** What a recipient lacks for a corridor: stored in a few bytes, and described when it is read. */
const lackedDetails = z.object({
  countryCode: z.string(),
  deliveryType: z.enum(deliveryTypes),
  currency: z.string(),
  network: z.string().optional(),
  accountForm: z.enum(accountForms).optional(),
  attributes: z.array(z.enum(attributeTypes)),
  identity: z.enum(identityCodes).optional(),
});
export const rowFaults = z.array(z.object({ ...faultFields, lacks: lackedDetails.optional() }));
export type RowFault = z.infer<typeof rowFaults>[number];

export type RowFields = { readonly [column: string]: ExactJson };

export type FileRow = {
  /** The line of the file on which the row begins; the header is line 1. */
  readonly line: number;
  /** In a CSV file every value is a text, and an empty one is absent. */
  readonly fields: RowFields;
  /** Every column as written, also unknown ones. */
  readonly input: RowFields;
  /** Why the row could not be read at all; then it has no fields. */
  readonly fault: RowFault | undefined;
  /** The row as written; the hash that tells two uploads apart is made of it. */
  readonly source: string | Buffer;
};

/** The size limit of a file; the router needs it before it knows the environment. */
export const batchBytesMax = 128 * 1024 * 1024;

export type FileLimits = { bytesMax: number; rowsMax: number; rowBytesMax: number };

/** `metadata` is not among them: in CSV its entries are columns of their own. */
export type RowColumns = {
  readonly names: ReadonlySet<string>;
  /** Of each group a file must have at least one. */
  readonly required: readonly (readonly string[])[];
};

export type FileReading = {
  limits: FileLimits;
  columns: RowColumns;
  /** Unknown column names, collected while rows are read. */
  ignored: Set<string>;
};

/**
 * Judges the names of columns that are not known: one that is another spelling of a known column, which the
 * file lacks, is refused. With a column `source_currency` that is ignored, rows in euros would be paid from
 * the balance in dollars.
 */
export function createSpelling(known: ReadonlySet<string>) {
  const members = [...known];
  const judged = new Map<string, string | undefined>();
  return {
    findMeant: (name: string, given: ReadonlySet<string>): string | undefined => {
      if (!judged.has(name)) {
        if (judged.size >= judgedMax) return undefined;
        judged.set(name, findMeant(name, members, lettersPerEdit));
      }
      const meant = judged.get(name);
      return meant === undefined || given.has(meant) ? undefined : meant;
    },
  };
}

export type Spelling = ReturnType<typeof createSpelling>;

/** Files have columns of their own, such as `destination_name`: fewer letters may differ than in a request. */
const lettersPerEdit = 8;
const judgedMax = 1000;

export function describeMeant(name: string, meant: string): string {
  return `${showName(name)} is not a column: did you mean ${meant}?`;
}

/** Columns of a result that hold the input: a file that has them is read from them alone. */
export const inputPrefix = 'input.';

/** How a formula begins in a spreadsheet; some accept the wide forms too. */
export const formulaStart = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** Rows per portion. */
export const portionRows = 500;

/** The error that rejects a whole file. */
export function refuseFile(code: FaultCode, detail: string): AppError {
  return new AppError('invalid_request', detail, { faults: [{ code, detail }] });
}

export function refuseLongRow(line: number, rowBytesMax: number): AppError {
  return refuseFile(
    'row_too_long',
    `the row at line ${line} must have at most ${rowBytesMax} bytes`,
  );
}

const ignoredMax = 100;
const ignoredLengthMax = 100;

/** Adds the name of an unknown column, within bounds. */
export function ignoreColumn(ignored: Set<string>, name: string): void {
  if (ignored.size >= ignoredMax) return;
  ignored.add(showName(name));
}

/** For an answer, or a message: shortened, and without control characters such as line ends. */
function showName(name: string): string {
  return name
    .slice(0, ignoredLengthMax)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, ' ');
}
