import {
  type DateOfBirth,
  findCountryByName,
  findEntryFault,
  findNamelessFault,
  formatDay,
  type ListEntry,
  type ListedName,
  type ParsedList,
  readInstant,
  spanMonth,
  spanYears,
} from './list-entry.ts';
import { childrenOf, readXmlEntries, textsOf, type XmlElement } from './xml-tree.ts';

/**
 * The UK Sanctions List of the Foreign, Commonwealth and Development Office, as XML: `Designations`
 * with a `Designation` per entry. Ships are skipped, because they cannot be paid. Dates are written
 * day first; unknown parts are "dd" and "mm", or zeros.
 */
export async function parseUk(text: string): Promise<ParsedList> {
  let isList = false;
  let publishedAt: string | undefined;
  let skipped = 0;
  const entries: ListEntry[] = [];
  const fault = await readXmlEntries(text, {
    entryNames: ['Designation'],
    onRoot: ({ name }) => {
      isList = name === 'Designations';
    },
    onEntry: (element) => {
      const entry = readEntry(element);
      if (entry === undefined) skipped += 1;
      else entries.push(entry);
    },
    onOther: ({ name, text: date }) => {
      if (name === 'DateGenerated') publishedAt = readGenerated(date.trim());
    },
  });
  if (fault !== undefined) return fail(fault);
  if (!isList) return fail('the root element must be Designations');
  if (publishedAt === undefined) return fail('DateGenerated must be a date');
  const entryFault = findEntryFault(entries, entryIds) ?? findNamelessFault(entries);
  if (entryFault !== undefined) return fail(entryFault);
  return { ok: true, entries, publishedAt, skipped, cutOff: 0, warnings: [] };
}

const entryIds = { pattern: /^[A-Z0-9]{3,20}$/, fault: 'an entry has no UniqueID' };

function readEntry(element: XmlElement): ListEntry | undefined {
  const type = textsOf(element, 'IndividualEntityShip')[0]?.toLowerCase();
  if (type === 'ship') return undefined;
  const isPerson = type === 'individual';
  const details = childrenOf(childrenOf(element, 'IndividualDetails')[0], 'Individual');
  const births = details
    .flatMap((detail) => childrenOf(detail, 'DOBs'))
    .flatMap((list) => textsOf(list, 'DOB'))
    .flatMap((date) => readBirth(date) ?? []);
  const countryNames = isPerson
    ? details
        .flatMap((detail) => childrenOf(detail, 'Nationalities'))
        .flatMap((list) => textsOf(list, 'Nationality'))
    : childrenOf(childrenOf(element, 'Addresses')[0], 'Address').flatMap((address) =>
        textsOf(address, 'AddressCountry'),
      );
  return {
    // Such as RUS0001; the ids of OFSI's list are other numbers.
    entryId: (textsOf(element, 'UniqueID')[0] ?? '').replaceAll(/[^A-Z0-9]/gi, '').toUpperCase(),
    kind: isPerson ? 'person' : 'organisation',
    names: readNames(element),
    births,
    countries: [...new Set(countryNames.flatMap((name) => findCountryByName(name) ?? []))],
    programmes: textsOf(element, 'RegimeName'),
    wallets: [],
  };
}

const nameParts = ['Name1', 'Name2', 'Name3', 'Name4', 'Name5', 'Name6'];

/** `Name6` is the family name, or the whole name of an entity. */
function readNames(element: XmlElement): ListedName[] {
  const names: ListedName[] = [];
  for (const name of childrenOf(childrenOf(element, 'Names')[0], 'Name')) {
    const text = nameParts.flatMap((part) => textsOf(name, part)).join(' ');
    if (text === '') continue;
    const isPrimary = textsOf(name, 'NameType')[0]?.toLowerCase() === 'primary name';
    const strength = textsOf(name, 'AliasStrength')[0]?.toLowerCase() ?? '';
    const isWeak = strength.includes('low') || strength.includes('weak');
    names.push({ text, quality: isPrimary ? 'primary' : isWeak ? 'weak' : 'alias' });
  }
  names.sort((a, b) => Number(b.quality === 'primary') - Number(a.quality === 'primary'));
  const scripts = childrenOf(childrenOf(element, 'NonLatinNames')[0], 'NonLatinName')
    .flatMap((name) => textsOf(name, 'NameNonLatinScript'))
    .map((text) => ({ text, quality: 'alias' as const }));
  return [...names, ...scripts];
}

/** "15/07/1970", "dd/07/1970", "dd/mm/1970" and "00/00/1970". */
function readBirth(text: string): DateOfBirth | undefined {
  const [, day = '', month = '', yearText = ''] =
    /^(\d{1,2}|dd)\/(\d{1,2}|mm)\/(\d{4})$/i.exec(text) ?? [];
  const [year, monthNumber, dayNumber] = [Number(yearText), Number(month), Number(day)];
  if (yearText === '' || year === 0) return undefined;
  const isMonth = monthNumber >= 1 && monthNumber <= 12;
  if (!isMonth) return spanYears(year, year);
  if (!(dayNumber >= 1 && dayNumber <= 31)) return spanMonth(year, monthNumber);
  const exact = formatDay(year, monthNumber, dayNumber);
  return { from: exact, to: exact };
}

/** "22/01/2026" or RFC 3339. */
function readGenerated(text: string): string | undefined {
  const [, day, month, year] = /^(\d{2})\/(\d{2})\/(\d{4})/.exec(text) ?? [];
  return readInstant(year === undefined ? text : `${year}-${month}-${day}`);
}

function fail(fault: string): ParsedList {
  return { ok: false, fault: `not a usable UK Sanctions List: ${fault}` };
}
