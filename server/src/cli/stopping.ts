import { ConfigError } from '../config.ts';
import {
  describeSending,
  type FreezeObject,
  type FreezeRow,
  findGlobalFreeze,
  listFreezes,
  readUndrained,
  resume,
  type Stopped,
  stop,
} from '../controls/freezes.ts';
import { formatToken } from '../core/ids.ts';
import { describeRecovery } from '../dispatch/recovery.ts';
import { getAccountId } from './account.ts';
import { defineCommand } from './command.ts';
import type { CommandContext } from './context.ts';
import {
  account,
  by,
  country,
  currency,
  deliveryType,
  flag,
  freeze,
  rail,
  reason,
  user,
} from './options.ts';
import { getUserKey } from './screening.ts';

/** Stops and resumes: all sending, all commits, or a client, a recipient, a corridor or a rail. */

/** One person stops. In live, two resume. */
export const countPersons = ({ name }: Pick<CommandContext, 'name'>): number =>
  name === 'live' ? 2 : 1;

type By = { by: string; reason: string };

async function freezeObject(context: CommandContext, object: FreezeObject, values: By) {
  return describeStopped(await stop(context.db, object, values));
}

async function resumeGlobal(
  context: CommandContext,
  scope: 'sending' | 'commits',
  values: By,
): Promise<unknown> {
  const open = await findGlobalFreeze(context.db.system, scope);
  if (open === undefined) throw new ConfigError(`${scope} is not stopped`);
  return resume(context.db, open.id, { ...values, personsNeeded: countPersons(context) });
}

export const sendingCommands = [
  defineCommand({
    name: 'sending stop',
    about: 'stop all sending now, and show what is in flight and what waits',
    options: { by, reason },
    run: (context, values) => freezeObject(context, { scope: 'sending' }, values),
  }),
  defineCommand({
    name: 'sending resume',
    about: 'resume sending; in live two persons are needed',
    options: { by, reason },
    run: (context, values) => resumeGlobal(context, 'sending', values),
  }),
  defineCommand({
    name: 'sending drain',
    about: 'refuse commits and send what is committed; run it again to see what is left',
    options: { by, reason },
    run: async (context, values) => {
      const drained = await freezeObject(context, { scope: 'commits' }, values);
      return { ...drained, left: await readUndrained(context.db.system) };
    },
  }),
  defineCommand({
    name: 'sending undrain',
    about: 'accept commits again after a drain; in live two persons are needed',
    options: { by, reason },
    run: (context, values) => resumeGlobal(context, 'commits', values),
  }),
  defineCommand({
    name: 'sending show',
    about: 'show what is stopped, and by rail what is in flight and what waits',
    options: {},
    run: async ({ db }) => ({
      freezes: (await listFreezes(db.system, { withLifted: false })).map(describeFreeze),
      recovery: (await describeRecovery({ db })).state,
      rails: await describeSending(db.system),
    }),
  }),
];

export const freezeCommands = [
  defineCommand({
    name: 'freeze account',
    about: "refuse a client's commits, and send nothing of what it has committed",
    options: { account, by, reason },
    run: async (context, { account: id, ...values }) =>
      freezeObject(
        context,
        { scope: 'account', account_id: await getAccountId(context, id) },
        values,
      ),
  }),
  defineCommand({
    name: 'freeze recipient',
    about: 'lock a recipient: nothing is committed or sent to it',
    options: { user, by, reason },
    run: async (context, { user: id, ...values }) => {
      const { accountId } = await getUserKey(context, id);
      const object = { scope: 'recipient', account_id: accountId, user_id: id } as const;
      return freezeObject(context, object, values);
    },
  }),
  defineCommand({
    name: 'freeze corridor',
    about: 'send nothing to a country, or of one delivery type or currency there',
    options: {
      country,
      deliveryType: deliveryType.optional(),
      currency: currency.optional(),
      by,
      reason,
    },
    run: (context, { country: code, deliveryType: type, currency: paid, ...values }) =>
      freezeObject(
        context,
        { scope: 'corridor', country: code, delivery_type: type, currency: paid?.code },
        values,
      ),
  }),
  defineCommand({
    name: 'freeze rail',
    about: 'send nothing through a rail; its passes rest',
    options: { rail, by, reason },
    run: (context, { rail: name, ...values }) =>
      freezeObject(context, { scope: 'rail', rail: name }, values),
  }),
  defineCommand({
    name: 'freeze list',
    about: 'list what is frozen, by whom and why',
    options: { all: flag('lifted ones too') },
    run: async ({ db }, { all }) =>
      (await listFreezes(db.system, { withLifted: all })).map(describeFreeze),
  }),
  defineCommand({
    name: 'freeze lift',
    about: 'end a freeze; in live two persons are needed',
    options: { freeze, by, reason },
    run: (context, { freeze: id, ...values }) =>
      resume(context.db, id, { ...values, personsNeeded: countPersons(context) }),
  }),
];

function describeStopped({ freeze: row, isNew, rails }: Stopped) {
  return { result: isNew ? 'stopped' : 'was_stopped', freeze: describeFreeze(row), rails };
}

export function describeFreeze({ user_id: userId, ...row }: FreezeRow) {
  const shown = { ...row, user_token: userId === null ? null : formatToken('user', userId) };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== null));
}
