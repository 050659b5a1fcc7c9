import type { KeyRing } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { beginWideReading } from '../db/postgres/snapshot.ts';
import { describeObservation } from '../dispatch/observations.ts';
import { describeDecision } from './decisions.ts';
import {
  listDecisionsAfter,
  listMovingObservations,
  type PlaceOfRow,
  selectUnobservedMoves,
} from './move-proof.sql.ts';

/**
 * States, journals and events of a payout may fit each other because one person wrote all of them. What
 * moves money after the commit is reported by a rail or decided by a person: observations and decisions
 * have codes that only the service can compute.
 */

export type WrongMove = {
  account_id: string;
  payout_id: string;
  /**
   * `not_observed`: nothing that the service has recorded says that the payout completed, failed, came back
   * or was written off; `forged`: the observation or decision was written or changed past the service.
   */
  code: 'not_observed' | 'forged';
  /** What moved; of a forged row, what it says. */
  move: string;
  /** Of the forged row; "" for a move. */
  id: string;
};

const pageRows = 1000;
const wrongMax = 100;
const nil = '00000000-0000-0000-0000-000000000000';

/** `isSandbox`: clients decide outcomes, as in staging. */
export function verifyMoves(
  db: Database,
  { keys, isSandbox }: { keys: Pick<KeyRing, 'isMac'>; isSandbox: boolean },
): Promise<WrongMove[]> {
  return db.systemTransaction(async (session) => {
    await beginWideReading(session);
    const unobserved = await selectUnobservedMoves(session, { isSandbox });
    const observations = await findForged(listMovingObservations, session, (row) =>
      keys.isMac(describeObservation(row), row.mac) ? undefined : row.outcome,
    );
    const decisions = await findForged(listDecisionsAfter, session, (row) =>
      keys.isMac(describeDecision(row), row.mac) ? undefined : row.action,
    );
    return [
      ...unobserved.map((row): WrongMove => ({ ...row, code: 'not_observed', id: '' })),
      ...observations,
      ...decisions,
    ].slice(0, wrongMax);
  });
}

/** `judge` answers what a forged row says. */
async function findForged<Row extends PlaceOfRow>(
  list: (session: Session, from: PlaceOfRow, count: number) => Promise<Row[]>,
  session: Session,
  judge: (row: Row) => string | undefined,
): Promise<WrongMove[]> {
  const forged: WrongMove[] = [];
  for (let from: PlaceOfRow = { account_id: nil, payout_id: nil, id: nil }; ; ) {
    const rows = await list(session, from, pageRows);
    for (const row of rows) {
      const move = judge(row);
      if (move === undefined) continue;
      const { account_id, payout_id, id } = row;
      forged.push({ account_id, payout_id, code: 'forged', move, id });
    }
    from = rows.at(-1) ?? from;
    if (rows.length < pageRows || forged.length >= wrongMax) return forged;
  }
}
