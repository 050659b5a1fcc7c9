import { formatMinor } from '../core/money.ts';
import { describeRecovery, releaseRecovery } from '../dispatch/recovery.ts';
import { defineCommand } from './command.ts';
import type { OperatorContext } from './context.ts';
import { flag, reason } from './options.ts';

export const recoveryCommands = [
  defineCommand({
    name: 'recovery show',
    permission: 'read',
    about: 'show the payments that rails listed after a restore, and what they belong to',
    options: {},
    run: showRecovery,
  }),
  defineCommand({
    name: 'recovery release',
    permission: 'decide',
    about: 'resume commits and sending; needs two people',
    options: { reason, acceptUnlisted: flag('although a rail has not listed its payments') },
    run: async (context, { reason: why, acceptUnlisted: acceptsUnlisted }) => ({
      result: await releaseRecovery(context, {
        operatorId: context.operator.id,
        decidedBy: context.operator.name,
        reason: why,
        acceptsUnlisted,
      }),
    }),
  }),
];

export type ShownRecovery = Awaited<ReturnType<typeof showRecovery>>;

/** With decimal amounts, as the counterparty's own books have them. */
async function showRecovery({ db }: Pick<OperatorContext, 'db'>) {
  const { payments, ...report } = await describeRecovery({ db });
  return {
    ...report,
    ...(payments !== undefined && {
      payments: payments.map(({ amount, ...row }) => ({
        ...row,
        amount: formatMinor(amount, row.currency),
      })),
    }),
  };
}
