import { formatToken } from '../core/ids.ts';
import { openErasures } from '../environment/erasures.ts';
import {
  endHold,
  type HoldRow,
  listHolds,
  placeHold,
  requestUserErasure,
} from '../erasure/erasure.ts';
import { defineCommand } from './command.ts';
import { by, flag, hold, reason, until, user } from './options.ts';
import { getUserKey } from './screening.ts';

export const userCommands = [
  defineCommand({
    name: 'user erase',
    about: 'erase the personal data of a recipient for ever; needs two persons',
    options: { user, by, reason },
    run: async (context, { user: userId, by: actor, reason: why }) => {
      const key = await getUserKey(context, userId);
      const services = openErasures(context);
      const result = await requestUserErasure(services, { ...key, actor, reason: why });
      return { user_token: formatToken('user', userId), ...result };
    },
  }),
  defineCommand({
    name: 'user hold',
    about: 'keep the data of a recipient until a date, whoever asks for its erasure',
    options: { user, until, by, reason },
    run: async (context, { user: userId, until: end, by: placedBy, reason: why }) => {
      const key = await getUserKey(context, userId);
      const now = new Date(context.clock.nowMs());
      return describe(
        await placeHold(context.db, { ...key, reason: why, placedBy, until: end }, now),
      );
    },
  }),
  defineCommand({
    name: 'user release-hold',
    about: 'end a legal hold before its date',
    options: { hold, by },
    run: async ({ db }, { hold: id, by: endedBy }) => describe(await endHold(db, { id, endedBy })),
  }),
  defineCommand({
    name: 'user holds',
    about: 'list legal holds, newest first',
    options: { user: user.optional(), all: flag('also those that have ended') },
    run: async ({ db }, { user: userId, all }) =>
      (await listHolds(db.system, { userId, all })).map(describe),
  }),
];

function describe({ id, account_id: account, user_id: userId, ...hold }: HoldRow) {
  return { hold: id, account, user_token: formatToken('user', userId), ...hold };
}
