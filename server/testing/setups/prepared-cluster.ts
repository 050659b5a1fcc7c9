import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareCluster } from '../../src/db/embedded/cluster.ts';

/**
 * A cluster as the first start of the embedded server makes it, before it sets the password. A test that is
 * not about initdb begins with a copy, which takes a tenth of the processor time.
 */

/** Set by `global-setup.ts`: the data folder of the cluster that all processes of a run copy. */
export const CLUSTER_VARIABLE = 'OUTLAY_TEST_CLUSTER';

/** Returns a new data folder with the cluster, on which no server has run. */
export async function makeCluster(): Promise<string> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'outlay-cluster-'));
  await prepareCluster(dataDirectory, () => undefined);
  return dataDirectory;
}

let ownCluster: Promise<string> | undefined;

/** For a test file run without `global-setup.ts`. */
async function makeOwnCluster(): Promise<string> {
  const dataDirectory = await makeCluster();
  process.once('exit', () => rmSync(dataDirectory, { recursive: true, force: true }));
  return dataDirectory;
}

/** Puts a copy of the cluster into the data folder, which is made where it does not exist. */
export async function copyCluster(dataDirectory: string): Promise<void> {
  const prepared = process.env[CLUSTER_VARIABLE] ?? (await (ownCluster ??= makeOwnCluster()));
  mkdirSync(dataDirectory, { recursive: true });
  // Owners, modes and times stay.
  execFileSync('cp', ['-a', join(prepared, 'postgres'), dataDirectory]);
}
