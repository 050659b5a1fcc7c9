import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigError } from '../config.ts';
import { isRealDate } from '../core/calendar-date.ts';
import { formatToken, isUuid } from '../core/ids.ts';
import { formatAmount, formatMinor } from '../core/money.ts';
import {
  closePeriod,
  decideMatch,
  type EntryRow,
  type ItemRow,
  importBankFile,
  listOpen,
} from '../reconciliation/reconciliation.ts';
import { defineCommand } from './command.ts';
import type { CommandContext, OperatorContext } from './context.ts';
import { currency, file, option, rail, reason } from './options.ts';

function day(about: string) {
  const error = 'must be a date (2026-11-22)';
  return option({ value: 'date', about }, z.string().refine(isRealDate, { error }));
}

function identifiers(about: string) {
  const split = (given: string): string[] => given.split(' ').filter(Boolean);
  const schema = z
    .string()
    .refine((given) => split(given).length > 0 && split(given).every(isUuid), {
      error: 'must be identifiers (UUID)',
    });
  return option({ value: 'ids', about }, schema.transform(split));
}

const from = day('first day, UTC');
const to = day('last day, UTC');
const entries = identifiers('bank entries, with spaces between');
const settlements = identifiers('journals of settlements, with spaces between');

const importCommand = defineCommand({
  name: 'reconciliation import',
  resultNames: ['new_entries', 'known_entries', 'matched'],
  permission: 'operate',
  about: 'import a statement of the bank (camt.053 or CSV) and match it with the settlements',
  options: { rail, file },
  run: (context, { rail: name, file: path }) =>
    importStatement(context, { rail: name, bytes: readFileSync(path) }),
});

/** @throws AppError not_found, invalid_request, illegal_move. */
export async function importStatement(
  context: OperatorContext,
  given: { rail: string; bytes: Buffer },
) {
  const report = await importBankFile(context, { ...given, importedBy: context.operator.name });
  return {
    result: report.isNew ? 'imported' : 'imported before',
    new_entries: report.newEntries,
    known_entries: report.knownEntries,
    matched: report.matched,
    ...(await describeOpen(context, { rail: given.rail })),
  };
}

const listCommand = defineCommand({
  name: 'reconciliation list',
  permission: 'read',
  about: 'list differences between statements of the bank and the ledger',
  options: { rail, currency: currency.optional(), from: from.optional(), to: to.optional() },
  run: (context, { rail: name, currency: chosen, from: firstDay, to: lastDay }) =>
    describeOpen(context, { rail: name, currency: chosen?.code, firstDay, lastDay }),
});

const linkCommand = defineCommand({
  name: 'reconciliation link',
  permission: 'operate',
  about: 'link bank entries and settlements whose sums are equal',
  options: { rail, entries, settlements, reason },
  run: (context, values) => decide(context, values),
});

const explainCommand = defineCommand({
  name: 'reconciliation explain',
  permission: 'operate',
  about: 'explain bank entries, or settlements, that have no counterpart',
  options: {
    rail,
    entries: entries.optional(),
    settlements: settlements.optional(),
    reason,
  },
  check: ({ entries: given, settlements: others }) =>
    (given === undefined) === (others === undefined)
      ? 'give --entries or --settlements'
      : undefined,
  run: (context, values) => decide(context, values),
});

async function decide(
  { db, operator }: OperatorContext,
  values: {
    rail: string;
    entries?: string[] | undefined;
    settlements?: string[] | undefined;
    reason: string;
  },
) {
  const entryIds = values.entries ?? [];
  const itemIds = values.settlements ?? [];
  await decideMatch(db, { ...values, entryIds, itemIds, decidedBy: operator.name });
  return { result: 'done' };
}

const closeCommand = defineCommand({
  name: 'reconciliation close',
  resultNames: ['bank_movement', 'ledger_movement', 'carried'],
  permission: 'operate',
  about: 'close a period of which everything matches or is explained',
  options: { rail, currency, from, to },
  run: async (context, values) => {
    if (values.to < values.from) throw new ConfigError('--to must not be before --from');
    const { rail: name, currency: chosen, from: firstDay, to: lastDay } = values;
    const closedBy = context.operator.name;
    const key = { rail: name, currency: chosen.code, firstDay, lastDay, closedBy };
    const sums = await closePeriod(context, key);
    const amount = (minor: bigint): string => formatAmount(minor, chosen);
    return {
      result: 'closed',
      bank_movement: amount(sums.bank_movement),
      bank_explained: amount(sums.bank_explained),
      ledger_movement: amount(sums.ledger_movement),
      ledger_explained: amount(sums.ledger_explained),
      carried: amount(sums.carried),
    };
  },
});

export const reconciliationCommands = [
  importCommand,
  listCommand,
  linkCommand,
  explainCommand,
  closeCommand,
];

async function describeOpen({ db }: CommandContext, filter: Parameters<typeof listOpen>[1]) {
  const { inBankOnly, inLedgerOnly } = await listOpen(db, filter);
  return {
    in_bank_only: inBankOnly.map(describeEntry),
    in_ledger_only: inLedgerOnly.map(describeItem),
  };
}

function describeMoney({ amount, currency: code, direction }: EntryRow | ItemRow) {
  return { direction, amount: formatMinor(amount, code), currency: code };
}

function describeEntry(row: EntryRow) {
  return {
    entry: row.id,
    booked_on: row.booked_on,
    ...describeMoney(row),
    bank_account: row.bank_account,
    references: row.payment_references,
    bank_reference: row.bank_reference,
    batch_id: row.batch_id,
    position: row.position,
  };
}

function describeItem(row: ItemRow) {
  return {
    settlement: row.journal_id,
    booked_on: row.booked_on,
    ...describeMoney(row),
    kind: row.kind,
    account: row.account_id,
    payout_token: formatToken('payout', row.payout_id),
    reference: row.reference,
    provider_reference: row.provider_reference,
  };
}
