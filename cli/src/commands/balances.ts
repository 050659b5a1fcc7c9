import { defineCommand } from '../command.ts';
import { formatTable } from '../table.ts';

export const balanceCommands = [
  defineCommand({
    name: 'balances',
    about: 'show the balances of the account',
    examples: ['balances', 'balances --json'],
    next: 'destinations MEX --amount 200',
    run: async ({ connect, output, signal }) => {
      const balances = await connect().listBalances({}, { signal });
      output.result(balances, () =>
        formatTable(output, balances, {
          columns: [
            { title: 'currency', read: ({ currency_code }) => currency_code },
            { title: 'available', isRight: true, read: ({ balance }) => balance.text },
            { title: 'token', read: ({ token }) => token },
          ],
          empty: 'The account has no balance.',
        }),
      );
    },
  }),
];
