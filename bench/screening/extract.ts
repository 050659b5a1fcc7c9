import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../../server/src/db/postgres/pool.ts';
import type { ParsedList } from '../../server/src/screening/list-entry.ts';
import { importParsed } from '../../server/src/screening/lists.ts';
import type { MeasuredName } from '../../server/src/screening/match-name.ts';
import { parseOfac } from '../../server/src/screening/ofac.ts';
import {
  createScreeningCache,
  findCandidateMatches,
} from '../../server/src/screening/screening.ts';
import { parseUn } from '../../server/src/screening/un.ts';
import { drawOrdinaryOrganisations, drawOrdinaryPersons } from './ordinary.ts';
import { type Asked, type BenchList, disguise, holdOut } from './samples.ts';

/** Asks the real search for all names and keeps what was measured of each candidate. */

export type Candidate = { readonly measured: MeasuredName; readonly isTarget: boolean };
export type Answered = { readonly asked: Asked; readonly candidates: readonly Candidate[] };

export type ExtractOptions = {
  readonly db: Database;
  /** With ofac-sdn.csv, ofac-alt.csv and un-consolidated.xml. */
  readonly folder: string;
  readonly casesEach: number;
  readonly ordinaryEach: number;
  readonly nowMs: () => number;
  readonly say: (line: string) => void;
};

const batch = 500;

export type Extracted = {
  readonly answered: readonly Answered[];
  /** The lists without the names that were held out. */
  readonly lists: readonly BenchList[];
};

/** Screens against lists from which the held-out names are gone. */
export async function extract(options: ExtractOptions): Promise<Extracted> {
  const held = holdOut(await readBenchLists(options.folder));
  await importBenchLists(held.lists, options);
  const asked = [
    ...held.cases,
    ...disguise(held.lists, options.casesEach),
    ...drawOrdinaryPersons(options.ordinaryEach),
    ...drawOrdinaryOrganisations(options.ordinaryEach),
  ];
  options.say(`${asked.length} names to screen`);
  return { answered: await answerAll(options, asked), lists: held.lists };
}

async function readBenchLists(folder: string): Promise<BenchList[]> {
  const read = (name: string): Promise<string> => readFile(join(folder, name), 'utf8');
  const ofac = await parseOfac({
    sdn: await read('ofac-sdn.csv'),
    alt: await read('ofac-alt.csv'),
  });
  const un = await parseUn(await read('un-consolidated.xml'));
  return [
    { list: 'ofac_sdn', entries: expectList(ofac).entries },
    { list: 'un_consolidated', entries: expectList(un).entries },
  ];
}

type Read = Extract<ParsedList, { ok: true }>;

function expectList(parsed: ParsedList): Read {
  if (!parsed.ok) throw new Error(parsed.fault);
  return parsed;
}

async function importBenchLists(
  lists: readonly BenchList[],
  { db, nowMs }: Pick<ExtractOptions, 'db' | 'nowMs'>,
): Promise<void> {
  for (const { list, entries } of lists) {
    const parsed: Read = {
      ok: true,
      entries,
      publishedAt: null,
      skipped: 0,
      cutOff: 0,
      warnings: [],
    };
    const contentHash = createHash('sha256').update(JSON.stringify(entries)).digest();
    const given = { list: list as 'ofac_sdn' | 'un_consolidated', parsed, contentHash };
    const report = await importParsed(given, { db, nowMs });
    if (!report.ok) throw new Error(`${list}: ${report.fault}`);
  }
}

async function answerAll(
  { db, say }: Pick<ExtractOptions, 'db' | 'say'>,
  asked: readonly Asked[],
): Promise<Answered[]> {
  const cache = createScreeningCache();
  const answered: Answered[] = [];
  for (let from = 0; from < asked.length; from += batch) {
    const portion = asked.slice(from, from + batch);
    const persons = portion.map(({ person }) => person);
    const found = await findCandidateMatches(db.system, persons, cache);
    for (const [index, one] of portion.entries()) {
      const candidates = (found[index] ?? []).map(({ hit, measured }) => ({
        measured,
        isTarget: hit.list === one.target?.list && hit.entryId === one.target.entryId,
      }));
      answered.push({ asked: one, candidates });
    }
    if (from % 5_000 === 0) say(`${from} done`);
  }
  return answered;
}
