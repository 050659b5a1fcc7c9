import { AppError } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';

/**
 * Pages of lists that are ordered by a time and a key. The cursor is both of the last row: it stays
 * valid when that row no longer matches.
 */

export type TimeCursor = {
  /** Microseconds since 1970: a `Date` would lose those of the database. */
  readonly us: bigint;
  readonly key: string;
};

export type TimePage = { readonly after: TimeCursor | undefined; readonly count: number };

/** The column that a cursor is made of. */
export const microseconds = (time: string): string =>
  `(extract(epoch from ${time}) * 1000000)::bigint`;

export const instant = (parameter: string): string =>
  `timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond'`;

/**
 * The time where a page begins, also of the first one, whose parameter is null. It is one expression
 * without columns, so that each page is read along an index.
 */
export const startOf = (parameter: string, order: 'asc' | 'desc'): string =>
  `case when ${parameter}::bigint is null
    then '${order === 'asc' ? '-' : ''}infinity'::timestamptz else ${instant(parameter)} end`;

/** The values of a cursor; null for the first page. */
export const cursorValues = (after: TimeCursor | undefined) =>
  [after?.us ?? null, after?.key ?? null] as const;

export const formatTimeCursor = ({ us, key }: TimeCursor): string => `${us}.${key}`;

/** @throws AppError invalid_request. */
export function readTimeCursor(
  cursor: string | undefined,
  isKey: (key: string) => boolean = isUuid,
): TimeCursor | undefined {
  if (cursor === undefined) return undefined;
  const [, us = '', key = ''] = /^(\d{1,16})\.(.+)$/s.exec(cursor) ?? [];
  if (us !== '' && isKey(key)) return { us: BigInt(us), key };
  const detail = 'cursor must be the one that the previous page returned';
  throw new AppError('invalid_request', detail, {
    faults: [{ parameter: 'cursor', code: 'invalid_cursor', detail }],
  });
}

export type Paged<Row> = {
  readonly rows: readonly Row[];
  /** The cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
};

/** A page of the first `count` rows; an additional row means that there is a next page. */
export function takePage<Row>(
  rows: readonly Row[],
  count: number,
  placeOf: (row: Row) => string,
): Paged<Row> {
  const shown = rows.slice(0, count);
  const last = shown.at(-1);
  const next = rows.length > count && last !== undefined ? placeOf(last) : undefined;
  return { rows: shown, next };
}
