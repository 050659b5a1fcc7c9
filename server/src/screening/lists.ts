import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inSlices } from '../core/slices.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { describeLocation, readSource } from '../fx/read-source.ts';
import { parseEu } from './eu.ts';
import { bankCode, type ListEntry, type ParsedList } from './list-entry.ts';
import {
  type EntryRow,
  type ListRow,
  lockListRow,
  type NameRow,
  readEntryHashes,
  setInForce,
  type WalletRow,
  writeVersion,
} from './lists.sql.ts';
import { type NameWord, readWords } from './names.ts';
import { parseOfac } from './ofac.ts';
import { readAcronyms } from './organisation-words.ts';
import { parseUk } from './uk.ts';
import { parseUn } from './un.ts';
import { bankKey, normalizeWallet } from './wallets.ts';

/**
 * Imports sanctions lists from files or http(s) addresses. A list comes into force as a whole, in one
 * transaction; the versions before it are kept. A truncated download must not come into force.
 */

export type ListSource =
  | {
      readonly list: 'ofac_sdn';
      readonly sdn: string;
      readonly alt: string;
      /** The rest of remarks that `sdn` truncates; undefined where it is not configured. */
      readonly comments?: string | undefined;
    }
  | {
      readonly list: 'un_consolidated' | 'eu_consolidated' | 'uk_sanctions';
      readonly location: string;
    };

export type ListReport = { readonly list: ListSource['list'] } & (
  | {
      readonly ok: true;
      /** False where the same content was in force already. */
      readonly isNew: boolean;
      readonly version: string;
      readonly entries: number;
      readonly names: number;
      /** A changed entry counts as one removed and one added. */
      readonly added: number;
      readonly removed: number;
      readonly skipped: number;
      readonly wallets: number;
      /** Entries with possibly missing wallet addresses, because `comments` is not configured. */
      readonly cutOff: number;
    }
  | { readonly ok: false; readonly fault: string }
);

export type ImportOptions = {
  readonly db: Database;
  readonly fetch: typeof fetch;
  readonly nowMs: () => number;
  /** Import despite warnings (damaged, much smaller, older), after a person has checked it. */
  readonly acceptWarnings?: boolean;
};

/** The lists have about 6 MB and grow by a few per cent a year. */
const bytesMax = 64 * 1_048_576;
/** Lists lose dozens of entries at a time, not a tenth. */
const shrinkPercentMax = 10;
const futureToleranceMs = 48 * 3_600_000;
const readMsMax = 120_000;
/** Both take a few milliseconds. */
const sliceEntries = 20;
const hashedBytes = 1_048_576;
/** Increased by a release that reads more of a list, which must then be imported again. */
export const parserVersion = 4;

/** Imports one list after the other; a faulty source does not stop the others. */
export async function importLists(
  sources: readonly ListSource[],
  options: ImportOptions,
): Promise<ListReport[]> {
  const reports: ListReport[] = [];
  for (const source of sources) {
    const { list } = source;
    const texts = await readTexts(source, options);
    reports.push({ list, ...(texts.ok ? await importTexts(source, texts.texts, options) : texts) });
  }
  return reports;
}

type Outcome = ListReport extends infer Report
  ? Report extends ListReport
    ? Omit<Report, 'list'>
    : never
  : never;

async function readTexts(
  source: ListSource,
  options: Pick<ImportOptions, 'fetch'>,
): Promise<{ ok: true; texts: string[] } | { ok: false; fault: string }> {
  const locations =
    source.list === 'ofac_sdn'
      ? [source.sdn, source.alt, ...(source.comments === undefined ? [] : [source.comments])]
      : [source.location];
  const texts: string[] = [];
  for (const location of locations) {
    // The addresses of OFAC and of the United Nations redirect to other hosts.
    const reading = await readSource(location, {
      fetch: options.fetch,
      redirects: 'any_https',
      bytesMax,
      timeoutMs: readMsMax,
    });
    if (!reading.ok) return reading;
    if (reading.text.trim() === '') {
      return { ok: false, fault: `${describeLocation(location)} is empty` };
    }
    texts.push(reading.text);
  }
  return { ok: true, texts };
}

/** Reads and parses a list without storing it. @returns Its fault, if it has one. */
export async function findListFault(
  source: ListSource,
  options: Pick<ImportOptions, 'fetch'>,
): Promise<string | undefined> {
  const texts = await readTexts(source, options);
  if (!texts.ok) return texts.fault;
  const parsed = await parseTexts(source, texts.texts);
  return parsed.ok ? undefined : parsed.fault;
}

function parseTexts(
  source: ListSource,
  [first = '', second = '', comments]: readonly string[],
): Promise<ParsedList> {
  switch (source.list) {
    case 'un_consolidated':
      return parseUn(first);
    case 'eu_consolidated':
      return parseEu(first);
    case 'uk_sanctions':
      return parseUk(first);
    case 'ofac_sdn':
      return parseOfacTexts(first, second, comments);
  }
}

function parseOfacTexts(
  first: string,
  second: string,
  comments: string | undefined,
): Promise<ParsedList> {
  return parseOfac({ sdn: first, alt: second, ...(comments === undefined ? {} : { comments }) });
}

async function importTexts(
  source: ListSource,
  texts: readonly string[],
  options: ImportOptions,
): Promise<Outcome> {
  const parsed = await parseTexts(source, texts);
  if (!parsed.ok) return parsed;
  return importParsed({ list: source.list, parsed, contentHash: await hashTexts(texts) }, options);
}

async function hashTexts(texts: readonly string[]): Promise<Buffer> {
  const hash = createHash('sha256').update(`reader ${parserVersion}\n`);
  for (const text of texts) {
    const bytes = Buffer.from(text);
    hash.update(`${bytes.length}\n`);
    for (let from = 0; from < bytes.length; from += hashedBytes) {
      hash.update(bytes.subarray(from, from + hashedBytes));
      await nextTurn();
    }
  }
  return hash.digest();
}

/** Puts a parsed list in force. */
export async function importParsed(
  given: {
    list: ListSource['list'];
    parsed: Extract<ParsedList, { ok: true }>;
    contentHash: Buffer;
  },
  options: Pick<ImportOptions, 'db' | 'nowMs' | 'acceptWarnings'>,
): Promise<Outcome> {
  const { list, parsed, contentHash } = given;
  const rows = await prepareRows(parsed.entries);
  return options.db.systemTransaction(async (session) => {
    const inForce = await lockListRow(session, list);
    const version = parsed.publishedAt ?? `sha256:${contentHash.toString('hex').slice(0, 16)}`;
    const { skipped, cutOff } = parsed;
    const counts = {
      entries: rows.entries.length,
      names: rows.names.length,
      wallets: rows.wallets.length,
    };
    const summary = { version, ...counts, skipped, cutOff };
    if (inForce.content_hash?.equals(contentHash) === true) {
      await setInForce(session, list, inForce.sequence);
      return { ok: true, isNew: false, ...summary, added: 0, removed: 0 };
    }
    const warnings = [...parsed.warnings, ...compareWithLast(parsed, inForce, options.nowMs())];
    if (warnings.length > 0 && options.acceptWarnings !== true) {
      const fault = `${warnings.join('; ')}; check the list, then import it with --accept-shorter`;
      return { ok: false, fault };
    }
    const changes = await writeChanges(session, rows, {
      list,
      sequence: inForce.sequence + 1,
      version,
      contentHash,
      publishedAt: parsed.publishedAt,
    });
    return { ok: true, isNew: true, ...summary, ...changes };
  });
}

function compareWithLast(
  parsed: Extract<ParsedList, { ok: true }>,
  inForce: ListRow,
  nowMs: number,
): string[] {
  const warnings: string[] = [];
  const [before, after] = [inForce.entry_count ?? 0, parsed.entries.length];
  if (after * 100 < before * (100 - shrinkPercentMax)) {
    warnings.push(`it has ${after} entries, the version in force ${before}`);
  }
  const publishedMs = parsed.publishedAt === null ? undefined : Date.parse(parsed.publishedAt);
  if (publishedMs !== undefined && publishedMs < (inForce.published_at?.getTime() ?? 0)) {
    warnings.push(`it was published ${parsed.publishedAt}, before the version in force`);
  }
  if (publishedMs !== undefined && publishedMs > nowMs + futureToleranceMs) {
    warnings.push(`its publication date ${parsed.publishedAt} is in the future`);
  }
  return warnings;
}

type ListRows = {
  entries: readonly EntryRow[];
  names: readonly NameRow[];
  wallets: readonly WalletRow[];
};

async function prepareRows(entries: readonly ListEntry[]): Promise<ListRows> {
  const names: NameRow[] = [];
  const wallets: WalletRow[] = [];
  const rows: EntryRow[] = [];
  for await (const slice of inSlices(entries, sliceEntries)) {
    for (const entry of slice) {
      const prepared = prepareEntry(entry);
      rows.push(prepared.row);
      names.push(...prepared.names);
      wallets.push(...prepared.wallets);
    }
  }
  return { entries: rows, names, wallets };
}

function prepareEntry(entry: ListEntry) {
  const names = describeNames(entry);
  const wallets = describeWallets(entry);
  const row = {
    entry_id: entry.entryId,
    kind: entry.kind,
    name: entry.names[0]?.text ?? '',
    programmes: entry.programmes,
    births: entry.births,
    countries: entry.countries.join(' '),
    words: joinWords(names),
  };
  // The words are included, so that a release that splits names differently renews all entries.
  const content = createHash('sha256')
    .update(JSON.stringify([row, names, wallets]))
    .digest('hex');
  return { row: { ...row, content_hash: content }, names, wallets };
}

/** The distinct wallets and bank codes; several currencies may share a wallet. */
function describeWallets(entry: ListEntry): WalletRow[] {
  const rows = new Map<string, WalletRow>();
  for (const { currency, address } of entry.wallets) {
    const wallet = currency === bankCode ? bankKey(address) : normalizeWallet(address);
    const text = `${currency} ${address}`;
    if (!rows.has(wallet)) rows.set(wallet, { entry_id: entry.entryId, wallet, text });
  }
  return [...rows.values()];
}

/** More than the names of nearly every entry have; further ones are ignored. */
const entryWordsMax = 60;

/** The distinct words of all names of an entry. */
function joinWords(names: readonly NameRow[]): string {
  const given = names.filter(({ quality }) => quality !== 'acronym');
  const words = new Set(given.flatMap((name) => name.words.split(' ')));
  return [...words].slice(0, entryWordsMax).join(' ');
}

/** The distinct names, except those without any letter after transliteration. */
function describeNames(entry: ListEntry): NameRow[] {
  const rows = new Map<string, NameRow>();
  for (const { text, quality } of entry.names) {
    for (const variant of [text, withoutBrackets(text)]) {
      const words = readWords(variant);
      addName(rows, words, { entry_id: entry.entryId, text: variant, quality });
      if (entry.kind !== 'organisation') continue;
      for (const acronym of readAcronyms(words)) {
        const name = { entry_id: entry.entryId, text: variant, quality: 'acronym' };
        addName(rows, readWords(acronym), name);
      }
    }
  }
  return [...rows.values()];
}

function addName(
  rows: Map<string, NameRow>,
  words: readonly NameWord[],
  name: Pick<NameRow, 'entry_id' | 'text' | 'quality'>,
): void {
  const key = words.map((word) => word.text).join(' ');
  // A name that the list itself has is worth more than the acronym of another.
  const isKnown =
    rows.has(key) && (name.quality === 'acronym' || rows.get(key)?.quality !== 'acronym');
  if (key === '' || isKnown) return;
  rows.set(key, { ...name, words: key, skeletons: words.map((word) => word.skeleton).join(' ') });
}

/** Payments rarely repeat an abbreviation behind a name, as in "Some Bank (SB)". */
function withoutBrackets(text: string): string {
  return text.replaceAll(/(?<!\s)\s*\([^()]*\)\s*/g, ' ').trim();
}

async function writeChanges(
  session: Session,
  rows: ListRows,
  version: {
    list: string;
    sequence: number;
    version: string;
    contentHash: Buffer;
    publishedAt: string | null;
  },
): Promise<{ added: number; removed: number }> {
  const before = await readEntryHashes(session, version.list);
  const fresh = rows.entries.filter((row) => before.get(row.entry_id) !== row.content_hash);
  const same = new Set(
    rows.entries.filter((row) => before.get(row.entry_id) === row.content_hash).map(idOf),
  );
  const retired = [...before.keys()].filter((entryId) => !same.has(entryId));
  const counts = { addedCount: fresh.length, removedCount: retired.length };
  const totals = { entryCount: rows.entries.length, nameCount: rows.names.length };
  await writeVersion(
    session,
    { ...version, parserVersion, ...totals, ...counts },
    {
      retired,
      entries: fresh,
      names: rows.names.filter((row) => !same.has(row.entry_id)),
      wallets: rows.wallets.filter((row) => !same.has(row.entry_id)),
    },
  );
  return { added: fresh.length, removed: retired.length };
}

function idOf(row: EntryRow): string {
  return row.entry_id;
}
