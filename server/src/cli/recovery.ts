import { describeRecovery, releaseRecovery } from '../dispatch/recovery.ts';
import { defineCommand } from './command.ts';
import { by, flag, reason } from './options.ts';

export const recoveryCommands = [
  defineCommand({
    name: 'recovery show',
    about: 'show the payments that rails listed after a restore, and what they belong to',
    options: {},
    run: describeRecovery,
  }),
  defineCommand({
    name: 'recovery release',
    about: 'let commits and sending begin again; needs two persons',
    options: { by, reason, acceptUnlisted: flag('although a rail has not listed its payments') },
    run: async (context, { by: decidedBy, reason: why, acceptUnlisted: acceptsUnlisted }) => ({
      result: await releaseRecovery(context, { decidedBy, reason: why, acceptsUnlisted }),
    }),
  }),
];
