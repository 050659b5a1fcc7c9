/**
 * How long a quote may be used. For a source that publishes on working days, days without a
 * publication do not count; otherwise the limit would have to cover Easter (five days), and a
 * broken import would go unnoticed for most of a week.
 */
export type AgeLimit = {
  readonly maxAgeMs: number;
  /** `target` excludes the closing days of T2, the euro's payment system. */
  readonly calendar: 'every_day' | 'target';
};

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const maxAgeLimitMs = 366 * dayMs;

/**
 * The limits of a live environment, per source. The European Central Bank publishes once per
 * working day, so 36 hours leave half a day to repair an import before payouts are refused. A
 * cryptocurrency may move by percents within an hour. The operator's own table has the limit of
 * the central bank's rates, because interbank markets are closed on the same days.
 */
export const liveAgeLimits: Readonly<Record<string, AgeLimit>> = {
  ecb: { maxAgeMs: 36 * hourMs, calendar: 'target' },
  table: { maxAgeMs: 36 * hourMs, calendar: 'target' },
  crypto: { maxAgeMs: 15 * 60_000, calendar: 'every_day' },
};

/**
 * The last moment (milliseconds since 1970) at which a quote of `asOfMs` may be used.
 *
 * @throws Error if the limit is not positive or more than 366 days.
 */
export function getExpiryMs(asOfMs: number, limit: AgeLimit): number {
  const { maxAgeMs, calendar } = limit;
  if (!(maxAgeMs > 0) || maxAgeMs > maxAgeLimitMs) {
    throw new Error(`maxAgeMs must be positive and at most 366 days: ${maxAgeMs}`);
  }
  if (calendar === 'every_day') return asOfMs + maxAgeMs;
  let remainingMs = maxAgeMs;
  let nowMs = asOfMs;
  for (;;) {
    const nextDayMs = (Math.floor(nowMs / dayMs) + 1) * dayMs;
    if (!isTargetClosingDay(nowMs)) {
      if (nowMs + remainingMs < nextDayMs) return nowMs + remainingMs;
      remainingMs -= nextDayMs - nowMs;
    }
    nowMs = nextDayMs;
  }
}

/**
 * Whether the day is a closing day of T2, the Eurosystem's payment system: weekends, New Year's
 * Day, Good Friday, Easter Monday, 1 May, 25 and 26 December (calendar fixed by the ECB in December
 * 2000). The day is taken in UTC; the hour or two to Frankfurt's midnight do not matter for an age.
 */
export function isTargetClosingDay(timeMs: number): boolean {
  const date = new Date(timeMs);
  const weekday = date.getUTCDay();
  if (weekday === 0 || weekday === 6) return true;
  const monthAndDay = date.toISOString().slice(5, 10);
  if (fixedClosingDays.has(monthAndDay)) return true;
  const daysFromEaster = Math.round(
    (Math.floor(timeMs / dayMs) * dayMs - getEasterSundayMs(date.getUTCFullYear())) / dayMs,
  );
  return daysFromEaster === -2 || daysFromEaster === 1;
}

const fixedClosingDays: ReadonlySet<string> = new Set(['01-01', '05-01', '12-25', '12-26']);

/**
 * Midnight UTC of Easter Sunday: the Sunday after the ecclesiastical full moon on or after 21
 * March, by golden number and epact as in the Gregorian reform of 1582.
 */
function getEasterSundayMs(year: number): number {
  const century = Math.floor(year / 100) + 1;
  const goldenNumber = (year % 19) + 1;
  const droppedLeapDays = Math.floor((3 * century) / 4) - 12;
  const moonCorrection = Math.floor((8 * century + 5) / 25) - 5;
  let epact = (11 * goldenNumber + 20 + moonCorrection - droppedLeapDays) % 30;
  if (epact < 0) epact += 30;
  if ((epact === 25 && goldenNumber > 11) || epact === 24) epact += 1;
  let fullMoonMarchDay = 44 - epact;
  if (fullMoonMarchDay < 21) fullMoonMarchDay += 30;
  const fullMoon = new Date(Date.UTC(year, 2, fullMoonMarchDay));
  return fullMoon.getTime() + (7 - fullMoon.getUTCDay()) * dayMs;
}
