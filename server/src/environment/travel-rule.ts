import { ConfigError } from '../config.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { createTravelRuleProvider } from '../travel-rule/provider.ts';
import { readTravelRules } from '../travel-rule/rules.ts';
import { createTravelRules, type TravelRules } from '../travel-rule/travel-rule.ts';
import type { Foundation } from './foundation.ts';
import { readProviderUrl } from './provider-url.ts';
import { readOrRefuse } from './settings.ts';

/** The travel rule as the operator has set it up. @throws ConfigError */
export function openTravelRules(
  { config, name, db, clock, fetch }: Foundation,
  options: { rates: { rates(): MidRates }; onError: (error: unknown) => void },
): TravelRules {
  const setting =
    name === 'live' ? 'OUTLAY_LIVE_TRAVEL_RULE_PROVIDER' : 'OUTLAY_TRAVEL_RULE_PROVIDER';
  const address = readProviderUrl(setting, config[setting]);
  const path = config.OUTLAY_TRAVEL_RULE;
  const rules =
    path === undefined ? [] : readOrRefuse('OUTLAY_TRAVEL_RULE', () => readTravelRules(path));
  if (address === undefined && rules.some(({ passOn }) => passOn)) {
    throw new ConfigError(`${setting} is missing: a rule of OUTLAY_TRAVEL_RULE has passOn`);
  }
  return createTravelRules({
    rules,
    provider: address && createTravelRuleProvider({ ...address, fetch }),
    rates: options.rates.rates,
    session: db.system,
    nowMs: clock.nowMs,
    onError: options.onError,
  });
}
