import { exec } from '../rows.ts';
import type { Session } from './connection.ts';

/**
 * At the beginning of a transaction: all its queries read the same state, whole tables where the plan
 * wants it, and take as long as they need.
 */
export async function beginWideReading(session: Session): Promise<void> {
  for (const text of [
    'set transaction isolation level repeatable read, read only',
    'set local statement_timeout = 0',
    'set local enable_seqscan = on',
  ]) {
    await exec(session, { name: '', text });
  }
}
