import { collectAttributes } from '../../attributes/collected-attributes.ts';
import { makeDeclaredCorridor } from '../../attributes/requirements.ts';
import type { Config } from '../../config.ts';
import type { EnvironmentName } from '../../core/access.ts';
import type { KeyRing } from '../../core/sealing.ts';
import { connectDatabase, type Database } from '../../db/postgres/pool.ts';
import type { Pooling } from '../../db/postgres/session-settings.ts';
import { listDeclarationFaults } from '../../destinations/declaration-checks.ts';
import type { RailHost, RailStore, StoredRecord } from '../../rails/contract/contract.ts';
import { checkRails } from '../../rails/host/check.ts';
import { createHost } from '../../rails/host/host.ts';
import { secretContext } from '../../rails/host/open.ts';
import { type RailConfig, readRailFile } from '../../rails/host/rail-config.ts';
import { openRails, type RailServices } from '../../rails/host/registry.ts';
import { type Finding, passed, problem } from './finding.ts';

/** The rails file, its secrets and counterparties. What rails write is kept in memory. */

export type RailCheckOptions = {
  /** Undefined where the database cannot be used: then rails have no stored records. */
  url: string | undefined;
  pooling: Pooling;
  keys: KeyRing | undefined;
  fetch: typeof fetch;
  realNowMs: () => number;
};

export async function checkRailSetup(
  { config, name }: { config: Config; name: EnvironmentName },
  options: RailCheckOptions,
): Promise<Finding[]> {
  const setting = name === 'live' ? 'OUTLAY_LIVE_RAILS' : 'OUTLAY_RAILS';
  const path = config[setting];
  if (path === undefined) {
    if (name === 'staging') return [];
    return [
      problem(
        'live: no rails are configured, so no country is served: set OUTLAY_LIVE_RAILS to a file',
      ),
    ];
  }
  const { keys } = options;
  const file = readRailFile(path, {
    readVariable: config.readVariable,
    openSealed: (sealed) => {
      if (keys === undefined) throw new Error('it is sealed, and the master key is missing');
      return keys.open(sealed, secretContext);
    },
  });
  const label = (text: string): string => `${name}: ${setting} (${path}): ${text}`;
  const findings = file.faults.map(({ text }) => problem(label(text)));
  const db =
    options.url === undefined || keys === undefined
      ? undefined
      : connectDatabase({ url: options.url, connectionsMax: 2, pooling: options.pooling });
  try {
    findings.push(...(await checkCounterparties(file.configs, { ...options, db, label })));
  } finally {
    await db?.close();
  }
  if (name === 'live' && file.faults.length === 0 && file.configs.length === 0) {
    findings.push(problem(label('it has no rails, so no country is served')));
  }
  return findings;
}

type CounterpartyOptions = RailCheckOptions & {
  db: Database | undefined;
  label: (text: string) => string;
};

async function checkCounterparties(
  configs: readonly RailConfig[],
  options: CounterpartyOptions,
): Promise<Finding[]> {
  const opened = await openRails(configs, {
    createHost: createObserver(options),
    listFaults: listDeclarationFaults,
    collectAttributes: (payer, currency) =>
      collectAttributes(makeDeclaredCorridor(payer, currency)),
  });
  try {
    const findings = opened.faults.map(({ text }) => problem(options.label(text)));
    for (const { rail, kind, faults } of await checkRails(opened.rails)) {
      const place = `rail ${rail} (${kind})`;
      findings.push(
        ...(faults.length === 0
          ? [passed(options.label(`${place} works`))]
          : faults.map((fault) => problem(options.label(`${place}: ${fault}`)))),
      );
    }
    return findings;
  } finally {
    await Promise.allSettled(opened.rails.map(async (rail) => rail.close?.()));
  }
}

/** A host that reads the rail's stored records, and keeps what the rail writes in memory. */
function createObserver({
  db,
  keys,
  fetch,
  realNowMs,
}: CounterpartyOptions): RailServices['createHost'] {
  return (name, payers): RailHost => {
    const parts = {
      name,
      payers,
      fetch,
      realNowMs,
      nowMs: realNowMs,
      callbackUrl: `http://localhost/rails/${name}`,
      wake: () => undefined,
      log: () => undefined,
      receive: async () => 'known' as const,
    };
    if (db === undefined || keys === undefined) {
      return { ...parts, store: overlay(undefined), countUnresolvedInbound: async () => 0 };
    }
    const real = createHost({ ...parts, db, keys, onInboundMessage: () => undefined });
    return { ...real, ...parts, store: overlay(real.store) };
  };
}

function overlay(store: RailStore | undefined): RailStore {
  const written = new Map<string, StoredRecord | undefined>();
  const nameOf = (collection: string, key: string): string => JSON.stringify([collection, key]);
  return {
    get: async (collection, key) => {
      const name = nameOf(collection, key);
      return written.has(name) ? written.get(name) : store?.get(collection, key);
    },
    isErased: async (collection, key) => (await store?.isErased(collection, key)) ?? false,
    list: async (collection, query) => (await store?.list(collection, query)) ?? [],
    write: async (changes) => {
      for (const { collection, key, revision, next } of changes) {
        const record = next && { key, revision: revision + 1, ...next };
        written.set(nameOf(collection, key), record);
      }
      return true;
    },
  };
}
