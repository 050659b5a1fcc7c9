import { createRates } from '../fx/refresher.ts';
import { importLists, type ListReport } from '../screening/screening.ts';
import type { Foundation } from './foundation.ts';
import { listSources, readRateSources } from './settings.ts';

/** What an environment imports from configured files and URLs: exchange rates, sanctions lists. */

export function openRates({ config, db, name, fetch, clock, log }: Foundation) {
  const sources = readRateSources(config);
  return createRates({ db, environment: name, sources, fetch, nowMs: clock.nowMs, log });
}

/** Reads the configured sanctions lists. */
export function importSanctionsLists(
  { config, db, fetch, realNowMs }: Foundation,
  acceptWarnings = false,
): Promise<ListReport[]> {
  return importLists(listSources(config), { db, fetch, nowMs: realNowMs, acceptWarnings });
}
