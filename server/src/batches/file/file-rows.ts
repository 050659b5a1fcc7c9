import { AppError } from '../../core/errors.ts';
import { readCsvRows } from './csv-rows.ts';
import { type FileFormat, type FileReading, type FileRow, refuseFile } from './file-row.ts';
import { readArrayRows, readLineRows } from './json-rows.ts';

/**
 * Reads the rows of a file while it arrives, in portions: the file is never whole in memory, and is
 * read no faster than its rows are processed.
 *
 * @throws AppError invalid_request for a file that is not in the stated format, body_too_large for
 * too many bytes or rows.
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
      throw new AppError('body_too_large', `the file must have at most ${rowsMax} rows`);
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
      throw new AppError('body_too_large', `the file must have at most ${bytesMax} bytes`);
    }
    yield chunk;
  }
}
