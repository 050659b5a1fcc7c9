import type { Channel } from '../../src/notices/channel.ts';
import { createEmailChannel } from '../../src/notices/email.ts';
import { createNotifier, type Notifier } from '../../src/notices/notifier.ts';
import { openTemplates } from '../../src/notices/templates.ts';
import { type UserData, updateUser } from '../../src/users/users.ts';
import type { MailServer } from './mail.ts';
import type { MoneyTest, Owner } from './money.ts';

/** Notifiers of tests, without HTTP to the service. */

export type TestNotifier = Notifier & {
  readonly results: string[];
  readonly errors: unknown[];
  /** Sends what is due now, until nothing is. */
  drain(): Promise<void>;
};

const templates = openTemplates(undefined);

/** The e-mail of a notifier of tests. */
export function openTestEmail(server: Pick<MailServer, 'port'>, timeoutMs = 10_000): Channel {
  return createEmailChannel({
    server: { host: '127.0.0.1', port: server.port, security: 'none', login: undefined },
    from: 'no-reply@outlay.example',
    layout: templates.layout,
    timeoutMs,
  });
}

/** A notifier as of one process. `random` is even, so that delays are exact. */
export function openTestNotifier(
  money: MoneyTest,
  channel: Channel,
  changes: { db?: MoneyTest['db'] } = {},
): TestNotifier {
  const results: string[] = [];
  const errors: unknown[] = [];
  // Pauses of a channel pass at once.
  let steadyMs = 0;
  const notifier = createNotifier({
    db: changes.db ?? money.db,
    keys: money.keys,
    environment: 'live',
    channel,
    templates,
    linkReceipt: ({ payoutId }) => `https://payouts.example/receipt/${payoutId}`,
    steadyMs: () => steadyMs,
    random: () => 0.5,
    onNotice: (name, result) => results.push(`${name} ${result}`),
    onDown: () => undefined,
    onError: (error) => errors.push(error),
    graceMs: 60_000,
  });
  return {
    ...notifier,
    results,
    errors,
    drain: async () => {
      for (;;) {
        const count = results.length;
        steadyMs += 120_000;
        await notifier.sendDue(new AbortController().signal);
        if (results.length === count) return;
      }
    },
  };
}

/** An account with a user of this description, who is notified through these channels. */
export async function createRecipient(
  money: MoneyTest,
  changes: Partial<UserData> = {},
): Promise<Owner> {
  const owner = await money.createOwner({ USD: 100_000_000n });
  await money.db.tenantTransaction(owner.accountId, (session) =>
    updateUser({ session, keys: money.keys, accountId: owner.accountId }, owner.userId, changes),
  );
  return owner;
}
