import { join } from 'node:path';
import type { CheckpointServices } from '../ledger/checkpoints.ts';
import { placeCheckpoints } from './folders.ts';
import type { Foundation } from './foundation.ts';

/** What signs the chains of an environment, and where its checkpoints are kept outside the database. */
export function openChain({
  config,
  name,
  db,
  keys,
  realNowMs,
}: Pick<Foundation, 'config' | 'name' | 'db' | 'keys' | 'realNowMs'>): CheckpointServices {
  const file = join(placeCheckpoints(config), `${name}.jsonl`);
  return { db, keys, environment: name, file, realNowMs };
}
