import type { IndexedTable } from '../db/indexed-tables.ts';
import { forgetReports } from './rate-exchange.sql.ts';

/** Of processes that have ended, as all have while the index key is replaced: they counted for seconds. */
export const indexedUse: IndexedTable = {
  table: 'rate_limit_use',
  columns: ['rate_limit_use.keys'],
  renew: async ({ session }) => ({ renewed: 0, ended: await forgetReports(session) }),
};
