import type { KeyRing } from '../../core/sealing.ts';
import type { Database } from '../../db/postgres/pool.ts';
import type { LogFields, Rail, RailHost } from '../contract/contract.ts';
import type { CallbackTarget } from './callbacks.routes.ts';
import { createHost } from './host.ts';
import {
  type RailConfig,
  type RailFault,
  readRailFile,
  type SecretSources,
} from './rail-config.ts';
import { countRefusedCallback } from './rail-memory.sql.ts';
import { openRails, type RailServices } from './registry.ts';
import type { Requirements } from './requirements.ts';

/** Opens the rails that an operator configured for an environment, each with its host. */

export type OpenRailsOptions = {
  /** The operator's file; undefined: no rail is configured. */
  path: string | undefined;
  readVariable: SecretSources['readVariable'];
  listAttributes?: RailHost['listAttributes'];
  requirements?: Requirements;
  db: Database;
  keys: KeyRing;
  nowMs: () => number;
  realNowMs: () => number;
  fetch: typeof fetch;
  /** Where counterparties reach this environment, without a final slash. */
  publicUrl: string;
  /** Further faults of a rail's declarations. */
  listFaults: (config: RailConfig) => readonly string[];
  collectAttributes: RailServices['collectAttributes'];
  log: (level: 'info' | 'warn' | 'error', message: string, fields: LogFields) => void;
  /** Called when a rail wants a pass over its work, and when it stored an inbound message. */
  wake: (rail: string) => void;
  onInboundMessage: () => void;
};

export type OpenedRails = {
  /** Those without a fault. */
  readonly rails: readonly Rail[];
  readonly faults: readonly RailFault[];
  readonly callbackTargets: ReadonlyMap<string, CallbackTarget>;
  close(): Promise<void>;
};

/** The sealing context of secret files. */
export const secretContext = 'secret file';

/** Returns the faults of the operator's file and its rails instead of throwing them. */
export async function openConfiguredRails(options: OpenRailsOptions): Promise<OpenedRails> {
  const { path, db, keys, nowMs, log } = options;
  const hosts = new Map<string, RailHost>();
  const file =
    path === undefined
      ? { configs: [], faults: [] }
      : readRailFile(path, {
          readVariable: options.readVariable,
          openSealed: (sealed) => keys.open(sealed, secretContext),
        });
  const openHost: RailServices['createHost'] = (name, payers) => {
    const host = createHost({
      name,
      payers,
      listAttributes: options.listAttributes,
      requirements: options.requirements?.memoryOf(name),
      db,
      keys,
      nowMs,
      realNowMs: options.realNowMs,
      fetch: options.fetch,
      callbackUrl: `${options.publicUrl}/rails/${name}`,
      wake: () => options.wake(name),
      onInboundMessage: options.onInboundMessage,
      log,
    });
    hosts.set(name, host);
    return host;
  };
  const opened = await openRails(file.configs, {
    createHost: openHost,
    listFaults: options.listFaults,
    collectAttributes: options.collectAttributes,
  });
  const { rails } = opened;
  const callbackTargets = rails.flatMap((rail): [string, CallbackTarget][] => {
    const host = hosts.get(rail.name);
    if (host === undefined) return [];
    const countRefused = () => countRefusedCallback(db.system, rail.name);
    return [[rail.name, { rail, host, countRefused }]];
  });
  return {
    rails,
    faults: [...file.faults, ...opened.faults],
    callbackTargets: new Map(callbackTargets),
    close: async () => {
      await Promise.allSettled(rails.map(async (rail) => rail.close?.()));
    },
  };
}
