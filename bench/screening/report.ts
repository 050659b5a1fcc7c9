import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../../server/src/db/postgres/pool.ts';
import type { ParsedList } from '../../server/src/screening/list-entry.ts';
import { readWords } from '../../server/src/screening/names.ts';
import { parseOfac } from '../../server/src/screening/ofac.ts';
import {
  createScreeningCache,
  importLists,
  type ScreenedPerson,
  type Screening,
  screenPersons,
} from '../../server/src/screening/screening.ts';
import { parseUn } from '../../server/src/screening/un.ts';
import {
  asPerson,
  type Case,
  changes,
  createChance,
  listNames,
  makeCases,
  makeOrdinaryPeople,
  sample,
  type Target,
} from './cases.ts';
import { drawOrdinaryPersons, isCommonest } from './ordinary.ts';

/** What share of disguised listed names is found, and how many ordinary people are held. */

export const thresholds = [800, 830, 850, 860, 870, 880, 890, 900, 920, 950] as const;

export type Line = {
  readonly name: string;
  readonly count: number;
  /** At each of the thresholds, of `count`. */
  readonly hits: readonly number[];
};

type Table = Omit<Line, 'name'>;

export type Report = {
  readonly recall: readonly Line[];
  readonly falseMatches: readonly Line[];
  readonly first: Time;
  /** With the spellings known. */
  readonly again: Time;
  /** One name at a time. */
  readonly single: Time;
  /** One name at a time, each with a word that was not searched before. */
  readonly singleNew: Time;
  readonly lists: readonly { list: string; entries: number; names: number }[];
};

/** Milliseconds for a name. */
export type Time = {
  readonly wall: number;
  /** Of the processor, in this process, which other work on the machine does not stretch. */
  readonly processor: number;
};

export type MeasureOptions = {
  readonly db: Database;
  /** With ofac-sdn.csv, ofac-alt.csv and un-consolidated.xml. */
  readonly folder: string;
  readonly casesEach: number;
  readonly ordinaryPeople: number;
  readonly nowMs: () => number;
  readonly say: (line: string) => void;
};

const batch = 500;

export async function measure(options: MeasureOptions): Promise<Report> {
  const { db, casesEach } = options;
  const texts = await readLists(options.folder);
  const ofac = expectList(await parseOfac({ sdn: texts.sdn, alt: texts.alt }));
  const un = expectList(await parseUn(texts.un));
  const persons = [
    ...listNames('ofac_sdn', ofac.entries, 'person'),
    ...listNames('un_consolidated', un.entries, 'person'),
  ];
  const organisations = listNames('ofac_sdn', ofac.entries, 'organisation');
  const lists = await importTexts(options, texts);
  const recall: Line[] = [];
  for (const [index, [name, change]] of Object.entries(changes).entries()) {
    const cases = makeCases(persons, change, { count: casesEach, seed: 100 + index });
    recall.push({ name: `person, ${name}`, ...(await findTargets(db, cases)) });
    options.say(`${name}: done`);
  }
  for (const name of ['as listed', 'one wrong letter', 'words in another order'] as const) {
    const change = changes[name];
    if (change === undefined) continue;
    const cases = makeCases(organisations, change, { count: casesEach, seed: 200 });
    const asBusiness = cases.map(({ person, target }) => ({
      person: { ...person, firstName: 'Maria', lastName: 'Keller', businessName: person.firstName },
      target,
    }));
    recall.push({ name: `organisation, ${name}`, ...(await findTargets(db, asBusiness)) });
  }
  const ordinary = await measureOrdinary(options);
  // Last, because it changes the lists: names are taken out, and asked for.
  recall.push(...(await measureHeldOut(options, { ...texts, parsed: { ofac, un } })));
  return { recall, ...ordinary, lists };
}

type Texts = { sdn: string; alt: string; un: string };

async function readLists(folder: string): Promise<Texts> {
  const read = (name: string): Promise<string> => readFile(join(folder, name), 'utf8');
  return {
    sdn: await read('ofac-sdn.csv'),
    alt: await read('ofac-alt.csv'),
    un: await read('un-consolidated.xml'),
  };
}

type Read = Extract<ParsedList, { ok: true }>;

function expectList(parsed: ParsedList): Read {
  if (!parsed.ok) throw new Error(parsed.fault);
  return parsed;
}

/** Texts reach the importer as a server would give them. */
async function importTexts(
  { db, nowMs }: MeasureOptions,
  texts: Texts,
): Promise<Report['lists'][number][]> {
  const bodies: Record<string, string> = { '/sdn': texts.sdn, '/alt': texts.alt, '/un': texts.un };
  const answer: typeof fetch = async (input) => {
    const address = input instanceof Request ? input.url : input;
    return new Response(bodies[new URL(address).pathname] ?? '');
  };
  const at = 'https://lists.example';
  const reports = await importLists(
    [
      { list: 'ofac_sdn', sdn: `${at}/sdn`, alt: `${at}/alt` },
      { list: 'un_consolidated', location: `${at}/un` },
    ],
    { db, fetch: answer, nowMs, acceptWarnings: true },
  );
  return reports.map((report) => {
    if (!report.ok) throw new Error(`${report.list}: ${report.fault}`);
    return { list: report.list, entries: report.entries, names: report.names };
  });
}

async function findTargets(db: Database, cases: readonly Case[]): Promise<Table> {
  const screenings = await screenAll(
    db,
    cases.map(({ person }) => person),
  );
  const scores = screenings.map((screening, index) => {
    const target = cases[index]?.target;
    return screening.hits.find((hit) => isSame(hit, target))?.scorePermille ?? 0;
  });
  return countHits(scores);
}

function isSame(hit: Target, target: Target | undefined): boolean {
  return hit.list === target?.list && hit.entryId === target.entryId;
}

function countHits(scores: readonly number[]): Table {
  const hits = thresholds.map((threshold) => scores.filter((score) => score >= threshold).length);
  return { count: scores.length, hits };
}

async function screenAll(
  db: Database,
  people: readonly ScreenedPerson[],
  cache = createScreeningCache(),
): Promise<Screening[]> {
  const options = { thresholdPermille: Math.min(...thresholds), cache };
  const screenings: Screening[] = [];
  for (let from = 0; from < people.length; from += batch) {
    screenings.push(...(await screenPersons(db.system, people.slice(from, from + batch), options)));
  }
  return screenings;
}

async function measureOrdinary(
  options: MeasureOptions,
): Promise<Pick<Report, 'falseMatches' | 'first' | 'again' | 'single' | 'singleNew'>> {
  const { db } = options;
  const people = makeOrdinaryPeople(options.ordinaryPeople, 7);
  const namesOnly = people.map(({ person }) => ({ ...person, dateOfBirth: '', countryCode: '' }));
  const cache = createScreeningCache();
  const byName: Screening[] = [];
  const first = await timeFor(namesOnly.length, async () => {
    byName.push(...(await screenAll(db, namesOnly, cache)));
  });
  const byAll: Screening[] = [];
  const again = await timeFor(people.length, async () => {
    const persons = people.map(({ person }) => person);
    byAll.push(...(await screenAll(db, persons, cache)));
  });
  const singles = namesOnly.slice(0, 100);
  const single = await timeFor(singles.length, async () => {
    for (const person of singles) await screenPersons(db.system, [person], { cache });
  });
  const wordsOf = (person: ScreenedPerson): string[] =>
    readWords(`${person.firstName} ${person.lastName}`).map(({ text }) => text);
  const known = new Set(namesOnly.flatMap(wordsOf));
  const isNew = (person: ScreenedPerson): boolean =>
    wordsOf(person).some((word) => !known.has(word));
  const strangers = drawOrdinaryPersons(20)
    .filter(({ group }) => !isCommonest(group))
    .map(({ person }) => person)
    .filter(isNew);
  const singleNew = await timeFor(strangers.length, async () => {
    for (const person of strangers) await screenPersons(db.system, [person], { cache });
  });
  const scoresOf = (screenings: readonly Screening[], region?: string): number[] =>
    screenings.flatMap((screening, index) =>
      region === undefined || people[index]?.region === region ? [screening.topScorePermille] : [],
    );
  const regionNames = [...new Set(people.map(({ region }) => region))];
  return {
    falseMatches: [
      { name: 'names alone', ...countHits(scoresOf(byName)) },
      { name: 'with date of birth and country', ...countHits(scoresOf(byAll)) },
      ...regionNames.map((region) => ({
        name: `${region}, with`,
        ...countHits(scoresOf(byAll, region)),
      })),
    ],
    first,
    again,
    single,
    singleNew,
  };
}

async function timeFor(names: number, work: () => Promise<void>): Promise<Time> {
  const beganMs = performance.now();
  const began = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(began);
  return {
    wall: (performance.now() - beganMs) / names,
    processor: (user + system) / 1000 / names,
  };
}

/** Aliases that were taken out of the lists: whether their bearer is found by the other names. */
async function measureHeldOut(
  options: MeasureOptions,
  texts: Texts & { parsed: { ofac: Read; un: Read } },
): Promise<Line[]> {
  const { ofac, un } = texts.parsed;
  const chance = createChance(42);
  const withAliases = ofac.entries.filter(
    (entry) => entry.kind === 'person' && entry.names.some(({ quality }) => quality === 'alias'),
  );
  const chosen = new Map(
    sample(withAliases, options.casesEach, chance).map((entry) => [
      entry.entryId,
      entry.names.find(({ quality }) => quality === 'alias')?.text ?? '',
    ]),
  );
  const seen = new Set<string>();
  // The alias that was chosen is the first one that the file has for its entry.
  const alt = texts.alt
    .split('\n')
    .filter((line) => {
      const number = line.split(',')[0] ?? '';
      if (!chosen.has(number) || seen.has(number)) return true;
      seen.add(number);
      return false;
    })
    .join('\n');
  const script = un.entries.flatMap((entry) => {
    const name = entry.names.find(({ text }) =>
      /[^\p{Script=Latin}\p{Script=Common}]{3}/u.test(text),
    );
    return name === undefined
      ? []
      : [{ text: name.text, entryId: entry.entryId, kind: entry.kind }];
  });
  const unLatin = texts.un.replaceAll(/<NAME_ORIGINAL_SCRIPT>[^<]*<\/NAME_ORIGINAL_SCRIPT>/g, '');
  await importTexts(options, { sdn: texts.sdn, alt, un: unLatin });
  const aliases = [...chosen].map(([entryId, text]) => ({
    person: asPerson(text),
    target: { list: 'ofac_sdn', entryId },
  }));
  const related = aliases.filter(({ person, target }) => {
    const names = ofac.entries.find(({ entryId }) => entryId === target.entryId)?.names ?? [];
    return sharesWord(person.firstName, names[0]?.text ?? '');
  });
  const persons = script.filter(({ kind }) => kind === 'person').slice(0, options.casesEach);
  const inScript = persons.map(({ text, entryId }) => ({
    person: asPerson(text),
    target: { list: 'un_consolidated', entryId },
  }));
  return [
    { name: 'person, alias that the list lacks', ...(await findTargets(options.db, aliases)) },
    { name: '... of these with a word of the name', ...(await findTargets(options.db, related)) },
    { name: 'person, in Arabic and other scripts', ...(await findTargets(options.db, inScript)) },
  ];
}

function sharesWord(one: string, other: string): boolean {
  const split = (text: string): string[] =>
    text
      .toLowerCase()
      .split(/[^a-z]+/)
      .filter((word) => word.length > 2);
  const words = new Set(split(other));
  return split(one).some((word) => words.has(word));
}
