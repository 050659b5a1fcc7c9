import {
  describeSending,
  type FreezeObject,
  type FreezeRow,
  findGlobalFreeze,
  listFreezes,
  readFreezesInForce,
  readUndrained,
  requireOpenFreeze,
  resume,
  type Stopped,
  stop,
} from '../controls/freezes.ts';
import { AppError } from '../core/errors.ts';
import { formatToken } from '../core/ids.ts';
import { describeRecovery } from '../dispatch/recovery.ts';
import { getAccountId } from './account.ts';
import { defineCommand, RowPage } from './command.ts';
import type { OperatorContext } from './context.ts';
import {
  account,
  country,
  currency,
  deliveryType,
  flag,
  freeze,
  longLimit,
  rail,
  reason,
  rowCursor,
  user,
} from './options.ts';
import { requireRail } from './rail-names.ts';
import { getUserKey } from './user-key.ts';

/** Stops and resumes: all sending, all commits, or a client, a recipient, a corridor or a rail. */

type Reason = { reason: string };

async function freezeObject(
  { db, operator }: OperatorContext,
  object: FreezeObject,
  { reason: why }: Reason,
) {
  return describeStopped(await stop(db, object, { by: operator.name, reason: why }));
}

type GlobalScope = 'sending' | 'commits';

/** @throws AppError illegal_move where it is not stopped. */
async function getGlobalFreeze({ db }: OperatorContext, scope: GlobalScope): Promise<string> {
  const open = await findGlobalFreeze(db.system, scope);
  if (open !== undefined) return open.id;
  const subject = scope === 'commits' ? 'commits are' : 'sending is';
  throw new AppError('illegal_move', `${subject} not stopped`);
}

const resumeGlobal = async (
  context: OperatorContext,
  scope: GlobalScope,
  { reason: why }: Reason,
) =>
  resume(context.db, await getGlobalFreeze(context, scope), {
    by: context.operator.name,
    reason: why,
  });

const approveGlobal = async (context: OperatorContext, scope: GlobalScope) => {
  await getGlobalFreeze(context, scope);
  return { policy: 'resume' } as const;
};

export const sendingCommands = [
  defineCommand({
    name: 'sending stop',
    permission: 'operate',
    resultNames: ['freeze'],
    about: 'stop all sending now, and show what is in flight and what waits',
    options: { reason },
    run: (context, values) => freezeObject(context, { scope: 'sending' }, values),
  }),
  defineCommand({
    name: 'sending resume',
    permission: 'operate',
    resultNames: ['released'],
    about: 'resume sending; in live two people are needed',
    options: { reason },
    approval: (context) => approveGlobal(context, 'sending'),
    run: (context, values) => resumeGlobal(context, 'sending', values),
  }),
  defineCommand({
    name: 'sending drain',
    permission: 'operate',
    resultNames: ['freeze', 'left'],
    about: 'refuse commits and send what is committed; run it again to see what is left',
    options: { reason },
    run: async (context, values) => {
      const drained = await freezeObject(context, { scope: 'commits' }, values);
      return { ...drained, left: await readUndrained(context.db.system) };
    },
  }),
  defineCommand({
    name: 'sending undrain',
    permission: 'operate',
    resultNames: ['released'],
    about: 'accept commits again after a drain; in live two people are needed',
    options: { reason },
    approval: (context) => approveGlobal(context, 'commits'),
    run: (context, values) => resumeGlobal(context, 'commits', values),
  }),
  defineCommand({
    name: 'sending show',
    permission: 'read',
    about: 'show what is stopped, and by rail what is in flight and what waits',
    options: {},
    run: async ({ db }) => {
      const inForce = await readFreezesInForce(db.system);
      return {
        freezes: inForce.freezes.map(describeFreeze),
        freezes_in_force: inForce.count,
        recovery: (await describeRecovery({ db })).state,
        rails: await describeSending(db.system),
      };
    },
  }),
];

export const freezeCommands = [
  defineCommand({
    name: 'freeze account',
    permission: 'operate',
    resultNames: ['freeze'],
    about: "refuse a client's commits, and send nothing of what it has committed",
    options: { account, reason },
    run: async (context, { account: id, ...values }) =>
      freezeObject(
        context,
        { scope: 'account', account_id: await getAccountId(context, id) },
        values,
      ),
  }),
  defineCommand({
    name: 'freeze recipient',
    permission: 'operate',
    resultNames: ['freeze'],
    about: 'lock a recipient: nothing is committed or sent to it',
    options: { user, reason },
    run: async (context, { user: id, ...values }) => {
      const { accountId } = await getUserKey(context, id);
      const object = { scope: 'recipient', account_id: accountId, user_id: id } as const;
      return freezeObject(context, object, values);
    },
  }),
  defineCommand({
    name: 'freeze corridor',
    permission: 'operate',
    resultNames: ['freeze'],
    about: 'stop sending to a country, or one delivery type or currency there',
    options: {
      country,
      deliveryType: deliveryType.optional(),
      currency: currency.optional(),
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
    permission: 'operate',
    resultNames: ['freeze'],
    about: 'stop sending through a rail; its passes pause',
    options: { rail, reason },
    run: async (context, { rail: name, ...values }) => {
      await requireRail(context, name);
      return freezeObject(context, { scope: 'rail', rail: name }, values);
    },
  }),
  defineCommand({
    name: 'freeze list',
    permission: 'read',
    about: 'list freezes, with operator and reason',
    options: {
      all: flag('lifted ones too'),
      limit: longLimit.optional(),
      cursor: rowCursor.optional(),
    },
    run: async ({ db }, { all, limit: count = 1000, cursor }) => {
      const { rows, next } = await listFreezes(db.system, { withLifted: all, cursor, count });
      return new RowPage(rows.map(describeFreeze), next);
    },
  }),
  defineCommand({
    name: 'freeze lift',
    permission: 'operate',
    resultNames: ['released'],
    about: 'end a freeze; in live two people are needed',
    options: { freeze, reason },
    approval: async ({ db }, { freeze: id }) => {
      await requireOpenFreeze(db.system, id);
      return { policy: 'resume' };
    },
    run: ({ db, operator }, { freeze: id, reason: why }) =>
      resume(db, id, { by: operator.name, reason: why }),
  }),
];

function describeStopped({ freeze: row, isNew, rails }: Stopped) {
  return { result: isNew ? 'stopped' : 'was_stopped', freeze: describeFreeze(row), rails };
}

function describeFreeze({ user_id: userId, ...row }: FreezeRow) {
  const shown = { ...row, user_token: userId === null ? null : formatToken('user', userId) };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== null));
}
