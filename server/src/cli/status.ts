import { formatSeconds } from '../core/clock.ts';
import { getCurrency } from '../core/currency.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import {
  listUnfinished,
  readStatus,
  type Status,
  type UnfinishedPayoutRow,
  unfinishedStatuses,
} from '../monitoring/status.ts';
import { formatAge, formatSections, type Section } from './columns.ts';
import { defineCommand, Screen } from './command.ts';
import { getRates } from './context.ts';
import { account, duration, flag, limit, oneOf, rail } from './options.ts';

/** One screen of how the service is doing, and the list of payouts that have not ended. */

export const statusCommands = [
  defineCommand({
    name: 'status',
    permission: 'read',
    about: 'show on one screen what is stopped, stuck, open and waiting',
    options: {},
    run: async (context) => {
      const status = await readStatus(context.db);
      const rates = await getRates(context);
      const newest = [...rates.newestBySource()].map(([source, asOfMs]) => ({
        source,
        age: formatAge((context.clock.nowMs() - asOfMs) / 1000),
      }));
      const { name } = context;
      return new Screen({ environment: name, ...status, rates: newest }, () =>
        writeScreen(name, status, newest),
      );
    },
  }),
];

export const payoutListCommand = defineCommand({
  name: 'payout list',
  permission: 'read',
  about: 'list payouts that have not ended, the oldest first, with what they wait for',
  options: {
    stuck: flag('only held, frozen, late, with an open exception, or unsent for 15 minutes'),
    account: account.optional(),
    rail: rail.optional(),
    status: oneOf('status', unfinishedStatuses).optional(),
    olderThan: duration('committed longer ago than this').optional(),
    limit: limit.optional(),
  },
  run: async ({ db }, { stuck, account: accountId, olderThan, limit: count = 100, ...values }) => {
    const filter = { ...values, accountId, isStuck: stuck, olderThanSeconds: olderThan };
    const rows = await listUnfinished(db.system, filter, count);
    return {
      matching: rows[0]?.matching ?? 0,
      shown: rows.length,
      payouts: rows.map(describeUnfinished),
    };
  },
});

function describeUnfinished(row: UnfinishedPayoutRow) {
  const currency = getCurrency(row.destination_currency);
  return {
    payout_token: formatToken('payout', row.payout_id),
    account_id: row.account_id,
    status: row.status,
    rail: row.rail,
    payer_key: row.payer_key,
    destination: `${row.country} ${row.delivery_type}`,
    amount: `${formatAmount(row.destination_amount, currency)} ${currency.code}`,
    committed_at: row.committed_at,
    age: formatAge(row.age_seconds),
    is_stuck: row.is_stuck,
    waits_for: describeWait(row),
    tries: row.tries ?? 0,
    due_at: row.due_at,
  };
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

type RateAge = { source: string; age: string };

function writeScreen(environment: string, status: Status, rates: readonly RateAge[]): string {
  const { freezes, rails, exceptions, stuck, lists } = status;
  const now = status.now.getTime();
  const sections: Section[] = [
    [
      'STOPPED',
      freezes.map(
        (row) =>
          `${describeObject(row)} since ${formatSeconds(row.since)} by ${row.frozen_by}: ` +
          `${row.reason} (${row.waiting} wait) ${row.id}`,
      ),
    ],
    [
      'RAILS      being sent / at the rail / waiting / oldest',
      rails.map(
        (row) =>
          `${row.rail.padEnd(24)} ${row.beingSent} / ${row.handedOver} / ${row.waiting} / ` +
          formatAge(row.oldestSeconds),
      ),
    ],
    ['PAYOUTS', status.byStatus.map(({ status: name, count }) => `${name.padEnd(24)} ${count}`)],
    [
      `STUCK: ${stuck.matching}`,
      stuck.oldest.map(
        (row) =>
          `${formatToken('payout', row.payout_id)} ${row.rail} ${formatAge(row.age_seconds)} ` +
          describeWait(row),
      ),
    ],
    [
      'EXCEPTIONS',
      exceptions.map(
        ({ kind, count, oldest_seconds: oldest }) =>
          `${kind.padEnd(24)} ${count}, oldest ${formatAge(oldest)}`,
      ),
    ],
    [
      'AGE OF DATA',
      [
        ...rates.map(({ source, age }) => `rates ${source.padEnd(18)} ${age}`),
        ...lists.map(
          ({ list, checkedAtMs }) =>
            `list ${list.padEnd(19)} ${formatAge((now - checkedAtMs) / 1000)}`,
        ),
      ],
    ],
  ];
  const isSending = !freezes.some(({ scope }) => scope === 'sending');
  const isOpen = !freezes.some(({ scope }) => scope === 'commits');
  const head =
    `${environment} ${formatSeconds(status.now)}Z  sending: ${isSending ? 'yes' : 'STOPPED'}  ` +
    `commits: ${isOpen ? 'yes' : 'STOPPED'}  recovery: ${status.recovery}  ` +
    `batches: ${status.batchesCommitting}  accounts: ${status.accounts}`;
  return `${head}\n${formatSections(sections)}`;
}

function describeObject(row: Status['freezes'][number]): string {
  const names = [
    row.account_id,
    row.user_id === null ? null : formatToken('user', row.user_id),
    row.country,
    row.delivery_type,
    row.currency,
    row.rail,
  ];
  return [row.scope, ...names.filter((name) => name !== null)].join(' ');
}
