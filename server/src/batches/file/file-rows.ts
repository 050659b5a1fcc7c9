import { AppError } from '../../core/errors.ts';
import { readCsvRows } from './csv-rows.ts';
import { type FileFormat, type FileReading, type FileRow, refuseFile } from './file-row.ts';
import { readArrayRows, readLineRows } from './json-rows.ts';

/**
 * The rows of a file as it comes over the wire, in portions: never whole in memory, and read no
 * faster than its rows are taken.
 *
 * @throws AppError invalid_request for a file that cannot be read to its end as what it says it is,
 * body_too_large for too many bytes or rows.
 */
export async function* readFileRows(
  bytes: AsyncIterable<Buffer>,
  format: FileFormat,
  reading: FileReading,
): AsyncGenerator<FileRow[]> {
  const { bytesMax, rowsMax } = reading.limits;
  let count = 0;
  for await (const rows of readers[format](limitBytes(bytes, bytesMax), reading)) {
    count += rows.length;
    if (count > rowsMax) {
      throw new AppError('body_too_large', `the file has more than ${rowsMax} rows`);
    }
    if (rows.length > 0) yield rows;
  }
  if (count === 0) throw refuseFile('empty_file', 'the file has no rows');
}

const readers = { csv: readCsvRows, ndjson: readLineRows, json: readArrayRows };

async function* limitBytes(bytes: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > bytesMax) {
      throw new AppError('body_too_large', `the file has more than ${bytesMax} bytes`);
    }
    yield chunk;
  }
}
