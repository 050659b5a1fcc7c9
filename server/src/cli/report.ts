import { ConfigError } from '../config.ts';
import { exportJournal } from '../reports/journal.ts';
import { reportMonth, writeCsv } from '../reports/month-report.ts';
import { getAccountId } from './account.ts';
import { defineCommand, Screen } from './command.ts';
import { newFile, writeNewFile } from './new-file.ts';
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
  defineCommand({
    name: 'report journal',
    permission: 'read',
    about:
      'write the double-entry journal of a month that has ended to a new CSV file, for the general ledger',
    options: { month, account: account.optional(), file: newFile },
    // It closes the month for statements.
    isStoring: true,
    run: async (context, { month: of, account: id, file: path }) => {
      const accountId = id === undefined ? undefined : await getAccountId(context, id);
      const exported = await writeNewFile(() =>
        exportJournal(context.db, path, { month: of, accountId }),
      );
      if (exported === undefined) {
        throw new ConfigError(
          `the month ${of} (UTC) has not ended: a journal is final, so --month must be an earlier one`,
        );
      }
      return exported;
    },
  }),
];
