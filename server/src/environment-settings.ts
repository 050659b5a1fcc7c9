import { type BatchServices, batchBytesMax } from './batches/batches.routes.ts';
import { type Config, ConfigError } from './config.ts';
import type { DecisionServices } from './payouts/decisions.ts';
import { readVelocityLimits, type VelocityLimit } from './rules/velocity.ts';
import type { ListSource } from './screening/screening.ts';

/** What an environment's parts are told, from the settings. */

/** @throws ConfigError. */
export function readLimitsFile(config: Config): readonly VelocityLimit[] {
  const path = config.OUTLAY_VELOCITY_LIMITS;
  if (path === undefined) return [];
  try {
    return readVelocityLimits(path);
  } catch (error) {
    throw new ConfigError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

export function listSources(config: Config): ListSource[] {
  const { OUTLAY_SCREENING_OFAC_SDN: sdn, OUTLAY_SCREENING_OFAC_ALT: alt } = config;
  const { OUTLAY_SCREENING_UN: location } = config;
  return [
    ...(sdn === undefined || alt === undefined ? [] : [{ list: 'ofac_sdn', sdn, alt } as const]),
    ...(location === undefined ? [] : [{ list: 'un_consolidated', location } as const]),
  ];
}

export function readScreening(config: Config) {
  const lists = listSources(config).map(({ list }) => list);
  if (lists.length === 0) return undefined;
  return {
    lists,
    thresholdPermille: config.OUTLAY_SCREENING_THRESHOLD,
    ageMsMax: config.OUTLAY_SCREENING_DAYS_MAX * 86_400_000,
  };
}

export function readLimits(
  config: Config,
): Pick<BatchServices, 'lockSeconds' | 'batchLimits'> &
  Pick<DecisionServices, 'twoPersonsAboveUsd'> {
  const rowsMax = config.OUTLAY_BATCH_ROWS_MAX;
  return {
    twoPersonsAboveUsd: config.OUTLAY_TWO_PERSONS_ABOVE_USD,
    lockSeconds: {
      national: config.OUTLAY_QUOTE_SECONDS,
      crypto: config.OUTLAY_CRYPTO_QUOTE_SECONDS,
    },
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
