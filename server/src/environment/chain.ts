import { join } from 'node:path';
import type { CheckpointServices } from '../ledger/checkpoints.ts';
import type { Foundation } from './foundation.ts';

/** What signs the chains of an environment, and where its checkpoints are kept outside the database. */
export function openChain({
  config,
  name,
  db,
  keys,
  realNowMs,
}: Pick<Foundation, 'config' | 'name' | 'db' | 'keys' | 'realNowMs'>): CheckpointServices {
  const folder = config.OUTLAY_CHECKPOINTS ?? join(config.OUTLAY_DATA, 'checkpoints');
  const file = join(folder, `${name}.jsonl`);
  return { db, keys, environment: name, file, realNowMs };
}
