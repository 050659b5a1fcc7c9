import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Blob, Face } from 'harfbuzzjs';
import type { HanRegion } from './document.ts';
import { areScriptFontsInstalled, requireOptional } from './optional-fonts.ts';

const require = createRequire(import.meta.url);

type SubsetFont = (
  font: Buffer,
  text: string,
  options: {
    targetFormat: 'truetype';
    variationAxes: { wght: number };
    keepAllGlyphs: true;
  },
) => Promise<Buffer>;

/** A font file ready for the typesetter: static, with a family name of its own. */
type LoadedFont = { family: string; bytes: Buffer; codePoints: Set<number> };

/** A part of a font as it is published: a file and the ranges of code points that it claims. */
type FontSlice = { package: string; file: string; ranges: [first: number, last: number][] };

/** Latin, Greek, Cyrillic and Devanagari in one file, because marks and letters must share a font. */
const baseFamily = 'Receipt Base';
const baseFiles = [
  '@expo-google-fonts/noto-sans/400Regular/NotoSans_400Regular.ttf',
  '@expo-google-fonts/noto-sans/600SemiBold/NotoSans_600SemiBold.ttf',
];

const scriptPackages = (
  'arabic hebrew thai bengali tamil ethiopic armenian georgian khmer lao myanmar sinhala ' +
  'gujarati gurmukhi kannada malayalam telugu'
)
  .split(' ')
  .map((script) => `@fontsource-variable/noto-sans-${script}`);

const hanRegions: readonly HanRegion[] = ['sc', 'tc', 'jp', 'kr'];
const emojiPackage = '@fontsource-variable/noto-emoji';

/** All slices of the four Han fonts would take 60 MB; a working set is far smaller. */
const cachedBytesMax = 24 * 1024 * 1024;

/** The fonts for one document. */
export type FontSelection = {
  /** Identifies the set of fonts, so that a typesetter with it can be reused. */
  key: string;
  blobs: Buffer[];
  /** In order of preference. */
  families: string[];
  /** Code points of the text that no font covers. */
  uncovered: Set<number>;
};

const slicesByPackage = new Map<string, FontSlice[]>();
const loadedFonts = new Map<string, LoadedFont>();
let baseFonts: LoadedFont[] | undefined;
let cachedBytes = 0;

/**
 * Selects the fonts for a text. Only the slices with its characters are read: a Latin receipt needs two
 * files, and a Chinese name a few hundred kilobytes more.
 */
export async function selectFonts(text: string, region: HanRegion): Promise<FontSelection> {
  baseFonts ??= baseFiles.map((file) => loadStaticFont(file));
  const uncovered = visibleCodePoints(text);
  for (const font of baseFonts) removeAll(uncovered, font.codePoints);
  const chosen: LoadedFont[] = [];
  for (const name of areScriptFontsInstalled() ? packagesInOrder(region) : []) {
    if (uncovered.size === 0) break;
    for (const slice of slicesOf(name)) {
      if (!claimsAny(slice, uncovered)) continue;
      const font = await loadSlice(slice);
      const before = uncovered.size;
      removeAll(uncovered, font.codePoints);
      if (uncovered.size < before) chosen.push(font);
    }
  }
  return {
    key: chosen.map((font) => font.family).join(),
    blobs: [...baseFonts, ...chosen].map((font) => font.bytes),
    families: [baseFamily, ...chosen.map((font) => font.family)],
    uncovered,
  };
}

function packagesInOrder(region: HanRegion): string[] {
  const regions = [region, ...hanRegions.filter((other) => other !== region)];
  const hanPackages = regions.map((name) => `@fontsource-variable/noto-sans-${name}`);
  return [...scriptPackages, ...hanPackages, emojiPackage];
}

/** White space and default ignorable code points are invisible and need no font. */
function visibleCodePoints(text: string): Set<number> {
  const visible = text.replace(/[\s\p{Default_Ignorable_Code_Point}]/gu, '');
  return new Set(Array.from(visible, (character) => character.codePointAt(0) ?? 0));
}

function removeAll(from: Set<number>, codePoints: Set<number>): void {
  for (const codePoint of from) if (codePoints.has(codePoint)) from.delete(codePoint);
}

function claimsAny(slice: FontSlice, codePoints: Set<number>): boolean {
  for (const codePoint of codePoints) {
    if (slice.ranges.some(([first, last]) => codePoint >= first && codePoint <= last)) return true;
  }
  return false;
}

/** The published index: slice name ("arabic", "[12]") to ranges as in CSS ("U+600-6FF,U+FDFA"). */
function slicesOf(name: string): FontSlice[] {
  const known = slicesByPackage.get(name);
  if (known !== undefined) return known;
  const index = requireOptional(`${name}/unicode.json`) as Record<string, string>;
  const family = name.slice(name.lastIndexOf('/') + 1);
  const slices = Object.entries(index).map(([slice, ranges]) => ({
    package: name,
    file: `${name}/files/${family}-${slice.replace(/[[\]]/g, '')}-wght-normal.woff2`,
    ranges: ranges.split(',').map(parseRange),
  }));
  slicesByPackage.set(name, slices);
  return slices;
}

function parseRange(range: string): [number, number] {
  const [first = '', last = first] = range.trim().slice('U+'.length).split('-');
  return [Number.parseInt(first, 16), Number.parseInt(last, 16)];
}

function loadStaticFont(file: string): LoadedFont {
  return finishFont(readFileSync(require.resolve(file)), baseFamily);
}

/**
 * The typesetter reads neither WOFF2 nor variable fonts, so a slice is unpacked and pinned to the
 * regular weight. All its glyphs are kept, because shaping decomposes characters (Thai AM, Indic
 * two-part vowels) into others that are not in the text.
 */
async function loadSlice(slice: FontSlice): Promise<LoadedFont> {
  const known = loadedFonts.get(slice.file);
  if (known !== undefined) return known;
  const packed = readFileSync(requireOptional.resolve(slice.file));
  const subsetFont = requireOptional('subset-font') as SubsetFont;
  const bytes = await subsetFont(packed, '', {
    targetFormat: 'truetype',
    variationAxes: { wght: 400 },
    keepAllGlyphs: true,
  });
  const font = finishFont(bytes, `Receipt ${/\/([^/]*)-wght/.exec(slice.file)?.[1]}`);
  if (cachedBytes > cachedBytesMax) {
    loadedFonts.clear();
    cachedBytes = 0;
  }
  loadedFonts.set(slice.file, font);
  cachedBytes += font.bytes.byteLength;
  return font;
}

function finishFont(bytes: Buffer, family: string): LoadedFont {
  const codePoints = new Set(new Face(new Blob(bytes), 0).collectUnicodes());
  return { family, bytes: renameFamily(bytes, family), codePoints };
}

/**
 * Gives a font a unique family name (OpenType, "name" table). The typesetter also searches system and
 * built-in fonts, and uses one font per family: with unique names it uses only ours, and all slices.
 */
function renameFamily(font: Buffer, family: string): Buffer {
  const tableCount = font.readUInt16BE(4);
  const names = nameTable(family);
  const result = Buffer.concat([font, Buffer.alloc((4 - (font.byteLength % 4)) % 4), names]);
  for (let index = 0; index < tableCount; index++) {
    const record = 12 + index * 16;
    if (font.toString('latin1', record, record + 4) !== 'name') continue;
    result.writeUInt32BE(result.byteLength - names.byteLength, record + 8);
    result.writeUInt32BE(names.byteLength, record + 12);
    return result;
  }
  throw new Error('the receipt font has no name table');
}

/** Family (1), subfamily (2), full (4) and PostScript name (6); Windows platform, UTF-16, en-US. */
function nameTable(family: string): Buffer {
  const names: [id: number, text: string][] = [
    [1, family],
    [2, 'Regular'],
    [4, family],
    [6, family.replaceAll(' ', '-')],
  ];
  const texts = names.map(([, text]) => Buffer.from(text, 'utf16le').swap16());
  const header = Buffer.alloc(6 + 12 * names.length);
  header.writeUInt16BE(names.length, 2);
  header.writeUInt16BE(header.byteLength, 4);
  let offset = 0;
  names.forEach(([id], index) => {
    const length = texts[index]?.byteLength ?? 0;
    [3, 1, 0x409, id, length, offset].forEach((value, field) => {
      header.writeUInt16BE(value, 6 + index * 12 + field * 2);
    });
    offset += length;
  });
  return Buffer.concat([header, ...texts]);
}
