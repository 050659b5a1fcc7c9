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

/** Rules that hold payouts until persons have approved them. */

const policy = z
  .looseObject({
    rules: z.array(z.unknown()).describe('Each with `name`, `when`, `approvers`, `expires_hours`'),
  })
  .meta({ id: 'ApprovalPolicy' });

const described = policy.describe('Rules and their examples, as docs/guides/approvals.md says');

const version = z
  .object({
    version: count('From 1 on'),
    is_in_force: yes('Whether it is the present one'),
    is_forged: yes('Whether it was changed past the service; it then holds every payout'),
    policy: described,
    set_by: text('The operator who set it'),
    reason: text('Why'),
    set_at: text('When, UTC'),
    replaced_at: optionalText('When another one took its place, UTC'),
  })
  .meta({ id: 'ApprovalPolicyVersion' });

const preview = z
  .object({
    payouts: count('Committed payouts of the time'),
    held: count('Those that the rules would have held'),
    rules: z
      .array(z.object({ name: text('The rule'), held: count('Payouts that it would have held') }))
      .describe('Each rule by itself'),
    examples: z
      .array(
        z.object({
          payout_token: text('The payout'),
          rules: z.array(z.string()).describe('The rules that would have held it'),
        }),
      )
      .describe('The newest, at most 20'),
  })
  .meta({ id: 'ApprovalPreview' });

export const ruleOperations = () => [
  defineOperation({
    command: 'rule show',
    method: 'GET',
    path: '/operator/approval-rules',
    operationId: 'listApprovalPolicies',
    summary: 'List the versions of the rules that ask for approvals',
    result: pagedList(version).meta({ id: 'ApprovalPolicyVersions' }),
    shape: toPagedList,
    refusals: [404],
  }),
  defineOperation({
    command: 'rule set',
    method: 'PUT',
    path: '/operator/approval-rules',
    operationId: 'setApprovalPolicy',
    summary: 'Replace the rules that ask for approvals',
    description: 'Payouts that wait already keep waiting.',
    result: z
      .object({ version: count('The version that is in force now') })
      .meta({ id: 'ChangedApprovalPolicy' }),
    fields: { policy: described },
    refusals: [404, 409],
  }),
  defineOperation({
    command: 'rule preview',
    method: 'POST',
    path: '/operator/approval-rules/preview',
    operationId: 'previewApprovalPolicy',
    summary: 'See which past payouts rules would have held',
    description: 'Changes nothing: for rules before they take effect.',
    result: preview,
    fields: { policy: described },
    refusals: [404],
  }),
];
