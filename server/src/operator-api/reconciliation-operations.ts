import { z } from 'zod';
import { defineOperation, nothing, text } from './operation.ts';

/** Statements of the bank against settlements. Importing a statement stays on the command line. */

const money = {
  direction: text('Whether money came in or went out'),
  amount: text('Decimal'),
  currency: text('The currency'),
};

const entry = z
  .object({
    entry: text('The entry of the bank'),
    booked_on: text('The day of the booking'),
    ...money,
    bank_account: text('The account at the bank'),
    references: z.array(z.string()).describe('References of payments in it'),
    bank_reference: text('The reference of the bank'),
  })
  .meta({ id: 'BankEntry' });

const settlement = z
  .object({
    settlement: text('The journal of the settlement'),
    booked_on: text('The day of the booking'),
    ...money,
    kind: text('The kind of the journal'),
    account: text('The account'),
    payout_token: text('The payout'),
    reference: text('Of the instruction'),
    provider_reference: text('Of the rail'),
  })
  .meta({ id: 'OpenSettlement' });

const path = '/operator/reconciliation' as const;

export const reconciliationOperations = () => [
  defineOperation({
    command: 'reconciliation list',
    method: 'GET',
    path: `${path}/{rail}`,
    operationId: 'listUnreconciled',
    summary: 'List what the bank has and the ledger has not, and the other way round',
    result: z
      .object({
        in_bank_only: z.array(entry).describe('Entries without a settlement'),
        in_ledger_only: z.array(settlement).describe('Settlements without an entry'),
      })
      .meta({ id: 'Unreconciled' }),
  }),
  defineOperation({
    command: 'reconciliation link',
    method: 'POST',
    path: `${path}/{rail}/link`,
    operationId: 'linkSettlements',
    summary: 'Link bank entries and settlements whose sums are equal',
    result: nothing.meta({ id: 'LinkedSettlements' }),
    shape: () => ({}),
    refusals: [404, 409],
  }),
  defineOperation({
    command: 'reconciliation explain',
    method: 'POST',
    path: `${path}/{rail}/explanation`,
    operationId: 'explainSettlements',
    summary: 'Explain bank entries, or settlements, that have no counterpart',
    result: nothing.meta({ id: 'ExplainedSettlements' }),
    shape: () => ({}),
    refusals: [404, 409],
  }),
  defineOperation({
    command: 'reconciliation close',
    method: 'POST',
    path: `${path}/{rail}/closing`,
    operationId: 'closePeriod',
    summary: 'Close a period of which everything matches or is explained',
    result: z
      .object({
        bank_movement: text('What the bank has, decimal'),
        bank_explained: text('Of it, explained, decimal'),
        ledger_movement: text('What the ledger has, decimal'),
        ledger_explained: text('Of it, explained, decimal'),
        carried: text('What is carried into the next period, decimal'),
      })
      .meta({ id: 'ClosedPeriod' }),
    refusals: [409],
  }),
];
