import { z } from 'zod';
import { formatToken } from '../core/ids.ts';
import {
  type Clearance,
  clearEntries,
  endClearance,
  listClearances,
  readClearable,
} from '../screening/clearances.ts';
import { defineCommand, RowPage } from './command.ts';
import { flag, identifier, limit, option, reason, rowCursor, until, user } from './options.ts';
import { getUserKey } from './user-key.ts';

/** Entries of sanctions lists that are cleared for recipients. */

export const result = option(
  { value: 'number', about: 'the reviewed result: sequence in screening show' },
  z
    .string()
    .regex(/^[1-9]\d{0,8}$/, 'must be the number of a result, such as 3')
    .transform(Number),
);
const entries = option(
  { value: 'entries', about: 'such as ofac_sdn/101, with spaces between; default: all hits' },
  z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,29}\/\S{1,100}(?: [a-z][a-z0-9_]{0,29}\/\S{1,100}){0,19}$/, {
      error: 'must be up to 20 entries, each as LIST/NUMBER',
    })
    .transform((given) =>
      given.split(' ').map((one) => {
        const [list = '', ...rest] = one.split('/');
        return { list, entryId: rest.join('/') };
      }),
    ),
);
export const clearanceCommands = [
  defineCommand({
    name: 'screening clear',
    resultNames: ['cleared', 'covered'],
    permission: 'comply',
    about: 'clear hits of a user until a date; may need two people',
    options: { user, result, entries: entries.optional(), until, reason },
    approval: async (context, { user: userId, result: sequence, entries: chosen, until: end }) => {
      const key = await getUserKey(context, userId);
      const services = { session: context.db.system, keys: context.keys };
      await readClearable(services, { ...key, sequence, entries: chosen, until: end });
      return { policy: 'screening' };
    },
    run: async (context, { user: userId, result: sequence, entries: chosen, ...values }) => {
      const key = await getUserKey(context, userId);
      const clearedBy = context.operator.name;
      const given = { ...key, ...values, sequence, entries: chosen, clearedBy };
      const { cleared, isCovered } = await clearEntries(context, given);
      return { cleared, covered: isCovered };
    },
  }),
  defineCommand({
    name: 'screening clearances',
    permission: 'read',
    about: 'list clearances, newest first',
    options: {
      user: user.optional(),
      all: flag('those too that have ended'),
      limit: limit.optional(),
      cursor: rowCursor.optional(),
    },
    run: async (context, { user: userId, all, limit: count = 100, cursor }) => {
      const key = userId === undefined ? undefined : await getUserKey(context, userId);
      const filter = { user: key, includesEnded: all };
      const { rows, next } = await listClearances(context, filter, { cursor, count });
      return new RowPage(rows.map(describeClearance), next);
    },
  }),
  defineCommand({
    name: 'screening end-clearance',
    permission: 'comply',
    about: 'end a clearance before its date',
    options: { clearance: identifier('clearance'), reason },
    run: async (context, { clearance: id }) => {
      await endClearance(context, { id, endedBy: context.operator.name });
      return { result: 'done' };
    },
  }),
];

function describeClearance(clearance: Clearance) {
  return {
    clearance: clearance.id,
    account: clearance.accountId,
    user_token: formatToken('user', clearance.userId),
    entry: `${clearance.list}/${clearance.entryId}`,
    entry_name: clearance.entryName,
    state: clearance.state,
    reason: clearance.reason,
    cleared_by: clearance.clearedBy,
    cleared_at: clearance.clearedAt,
    until: clearance.until,
    ended_by: clearance.endedBy,
    ended_at: clearance.endedAt,
  };
}
