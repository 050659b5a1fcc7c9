import { indexedAttributes } from '../attributes/fingerprint-renewal.ts';
import { indexedRows } from '../batches/metadata-renewal.ts';
import type { IndexedTable } from '../db/indexed-tables.ts';
import { indexedUse } from '../http/rate-exchange-renewal.ts';
import { indexedMetadata } from '../payouts/metadata-renewal.ts';
import {
  indexedClearances,
  indexedPayoutScreenings,
  indexedScreenings,
} from '../rules/subject-renewal.ts';
import { indexedOpinions } from '../screening/service/opinions.ts';
import { indexedUsers } from '../users/index-renewal.ts';

/** All tables with keyed hashes of the index key. A test compares the list with the schema and the code. */
export const indexedTables: readonly IndexedTable[] = [
  indexedUsers,
  indexedAttributes,
  indexedMetadata,
  indexedRows,
  indexedScreenings,
  indexedClearances,
  indexedPayoutScreenings,
  indexedOpinions,
  indexedUse,
];
