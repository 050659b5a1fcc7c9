import { describeEntry, type Hit, type ScreenedPerson } from './hit.ts';
import type { NameWord } from './names.ts';
import type { CandidateRow } from './screening.sql.ts';
import { compareNames } from './similarity.ts';

/** The score of one candidate: by name, then by date of birth, country and kind. */

export type NameSearch = {
  readonly name: {
    readonly field: Hit['matchedOn']['field'];
    readonly words: readonly NameWord[];
  };
  readonly person: ScreenedPerson;
  readonly weightOf: (word: NameWord) => number;
  readonly wordOf: (text: string, skeleton: string) => NameWord;
};

/** Thousandths added to the score of the names. */
const changes = {
  dateOfBirth: { same: 40, near: 15, different: -70, unknown: 0 },
  country: { same: 10, different: -10, unknown: 0 },
  /** Nicknames and common names, which the list itself calls weak. */
  weakName: -40,
  /** A person whose name resembles an organisation's, or the reverse. */
  otherKind: -30,
} as const;

/** Listed dates of birth are often wrong by a year or two. */
const nearDays = 2 * 366;
const dayMs = 86_400_000;

export function matchName(row: CandidateRow, { name, person, weightOf, wordOf }: NameSearch): Hit {
  const skeletons = row.skeletons.split(' ');
  const listedWords = row.words
    .split(' ')
    .map((text, index) => wordOf(text, skeletons[index] ?? ''));
  const similarity = compareNames(
    { words: name.words, weights: name.words.map(weightOf) },
    { words: listedWords, weights: listedWords.map(weightOf) },
  );
  const isPersonName = name.field === 'person_name';
  // An attribute may name a person or an organisation.
  const isOwnName = isPersonName || name.field === 'business_name';
  const dateOfBirth = isPersonName ? compareDateOfBirth(person.dateOfBirth, row) : 'unknown';
  const country = isOwnName ? compareCountry(person.countryCode, row) : 'unknown';
  const isOtherKind = isOwnName && isPersonName !== (row.kind === 'person');
  const score =
    Math.round(similarity * 1000) +
    changes.dateOfBirth[dateOfBirth] +
    changes.country[country] +
    (row.quality === 'weak' ? changes.weakName : 0) +
    (isOtherKind ? changes.otherKind : 0);
  return {
    ...describeEntry(row),
    scorePermille: Math.max(0, Math.min(1000, score)),
    matchedOn: {
      field: name.field,
      listedName: row.text,
      quality: row.quality,
      dateOfBirth,
      country,
    },
  };
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
