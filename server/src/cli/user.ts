import { formatToken } from '../core/ids.ts';
import { openErasures } from '../environment/erasures.ts';
import {
  endHold,
  eraseUser,
  type HoldRow,
  isErased,
  listHolds,
  placeHold,
  requireHold,
} from '../erasure/erasure.ts';
import { defineCommand, RowPage } from './command.ts';
import { flag, hold, longLimit, reason, rowCursor, until, user } from './options.ts';
import { getUserKey } from './user-key.ts';

export const userCommands = [
  defineCommand({
    name: 'user erase',
    resultNames: ['erased_at'],
    permission: 'comply',
    about: 'erase the personal data of a recipient forever; needs two people',
    options: { user, reason },
    approval: async (context, { user: userId }) => {
      const key = await getUserKey(context, userId);
      // A repeat shows when it was erased.
      return (await isErased(context.db.system, key)) ? undefined : { policy: 'erasure' };
    },
    run: async (context, { user: userId, reason: why }) => {
      const key = await getUserKey(context, userId);
      const actor = `operator ${context.operator.name}`;
      const erasedAt = await eraseUser(openErasures(context), { ...key, actor, reason: why });
      return { result: 'erased', user_token: formatToken('user', userId), erased_at: erasedAt };
    },
  }),
  defineCommand({
    name: 'user hold',
    resultNames: ['hold', 'until'],
    permission: 'comply',
    about: 'keep the data of a recipient until a date, even if its erasure is requested',
    options: { user, until, reason },
    run: async (context, { user: userId, until: end, reason: why }) => {
      const key = await getUserKey(context, userId);
      const placed = { ...key, reason: why, placedBy: context.operator.name, until: end };
      return describe(await placeHold(context.db, placed, new Date(context.clock.nowMs())));
    },
  }),
  defineCommand({
    name: 'user release-hold',
    resultNames: ['hold', 'user_token', 'ended_at'],
    permission: 'comply',
    about: 'end a legal hold before its date; needs two people',
    options: { hold, reason },
    approval: async ({ db }, { hold: id }) => {
      await requireHold(db.system, id);
      return { policy: 'erasure' };
    },
    run: async ({ db, operator }, { hold: id }) =>
      describe(await endHold(db, { id, endedBy: operator.name })),
  }),
  defineCommand({
    name: 'user holds',
    permission: 'read',
    about: 'list legal holds, newest first',
    options: {
      user: user.optional(),
      all: flag('also those that have ended'),
      limit: longLimit.optional(),
      cursor: rowCursor.optional(),
    },
    run: async ({ db }, { user: userId, all, limit: count = 1000, cursor }) => {
      const { rows, next } = await listHolds(db.system, { userId, all }, { cursor, count });
      return new RowPage(rows.map(describe), next);
    },
  }),
];

function describe({ id, account_id: account, user_id: userId, ...row }: HoldRow) {
  return { hold: id, account, user_token: formatToken('user', userId), ...row };
}
