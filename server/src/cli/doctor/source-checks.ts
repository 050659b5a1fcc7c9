import { existsSync, readFileSync } from 'node:fs';
import type { Config } from '../../config.ts';
import type { EnvironmentName } from '../../core/access.ts';
import { createKeyRing, type KeyRing, MissingMasterKey } from '../../core/sealing.ts';
import type { KeyRow } from '../../db/environment-key-rows.ts';
import {
  holdKeys,
  type KeyReading,
  openIndexKey,
  openKeyRows,
} from '../../environment/environment-keys.ts';
import { decodeKeys, placeMasterKey, readEncodedKeys } from '../../environment/master-keys.ts';
import { listSources, readRateSources } from '../../environment/settings.ts';
import { type RateSourceName, readQuotes } from '../../fx/load.ts';
import { describeLocation } from '../../fx/read-source.ts';
import { readVelocityLimits } from '../../rules/velocity.ts';
import { findListFault, type ListSource } from '../../screening/screening.ts';
import { type Finding, formatCause, passed, problem } from './finding.ts';

/** The files and URLs that settings name, and the master keys. */

type Sources = { config: Config; fetch: typeof fetch; realNowMs: () => number };

export async function checkRates(options: Sources): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [source, location] of Object.entries(readRateSources(options.config))) {
    const setting = `OUTLAY_RATES_${source.toUpperCase()}`;
    const place = `${setting} (${describeLocation(location)})`;
    const read = await readQuotes(source as RateSourceName, location, {
      fetch: options.fetch,
      nowMs: options.realNowMs,
    });
    findings.push(
      read.ok
        ? passed(`${place} has ${read.quotes.length} rates`)
        : problem(`${place}: ${read.fault}; correct ${setting} or the source`),
    );
  }
  return findings;
}

export async function checkLists({ config, fetch }: Sources): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const source of listSources(config)) {
    const setting = settingsOfLists[source.list];
    const fault = await findListFault(source, { fetch });
    findings.push(
      fault === undefined
        ? passed(`the sanctions list ${source.list} can be read`)
        : problem(`the sanctions list ${source.list}: ${fault}; correct ${setting}`),
    );
  }
  return findings;
}

export function checkLimits(config: Config): Finding[] {
  const path = config.OUTLAY_VELOCITY_LIMITS;
  if (path === undefined) return [];
  try {
    return [passed(`OUTLAY_VELOCITY_LIMITS has ${readVelocityLimits(path).length} limits`)];
  } catch (error) {
    return [problem(`OUTLAY_VELOCITY_LIMITS: ${formatCause(error)}`)];
  }
}

/** The environment that a database belongs to. */
export type EnvironmentRecord = {
  name: string;
  indexKey: Buffer;
  indexGeneration: number;
  /** The generations of its keys, the newest first. */
  keyRows: readonly KeyRow[];
};

export function checkMasterKey(
  { config, name }: { config: Config; name: EnvironmentName },
  record: EnvironmentRecord | undefined,
): { keys: KeyRing | undefined; findings: Finding[] } {
  let place = '';
  try {
    const source = placeMasterKey(config, name);
    ({ place } = source);
    if (source.kind === 'file' && record === undefined && !existsSync(source.file)) {
      const text = `${name}: no master key yet; the first start creates ${source.file}`;
      return { keys: undefined, findings: [{ isFine: true, text }] };
    }
    const masters = decodeKeys(readEncodedKeys(source));
    const ring = { list: () => masters };
    const text = `${name}: the master key is valid (${place})`;
    if (record === undefined) return { keys: undefined, findings: [passed(text)] };
    const reading = openKeyRows(record.keyRows, ring);
    const indexText = `${name}: the index key: generation ${record.indexGeneration}`;
    const keys = createKeyRing(ring, holdKeys(reading, openIndexKey(ring, record.indexKey)));
    return {
      keys,
      findings: [passed(text), passed(indexText), ...checkGenerations(name, reading)],
    };
  } catch (error) {
    const isMissing = error instanceof MissingMasterKey;
    const text = isMissing
      ? `${place} is not the master key of this database: restore it from your backup`
      : formatCause(error);
    return { keys: undefined, findings: [problem(`${name}: ${text}`)] };
  }
}

/** Whether the last rotation of the environment's keys has ended, and what is left of those before. */
function checkGenerations(name: EnvironmentName, { rows, newest, foreign }: KeyReading): Finding[] {
  const [last] = rows;
  const label = `${name}: the environment's keys`;
  if (foreign.length > 0) {
    const text = `${label}: the database has a generation ${foreign.join(', ')} that this environment did not create: find out who wrote it`;
    return [problem(text)];
  }
  if (last !== undefined && last.generation > 1 && last.renewed_at === null) {
    const text = `${label}: the rotation to generation ${last.generation} has not ended: run outlay admin environment-key rotate`;
    return [problem(text)];
  }
  const older = rows.filter((row) => row.destroyed_at === null && row.generation < newest.number);
  const kept = older.map(({ generation }) => generation).join(', ');
  const rest = kept === '' ? '' : `; still kept: ${kept} (outlay admin environment-key list)`;
  return [passed(`${label}: generation ${newest.number} writes${rest}`)];
}

/** Variables that rails files name as places of secrets; they may begin with OUTLAY_ too. */
export function listSecretNames(config: Config): Set<string> {
  const names = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, member] of Object.entries(value)) {
      if (key === 'env' && typeof member === 'string') names.add(member);
      else collect(member);
    }
  };
  for (const path of [config.OUTLAY_RAILS, config.OUTLAY_LIVE_RAILS]) {
    try {
      if (path !== undefined) collect(JSON.parse(readFileSync(path, 'utf8')));
    } catch {
      // The check of the rails reports the faults of the file.
    }
  }
  return names;
}

const settingsOfLists: Readonly<Record<ListSource['list'], string>> = {
  ofac_sdn: 'OUTLAY_SCREENING_OFAC_SDN, _ALT',
  un_consolidated: 'OUTLAY_SCREENING_UN',
  eu_consolidated: 'OUTLAY_SCREENING_EU',
  uk_sanctions: 'OUTLAY_SCREENING_UK',
};
