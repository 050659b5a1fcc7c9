import { SaxesParser } from 'saxes';
import { textInSlices } from '../core/slices.ts';
import {
  type DateOfBirth,
  findCountryByName,
  formatDay,
  type ListEntry,
  type ListedName,
  type NameQuality,
  type ParsedList,
  roughYears,
  spanYears,
} from './list-entry.ts';
import { xmlSliceLength } from './xml-tree.ts';

/**
 * The consolidated list of the United Nations Security Council (XML, schema sc-sanctions.xsd).
 * It is read element by element, so that only the entries are held in memory.
 */

const depthMax = 12;
const textLengthMax = 100_000;

/** An element with children: from name to values, in their order. */
type Node = { readonly name: string; readonly children: Map<string, (string | Node)[]> };

export async function parseUn(text: string): Promise<ParsedList> {
  const reader = createReader();
  try {
    for await (const portion of textInSlices(text, xmlSliceLength)) reader.write(portion);
    reader.close();
  } catch (error) {
    return fail(String(error instanceof Error ? error.message : error).slice(0, 200));
  }
  const { publishedAt, entries } = reader;
  if (publishedAt === undefined)
    return fail('the root element must be CONSOLIDATED_LIST with dateGenerated');
  const seen = new Set<string>();
  for (const { entryId } of entries) {
    if (!/^\d{1,12}$/.test(entryId)) return fail('an entry has no number');
    if (seen.has(entryId)) return fail(`duplicate entry ${entryId}`);
    seen.add(entryId);
  }
  if (entries.length === 0) return fail('the list has no entries');
  return { ok: true, entries, publishedAt, skipped: 0, cutOff: 0, warnings: [] };
}

type Reader = {
  write(portion: string): void;
  /** @throws Error where the document is incomplete. */
  close(): void;
  readonly entries: readonly ListEntry[];
  readonly publishedAt: string | undefined;
};

function createReader(): Reader {
  const parser = new SaxesParser();
  const entries: ListEntry[] = [];
  let publishedAt: string | undefined;
  const open: Node[] = [];
  let text = '';
  parser.on('doctype', () => {
    // The list never declares one, and a declaration could attempt entity expansion.
    throw new Error('a document type declaration is not allowed');
  });
  parser.on('opentag', ({ name, attributes }) => {
    if (open.length === depthMax) throw new Error('elements are nested too deeply');
    if (open.length === 0 && name === 'CONSOLIDATED_LIST') {
      publishedAt = readInstant(attributes['dateGenerated'] ?? '');
    }
    open.push({ name, children: new Map() });
    text = '';
  });
  parser.on('text', (portion) => {
    text += portion;
    if (text.length > textLengthMax) throw new Error('a text is too long');
  });
  parser.on('closetag', () => {
    const node = open.pop();
    if (node === undefined) return;
    const entry = open.length === 2 ? readEntry(node) : undefined;
    if (entry !== undefined) entries.push(entry);
    else if (open.length > 2) addValue(open.at(-1), node, text);
    text = '';
  });
  return {
    write: (portion) => void parser.write(portion),
    close: () => void parser.close(),
    entries,
    get publishedAt() {
      return publishedAt;
    },
  };
}

function addValue(parent: Node | undefined, node: Node, text: string): void {
  if (parent === undefined) return;
  const value = node.children.size > 0 ? node : text.trim();
  if (value === '') return;
  const present = parent.children.get(node.name);
  if (present === undefined) parent.children.set(node.name, [value]);
  else present.push(value);
}

function readEntry(node: Node): ListEntry | undefined {
  if (node.name !== 'INDIVIDUAL' && node.name !== 'ENTITY') return undefined;
  const isPerson = node.name === 'INDIVIDUAL';
  const primary = ['FIRST_NAME', 'SECOND_NAME', 'THIRD_NAME', 'FOURTH_NAME']
    .flatMap((part) => textsOf(node, part))
    .join(' ');
  const names: ListedName[] = [
    { text: primary, quality: 'primary' },
    ...textsOf(node, 'NAME_ORIGINAL_SCRIPT').map((text) => ({ text, quality: 'alias' as const })),
    ...nodesOf(node, `${node.name}_ALIAS`).flatMap(readAlias),
  ];
  const countryNames = isPerson
    ? nodesOf(node, 'NATIONALITY').flatMap((nationality) => textsOf(nationality, 'VALUE'))
    : nodesOf(node, 'ENTITY_ADDRESS').flatMap((address) => textsOf(address, 'COUNTRY'));
  return {
    entryId: textsOf(node, 'DATAID')[0] ?? '',
    kind: isPerson ? 'person' : 'organisation',
    names: names.filter(({ text }) => text !== ''),
    births: nodesOf(node, 'INDIVIDUAL_DATE_OF_BIRTH').flatMap((birth) => readBirth(birth) ?? []),
    countries: [...new Set(countryNames.flatMap((name) => findCountryByName(name) ?? []))],
    programmes: textsOf(node, 'UN_LIST_TYPE'),
    wallets: [],
  };
}

/** Quality is Good or Low; organisations have a.k.a. and f.k.a. instead. */
function readAlias(alias: Node): ListedName[] {
  const quality: NameQuality = textsOf(alias, 'QUALITY')[0] === 'Low' ? 'weak' : 'alias';
  return textsOf(alias, 'ALIAS_NAME').map((text) => ({ text, quality }));
}

/** A day (DATE), a year or a range of years; wider where the list calls it approximate. */
function readBirth(birth: Node): DateOfBirth | undefined {
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

function textsOf(node: Node, name: string): string[] {
  const values = node.children.get(name) ?? [];
  return values.filter((value): value is string => typeof value === 'string');
}

function nodesOf(node: Node, name: string): Node[] {
  const values = node.children.get(name) ?? [];
  return values.filter((value): value is Node => typeof value !== 'string');
}

/** The instant in RFC 3339, or undefined where the text is none. */
function readInstant(text: string): string | undefined {
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : new Date(timeMs).toISOString();
}

function fail(fault: string): ParsedList {
  return { ok: false, fault: `not a usable consolidated list: ${fault}` };
}
