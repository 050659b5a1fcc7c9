import { z } from 'zod';
import { objectAnswer } from '../http/schema.ts';
import {
  count,
  defineOperation,
  nothing,
  optionalText,
  pagedList,
  text,
  yes,
} from './operation.ts';

/** Exceptions, and payouts that wait for a person. */

const decision = z
  .object({
    decided_at: text('When, UTC'),
    action: text('What was decided'),
    decided_by: text('The operator'),
    reason: text('Why'),
    is_effective: yes('False: it waited for a second operator'),
  })
  .meta({ id: 'OperatorPayoutDecision' });

const exception = z
  .object({
    account_id: text('The account'),
    id: text('The exception'),
    payout_token: text('The payout; "" where it belongs to none'),
    payout_version: text(
      'Of the payout as it is now: `payout decide` takes it back, and refuses where the payout has changed since; "" where it belongs to none',
    ),
    user_token: text('The recipient of the payout; "" where it belongs to none'),
    rail: text('The rail'),
    kind: text('What it is about'),
    detail: text('What happened'),
    amount: optionalText('Decimal; null where it is about no amount'),
    currency: optionalText('Of the amount'),
    opened_at: text('When it was opened, UTC'),
    closed_at: optionalText('When it was closed, UTC; null while it is open'),
    resolution: text('How it was closed; "" while it is open'),
    approvers: z
      .int()
      .nullable()
      .describe('Of an approval: so many persons must release it; else null'),
    expires_at: optionalText('Of an approval: when the payout is canceled without it, UTC'),
    decisions: z.array(decision).describe('Decisions about its payout while it was open'),
  })
  .meta({ id: 'OperatorException' });

type ExceptionPage = { matching: number; next_cursor: string | null; exceptions: unknown[] };

type PayoutPage = { matching: number; next_cursor: string | null; payouts: unknown[] };

const unfinished = z
  .object({
    payout_token: text('The payout'),
    account_id: text('The account'),
    status: text('Its status'),
    rail: text('Its present rail'),
    payer_key: text('Its present payer'),
    destination: text('Country and delivery type'),
    amount: text('What is delivered, with its currency'),
    committed_at: text('When it was committed, UTC'),
    age: text('How long ago that is'),
    is_stuck: yes('Whether it is held, late, frozen or unsent for 15 minutes'),
    waits_for: text('What it waits for'),
    tries: count('How often it was handed to a rail or asked for'),
    due_at: optionalText('When the next step is due, UTC; null: nothing happens by itself'),
  })
  .meta({ id: 'UnfinishedPayout' });

const exceptionOperations = () => [
  defineOperation({
    command: 'exception list',
    method: 'GET',
    path: '/operator/exceptions',
    operationId: 'listExceptions',
    summary: 'List exceptions of all accounts',
    result: pagedList(exception)
      .extend({ matching: count('On all pages; counting ends at 10000') })
      .meta({ id: 'OperatorExceptionPage' }),
    shape: ({ matching, next_cursor: next, exceptions }: ExceptionPage) => ({
      data: exceptions,
      next,
      matching,
    }),
  }),
  defineOperation({
    command: 'exception close',
    method: 'POST',
    path: '/operator/exceptions/close',
    operationId: 'closeExceptions',
    summary: 'Close exceptions that belong to no payout',
    description:
      'One by `exception`, or all of a `kind` and `rail`. Those of payouts are closed by a decision about the payout.',
    result: z.object({ closed: count('How many were closed') }).meta({ id: 'ClosedExceptions' }),
    refusals: [404],
  }),
  defineOperation({
    command: 'rail message',
    method: 'POST',
    path: '/operator/rails/{rail}/message',
    operationId: 'viewInboundMessage',
    summary: 'See an inbound message of a rail as it arrived',
    description: 'It can hold personal data: who saw it, and why, is in the audit log.',
    result: z
      .object({ content: text('The message, as text') })
      .meta({ id: 'InboundMessageContent' }),
    refusals: [404, 410],
  }),
];

const explanation = z
  .object({
    account_id: text('The account'),
    payout_token: text('The payout'),
    payout_version: text('Of the payout as it is now, for `payout decide`'),
    status: text('Its status'),
    waits_for: text('What it waits for; "" where it has ended, and of a quote'),
    decisions: z.array(objectAnswer).describe('Decisions of the router, with the losers'),
    compared_at: text('The moment of the prices in other_ways'),
    other_ways: z.array(objectAnswer).describe('What other ways would cost now'),
    attempts: z.array(objectAnswer).describe('Every attempt at a rail'),
    exceptions: z.array(objectAnswer).describe('Every exception, open or closed'),
    persons_decided: z.array(decision).describe('Decisions of operators'),
  })
  .meta({ id: 'OperatorPayoutExplanation' });

const singlePayoutOperations = () => [
  defineOperation({
    command: 'payout list',
    method: 'GET',
    path: '/operator/payouts',
    operationId: 'listUnfinishedPayouts',
    summary: 'List payouts of all accounts that have not ended',
    description: 'The oldest first, with what each waits for.',
    result: pagedList(unfinished, 'The oldest first')
      .extend({ matching: count('How many there are') })
      .meta({ id: 'UnfinishedPayouts' }),
    shape: ({ matching, next_cursor: next, payouts }: PayoutPage) => ({
      data: payouts,
      next,
      matching,
    }),
  }),
  defineOperation({
    command: 'payout explain',
    method: 'GET',
    path: '/operator/payouts/{payout}/explanation',
    operationId: 'explainPayoutToOperator',
    summary: 'Explain a payout: route, attempts, exceptions, decisions',
    description: 'Also what clients are not shown: kinds of reviews, and who decided.',
    result: explanation,
    refusals: [404],
  }),
  defineOperation({
    command: 'payout margin',
    method: 'GET',
    path: '/operator/payouts/{payout}/margin',
    operationId: 'getPayoutMargin',
    summary: 'See what a payout earned and what its rail charged',
    result: z
      .object({ margin: objectAnswer.describe('Fee, margin of the exchange and charges') })
      .meta({ id: 'PayoutMargin' }),
    shape: (margin: unknown) => ({ margin }),
    refusals: [404],
  }),
  defineOperation({
    command: 'payout decide',
    method: 'POST',
    path: '/operator/payouts/{payout}/decision',
    operationId: 'decidePayout',
    summary: 'Decide about a payout that waits for a person',
    description:
      'Release, refund, retry, or record its outcome. One of high value needs the same decision from a second operator. With `payout_version` it is recorded only if the payout is still as the person saw it.',
    result: nothing.meta({ id: 'DecidedPayout' }),
    shape: () => ({}),
    refusals: [404, 409],
  }),
  defineOperation({
    command: 'payout cancel',
    method: 'POST',
    path: '/operator/payouts/{payout}/cancellation',
    operationId: 'cancelPayoutAsOperator',
    summary: 'Stop a payout before it runs, or at its rail',
    result: nothing.meta({ id: 'CanceledPayout' }),
    shape: () => ({}),
    refusals: [404, 409],
  }),
];

export const payoutOperations = () => [...exceptionOperations(), ...singlePayoutOperations()];
