import type { Session } from '../../db/postgres/pool.ts';
import type { Instruction, Rail } from '../contract/contract.ts';
import { takeDayAmount } from './rail-memory.sql.ts';

/**
 * Counts the amount towards the rail's daily limit (UTC days); false, and not counted, where it would
 * exceed the limit. A reference counts once a day, however often it is sent.
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
