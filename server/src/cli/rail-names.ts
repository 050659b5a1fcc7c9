import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { describeSending, hasRailContact } from '../controls/freezes.ts';
import { AppError } from '../core/errors.ts';
import type { OperatorContext } from './context.ts';

/** Which names of rails mean something: a stop of any other name would stop nothing. */

const fileSchema = z.object({ rails: z.array(z.object({ name: z.string() })) });

/** Of the rails file; undefined where there is a file that cannot be read. */
function readNames({ config, name }: OperatorContext): string[] | undefined {
  const path = name === 'live' ? config.OUTLAY_LIVE_RAILS : config.OUTLAY_RAILS;
  const names = name === 'staging' ? ['sandbox'] : [];
  if (path === undefined) return names;
  try {
    const { rails } = fileSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
    return [...names, ...rails.map((rail) => rail.name)];
  } catch {
    return undefined;
  }
}

/**
 * A rail counts as known if the file names it, it has payouts under way or a contact in the database. With
 * a file that cannot be read every name does, so that a fault of the file prevents no stop.
 *
 * @throws AppError not_found.
 */
export async function requireRail(context: OperatorContext, rail: string): Promise<void> {
  const names = readNames(context);
  if (names === undefined || names.includes(rail)) return;
  const session = context.db.system;
  if (await hasRailContact(session, rail)) return;
  const sending = (await describeSending(session)).map((row) => row.rail);
  if (sending.includes(rail)) return;
  const known = [...new Set([...names, ...sending])].toSorted().join(', ');
  throw new AppError('not_found', `no rail ${rail} in ${context.name}: it has ${known || 'none'}`);
}
