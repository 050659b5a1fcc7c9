import { ConfigError } from '../config.ts';
import { reportMonth, writeCsv } from '../reports/month-report.ts';
import { getAccountId } from './account.ts';
import { defineCommand, Screen } from './command.ts';
import { account, month, oneOf } from './options.ts';

export const reportCommands = [
  defineCommand({
    name: 'report month',
    permission: 'read',
    about: 'volumes, fees, margin, refunds and returns of a month, by client, rail and corridor',
    options: {
      month,
      account: account.optional(),
      format: oneOf('format', ['json', 'csv']).default('json'),
    },
    run: async (context, { month: of, account: id, format }) => {
      const accountId = id === undefined ? undefined : await getAccountId(context, id);
      const report = await reportMonth(context.db, {
        environment: context.name,
        month: of,
        accountId,
      });
      if (!report.adds_up) {
        throw new ConfigError('the report does not add up: run outlay admin ledger verify');
      }
      return format === 'csv' ? new Screen(report, () => writeCsv(report).trimEnd()) : report;
    },
  }),
];
