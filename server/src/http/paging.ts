import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import { Page } from './route.ts';

/** Lists are read newest first, a page at a time, from an opaque cursor. */

const recordsMax = 1000;
const recordsDefault = 100;

/** The query parameters of every list. */
export const pageQuery = {
  number_of_records: z
    .string()
    .optional()
    .transform((text) => {
      if (text === undefined) return recordsDefault;
      return /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
    })
    .refine((count) => Number.isInteger(count) && count >= 1 && count <= recordsMax, {
      error: `must be a whole number from 1 to ${recordsMax}`,
    })
    .meta({
      jsonSchema: { type: 'integer', minimum: 1, maximum: recordsMax, default: recordsDefault },
    }),
  cursor: z.string().max(200).optional().describe('From the Link header of the page before'),
};

export function cursorOf(parts: readonly string[]): string {
  return Buffer.from(parts.join(' ')).toString('base64url');
}

/** The parts of a cursor; undefined for the first page. @throws AppError invalid_request. */
export function readCursor(
  cursor: string | undefined,
  kinds: readonly ('uuid' | 'integer' | 'row')[],
): string[] | undefined {
  if (cursor === undefined) return undefined;
  const parts = Buffer.from(cursor, 'base64url').toString().split(' ');
  const isValid =
    parts.length === kinds.length &&
    kinds.every((kind, index) => {
      const part = parts[index] ?? '';
      if (kind === 'uuid') return isUuid(part);
      return (kind === 'row' ? /^\d{1,9}$/ : /^\d{1,4}$/).test(part);
    });
  if (isValid) return parts;
  const detail = 'cursor must come from the Link header of a page';
  throw new AppError('invalid_request', detail, {
    faults: [{ parameter: 'cursor', code: 'invalid_cursor', detail }],
  });
}

/** A page of the first `count` rows; one row more than that says that there is a next page. */
export function toPage<Row, T>(
  rows: readonly Row[],
  count: number,
  shape: { cursor: (row: Row) => string; write: (row: Row) => T },
): Page<T> {
  const shown = rows.slice(0, count);
  const last = shown.at(-1);
  const next = rows.length > count && last !== undefined ? shape.cursor(last) : undefined;
  return new Page(shown.map(shape.write), next);
}
