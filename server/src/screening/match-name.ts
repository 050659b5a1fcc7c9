import { describeEntry, type Hit, type HitEvidence, type ScreenedPerson } from './hit.ts';
import type { ListedWords } from './listed-words.ts';
import { informWord, measureNames, type NameFeatures } from './name-features.ts';
import { type NameCircumstances, type ScoreOptions, scoreName } from './name-model.ts';
import type { NameWord } from './names.ts';
import { readAsKind } from './organisation-words.ts';
import type { CandidateRow } from './screening.sql.ts';
import { pairWords } from './similarity.ts';

/** The score of one candidate: by name, then by date of birth, country and kind. */

export type NameSearch = {
  readonly name: {
    readonly field: Hit['matchedOn']['field'];
    readonly text: string;
    readonly words: readonly NameWord[];
  };
  readonly person: ScreenedPerson;
  readonly words: ListedWords;
  readonly nameCount: number;
  /** By list, the version in force. */
  readonly versionOf: (list: string) => string;
};

/** Added to the logit of the score: 1 is about ten points of a hundred near the threshold. */
const shifts = {
  dateOfBirth: { same: 0.6, near: 0.2, different: -1.5, unknown: 0 },
  country: { same: 0.15, different: -0.25, unknown: 0 },
} as const;

/** Listed dates of birth are often wrong by a year or two. */
const nearDays = 2 * 366;
const dayMs = 86_400_000;

/** A candidate of any score; `explain` says what was compared, and `measured` gives the score. */
export type Match = {
  readonly hit: Hit;
  readonly explain: () => HitEvidence;
  readonly measured: MeasuredName;
};

/** What the score of a candidate follows from. */
export type MeasuredName = {
  readonly kind: 'person' | 'organisation';
  readonly values: NameFeatures & NameCircumstances;
  readonly options: ScoreOptions;
};

export function matchName(row: CandidateRow, search: NameSearch): Match {
  const { name, person, versionOf } = search;
  const isPersonName = name.field === 'person_name';
  // An attribute may name a person or an organisation.
  const isOwnName = isPersonName || name.field === 'business_name';
  const dateOfBirth = isPersonName ? compareDateOfBirth(person.dateOfBirth, row) : 'unknown';
  const country = isOwnName ? compareCountry(person.countryCode, row) : 'unknown';
  const isOtherKind = isOwnName && isPersonName !== (row.kind === 'person');
  const shift = shifts.dateOfBirth[dateOfBirth] + shifts.country[country];
  const compared = compareCandidate(row, search);
  const measured = measureCandidate(row, search, { compared, isOtherKind, shift });
  const hit: Hit = {
    ...describeEntry(row),
    version: versionOf(row.list),
    scorePermille: scoreName(measured.kind, measured.values, measured.options),
    matchedOn: {
      field: name.field,
      listedName: row.text,
      quality: row.quality,
      dateOfBirth,
      country,
    },
  };
  return { hit, measured, explain: () => explainMatch(hit, name.text, compared) };
}

type Compared = {
  readonly searched: readonly NameWord[];
  readonly listed: readonly NameWord[];
  readonly features: NameFeatures;
};

function explainMatch(
  hit: Hit,
  text: string,
  { searched, listed, features }: Compared,
): HitEvidence {
  const words = pairWords(searched, listed).map(({ left, right, similarity }) => ({
    searched: left.text,
    listed: right.text,
    similarityPermille: Math.round(similarity * 1000),
  }));
  const measures: Record<string, number> = {};
  for (const [name, value] of Object.entries(features)) measures[name] = Math.round(value * 1000);
  const { list, entryId, matchedOn } = hit;
  return {
    list,
    entryId,
    field: matchedOn.field,
    text,
    words,
    measures,
  };
}

function compareCandidate(
  row: CandidateRow,
  { name, words: lists, nameCount }: NameSearch,
): Compared {
  const inform = (words: readonly NameWord[]) => ({
    words,
    information: words.map((word) =>
      informWord(word, { word: lists.countOf(word), names: nameCount }),
    ),
  });
  const searched = inform(readAsKind(name.words, row.kind));
  const listed = inform(lists.readName(row.words, row.kind));
  const features = measureNames(searched, listed, lists.readName(row.entry_words, row.kind));
  return { searched: searched.words, listed: listed.words, features };
}

function measureCandidate(
  row: CandidateRow,
  { name }: NameSearch,
  given: { compared: Compared; isOtherKind: boolean; shift: number },
): MeasuredName {
  const { compared, isOtherKind, shift } = given;
  const { searched, listed, features } = compared;
  const circumstances = {
    isAbjad: Number(searched.some(({ abjad }) => abjad !== undefined)),
    isSyllabic: Number(searched.some(({ isSyllable }) => isSyllable === true)),
    isWeak: Number(row.quality === 'weak'),
    isAcronym: Number(row.quality === 'acronym'),
    isOtherKind: Number(isOtherKind),
  };
  const isFull = row.quality === 'primary' || row.quality === 'alias';
  const isIdentical = isFull && !isOtherKind && sortTexts(searched) === sortTexts(listed);
  const isOtherNumber = hasOtherNumber(searched, listed);
  const ownKind = name.field === 'person_name' ? 'person' : 'organisation';
  const isOwnName = name.field === 'person_name' || name.field === 'business_name';
  const kind = isOwnName ? ownKind : row.kind;
  const values = { ...features, ...circumstances };
  return { kind, values, options: { shift, isIdentical, isOtherNumber } };
}

function hasOtherNumber(left: readonly NameWord[], right: readonly NameWord[]): boolean {
  const numbersOf = (words: readonly NameWord[]): string[] =>
    words.map(({ text }) => text).filter((text) => /\d/.test(text));
  const [searched, listed] = [numbersOf(left), numbersOf(right)];
  return (
    searched.length > 0 && listed.length > 0 && searched.every((text) => !listed.includes(text))
  );
}

/** Articles and initials do not distinguish names, unless there is nothing else. */
function sortTexts(words: readonly NameWord[]): string {
  const significant = words.filter(({ kind }) => kind !== 'particle');
  return (significant.length === 0 ? words : significant)
    .map(({ text }) => text)
    .toSorted()
    .join(' ');
}

function compareDateOfBirth(date: string, row: CandidateRow): Hit['matchedOn']['dateOfBirth'] {
  const bornMs = Date.parse(date);
  if (Number.isNaN(bornMs) || row.births.length === 0) return 'unknown';
  let isNear = false;
  for (const { from, to } of row.births) {
    if (date >= from && date <= to) return 'same';
    const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
    isNear ||= bornMs >= fromMs - nearDays * dayMs && bornMs <= toMs + nearDays * dayMs;
  }
  return isNear ? 'near' : 'different';
}

function compareCountry(code: string, row: CandidateRow): Hit['matchedOn']['country'] {
  if (code === '' || row.countries === '') return 'unknown';
  return row.countries.includes(code) ? 'same' : 'different';
}
