import { z } from 'zod';
import { isCursor, readChanges, runBacktest } from '../backtest/backtest.ts';
import { AppError } from '../core/errors.ts';
import { DocumentFaults } from '../core/json-document.ts';
import { getAccountId } from './account.ts';
import { defineCommand } from './command.ts';
import { openRails } from './context.ts';
import { account, daysBack, jsonDocument, option } from './options.ts';

/** What other fees, limits and routing rules would have done with past payouts. */

const changes = jsonDocument('the changes', {
  textMax: 500_000,
  read: readChanges,
});

const payouts = option(
  { value: 'count', about: 'maximum number of payouts to read, up to 1000000; default: 100000' },
  z
    .string()
    .regex(/^(?:[1-9]\d{0,5}|1000000)$/, 'must be a whole number from 1 to 1000000')
    .transform(Number),
);

const cursor = option(
  { value: 'cursor', about: 'next of the previous answer, to read on from there' },
  z
    .string()
    .max(120)
    .refine((text) => isCursor(text), 'must come from the previous answer'),
);

export const routingCommands = [
  defineCommand({
    name: 'routing backtest',
    permission: 'read',
    about: 'replay past payouts with other fees, limits or routing, and compare',
    options: {
      changes,
      days: daysBack.optional(),
      account: account.optional(),
      payouts: payouts.optional(),
      cursor: cursor.optional(),
    },
    check: ({ account: id, cursor: from }) =>
      id !== undefined && from !== undefined && !isCursor(from, id)
        ? 'cursor must come from an answer for the same account'
        : undefined,
    run: async (context, given) => {
      const {
        changes: content,
        days: back = 30,
        account: id,
        payouts: payoutsMax = 100_000,
      } = given;
      const accountId = id === undefined ? undefined : await getAccountId(context, id);
      await using opened = await openRails(context);
      const nowMs = context.clock.nowMs();
      const services = {
        session: context.db.system,
        rails: opened.rails,
        presentRates: opened.rates(),
        nowMs,
      };
      const since = new Date(nowMs - back * 86_400_000);
      try {
        return await runBacktest(services, content, {
          accountId,
          since,
          payoutsMax,
          cursor: given.cursor,
        });
      } catch (error) {
        if (!(error instanceof DocumentFaults)) throw error;
        const faults = error.faults.map((detail) => ({
          pointer: '/changes',
          code: 'invalid_value' as const,
          detail: `changes ${detail}`,
        }));
        throw new AppError('invalid_request', `changes has faults: ${error.message}`, { faults });
      }
    },
  }),
];
