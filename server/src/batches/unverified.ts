import { readIdentityCode } from '../attributes/missing.ts';
import type { Corridor } from '../attributes/requirements.ts';
import type { RowFault } from './file/file-row.ts';

/** What is kept with a fault: a row says what it lacks without the whole form of the payer. */
export function writeCorridor({ requirements: _asked, ...corridor }: Corridor): Corridor {
  return corridor;
}

/** The fault of a row whose recipient is not approved. */
export function describeUnverified(
  sessionStatus: string | null,
  corridor: Corridor,
): Omit<RowFault, 'column'> {
  return {
    code: 'addtl_attr_req',
    detail: "the user's identity must be verified before this payout",
    lacks: {
      ...writeCorridor(corridor),
      attributes: [],
      identity: readIdentityCode(sessionStatus ?? undefined),
    },
  };
}
