import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { openRailReports } from '../monitoring/rail-reports.ts';
import { checkRails } from '../rails/host/check.ts';
import { readMessage } from '../rails/host/messages.ts';
import { secretContext } from '../rails/host/open.ts';
import { findSealed, sealedPrefix } from '../rails/host/rail-config.ts';
import { defineCommand, Screen } from './command.ts';
import { openRails } from './context.ts';
import { file, option, rail as railName } from './options.ts';
import { writeRails } from './rail-screen.ts';

const messageId = option(
  { value: 'id', about: 'the id of the message, or its first 12 characters as in exceptions' },
  z.string().min(1).max(500),
);

/** How long a counterparty may take to say what is left. */
const fundsMsMax = 10_000;

export const railCommands = [
  defineCommand({
    name: 'rail list',
    permission: 'read',
    isStoring: true,
    about: 'show payouts in flight, prefunding, contacts, cut-off and results of each rail',
    options: {},
    run: async (context) => {
      await using opened = await openRails(context);
      const { funds, rails } = opened;
      const signal = AbortSignal.timeout(fundsMsMax);
      // What a counterparty does not say now is shown as unknown.
      await Promise.allSettled(funds.railNames.map((name) => funds.refresh(name, signal)));
      const describe = await openRailReports({
        db: context.db,
        clock: context.clock,
        catalog: opened.catalog(),
        rails,
        railFunds: funds.list,
      });
      const rows = rails.map(({ name, kind }) => ({ rail: name, kind, ...describe(name) }));
      const nowMs = context.clock.nowMs();
      return new Screen(rows, () => writeRails(rows, nowMs));
    },
  }),
  defineCommand({
    name: 'rail check',
    permission: 'read',
    isStoring: true,
    about: 'check the rails file and query every counterparty; exit code 1 with faults',
    options: {},
    run: async (context) => {
      await using opened = await openRails(context);
      const { faults } = opened.configured;
      // Faults of the file itself have no rail.
      const unopened = [...new Set(faults.map(({ rail }) => rail))].map((rail) => ({
        rail: rail ?? '',
        kind: '',
        faults: faults.filter((fault) => fault.rail === rail).map(({ text }) => text),
      }));
      const reports = [...unopened, ...(await checkRails(opened.rails))];
      if (reports.some((report) => report.faults.length > 0)) process.exitCode = 1;
      return reports;
    },
  }),
  defineCommand({
    name: 'rail message',
    permission: 'comply',
    about: 'print an inbound message as it arrived, for an inquiry; in the audit log',
    options: { rail: railName, id: messageId },
    run: async ({ db, keys }, name) => {
      const content = (await readMessage({ session: db.system, keys }, name)).toString('utf8');
      return new Screen({ content }, () => content);
    },
  }),
  defineCommand({
    name: 'secret seal',
    permission: 'operate',
    about:
      "print a secret file sealed under the environment's keys; one that is sealed already, under the newest of them",
    options: { file },
    run: ({ keys }, { file: path }) => {
      const given = readFileSync(path);
      const before = findSealed(given);
      const plain = before === undefined ? given : keys.open(before, secretContext);
      const sealed = keys.seal(plain, secretContext);
      const text = `${sealedPrefix}${sealed.toString('base64')}`;
      return new Screen({ sealed: text }, () => text);
    },
  }),
];
