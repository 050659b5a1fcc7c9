import type { OpinionSettings } from '../rules/rules.ts';
import { askService } from '../screening/service/opinions.ts';
import { createScreeningService } from '../screening/service/service.ts';
import type { Foundation } from './foundation.ts';
import { readProviderUrl } from './provider-url.ts';

/** The screening service that gives a second opinion on payouts, as the operator has set it up. */
export type SecondOpinion = OpinionSettings & {
  /** Asks about the next payouts. Returns whether there may be more. */
  askNext(stopping: AbortSignal): Promise<boolean>;
};

/** Undefined without one. @throws ConfigError */
export function openScreeningService(
  { config, name, db, keys, fetch }: Foundation,
  onError: (error: unknown) => void,
): SecondOpinion | undefined {
  const setting = name === 'live' ? 'OUTLAY_LIVE_SCREENING_SERVICE' : 'OUTLAY_SCREENING_SERVICE';
  const address = readProviderUrl(setting, config[setting]);
  if (address === undefined) return undefined;
  const service = createScreeningService({ ...address, fetch });
  return {
    name: service.name,
    holds: config.OUTLAY_SCREENING_SERVICE_MODE === 'hold',
    askNext: (stopping) => askService({ session: db.system, keys, service, onError }, stopping),
  };
}
