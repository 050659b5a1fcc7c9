import type { PayoutDecision } from '../api/payout-queries.ts';
import { readTime } from '../format/time.ts';

type Attempt = PayoutDecision['attempts'][number];
type Exception = PayoutDecision['exceptions'][number];

/** What happened in one state of the timeline. */
export type Chapter = { attempts: Attempt[]; exceptions: Exception[] };

type Entry = { status: string; time: string };

/**
 * Attempts and exceptions by the state of the timeline in which they began, each in one. The API writes
 * times to the second, so what began within the second of two states belongs to the later one. Attempts
 * are made while a payout is processed, and only then.
 */
export function nestStory(
  timeline: readonly Entry[],
  { attempts, exceptions }: Pick<PayoutDecision, 'attempts' | 'exceptions'>,
): Chapter[] {
  const chapters = timeline.map((): Chapter => ({ attempts: [], exceptions: [] }));
  const begins = timeline.map(({ status, time }) => ({ status, ms: readMs(time) }));
  const processed = begins.map(({ status }) => status === 'PROCESSING');
  for (const attempt of attempts) {
    const at = findLast(begins, readMs(attempt.started_at), processed);
    chapters[at]?.attempts.push(attempt);
  }
  for (const exception of exceptions) {
    chapters[findLast(begins, readMs(exception.opened_at))]?.exceptions.push(exception);
  }
  return chapters;
}

const readMs = (text: string): number => readTime(text)?.getTime() ?? 0;

/** The last state that had begun; of those that may be, the first one where none had. */
function findLast(
  begins: readonly { ms: number }[],
  ms: number,
  mayBe: readonly boolean[] = begins.map(() => true),
): number {
  const second = Math.floor(ms / 1_000);
  const last = begins.findLastIndex(
    (entry, index) => mayBe[index] === true && Math.floor(entry.ms / 1_000) <= second,
  );
  return last === -1 ? mayBe.indexOf(true) : last;
}
