import { batchBytesMax } from '../batches/file/file-row.ts';
import { type Config, ConfigError } from '../config.ts';
import { writeJson } from '../core/json-text.ts';
import { readVelocityLimits, type VelocityLimit } from '../rules/velocity.ts';
import type { ListSource } from '../screening/screening.ts';

/** What the parts of an environment read from the settings. */

export type LimitsFile = {
  current(): readonly VelocityLimit[];
  /** Reads the file again. Faults are logged once, and the previous limits stay in force. */
  refresh(): void;
};

type LimitsLog = {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
};

/** @throws ConfigError where the file has faults, unless faults are tolerated. */
export function openLimitsFile(
  { config, toleratesFaults }: { config: Config; toleratesFaults: boolean },
  log: LimitsLog,
): LimitsFile {
  const path = config.OUTLAY_VELOCITY_LIMITS;
  if (path === undefined) return { current: () => [], refresh: () => undefined };
  const read = (): { text: string; limits: readonly VelocityLimit[] } => {
    const limits = readVelocityLimits(path);
    return { text: writeJson(limits), limits };
  };
  // What uses unreadable limits fails then.
  if (toleratesFaults) return { current: () => read().limits, refresh: () => undefined };
  let inForce = readOrRefuse('OUTLAY_VELOCITY_LIMITS', read);
  let lastFault = '';
  return {
    current: () => inForce.limits,
    refresh: () => {
      try {
        const next = read();
        lastFault = '';
        if (next.text === inForce.text) return;
        inForce = next;
        log.info({ limits: next.limits.length }, 'velocity limits changed');
      } catch (error) {
        const fault = error instanceof Error ? error.message : String(error);
        // Once, not every few seconds.
        if (fault !== lastFault)
          log.error({ fault }, 'velocity limits not read: the previous ones stay in force');
        lastFault = fault;
      }
    },
  };
}

/** @throws ConfigError */
export function readOrRefuse<T>(setting: keyof Config, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`${setting}: ${reason}`, { cause: error });
  }
}

export function listSources(config: Config): ListSource[] {
  const { OUTLAY_SCREENING_OFAC_SDN: sdn, OUTLAY_SCREENING_OFAC_ALT: alt } = config;
  const { OUTLAY_SCREENING_OFAC_COMMENTS: comments, OUTLAY_SCREENING_UN: location } = config;
  const { OUTLAY_SCREENING_EU: eu, OUTLAY_SCREENING_UK: uk } = config;
  return [
    ...(sdn === undefined || alt === undefined
      ? []
      : [{ list: 'ofac_sdn', sdn, alt, comments } as const]),
    ...(location === undefined ? [] : [{ list: 'un_consolidated', location } as const]),
    ...(eu === undefined ? [] : [{ list: 'eu_consolidated', location: eu } as const]),
    ...(uk === undefined ? [] : [{ list: 'uk_sanctions', location: uk } as const]),
  ];
}

export function readScreening(config: Config) {
  const lists = listSources(config).map(({ list }) => list);
  const blockedCountries = config.OUTLAY_SCREENING_COUNTRIES;
  if (lists.length === 0 && blockedCountries.length === 0) return undefined;
  return {
    lists,
    blockedCountries,
    thresholdPermille: config.OUTLAY_SCREENING_THRESHOLD,
    ageMsMax: config.OUTLAY_SCREENING_DAYS_MAX * 86_400_000,
  };
}

export function readLimits(config: Config) {
  const rowsMax = config.OUTLAY_BATCH_ROWS_MAX;
  return {
    clockDaysMax: config.OUTLAY_SANDBOX_CLOCK_DAYS,
    lockSeconds: {
      national: config.OUTLAY_QUOTE_SECONDS,
      crypto: config.OUTLAY_CRYPTO_QUOTE_SECONDS,
    },
    scheduleDays: config.OUTLAY_SCHEDULE_DAYS,
    batchLimits: { bytesMax: batchBytesMax, rowsMax, rowBytesMax: 64 * 1024 },
  };
}

export function readRateSources(config: Config) {
  const { OUTLAY_RATES_ECB: ecb, OUTLAY_RATES_CRYPTO: crypto, OUTLAY_RATES_TABLE: table } = config;
  return {
    ...(ecb === undefined ? {} : { ecb }),
    ...(crypto === undefined ? {} : { crypto }),
    ...(table === undefined ? {} : { table }),
  };
}

export function hasRateSources(config: Config): boolean {
  return Object.keys(readRateSources(config)).length > 0;
}
