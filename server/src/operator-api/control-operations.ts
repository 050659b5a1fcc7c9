import { z } from 'zod';
import type { ShownRecovery } from '../cli/recovery.ts';
import { formatToken } from '../core/ids.ts';
import { objectAnswer } from '../http/schema.ts';
import type { Status } from '../monitoring/status.ts';
import { count, defineOperation, nothing, pagedList, text, toPagedList } from './operation.ts';

/** What is stopped and frozen, and the screen of how the service is doing. */

const freeze = z
  .object({
    id: text('The freeze'),
    scope: text('sending, commits, account, recipient, corridor or rail'),
    account_id: text('The account').optional(),
    user_token: text('The recipient').optional(),
    country: text('Of the corridor').optional(),
    delivery_type: text('Of the corridor').optional(),
    currency: text('Of the corridor').optional(),
    rail: text('The rail').optional(),
    reason: text('Why'),
    frozen_by: text('The operator'),
    since: text('From when on, UTC'),
    lifted_at: text('When it was lifted, UTC').optional(),
    lifted_by: text('The operator who lifted it').optional(),
    lift_reason: text('Why it was lifted').optional(),
    waiting: count('Payouts that wait for its end'),
  })
  .meta({ id: 'Freeze' });

const railSending = z
  .object({
    rail: text('The rail'),
    being_sent: count('Payouts that are being sent'),
    handed_over: count('Payouts whose outcome is awaited'),
    waiting: count('Payouts that wait to be sent'),
  })
  .meta({ id: 'RailSending' });

const stopped = z
  .object({
    result: z.enum(['stopped', 'was_stopped']).describe('`was_stopped`: it was frozen before'),
    freeze: freeze.describe('What is frozen'),
    rails: z.array(railSending).describe('From this moment on nothing more is sent of it'),
  })
  .meta({ id: 'Stopped' });

const resumed = z.object({ released: count('Payouts that waited for it') }).meta({ id: 'Resumed' });

const freezesShown =
  'What is in force, at most 1,000, those of accounts and recipients last; `GET /operator/freezes` has all';

const sendingOperations = () => [
  defineOperation({
    command: 'sending show',
    method: 'GET',
    path: '/operator/sending',
    operationId: 'showSending',
    summary: 'See what is stopped, in flight and waiting',
    result: z
      .object({
        freezes: z.array(freeze).describe(freezesShown),
        freezes_in_force: count('How many freezes are in force'),
        recovery: text('Whether a recovery after a restore is open'),
        rails: z.array(railSending).describe('By rail'),
      })
      .meta({ id: 'Sending' }),
  }),
  defineOperation({
    command: 'sending stop',
    method: 'POST',
    path: '/operator/sending/stop',
    operationId: 'stopSending',
    summary: 'Stop all sending now',
    result: stopped,
  }),
  defineOperation({
    command: 'sending resume',
    method: 'POST',
    path: '/operator/sending/resume',
    operationId: 'resumeSending',
    summary: 'Resume sending',
    result: resumed,
    refusals: [409],
  }),
  defineOperation({
    command: 'sending drain',
    method: 'POST',
    path: '/operator/sending/drain',
    operationId: 'drainSending',
    summary: 'Refuse commits, and send what is committed',
    description: 'Send it again to see what is left.',
    result: stopped
      .extend({
        left: z
          .object({
            batches: count('Batches that are being committed'),
            unsent: count('Payouts that no rail has confirmed'),
          })
          .describe('What was committed and no rail has confirmed yet'),
      })
      .meta({ id: 'Drained' }),
  }),
  defineOperation({
    command: 'sending undrain',
    method: 'POST',
    path: '/operator/sending/undrain',
    operationId: 'undrainSending',
    summary: 'Accept commits again after a drain',
    result: resumed,
    refusals: [409],
  }),
];

const freezeOperations = () => [
  defineOperation({
    command: 'freeze list',
    method: 'GET',
    path: '/operator/freezes',
    operationId: 'listFreezes',
    summary: 'List what is frozen, by whom and why',
    result: pagedList(freeze, 'Those in force first').meta({ id: 'Freezes' }),
    shape: toPagedList,
  }),
  defineOperation({
    command: 'freeze account',
    method: 'POST',
    path: '/operator/freezes/account',
    operationId: 'freezeAccount',
    summary: 'Refuse the commits of an account and send nothing of it',
    result: stopped,
    refusals: [404],
  }),
  defineOperation({
    command: 'freeze recipient',
    method: 'POST',
    path: '/operator/freezes/recipient',
    operationId: 'freezeRecipient',
    summary: 'Lock a recipient',
    result: stopped,
    refusals: [404],
  }),
  defineOperation({
    command: 'freeze corridor',
    method: 'POST',
    path: '/operator/freezes/corridor',
    operationId: 'freezeCorridor',
    summary: 'Send nothing to a country, or of one delivery type or currency there',
    result: stopped,
  }),
  defineOperation({
    command: 'freeze rail',
    method: 'POST',
    path: '/operator/freezes/rail',
    operationId: 'freezeRail',
    summary: 'Send nothing through a rail',
    result: stopped,
    refusals: [404],
  }),
  defineOperation({
    command: 'freeze lift',
    method: 'POST',
    path: '/operator/freezes/{freeze}/lift',
    operationId: 'liftFreeze',
    summary: 'End a freeze',
    result: resumed,
    refusals: [404, 409],
  }),
];

const recoveryOperations = () => [
  defineOperation({
    command: 'recovery show',
    method: 'GET',
    path: '/operator/recovery',
    operationId: 'showRecovery',
    summary: 'See the payments that rails listed after a restore',
    result: z
      .object({
        state: z
          .enum(['none', 'listing', 'listed', 'released'])
          .describe('Whether rails have listed their payments'),
        recovery: objectAnswer.optional().describe('When it began, and why'),
        rails: z.array(objectAnswer).optional().describe('What each rail has listed'),
        releases: z.array(objectAnswer).optional().describe('Who has released it'),
        payments: z
          .array(
            z.object({
              rail: text('The rail'),
              id: text('What the rail calls it'),
              reference: text('Of the instruction; "" on chains'),
              provider_reference: text('Of the rail'),
              amount: text('Decimal'),
              currency: text('Of the amount'),
              outcome: text('What the rail says about it'),
              detail: text('What else it says'),
              happened_at: text('When, UTC'),
              result: text('known, linked, found, unmatched or dismissed'),
              account_id: text('The account; "" where it belongs to none'),
              payout_token: text('The payout; "" where it belongs to none'),
              exception_id: text('The exception that was opened; "" for none'),
            }),
          )
          .optional()
          .describe('Payments that rails listed'),
      })
      .meta({ id: 'Recovery' }),
    shape: shapeRecovery,
  }),
  defineOperation({
    command: 'recovery release',
    method: 'POST',
    path: '/operator/recovery/release',
    operationId: 'releaseRecovery',
    summary: 'Let commits and sending begin again after a restore',
    description: 'Needs two operators.',
    result: nothing.meta({ id: 'ReleasedRecovery' }),
    shape: () => ({}),
    refusals: [409],
  }),
];

function shapeRecovery({ payments, ...report }: ShownRecovery) {
  return {
    ...report,
    ...(payments !== undefined && {
      payments: payments.map((row) => ({
        ...row,
        account_id: row.account_id ?? '',
        payout_token: row.payout_id === null ? '' : formatToken('payout', row.payout_id),
        exception_id: row.exception_id ?? '',
      })),
    }),
  };
}

const rateAge = z.object({ source: text('The source'), age: text('Of its newest rates') });

const statusOperation = () =>
  defineOperation({
    command: 'status',
    method: 'GET',
    path: '/operator/status',
    operationId: 'getStatus',
    summary: 'See what is stopped, stuck, open and waiting',
    result: z
      .object({
        environment: text('staging or live'),
        now: text('The time of the environment, UTC'),
        accounts: count('How many accounts there are'),
        batches_committing: count('Batches that are being committed'),
        freezes: z.array(freeze).describe(freezesShown),
        freezes_in_force: count('How many freezes are in force'),
        recovery: text('Whether a recovery after a restore is open'),
        rails: z
          .array(railSending.extend({ oldest_seconds: count('Age of the oldest payout') }))
          .describe('By rail'),
        by_status: z
          .array(z.object({ status: text('The status'), count: count('How many') }))
          .describe('Payouts that have not ended'),
        exceptions: z
          .array(
            z.object({
              kind: text('What they are about'),
              count: count('How many are open'),
              oldest_seconds: count('Age of the oldest'),
            }),
          )
          .describe('Open exceptions by kind'),
        stuck: count('Payouts that are held, late, frozen or unsent'),
        rates: z.array(rateAge).describe('Age of the exchange rates'),
        lists: z
          .array(z.object({ list: text('The list'), checked_at: text('When, UTC') }))
          .describe('Sanctions lists in force'),
      })
      .meta({ id: 'OperatorStatus' }),
    shape: shapeStatus,
  });

function shapeStatus(status: Status) {
  return {
    ...status,
    batches_committing: status.batchesCommitting,
    by_status: status.byStatus,
    freezes: status.freezes.map(withoutNull),
    freezes_in_force: status.freezesInForce,
    rails: status.rails.map((row) => ({
      rail: row.rail,
      being_sent: row.beingSent,
      handed_over: row.handedOver,
      waiting: row.waiting,
      oldest_seconds: Math.round(row.oldestSeconds),
    })),
    exceptions: status.exceptions.map((row) => ({
      ...row,
      oldest_seconds: Math.round(row.oldest_seconds),
    })),
    stuck: status.stuck.matching,
    lists: status.lists.map(({ list: name, checkedAtMs }) => ({
      list: name,
      checked_at: new Date(checkedAtMs),
    })),
  };
}

const withoutNull = (row: object) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));

export const controlOperations = () => [
  statusOperation(),
  ...sendingOperations(),
  ...freezeOperations(),
  ...recoveryOperations(),
];
