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
import { openSoundRails, type RailServices } from './registry.ts';

/** Opens the rails that an operator configured for an environment, each with its host. */

export type OpenRailsOptions = {
  /** The operator's file; undefined: no rail is configured. */
  path: string | undefined;
  readVariable: SecretSources['readVariable'];
  listAttributes?: RailHost['listAttributes'];
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
};

export type OpenedRails = {
  /** Those without a fault. */
  readonly rails: readonly Rail[];
  readonly faults: readonly RailFault[];
  readonly callbackTargets: ReadonlyMap<string, CallbackTarget>;
  /** Sets what is called when a rail asks for a pass, or stored an inbound message. */
  listen(listeners: { wake: (rail: string) => void; onInboundMessage: () => void }): void;
  close(): Promise<void>;
};

/** The sealing context of secret files. */
export const secretContext = 'secret file';

/** Returns the faults of the operator's file and its rails instead of throwing them. */
export async function openConfiguredRails(options: OpenRailsOptions): Promise<OpenedRails> {
  const { path, db, keys, nowMs, log } = options;
  let listeners = {
    wake: (_rail: string): void => undefined,
    onInboundMessage: (): void => undefined,
  };
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
      db,
      keys,
      nowMs,
      realNowMs: options.realNowMs,
      fetch: options.fetch,
      callbackUrl: `${options.publicUrl}/rails/${name}`,
      wake: () => listeners.wake(name),
      onInboundMessage: () => listeners.onInboundMessage(),
      log,
    });
    hosts.set(name, host);
    return host;
  };
  const opened = await openSoundRails(file.configs, {
    createHost: openHost,
    listFaults: options.listFaults,
    collectAttributes: options.collectAttributes,
  });
  const { rails } = opened;
  const callbackTargets = rails.flatMap((rail): [string, CallbackTarget][] => {
    const host = hosts.get(rail.name);
    return host === undefined ? [] : [[rail.name, { rail, host }]];
  });
  return {
    rails,
    faults: [...file.faults, ...opened.faults],
    callbackTargets: new Map(callbackTargets),
    listen: (given) => {
      listeners = given;
    },
    close: async () => {
      await Promise.allSettled(rails.map(async (rail) => rail.close?.()));
    },
  };
}
