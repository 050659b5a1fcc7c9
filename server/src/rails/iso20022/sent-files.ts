import type { RailHost } from '../contract/contract.ts';
import type { Config } from './config.ts';
import type { Exchange } from './exchange.ts';
import { type Files, nameSentCopy, readFileCounter } from './files.ts';

/**
 * Payment files of this rail outside of the database: in the outbox until the bank takes them, and as
 * copies in the archive forever. A database that was restored to an earlier moment lacks the last of
 * them and would send their payments again in files of other ids. Nothing leaves while one is missing.
 */

export type SentFile = { readonly messageId: string; readonly folder: 'outbox' | 'archive' };

export async function listSentFiles(
  exchange: Exchange,
  { messagePrefix }: Pick<Config, 'messagePrefix'>,
): Promise<SentFile[]> {
  const pattern = new RegExp(`^(?:sent-)?(${messagePrefix}-[0-9a-f-]{10,30})\\.xml$`);
  const found = new Map<string, SentFile>();
  for (const folder of ['archive', 'outbox'] as const) {
    for (const { name } of await exchange[folder].list()) {
      const messageId = pattern.exec(name)?.[1];
      if (messageId === undefined || found.has(messageId)) continue;
      if ((folder === 'archive') !== name.startsWith('sent-')) continue;
      found.set(messageId, { messageId, folder });
    }
  }
  return [...found.values()];
}

export function nameOf({ messageId, folder }: SentFile): string {
  return folder === 'archive' ? nameSentCopy(messageId) : `${messageId}.xml`;
}

export type SentFileGuard = {
  /** The files of this rail that its database lacks. */
  listUnknown(exchange: Exchange): Promise<readonly SentFile[]>;
};

export function openSentFileGuard(parts: {
  host: Pick<RailHost, 'store'>;
  config: Pick<Config, 'messagePrefix'>;
  files: Pick<Files, 'find'>;
}): SentFileGuard {
  const { host, config, files } = parts;
  /** Message ids that the database had when it had closed this many files. */
  const known = new Set<string>();
  let closedCount = 0;
  return {
    listUnknown: async (exchange) => {
      const { next } = await readFileCounter(host.store);
      // The database was restored: it may have lost some of them.
      if (next < closedCount) known.clear();
      closedCount = next;
      const unknown: SentFile[] = [];
      for (const file of await listSentFiles(exchange, config)) {
        if (known.has(file.messageId)) continue;
        if ((await files.find(file.messageId)) === undefined) unknown.push(file);
        else known.add(file.messageId);
      }
      return unknown;
    },
  };
}
