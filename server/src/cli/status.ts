import { getCurrency } from '../core/currency.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import {
  listUnfinishedPage,
  readStatus,
  type UnfinishedPayoutRow,
  unfinishedStatuses,
} from '../monitoring/status.ts';

import { formatAge } from './columns.ts';
import { defineCommand, Screen } from './command.ts';
import { getRates } from './context.ts';
import { account, cursor, duration, flag, limit, oneOf, rail } from './options.ts';
import { describeWait, writeStatus } from './status-screen.ts';

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
        writeStatus(name, status, newest),
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
    cursor: cursor.optional(),
  },
  run: async ({ db }, { stuck, account: accountId, olderThan, ...values }) => {
    const { limit: count = 100, cursor: from, ...others } = values;
    const filter = { ...others, accountId, isStuck: stuck, olderThanSeconds: olderThan };
    const { rows, next } = await listUnfinishedPage(db.system, filter, { cursor: from, count });
    return {
      matching: rows[0]?.matching ?? 0,
      shown: rows.length,
      next_cursor: next ?? null,
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
