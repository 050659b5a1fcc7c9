import { describeRecovery, releaseRecovery } from '../dispatch/recovery.ts';
import { defineCommand } from './command.ts';
import { flag, reason } from './options.ts';

export const recoveryCommands = [
  defineCommand({
    name: 'recovery show',
    permission: 'read',
    about: 'show the payments that rails listed after a restore, and what they belong to',
    options: {},
    run: describeRecovery,
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
