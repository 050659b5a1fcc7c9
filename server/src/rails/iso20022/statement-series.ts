import { z } from 'zod';
import type { StatementHead } from './statement-heads.ts';

/**
 * The series of the statements (or notifications) of an account, in whatever order they arrive, and what
 * is missing in it: pages of one, numbers between two, and the money between a closing balance and the
 * next opening balance.
 */

const pageSchema = z.object({ number: z.int(), begins: z.boolean(), ends: z.boolean() });

const memberSchema = z.object({
  name: z.string(),
  day: z.string(),
  electronic: z.array(z.int()),
  legal: z.array(z.int()),
  opening: z.string().nullable(),
  closing: z.string().nullable(),
  pages: z.array(pageSchema),
  seenAtMs: z.number(),
  isReported: z.boolean(),
});
export type SeriesMember = z.output<typeof memberSchema>;

export const seriesSchema = z.object({ members: z.array(memberSchema) });

/** A statement a day makes some months, and a gap is reported within days. */
const membersMax = 100;

/** The days that the pages of one statement may be dated apart. */
const pageDaysMax = 1;

/** Undefined where the series has it already. */
export function addToSeries(
  members: readonly SeriesMember[],
  head: StatementHead,
  nowMs: number,
): SeriesMember[] | undefined {
  const known = members.find((member) => isSame(member, head));
  const next = mergeHead(known, head, nowMs);
  if (next === undefined) return undefined;
  const others = members.filter((member) => member !== known);
  const sorted = [...others, next].toSorted(compareMembers);
  return sorted.slice(-membersMax);
}

const listNumbers = (number: number | null): number[] => (number === null ? [] : [number]);

function isSame(member: SeriesMember, head: StatementHead): boolean {
  const { page, name, day } = head;
  if (page === null) {
    return (
      member.pages.length === 0 &&
      member.day === day &&
      String(member.electronic) === String(listNumbers(head.electronicNumber)) &&
      String(member.legal) === String(listNumbers(head.legalNumber)) &&
      member.opening === head.opening &&
      member.closing === head.closing
    );
  }
  const isKnownPage = member.pages.some(({ number }) => number === page.number);
  const apart = Math.abs(Date.parse(member.day) - Date.parse(day)) / 86_400_000;
  const hasNumber =
    head.electronicNumber !== null && member.electronic.includes(head.electronicNumber);
  if (member.pages.length === 0 || (member.name !== name && !hasNumber)) return false;
  return isKnownPage ? apart === 0 : apart <= pageDaysMax;
}

function mergeHead(
  known: SeriesMember | undefined,
  head: StatementHead,
  nowMs: number,
): SeriesMember | undefined {
  const { name, day, page, opening, closing } = head;
  const electronic = listNumbers(head.electronicNumber);
  const legal = listNumbers(head.legalNumber);
  const pages = page === null ? [] : [page];
  if (known === undefined) {
    const said = { name, day, electronic, legal, opening, closing, pages };
    return { ...said, seenAtMs: nowMs, isReported: false };
  }
  if (page === null || known.pages.some(({ number }) => number === page.number)) return undefined;
  const union = (one: readonly number[], other: readonly number[]) => [
    ...new Set([...one, ...other]),
  ];
  return {
    ...known,
    day: known.day > day ? known.day : day,
    electronic: union(known.electronic, electronic),
    legal: union(known.legal, legal),
    opening: known.opening ?? opening,
    closing: closing ?? known.closing,
    pages: [...known.pages, ...pages].toSorted((one, other) => one.number - other.number),
  };
}

function compareMembers(one: SeriesMember, other: SeriesMember): number {
  if (one.day !== other.day) return one.day < other.day ? -1 : 1;
  const numbers =
    Math.min(...one.electronic, ...one.legal) - Math.min(...other.electronic, ...other.legal);
  return Number.isNaN(numbers) || numbers === 0 ? one.seenAtMs - other.seenAtMs : numbers;
}

export type SeriesGap = {
  /** The one by which it shows. */
  readonly member: SeriesMember;
  /** For an operator. */
  readonly faults: readonly string[];
  /** The sum of the missing entries, signed, where balances show it. */
  readonly missingMinor: bigint;
};

/** What is missing by now. Nothing is known of the time before the first member. */
export function findGaps(
  members: readonly SeriesMember[],
  wanted: { readonly pages: boolean; readonly numbers: boolean; readonly balances: boolean },
): SeriesGap[] {
  const numbered = wanted.numbers ? members : [];
  const electronic = findMissingNumbers(numbered, 'electronic');
  const legal = findMissingNumbers(numbered, 'legal');
  return members.flatMap((member): SeriesGap[] => {
    const missingMinor = wanted.balances ? findMissingMoney(members, member) : undefined;
    const faults = [
      ...(wanted.pages ? listMissingPages(member) : []),
      ...(electronic.get(member) ?? []),
      ...(legal.get(member) ?? []),
      ...(missingMinor === undefined
        ? []
        : ['its opening balance is not the closing balance before it']),
    ];
    return faults.length === 0 ? [] : [{ member, faults, missingMinor: missingMinor ?? 0n }];
  });
}

function listMissingPages({ pages }: SeriesMember): string[] {
  const [first] = pages;
  const last = pages.at(-1);
  if (first === undefined || last === undefined) return [];
  const faults: string[] = [];
  if (!first.begins) faults.push(`its pages before page ${first.number} are missing`);
  pages.forEach(({ number }, index) => {
    const before = pages[index - 1]?.number ?? number - 1;
    if (number - before > 1) faults.push(`its ${formatRange('page', before + 1, number - 1)}`);
  });
  if (!pages.some(({ ends }) => ends))
    faults.push(`its pages after page ${last.number} are missing`);
  return faults;
}

function formatRange(what: string, from: number, to: number): string {
  return from === to ? `${what} ${from} is missing` : `${what}s ${from} to ${to} are missing`;
}

/** A larger step is another numbering, not so many missing statements. */
const numbersMax = 366;

/** Numbers begin anew with a year, and some banks begin anew at other times. */
function findMissingNumbers(
  members: readonly SeriesMember[],
  sequence: 'electronic' | 'legal',
): Map<SeriesMember, string[]> {
  const missing = new Map<SeriesMember, string[]>();
  const listed = members
    .flatMap((member) => member[sequence].map((number) => ({ member, number })))
    .toSorted((one, other) => compareDays(one.member, other.member) || one.number - other.number);
  listed.forEach(({ member, number }, index) => {
    const before = listed[index - 1];
    if (before === undefined) return;
    const isNewYear = before.member.day.slice(0, 4) !== member.day.slice(0, 4);
    const isRestarted = number < before.number;
    if (isRestarted && !isNewYear) return;
    const from = isRestarted ? 1 : before.number + 1;
    const count = number - from;
    if (count <= 0 || count > numbersMax) return;
    const what = `${sequence} sequence number`;
    missing.set(member, [
      ...(missing.get(member) ?? []),
      `the ${formatRange(what, from, number - 1)}`,
    ]);
  });
  return missing;
}

function compareDays(one: SeriesMember, other: SeriesMember): number {
  return one.day === other.day ? 0 : one.day < other.day ? -1 : 1;
}

/**
 * Statements of one day may be in any order, so the opening balance must be a closing balance of its own
 * day or of the day before it. Undefined where it is, or where no balance is known.
 */
function findMissingMoney(
  members: readonly SeriesMember[],
  member: SeriesMember,
): bigint | undefined {
  if (member.opening === null) return undefined;
  const earlierDay = members.findLast(({ day }) => day < member.day)?.day;
  const ofDay = members.filter((one) => one !== member && one.day === member.day);
  const before = members.filter(({ day }) => day === earlierDay);
  // A statement without its last page has no closing balance yet.
  if (before.length === 0 || before.some(({ closing }) => closing === null)) return undefined;
  if ([...before, ...ofDay].some(({ closing }) => closing === member.opening)) return undefined;
  return BigInt(member.opening) - BigInt(before.at(-1)?.closing ?? 0);
}
