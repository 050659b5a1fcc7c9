import { z } from 'zod';
import {
  count,
  defineOperation,
  optionalText,
  pagedList,
  text,
  toPagedList,
  yes,
} from './operation.ts';

/** Entries of sanctions lists that were cleared for recipients. */

const clearance = z
  .object({
    clearance: text('The clearance'),
    account: text('The account'),
    user_token: text('The recipient'),
    entry: text('List and number of the entry'),
    entry_name: text('The primary name of the entry'),
    state: z
      .enum(['in_force', 'changed', 'expired', 'ended'])
      .describe('`changed`: the entry says something else now, so that it holds payouts again'),
    reason: optionalText('Why; null where the data of the recipient was erased'),
    cleared_by: text('The operator who cleared it'),
    cleared_at: text('When, UTC'),
    until: text('Until when, UTC'),
    ended_by: optionalText('Who ended it before its date'),
    ended_at: optionalText('When it was ended before its date, UTC'),
  })
  .meta({ id: 'Clearance' });

const waiting = z
  .object({
    progress: z
      .object({
        started_at: text('When the lists changed, UTC'),
        finished_at: optionalText('When the last recipient was screened, UTC'),
        screened: text('How many recipients were screened so far'),
        hits: text('How many of them had an undecided hit'),
        remaining: text('How many recipients are left'),
      })
      .nullable()
      .describe('Of the pass over all recipients; null before the first'),
    recipients: z
      .array(
        z.object({
          account: text('The account'),
          user_token: text('The recipient'),
          result: count('The number of the result'),
          entries: text('List and number of each entry, with spaces between them'),
          screened_at: text('When, UTC'),
        }),
      )
      .describe('With an undecided hit, oldest first'),
    payouts: z
      .array(
        z.object({
          account: text('The account'),
          payout_token: text('The payout'),
          entries: text('List and number of each entry, with spaces between them'),
          screened_at: text('When, UTC'),
        }),
      )
      .describe('Scheduled payouts with a hit in their details, oldest first'),
    has_more_recipients: yes('Whether more recipients wait than `limit` allows'),
    has_more_payouts: yes('Whether more payouts wait than `limit` allows'),
  })
  .meta({ id: 'WaitingScreenings' });

export const clearanceOperations = () => [
  defineOperation({
    command: 'screening waiting',
    method: 'GET',
    path: '/operator/screenings/waiting',
    operationId: 'listWaitingScreenings',
    summary: 'List recipients and scheduled payouts with undecided hits',
    description: 'They are found when a list changes, before the next payout.',
    result: waiting,
  }),
  defineOperation({
    command: 'screening clearances',
    method: 'GET',
    path: '/operator/clearances',
    operationId: 'listClearances',
    summary: 'List the entries of sanctions lists that were cleared for recipients',
    result: pagedList(clearance).meta({ id: 'Clearances' }),
    shape: toPagedList,
    refusals: [404],
  }),
  defineOperation({
    command: 'screening clear',
    method: 'POST',
    path: '/operator/clearances',
    operationId: 'clearEntries',
    summary: 'Clear entries of sanctions lists for a recipient until a date',
    description:
      'A clearance ends early when the entry or the data of the recipient changes. A payout that is held already needs its own decision.',
    result: z
      .object({
        cleared: count('How many entries'),
        covered: yes('Whether all hits of the recipient are cleared now'),
      })
      .meta({ id: 'ClearedEntries' }),
    refusals: [404, 409, 410],
  }),
  defineOperation({
    command: 'screening end-clearance',
    method: 'POST',
    path: '/operator/clearances/{clearance}/end',
    operationId: 'endClearance',
    summary: 'End a clearance before its date',
    result: z.object({}).meta({ id: 'EndedClearance' }),
    shape: () => ({}),
    refusals: [404, 409],
  }),
];
