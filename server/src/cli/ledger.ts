import { openRates } from '../environment/imports.ts';
import { verifyLedger } from '../ledger/ledger.ts';
import { defineCommand } from './command.ts';
import { flag } from './options.ts';

export const ledgerCommands = [
  defineCommand({
    name: 'verify',
    about: 'recompute every balance and prove that the ledger is sound; exit code 1 if it is not',
    options: {},
    run: async ({ db }) => {
      const proof = await verifyLedger(db);
      if (!proof.isSound) process.exitCode = 1;
      return proof;
    },
  }),
  defineCommand({
    name: 'rates import',
    about: 'import the configured exchange rates now',
    options: { acceptJumps: flag('accept rates that differ much from the previous ones') },
    run: async (context, options) => {
      const rates = await openRates(context);
      const report = await rates.importAll(options);
      if (!report.ok) process.exitCode = 1;
      return report;
    },
  }),
];
