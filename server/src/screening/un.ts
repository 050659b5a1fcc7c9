import {
  type DateOfBirth,
  findCountryByName,
  findEntryFault,
  formatDay,
  type ListEntry,
  type ListedName,
  type NameQuality,
  type ParsedList,
  readInstant,
  roughYears,
  spanYears,
} from './list-entry.ts';
import { attributeOf, childrenOf, readXmlEntries, textsOf, type XmlElement } from './xml-tree.ts';

/** The consolidated list of the United Nations Security Council (XML, schema sc-sanctions.xsd). */
export async function parseUn(text: string): Promise<ParsedList> {
  let publishedAt: string | undefined;
  const entries: ListEntry[] = [];
  const fault = await readXmlEntries(text, {
    entryNames: ['INDIVIDUAL', 'ENTITY'],
    onRoot: (root) => {
      if (root.name === 'CONSOLIDATED_LIST') {
        publishedAt = readInstant(attributeOf(root, 'dateGenerated'));
      }
    },
    onEntry: (element) => entries.push(readEntry(element)),
  });
  if (fault !== undefined) return fail(fault);
  if (publishedAt === undefined)
    return fail('the root element must be CONSOLIDATED_LIST with dateGenerated');
  const entryFault = findEntryFault(entries, entryIds);
  if (entryFault !== undefined) return fail(entryFault);
  return { ok: true, entries, publishedAt, skipped: 0, cutOff: 0, warnings: [] };
}

const entryIds = { pattern: /^\d{1,12}$/, fault: 'an entry has no number' };

function readEntry(node: XmlElement): ListEntry {
  const isPerson = node.name === 'INDIVIDUAL';
  const primary = ['FIRST_NAME', 'SECOND_NAME', 'THIRD_NAME', 'FOURTH_NAME']
    .flatMap((part) => textsOf(node, part))
    .join(' ');
  const names: ListedName[] = [
    { text: primary, quality: 'primary' },
    ...textsOf(node, 'NAME_ORIGINAL_SCRIPT').map((text) => ({ text, quality: 'alias' as const })),
    ...childrenOf(node, `${node.name}_ALIAS`).flatMap(readAlias),
  ];
  const countryNames = isPerson
    ? childrenOf(node, 'NATIONALITY').flatMap((nationality) => textsOf(nationality, 'VALUE'))
    : childrenOf(node, 'ENTITY_ADDRESS').flatMap((address) => textsOf(address, 'COUNTRY'));
  return {
    entryId: textsOf(node, 'DATAID')[0] ?? '',
    kind: isPerson ? 'person' : 'organisation',
    names: names.filter(({ text }) => text !== ''),
    births: childrenOf(node, 'INDIVIDUAL_DATE_OF_BIRTH').flatMap((birth) => readBirth(birth) ?? []),
    countries: [...new Set(countryNames.flatMap((name) => findCountryByName(name) ?? []))],
    programmes: textsOf(node, 'UN_LIST_TYPE'),
    wallets: [],
  };
}

/** Quality is Good or Low; organisations have a.k.a. and f.k.a. instead. */
function readAlias(alias: XmlElement): ListedName[] {
  const quality: NameQuality = textsOf(alias, 'QUALITY')[0] === 'Low' ? 'weak' : 'alias';
  return textsOf(alias, 'ALIAS_NAME').map((text) => ({ text, quality }));
}

/** A day (DATE), a year or a range of years; wider where the list calls it approximate. */
function readBirth(birth: XmlElement): DateOfBirth | undefined {
  const numberOf = (name: string): number | undefined => {
    const text = textsOf(birth, name)[0];
    return text !== undefined && /^\d{4}$/.test(text) ? Number(text) : undefined;
  };
  const [from, to] = [numberOf('FROM_YEAR'), numberOf('TO_YEAR')];
  if (from !== undefined && to !== undefined) return spanYears(from, to);
  const rough = textsOf(birth, 'TYPE_OF_DATE')[0] === 'APPROXIMATELY' ? roughYears : 0;
  const date = textsOf(birth, 'DATE')[0] ?? textsOf(birth, 'DATE_OF_BIRTH')[0];
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})/.exec(date ?? '') ?? [];
  if (year !== undefined && rough === 0) {
    const exact = formatDay(Number(year), Number(month), Number(day));
    return { from: exact, to: exact };
  }
  const wholeYear = year === undefined ? numberOf('YEAR') : Number(year);
  return wholeYear === undefined ? undefined : spanYears(wholeYear - rough, wholeYear + rough);
}

function fail(fault: string): ParsedList {
  return { ok: false, fault: `not a usable consolidated list: ${fault}` };
}
