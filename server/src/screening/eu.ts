import iso3166 from 'i18n-iso-countries/index.js';
import {
  type DateOfBirth,
  findEntryFault,
  findNamelessFault,
  formatDay,
  type ListEntry,
  type ListedName,
  type ParsedList,
  readInstant,
  roughYears,
  spanMonth,
  spanYears,
} from './list-entry.ts';
import { attributeOf, childrenOf, readXmlEntries, type XmlElement } from './xml-tree.ts';

/**
 * The consolidated list of persons, groups and entities subject to EU financial sanctions, in the
 * format "XML 1.1" (`xmlFullSanctionsList_1_1`) of the Commission's Financial Sanctions Database:
 * `export` with a `sanctionEntity` per entry, whose data is in attributes. A subject type of
 * classification P is a person, E an enterprise.
 */
export async function parseEu(text: string): Promise<ParsedList> {
  let publishedAt: string | undefined;
  const entries: ListEntry[] = [];
  const fault = await readXmlEntries(text, {
    entryNames: ['sanctionEntity'],
    onRoot: (root) => {
      if (root.name === 'export') publishedAt = readInstant(attributeOf(root, 'generationDate'));
    },
    onEntry: (element) => entries.push(readEntry(element)),
  });
  if (fault !== undefined) return fail(fault);
  if (publishedAt === undefined) return fail('the root element must be export with generationDate');
  const entryFault = findEntryFault(entries, entryIds) ?? findNamelessFault(entries);
  if (entryFault !== undefined) return fail(entryFault);
  return { ok: true, entries, publishedAt, skipped: 0, cutOff: 0, warnings: [] };
}

const entryIds = { pattern: /^\d{1,12}$/, fault: 'an entry has no logicalId' };

function readEntry(element: XmlElement): ListEntry {
  const subject = childrenOf(element, 'subjectType')[0];
  const isPerson =
    attributeOf(subject, 'classificationCode') === 'P' || attributeOf(subject, 'code') === 'person';
  const places = isPerson
    ? childrenOf(element, 'citizenship')
    : childrenOf(element, 'address').filter((address) => attributeOf(address, 'countryIso2Code'));
  const programmes = childrenOf(element, 'regulation').map((regulation) =>
    attributeOf(regulation, 'programme'),
  );
  return {
    entryId: attributeOf(element, 'logicalId'),
    kind: isPerson ? 'person' : 'organisation',
    names: readNames(element),
    births: childrenOf(element, 'birthdate').flatMap((birth) => readBirth(birth) ?? []),
    countries: unique(places.map((place) => findCountry(attributeOf(place, 'countryIso2Code')))),
    programmes: unique(programmes),
    wallets: [],
  };
}

/** The first strong name is the primary one; a name that is not strong is a weak alias. */
function readNames(element: XmlElement): ListedName[] {
  const names: ListedName[] = [];
  for (const alias of childrenOf(element, 'nameAlias')) {
    const parts = ['firstName', 'middleName', 'lastName'].map((part) => attributeOf(alias, part));
    const text = attributeOf(alias, 'wholeName') || parts.filter((part) => part !== '').join(' ');
    if (text === '') continue;
    names.push({ text, quality: attributeOf(alias, 'strong') === 'false' ? 'weak' : 'alias' });
  }
  // A strong name first, because it stands for the entry.
  const strong = names.filter(({ quality }) => quality === 'alias');
  const [first, ...others] = [...strong, ...names.filter(({ quality }) => quality === 'weak')];
  return first === undefined ? [] : [{ text: first.text, quality: 'primary' }, ...others];
}

/** A day, a month, a year or a range of years; `circa` widens it. */
function readBirth(birth: XmlElement): DateOfBirth | undefined {
  const rough = attributeOf(birth, 'circa') === 'true' ? roughYears : 0;
  const numberOf = (name: string): number | undefined => {
    const text = attributeOf(birth, name);
    return /^\d{1,4}$/.test(text) && Number(text) > 0 ? Number(text) : undefined;
  };
  const [from, to] = [numberOf('yearRangeFrom'), numberOf('yearRangeTo')];
  if (from !== undefined && to !== undefined) return spanYears(from - rough, to + rough);
  const [year, month, day] = [numberOf('year'), numberOf('monthOfYear'), numberOf('dayOfMonth')];
  const whole = /^(\d{4})-(\d{2})-(\d{2})/.exec(attributeOf(birth, 'birthdate'));
  if (rough === 0 && whole !== null) {
    const exact = whole[0];
    return { from: exact, to: exact };
  }
  if (year === undefined) return undefined;
  if (rough > 0 || month === undefined || month > 12) return spanYears(year - rough, year + rough);
  if (day === undefined) return spanMonth(year, month);
  const exact = formatDay(year, month, day);
  return { from: exact, to: exact };
}

/** The alpha-3 code; "00" and unknown codes are dropped. */
function findCountry(alpha2: string): string {
  return iso3166.alpha2ToAlpha3(alpha2) ?? '';
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values.filter((value) => value !== ''))];
}

function fail(fault: string): ParsedList {
  return { ok: false, fault: `not a usable EU sanctions list: ${fault}` };
}
