/** PostgreSQL has no year 0. */
const datePattern = /^(?!0000)\d{4}-\d{2}-\d{2}$/;

/** Whether the text is a date of the calendar, YYYY-MM-DD. */
export function isRealDate(text: string): boolean {
  const time = datePattern.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/**
 * The earliest date of birth of users and of attributes. No living person was born before 1900; a placeholder such
 * as 0001-01-01 would otherwise count as known when names are screened.
 */
export const birthDateMin = '1900-01-01';

const adultYears = 18;

/** Both dates as YYYY-MM-DD. A person who was born on 29 February is of age on 1 March. */
export function isAdult(born: string, today: string): boolean {
  return `${Number(born.slice(0, 4)) + adultYears}${born.slice(4)}` <= today;
}
