import type { KeyRing } from '../../core/sealing.ts';
import type { Database } from '../../db/postgres/pool.ts';
import type { LogFields, Rail, RailHost } from '../contract/contract.ts';
import type { RailDoor } from './callbacks.routes.ts';
import { createHost } from './host.ts';
import {
  type RailConfig,
  type RailFault,
  readRailFile,
  type SecretSources,
} from './rail-config.ts';
import { openSoundRails, type RailServices } from './registry.ts';

/** The rails that an operator configured for an environment, with all they have of the service. */

export type OpenRailsOptions = {
  /** The operator's file; undefined: there are none. */
  path: string | undefined;
  readVariable: SecretSources['readVariable'];
  listAttributes?: RailHost['listAttributes'];
  db: Database;
  keys: KeyRing;
  nowMs: () => number;
  realNowMs: () => number;
  fetch: typeof fetch;
  /** Where counterparts reach this environment, without a final slash. */
  publicUrl: string;
  /** What else is wrong with what a rail declares. */
  listFaults: (config: RailConfig) => readonly string[];
  collectAttributes: RailServices['collectAttributes'];
  log: (level: 'info' | 'warn' | 'error', message: string, fields: LogFields) => void;
};

export type OpenedRails = {
  /** Those without a fault. */
  readonly rails: readonly Rail[];
  readonly faults: readonly RailFault[];
  readonly doors: ReadonlyMap<string, RailDoor>;
  /** Who is told that a rail wants a pass, and that something was heard. */
  listen(listeners: { wake: (rail: string) => void; onHeard: () => void }): void;
  close(): Promise<void>;
};

/** What seals the files of secrets. */
export const secretContext = 'secret file';

/** A fault of the operator's file, or of a rail in it, is an answer. */
export async function openConfiguredRails(options: OpenRailsOptions): Promise<OpenedRails> {
  const { path, db, keys, nowMs, log } = options;
  let listeners = { wake: (_rail: string): void => undefined, onHeard: (): void => undefined };
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
      onHeard: () => listeners.onHeard(),
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
  const doors = rails.flatMap((rail): [string, RailDoor][] => {
    const host = hosts.get(rail.name);
    return host === undefined ? [] : [[rail.name, { rail, host }]];
  });
  return {
    rails,
    faults: [...file.faults, ...opened.faults],
    doors: new Map(doors),
    listen: (given) => {
      listeners = given;
    },
    close: async () => {
      await Promise.allSettled(rails.map(async (rail) => rail.close?.()));
    },
  };
}
