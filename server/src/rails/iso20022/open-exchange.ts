import type { RailHost } from '../contract/contract.ts';
import type { Config } from './config.ts';
import { openDirectory } from './directory.ts';
import type { Exchange } from './exchange.ts';
import { readFileCounter } from './files.ts';

/** Opens the exchange that is configured; the caller closes it by `await using`. */

const collection = 'counters';
const key = 'folders';

export function createExchangeOpener(
  { exchange: config }: Pick<Config, 'exchange'>,
  { store }: Pick<RailHost, 'store'>,
): (signal: AbortSignal) => Promise<Exchange> {
  if (config.mode === 'sftp') {
    return async (signal) => {
      const { openSftp } = await import('./sftp.ts');
      return openSftp(config, signal);
    };
  }
  let isUsed = false;
  return async () => {
    // After the first use a missing folder is a fault: its share may not be mounted.
    if (!isUsed) isUsed = (await store.get(collection, key)) !== undefined;
    const mayCreateFolders = !isUsed && (await readFileCounter(store)).next === 1;
    const exchange = await openDirectory(config, { mayCreateFolders });
    if (!isUsed) {
      await store.write([{ collection, key, revision: 0, next: { state: 'used', value: {} } }]);
    }
    return exchange;
  };
}
