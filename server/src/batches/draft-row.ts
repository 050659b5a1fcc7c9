import { type KeyRing } from '../core/sealing.ts';
import { type Quote } from '../destinations/quote.ts';
import { type DeliveryType } from '../rails/contract/declarations.ts';
import { type FileRow, type RowColumns, type RowFault } from './file/file-row.ts';
import { type BatchSetRow } from './row-context.sql.ts';
import { type SealedMetadata } from './row-metadata.ts';
import { type RowPricing, type RowTerms } from './row-terms.ts';

/** A row of a file on its way to a payout. */

/** A row as read from the file: its valid fields, and the faults of the others. */
export type DraftRow = {
  readonly number: number;
  readonly line: number;
  readonly faults: RowFault[];
  readonly clientTransferId: string | undefined;
  /** A UUID, also for a malformed token; then no user has it. */
  readonly userId: string | undefined;
  readonly internalUserId: string | undefined;
  readonly destinationToken: string | undefined;
  /** Instead of a destination: the cheapest one of the country, by default the recipient's. */
  readonly deliveryType: DeliveryType | undefined;
  readonly countryCode: string | undefined;
  readonly destinationCurrency: string | undefined;
  readonly sourceCurrency: string | undefined;
  readonly amount: { side: 'source' | 'destination'; text: string } | undefined;
  readonly attrSetId: string | undefined;
  readonly notifyUser: boolean;
  /** JSON text and the hashes by which it is found; undefined: none. */
  readonly metadata: string | undefined;
  readonly metadataHashes: readonly Buffer[];
};

/** The columns of a file, and how a row becomes a draft. */
export type RowForm = {
  readonly columns: RowColumns;
  read(row: FileRow, number: number): DraftRow;
};

export type CheckedRow = {
  readonly draft: DraftRow;
  readonly status: 'VALID' | 'INVALID' | 'REPEATED';
  /** Of a repeated row, the earlier payout; an invalid row has none. */
  readonly payoutId: string | undefined;
  readonly userId: string | undefined;
  /** A valid row has terms and a quote; a set only where the destination needs one. */
  readonly terms: RowTerms | undefined;
  readonly quote: Quote | undefined;
  readonly set: BatchSetRow | undefined;
  /** Of a valid row, as its payout stores it. */
  readonly metadata?: SealedMetadata | undefined;
  /** Of the user, who is known also in some invalid rows. */
  readonly dataKey?: Buffer | undefined;
};

export type RowChecker = RowPricing & {
  readonly keys: KeyRing;
  readonly accountId: string;
  /** YYYY-MM-DD. */
  readonly today: string;
  /** The first row of each client_transfer_id of the file so far. */
  firstRows: Map<string, number>;
};
