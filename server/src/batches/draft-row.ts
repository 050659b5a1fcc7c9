import type { FileRow, RowFault } from './file/file-row.ts';

/** A row on its way from the file to the table: what could be read of it, and what is wrong. */

export type RowAmount = { side: 'source' | 'destination'; text: string };

export type DraftRow = {
  readonly number: number;
  readonly line: number;
  readonly faults: RowFault[];
  clientTransferId: string | undefined;
  /** A UUID; one that nobody has where the token is no token. */
  userId: string | undefined;
  internalUserId: string | undefined;
  destinationToken: string | undefined;
  destinationCurrency: string | undefined;
  sourceCurrency: string | undefined;
  amount: RowAmount | undefined;
  attrSetId: string | undefined;
  notifyUser: boolean;
  /** JSON text and the hashes by which it is found; undefined: none. */
  metadata: string | undefined;
  metadataHashes: readonly Buffer[];
};

/** Reads the form of a row: fills in what is in order, and tells everything that is not. */
export type ReadForm = (row: FileRow, number: number) => DraftRow;
