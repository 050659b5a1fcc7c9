import { formatSeconds } from '../core/clock.ts';
import { formatToken } from '../core/ids.ts';
import type { Status, UnfinishedPayoutRow } from '../monitoring/status.ts';
import { formatAge, formatSections, type Section } from './columns.ts';

/** What `status` prints: never more than fits on a terminal of 80 columns and 24 lines. */

const columns = 80;
/** Without titles and the line that counts the others. */
const shown = { freezes: 2, rails: 3, stuck: 2, exceptions: 2 } as const;

type RateAge = { source: string; age: string };

export function writeStatus(
  environment: string,
  status: Status,
  rates: readonly RateAge[],
): string {
  const { freezes, rails, exceptions, stuck, byStatus } = status;
  const now = status.now.getTime();
  const sections: Section[] = [
    [
      'STOPPED',
      shorten(freezes, shown.freezes, 'freeze list', (row) => {
        const age = formatAge((now - row.since.getTime()) / 1000);
        const waiting = `${row.waiting} wait`;
        const by = `for ${age} by ${row.frozen_by}, ${waiting}`;
        return [`${describeObject(row)} ${by}`, `  ${row.id} ${row.reason}`];
      }),
    ],
    [
      'RAILS      being sent / at the rail / waiting / oldest',
      shorten(rails, shown.rails, 'rail list', (row) => [
        `${row.rail.padEnd(24)} ${row.beingSent} / ${row.handedOver} / ${row.waiting} / ` +
          formatAge(row.oldestSeconds),
      ]),
    ],
    [`PAYOUTS: ${byStatus.map((row) => `${row.status} ${row.count}`).join(', ') || 'none'}`],
    [
      `STUCK: ${stuck.matching}`,
      shorten(
        stuck.oldest,
        shown.stuck,
        'payout list --stuck',
        (row) => [
          `${formatToken('payout', row.payout_id)} ${row.rail} ${formatAge(row.age_seconds)} ` +
            describeWait(row),
        ],
        stuck.matching,
      ),
    ],
    [
      'EXCEPTIONS',
      shorten(exceptions, shown.exceptions, 'exception list', ({ kind, count, ...row }) => [
        `${kind.padEnd(24)} ${count}, oldest ${formatAge(row.oldest_seconds)}`,
      ]),
    ],
    [`AGE OF DATA: ${describeAges(status, rates) || 'none'}`],
  ];
  const isSending = !freezes.some(({ scope }) => scope === 'sending');
  const isOpen = !freezes.some(({ scope }) => scope === 'commits');
  const head = [
    `${environment} ${formatSeconds(status.now)}Z  sending: ${isSending ? 'yes' : 'STOPPED'}  ` +
      `commits: ${isOpen ? 'yes' : 'STOPPED'}`,
    `recovery: ${status.recovery}  batches: ${status.batchesCommitting}  accounts: ${status.accounts}`,
  ];
  return [...head, formatSections(sections)].join('\n').split('\n').map(cut).join('\n');
}

const cut = (line: string): string =>
  line.length <= columns ? line : `${line.slice(0, columns - 1)}…`;

/** The first rows, and how many there are besides. */
function shorten<Row>(
  rows: readonly Row[],
  count: number,
  command: string,
  write: (row: Row) => string[],
  matching = rows.length,
): string[] {
  const lines = rows.slice(0, count).flatMap(write);
  const others = matching - Math.min(rows.length, count);
  return others === 0 ? lines : [...lines, `and ${others} more: ${command}`];
}

function describeAges({ lists, now }: Status, rates: readonly RateAge[]): string {
  const ages = lists.map(
    ({ list, checkedAtMs }) => `list ${list} ${formatAge((now.getTime() - checkedAtMs) / 1000)}`,
  );
  return [...rates.map(({ source, age }) => `rates ${source} ${age}`), ...ages].join(', ');
}

export function describeWait(row: UnfinishedPayoutRow): string {
  if (row.exceptions.length > 0) return `a decision: ${row.exceptions.join(', ')}`;
  if (row.frozen_by !== '') return `the end of a freeze: ${row.frozen_by}`;
  if (row.attempt_state === '') return 'being sent';
  const reason = row.attempt_reason === '' ? '' : ` (${row.attempt_reason})`;
  return row.attempt_state === 'accepted'
    ? 'the outcome at the rail'
    : `the rail: ${row.attempt_state}${reason}`;
}

/** A recipient's token is enough: it belongs to one account. */
function describeObject(row: Status['freezes'][number]): string {
  const names = [
    row.user_id === null ? row.account_id : formatToken('user', row.user_id),
    row.country,
    row.delivery_type,
    row.currency,
    row.rail,
  ];
  return [row.scope, ...names.filter((name) => name !== null)].join(' ');
}
