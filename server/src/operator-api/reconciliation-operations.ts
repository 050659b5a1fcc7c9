import { createHash } from 'node:crypto';
import { z } from 'zod';
import { importStatement } from '../cli/reconciliation.ts';
import { defineRoute, type Route } from '../http/route.ts';
import {
  changeAnswer,
  count,
  defineOperation,
  nothing,
  type OperatorServices,
  performAct,
  reasonField,
  text,
} from './operation.ts';

/** Statements of the bank against settlements. */

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

/** About 20,000 entries of camt.053; a longer statement is imported by the command. */
const contentLengthMax = 6_000_000;

const importParams = z.object({
  rail: z
    .string()
    .regex(/^[a-z0-9_]{1,40}$/, { error: 'must be the name of a rail: a to z, digits and _' })
    .describe('The rail whose bank account the statement is of'),
});

const importBody = z
  .object({
    content: z
      .base64({ error: 'must be Base64' })
      .min(1)
      .max(contentLengthMax)
      .describe('The file, camt.053 or CSV, in Base64'),
    reason: reasonField,
  })
  .meta({ id: 'ImportBankStatementRequest' });

const importedStatement = z
  .object({
    result: z.enum(['imported', 'imported before']).describe('A known file changes nothing'),
    new_entries: count('Entries that no earlier file had'),
    known_entries: count('Entries that an earlier file had'),
    matched: count('Entries that were matched with settlements'),
    in_bank_only: z.array(entry).describe('Entries without a settlement'),
    in_ledger_only: z.array(settlement).describe('Settlements without an entry'),
  })
  .meta({ id: 'ImportedBankStatement' });

const importRoute = (): Route<OperatorServices> =>
  defineRoute<
    OperatorServices,
    z.output<typeof importParams>,
    unknown,
    z.output<typeof importBody>
  >({
    method: 'POST',
    path: `${path}/{rail}/statements`,
    isVersioned: true,
    operationId: 'importBankStatement',
    tag: 'Operators',
    summary: 'Import a statement of the bank and match it with the settlements',
    description:
      'As the command `outlay admin reconciliation import`; needs the permission `operate`. The audit log has the SHA-256 of the file.',
    access: 'operator',
    params: importParams,
    body: importBody,
    bodyBytesMax: contentLengthMax + 10_000,
    response: changeAnswer(importedStatement).meta({ id: 'BankStatementImport' }),
    refusals: [404, 409],
    handle: async (routeContext, { params, body }) => {
      const bytes = Buffer.from(body.content, 'base64');
      const outcome = await performAct(routeContext, {
        name: 'reconciliation import',
        permission: 'operate',
        values: {},
        given: { ...params, sha256: createHash('sha256').update(bytes).digest('hex') },
        reason: body.reason,
        run: (context) => importStatement(context, { ...params, bytes }),
      });
      return { result: 'done', approval: '', outcome };
    },
  });

export const reconciliationOperations = (): Route<OperatorServices>[] => [
  importRoute(),
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
