/** Times of the API are UTC, some without an offset. They are shown in UTC, as in records and receipts. */

export function readTime(text: string): Date | undefined {
  if (text === '') return undefined;
  const isPlain = /T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?$/.test(text);
  const time = new Date(isPlain ? `${text}Z` : text);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

const dateTime = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});

const dateTimeShort = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

const dateTimeSeconds = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

const day = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' });

/** Without the year: for lists, whose rows have the whole time as a tooltip. */
export function formatTimeShort(text: string): string {
  const time = readTime(text);
  return time === undefined ? '—' : dateTimeShort.format(time);
}

export function formatTime(text: string): string {
  const time = readTime(text);
  return time === undefined ? '—' : dateTime.format(time);
}

export function formatTimeSeconds(text: string): string {
  const time = readTime(text);
  return time === undefined ? '—' : dateTimeSeconds.format(time);
}

export function formatDay(time: Date): string {
  return day.format(time);
}

/** A length of time in its two largest units: `2 d 3 h`, `41 s`. */
export function formatLength(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const units: [string, number][] = [
    ['d', Math.floor(whole / 86_400)],
    ['h', Math.floor(whole / 3600) % 24],
    ['min', Math.floor(whole / 60) % 60],
    ['s', whole % 60],
  ];
  const first = units.findIndex(([, count]) => count > 0);
  if (first === -1) return '0 s';
  const shown = units.slice(first, first + 2).filter(([, count]) => count > 0);
  return shown.map(([unit, count]) => `${count} ${unit}`).join(' ');
}
