import { z } from 'zod';
import { AppError, type Fault, throwFaults } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import { Page } from './route.ts';
import { readMoment, readMomentEnd } from './schema.ts';

/** Lists are read newest first, page by page, with an opaque cursor. */

const recordsMax = 1000;
const recordsDefault = 100;
/** A numbered page costs as much as all pages before it. */
const numberedRecordsMax = 100;
const pageMax = 1000;

/** An optional whole number from 1 to `max`. */
function countField(max: number, described: { default?: number } = {}) {
  return z
    .string()
    .optional()
    .transform((text) => {
      if (text === undefined) return undefined;
      return /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
    })
    .refine((count) => count === undefined || (count >= 1 && count <= max), {
      error: `must be a whole number from 1 to ${max}`,
    })
    .meta({ jsonSchema: { type: 'integer', minimum: 1, maximum: max, ...described } });
}

const cursorField = z
  .string()
  .max(200)
  .optional()
  .describe('The cursor in the Link header of the previous page');

/** The query parameters of every list. */
export const pageQuery = {
  number_of_records: countField(recordsMax, { default: recordsDefault })
    .transform((count) => count ?? recordsDefault)
    .meta({
      jsonSchema: { type: 'integer', minimum: 1, maximum: recordsMax, default: recordsDefault },
    }),
  cursor: cursorField,
};

/** The query parameters of a history: a page number or a cursor. */
export const historyPageQuery = {
  number_of_records: countField(recordsMax, { default: recordsDefault }).describe(
    `Rows per page; at most ${numberedRecordsMax} with page`,
  ),
  page: countField(pageMax).describe('Page number; 1 is the newest. Excludes cursor'),
  limit: countField(recordsMax).describe('Alias of number_of_records, which it excludes'),
  cursor: cursorField,
};

export type HistoryPage = { count: number; offset: number; cursor: string | undefined };

/** @throws AppError invalid_request if parameters exclude each other. */
export function readHistoryPage(query: {
  number_of_records?: number | undefined;
  page?: number | undefined;
  limit?: number | undefined;
  cursor?: string | undefined;
}): HistoryPage {
  const { number_of_records: records, page, limit, cursor } = query;
  const faults: Fault[] = [];
  if (records !== undefined && limit !== undefined) {
    const detail = 'limit must not be combined with number_of_records';
    faults.push({ parameter: 'limit', code: 'parameters_exclusive', detail });
  }
  if (page !== undefined && cursor !== undefined) {
    const detail = 'page must not be combined with cursor';
    faults.push({ parameter: 'page', code: 'parameters_exclusive', detail });
  }
  const count = records ?? limit ?? recordsDefault;
  if (page !== undefined && count > numberedRecordsMax) {
    const parameter = records === undefined ? 'limit' : 'number_of_records';
    const detail = `${parameter} must be at most ${numberedRecordsMax} with page`;
    faults.push({ parameter, code: 'invalid_value', detail });
  }
  throwFaults(faults);
  return { count, offset: page === undefined ? 0 : (page - 1) * count, cursor };
}

export type TimeRange = { from: Date | undefined; until: Date | undefined };

/**
 * From the first moment (inclusive) to the end of the last day or second (exclusive).
 *
 * @throws AppError invalid_request if the range ends before it begins.
 */
export function readRange(
  given: { from?: string | undefined; to?: string | undefined },
  [fromName, toName]: readonly [string, string],
): TimeRange {
  const fromMs = given.from === undefined ? undefined : readMoment(given.from);
  const untilMs = given.to === undefined ? undefined : readMomentEnd(given.to);
  if (fromMs !== undefined && untilMs !== undefined && fromMs >= untilMs) {
    const detail = `${toName} must not be before ${fromName}`;
    throwFaults([{ parameter: toName, code: 'invalid_value', detail }]);
  }
  return {
    from: fromMs === undefined ? undefined : new Date(fromMs),
    until: untilMs === undefined ? undefined : new Date(untilMs),
  };
}

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
  const detail = 'cursor must be copied unchanged from the Link header of a page';
  throw new AppError('invalid_request', detail, {
    faults: [{ parameter: 'cursor', code: 'invalid_cursor', detail }],
  });
}

/** A page of the first `count` rows; an additional row means that there is a next page. */
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
