import type { Session } from '../../db/postgres/pool.ts';
import type { Instruction, Rail } from '../contract/contract.ts';
import { takeDayAmount } from './rail-memory.sql.ts';

/**
 * Whether the amount still fits into what the rail may pay out today (UTC); it is counted then. The
 * same reference counts once a day, however often it is sent.
 */
export async function takeFromDailyLimit(
  session: Session,
  rail: Rail,
  { reference, currency, amountMinor }: Instruction,
): Promise<boolean> {
  const limitMinor = rail.dailyLimits[currency];
  if (limitMinor === undefined) return true;
  return takeDayAmount(session, {
    rail: rail.name,
    currency,
    reference,
    amountMinor,
    limitMinor,
  });
}
