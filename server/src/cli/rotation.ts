import { rotateCredential } from '../accounts/rotation.ts';
import { getAccountId } from './account.ts';
import { defineCommand } from './command.ts';
import { requireCredential } from './credential.ts';
import { account, credential, duration } from './options.ts';

const daySeconds = 86_400;

export const rotationCommands = [
  defineCommand({
    name: 'credential rotate',
    permission: 'operate',
    about: 'replace the secret of a credential; the old one stays valid for a day',
    resultNames: ['credential_id', 'replaces', 'old_expires_at'],
    options: {
      account,
      credential,
      overlap: duration('how long the old one stays valid').optional(),
    },
    approval: async (context, values) => {
      await requireCredential(context, values);
      return { policy: 'credential' };
    },
    run: async (context, { account: id, credential: credentialId, overlap = daySeconds }) => {
      const accountId = await getAccountId(context, id);
      return context.db.systemTransaction((session) =>
        rotateCredential(session, {
          keys: context.keys,
          accountId,
          credentialId,
          overlapSeconds: overlap,
          environmentName: context.name,
        }),
      );
    },
  }),
];
