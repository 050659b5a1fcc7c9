import { formatSeconds } from '../core/clock.ts';
import { formatToken } from '../core/ids.ts';
import type { Status, UnfinishedPayoutRow } from '../monitoring/status.ts';
import { formatAge, formatSections, type Section } from './columns.ts';

/** What `status` prints: never more than fits on a terminal of 80 columns and 24 lines. */

const columns = 80;
/** How many of each, and which command lists all. */
const shown = {
  freezes: { count: 2, command: 'freeze list' },
  rails: { count: 3, command: 'rail list' },
  stuck: { count: 2, command: 'payout list --stuck' },
  exceptions: { count: 2, command: 'exception list' },
} as const;

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
      shorten(freezes, (row) => writeFreeze(row, now), {
        ...shown.freezes,
        matching: status.freezesInForce,
      }),
    ],
    [
      'RAILS      being sent / at the rail / waiting / oldest',
      shorten(rails, writeRail, shown.rails),
    ],
    [
      `PAYOUTS NOT ENDED: ${byStatus.map((row) => `${row.status} ${row.count}`).join(', ') || 'none'}`,
    ],
    [
      `STUCK: ${stuck.matching}`,
      shorten(stuck.oldest, writeStuck, { ...shown.stuck, matching: stuck.matching }),
    ],
    ['EXCEPTIONS', shorten(exceptions, writeExceptions, shown.exceptions)],
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

function writeFreeze(row: Status['freezes'][number], now: number): string[] {
  const age = formatAge((now - row.since.getTime()) / 1000);
  const head = `${describeObject(row)} for ${age} by ${row.frozen_by}, ${row.waiting} wait`;
  return [head, `  ${row.id} ${row.reason}`];
}

const writeRail = (row: Status['rails'][number]): string[] => [
  `${row.rail.padEnd(24)} ${row.beingSent} / ${row.handedOver} / ${row.waiting} / ` +
    formatAge(row.oldestSeconds),
];

const writeStuck = (row: UnfinishedPayoutRow): string[] => [
  `${formatToken('payout', row.payout_id)} ${row.rail} ${formatAge(row.age_seconds)} ` +
    describeWait(row),
];

const writeExceptions = ({ kind, count, ...row }: Status['exceptions'][number]): string[] => [
  `${kind.padEnd(24)} ${count}, oldest ${formatAge(row.oldest_seconds)}`,
];

const cut = (line: string): string =>
  line.length <= columns ? line : `${line.slice(0, columns - 1)}…`;

/** The first rows, and how many there are besides of those that match. */
function shorten<Row>(
  rows: readonly Row[],
  write: (row: Row) => string[],
  { count, command, matching = rows.length }: { count: number; command: string; matching?: number },
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
