import type { Config } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import { findRunningServer, makeDataFolder, startEmbedded } from '../db/embedded/embedded.ts';
import { createDatabaseIfAbsent } from '../db/postgres/create-database.ts';

/** Where the databases of environments are; those without a URL share the embedded server. */

export type Databases = AsyncDisposable & {
  readonly urls: readonly (readonly [EnvironmentName, string])[];
  /** Resolves, with the reason, if the embedded server ends and cannot be started again. */
  readonly failed: Promise<Error>;
};

export function listEnvironments(config: Config): EnvironmentName[] {
  return config.OUTLAY_ENVIRONMENTS.split(',') as EnvironmentName[];
}

/** With `isGuest`, it uses the embedded server of a running service instead of starting its own. */
export async function openDatabases(
  config: Config,
  options: {
    names: readonly EnvironmentName[];
    isGuest?: boolean;
    report?: ((line: string) => void) | undefined;
  },
): Promise<Databases> {
  const { names, isGuest = false, report } = options;
  const dataDirectory = config.OUTLAY_DATA;
  makeDataFolder(dataDirectory, { isGuest });
  const given = { staging: config.DATABASE_URL, live: config.OUTLAY_LIVE_DATABASE_URL };
  const isEmbedded = names.some((name) => given[name] === undefined);
  const running = isEmbedded && isGuest ? findRunningServer(dataDirectory) : undefined;
  await using parts = new AsyncDisposableStack();
  const embedded = isEmbedded
    ? (running ?? (await startEmbedded({ dataDirectory, ...(report !== undefined && { report }) })))
    : undefined;
  parts.defer(async () => embedded?.close());
  const urls: [EnvironmentName, string][] = [];
  for (const name of names) {
    const url = given[name];
    if (url !== undefined || embedded === undefined) urls.push([name, url ?? '']);
    else urls.push([name, await createDatabaseIfAbsent(embedded, `outlay_${name}`)]);
  }
  const opened = parts.move();
  return {
    urls,
    failed: embedded?.failed ?? new Promise(() => undefined),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
