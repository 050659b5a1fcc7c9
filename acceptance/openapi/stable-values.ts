import { createHash } from 'node:crypto';

/**
 * A real service makes identifiers, keys and signatures at random, and its clock runs. In a recording
 * each such value gives way to one of the same form that follows from the place where it appears
 * first, and times lose what depends on the speed of the machine. So a recording changes where
 * an answer has changed, and nowhere else.
 */

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const minuteMs = 60_000;
/** The last of these times is a week later: the end of an approval. */
const realHoursMax = 30 * 24;

/**
 * The recorder moves the sandbox's clock here, to a Tuesday, so that cut-offs and holidays are the
 * same on whatever day it runs. The examples show a day that is whole weeks earlier.
 */
const recordedDay = '2037-11-10';
const shownDay = '2026-11-10';
const shiftMs = Date.parse(recordedDay) - Date.parse(shownDay);
const shownStart = `${shownDay}T10:00:00Z`;

/** A time of the recorded day, for the clock. */
export const atMinute = (minute: number): string =>
  `${recordedDay}T10:${String(minute).padStart(2, '0')}:00Z`;

/** Two weeks later, for a payout that waits, and some years later. */
export const laterDay = '2037-11-24';
export const holdEnd = '2042-01-01';

/** Only times from this one on are on the sandbox's clock. */
const isRecorded = (time: string): boolean => time >= '2037';

/** So many bytes that follow from a place, as text. */
type Draw = (bytes: number, encoding?: 'hex' | 'base64' | 'base64url') => string;
/** The form of a random text, and how to write another one of it. */
type Form = readonly [pattern: RegExp, write: (draw: Draw) => string];

function writeUuid(draw: Draw, first: string): string {
  const text = draw(9);
  return `${first}${text.slice(0, 3)}-8${text.slice(3, 6)}-${text.slice(6)}`;
}

/** The first half of a UUID of version 7 is the time at which it was made. */
const madeAt = Date.parse(shownStart).toString(16).padStart(12, '0').replace(/.{8}/, '$&-');

const forms: readonly Form[] = [
  [
    /(?<![0-9a-z])[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b/g,
    (draw) => writeUuid(draw, `${madeAt}-7`),
  ],
  [/\b[0-9a-f]{64}\b/g, (draw) => draw(32)],
  [/(?<=\breq_)[0-9a-f]{30}\b/g, (draw) => draw(15)],
  [/(?<=\bkey_)[0-9a-f]{12}\b/g, (draw) => draw(6)],
  [/(?<=\bSBX)[0-9A-F]{12}\b/g, (draw) => draw(6).toUpperCase()],
  [/(?<=\bclient_)[\w-]{43}/g, (draw) => draw(32, 'base64url')],
];

/** Forms that only the name of the member tells apart from other texts. */
const formsOfMembers: Readonly<Record<string, Form>> = {
  key_id: [/^[0-9a-f]{16}$/g, (draw) => draw(8)],
  kid: [/^[0-9a-f]{16}$/g, (draw) => draw(8)],
  // Made up where a bank gives none.
  reference: [/^[0-9a-f]{32}$/g, (draw) => draw(16)],
  signature: [/^[\w+/]{86}==$/g, (draw) => draw(64, 'base64')],
  statement_id: [
    /^[0-9a-f-]{36}$/g,
    (draw) => writeUuid(draw, `${draw(6).replace(/.{8}/, '$&-')}-5`),
  ],
  x: [/^[\w-]{43}$/g, (draw) => draw(32, 'base64url')],
};

/**
 * Writes the values of a recording that began at `beganMs`. The members of objects keep their order.
 */
export function stabilize<R extends { operationId: string; summary: string }>(
  records: readonly R[],
  beganMs: number,
): R[] {
  const known = new Map<string, string>();
  const visit = (value: unknown, member: string, place: string): unknown => {
    if (typeof value === 'number') return writeNumber(value, member);
    if (typeof value === 'string') {
      return writeTimes(writeRandom(value, { member, place, known }), member, beganMs);
    }
    if (Array.isArray(value)) {
      return value.map((item, index) => visit(item, member, `${place}/${index}`));
    }
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, visit(item, key, `${place}/${key}`)]),
    );
  };
  return records.map(
    (record) => visit(record, '', `${record.operationId}: ${record.summary}`) as R,
  );
}

function writeRandom(
  text: string,
  { member, place, known }: { member: string; place: string; known: Map<string, string> },
): string {
  const own = formsOfMembers[member];
  let result = text;
  let count = 0;
  for (const [pattern, write] of own === undefined ? forms : [own, ...forms]) {
    result = result.replaceAll(pattern, (found) => {
      count += 1;
      const other = known.get(found) ?? write(createDraw(`${place} ${count}`));
      // The value that is written is known, too: another form may match it.
      known.set(found, other).set(other, other);
      return other;
    });
  }
  return result;
}

const createDraw =
  (place: string): Draw =>
  (bytes, encoding = 'hex') =>
    createHash('shake256', { outputLength: bytes }).update(place).digest(encoding);

const timePattern = /\b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z?)?(?!\d)/g;

function writeTimes(text: string, member: string, beganMs: number): string {
  if (member === 'age') return writeAge(text);
  // The service stores it every few seconds only.
  if (member === 'reported_at') return shownStart;
  if (member === 'created_us' || member === 'next') {
    return text.replace(/^\d{16}\b/, (microseconds) => {
      const time = new Date(Number(microseconds) / 1000).toISOString();
      return `${Date.parse(writeTime(time, beganMs))}000`;
    });
  }
  return text.replaceAll(timePattern, (time) => writeTime(time, beganMs));
}

/** In the form that it had, and to the minute. */
function writeTime(time: string, beganMs: number): string {
  const form = (ms: number): string => {
    const other = new Date(ms).toISOString().slice(0, time.replace('Z', '').length);
    return time.endsWith('Z') ? `${other}Z` : other;
  };
  const ms = Date.parse(time.length > 10 && !time.endsWith('Z') ? `${time}Z` : time);
  if (isRecorded(time)) return form(Math.floor((ms - shiftMs) / minuteMs) * minuteMs);
  // Operators, keys and checkpoints have real times: when they were recorded, or so many hours later.
  const hours = Math.round((ms - beganMs) / hourMs);
  const isReal = time.length > 10 && hours >= 0 && hours < realHoursMax;
  return isReal ? form(Date.parse(shownStart) + hours * hourMs) : time;
}

/**
 * To the nearest minute, such as `8m 0s`: steps of two minutes follow each other at some seconds of theirs. Rates
 * are older than the days by which the examples are shifted.
 */
function writeAge(age: string): string {
  return age
    .replace(/(\d+)m (\d+)s$/, (_all, minutes: string, seconds: string) => {
      return `${Number(minutes) + Math.round(Number(seconds) / 60)}m 0s`;
    })
    .replace(/^\d{4,}(?=d)/, (days) => String(Number(days) - shiftMs / dayMs));
}

/** Durations to the minute. */
function writeNumber(value: number, member: string): number {
  if (member === 'duration_ms') return 10;
  return member.endsWith('_seconds') ? Math.round(value / 60) * 60 : value;
}
