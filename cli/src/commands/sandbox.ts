import type { ArgumentsOf } from '../../../sdk/src/index.ts';
import { defineCommand } from '../command.ts';
import { getPayoutAddress } from '../find.ts';
import { formatTime, readDuration } from '../values.ts';

export const sandboxCommands = [
  defineCommand({
    name: 'sandbox clock',
    about: 'show the clock of the sandbox, or move it forward; it never goes back',
    options: { advance: { value: 'time', about: 'duration: 90s, 30m, 12h, 10d, 2w' } },
    examples: ['sandbox clock', 'sandbox clock --advance 10d'],
    next: 'payout show <payout>',
    run: async ({ connect, output, signal }, { advance }) => {
      const client = connect();
      const clock =
        advance === undefined
          ? await client.readSandboxClock({}, { signal })
          : await client.moveSandboxClock(
              { body: { advance_s: readDuration(advance, '--advance') } },
              { signal },
            );
      output.result(clock, () => formatTime(clock.now));
    },
  }),
  defineCommand({
    name: 'sandbox outcome',
    about: 'decide how a payout of the sandbox ends',
    words: ['payout', 'outcome'],
    examples: ['sandbox outcome rent-november returned', 'sandbox outcome rent-november completed'],
    next: 'payout watch <payout>',
    run: async ({ connect, output, signal }, { payout, outcome }) => {
      const client = connect();
      const { payout_token } = await getPayoutAddress(client, payout, signal);
      // The service knows the outcomes, and names them in its refusal.
      const body = { outcome } as ArgumentsOf<'scriptSandboxPayout'>['body'];
      const applied = await client.scriptSandboxPayout({ payout_token, body }, { signal });
      output.result(applied, () => `${applied.payout_token} will be: ${applied.outcome}`);
      output.next(`outlay payout watch ${payout_token}`);
    },
  }),
];
