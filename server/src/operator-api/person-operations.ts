import { z } from 'zod';
import { objectAnswer } from '../http/schema.ts';
import {
  count,
  defineOperation,
  list,
  nothing,
  optionalText,
  pagedList,
  text,
  toList,
  toPagedList,
  yes,
} from './operation.ts';

/** Operators, what needs two of them, and what they did. */

const operator = z
  .object({
    operator: text('The identifier'),
    name: text('The name, unique forever'),
    role: text('What the operator may do'),
    created_at: text('When the operator was created, UTC'),
    key: text('The present key, as the audit log names it'),
    key_created_at: text('When the present key was made, UTC'),
    revoked_at: optionalText('When the operator was revoked, UTC; null while it may act'),
    is_genuine: yes('False: the row was changed past the service and does not authenticate'),
  })
  .meta({ id: 'Operator' });

const newKey = z
  .object({
    operator: text('The identifier'),
    name: text('The name'),
    role: text('What the operator may do'),
    key: text('The key; shown once'),
  })
  .meta({ id: 'OperatorKey' });

const operatorOperations = () => [
  defineOperation({
    command: 'operator list',
    method: 'GET',
    path: '/operator/operators',
    operationId: 'listOperators',
    summary: 'List the operators',
    result: list(operator, 'By name').meta({ id: 'Operators' }),
    shape: toList,
  }),
  defineOperation({
    command: 'operator create',
    method: 'POST',
    path: '/operator/operators',
    operationId: 'createOperator',
    summary: 'Create an operator',
    description: 'The key is shown only once.',
    result: newKey,
    refusals: [409],
  }),
  defineOperation({
    command: 'operator invite',
    method: 'POST',
    path: '/operator/operators/{name}/invite',
    operationId: 'inviteOperator',
    summary: 'Make a link that logs an operator in to the console once',
    result: z
      .object({
        operator: text('The name'),
        link: text('The link; shown once'),
        expires_at: text('When it expires, UTC'),
      })
      .meta({ id: 'OperatorInvitation' }),
    refusals: [404],
  }),
  defineOperation({
    command: 'operator revoke',
    method: 'POST',
    path: '/operator/operators/{name}/revoke',
    operationId: 'revokeOperator',
    summary: 'Revoke an operator at once',
    description: 'Ends the sessions of the operator too.',
    result: nothing.meta({ id: 'RevokedOperator' }),
    refusals: [404, 409],
  }),
  defineOperation({
    command: 'operator renew-key',
    method: 'POST',
    path: '/operator/key',
    operationId: 'renewOperatorKey',
    summary: 'Replace your own key',
    description: 'The old key and all your sessions end at once.',
    result: newKey,
  }),
];

const policy = z
  .object({
    action: text('What it is about'),
    persons: count('How many operators are needed: 1 or 2'),
    above_usd: text('Two are needed from just above this many whole USD'),
  })
  .meta({ id: 'OperatorPolicy' });

const approval = z
  .object({
    approval: text('The request'),
    action: text('The command'),
    requested_by: text('The operator who wants it'),
    reason: text('Why'),
    requested_at: text('When, UTC'),
    expires_at: text('Until when a second operator can approve it, UTC'),
    options: objectAnswer.describe('What would be done'),
  })
  .meta({ id: 'Approval' });

const policyOperations = () => [
  defineOperation({
    command: 'policy list',
    method: 'GET',
    path: '/operator/policies',
    operationId: 'listPolicies',
    summary: 'See what needs two operators',
    result: list(policy, 'By action').meta({ id: 'OperatorPolicies' }),
    shape: toList,
  }),
  defineOperation({
    command: 'policy set',
    method: 'PUT',
    path: '/operator/policies/{action}',
    operationId: 'setPolicy',
    summary: 'Change what needs two operators',
    result: policy,
  }),
  defineOperation({
    command: 'approval list',
    method: 'GET',
    path: '/operator/approvals',
    operationId: 'listApprovals',
    summary: 'List what waits for a second operator',
    result: pagedList(approval, 'The oldest first').meta({ id: 'Approvals' }),
    shape: toPagedList,
  }),
  defineOperation({
    command: 'approval withdraw',
    method: 'POST',
    path: '/operator/approvals/{approval}/withdraw',
    operationId: 'withdrawApproval',
    summary: 'Take back a request that waits for a second operator',
    description: 'That of another operator needs the permission `operate`.',
    result: nothing.meta({ id: 'WithdrawnApproval' }),
    refusals: [404],
  }),
];

const auditEntry = z
  .object({
    sequence: text('Its place in the log'),
    id: text('The entry'),
    created_at: text('When, UTC'),
    actor_kind: text('operator, credential or system'),
    actor_id: optionalText('Who; null for the system'),
    actor: text('The name of the operator; "" for others'),
    role: text('The role of the operator at that time'),
    credential: text(
      'The id of a client\'s credential; the key or session of an operator; "" for none',
    ),
    address: text('Where the request came from'),
    action: text('The command, or the operation'),
    object: objectAnswer.describe('What it was about'),
    account_id: optionalText('The account; null where it was about none'),
    reason: text('Why'),
    request_id: text('Of the HTTP request, or of the entry before the command began'),
    outcome: text('requested, waiting, done, refused or failed'),
    before: z.any().describe('The state before it; null where it is not recorded'),
    after: z.any().describe('The state after it; null where it is not recorded'),
  })
  .meta({ id: 'AuditEntry' });

const auditOperation = () =>
  defineOperation({
    command: 'audit list',
    method: 'GET',
    path: '/operator/audit',
    operationId: 'listAuditEntries',
    summary: 'List who did what',
    result: list(auditEntry)
      .extend({ next: optionalText('The `before` of the next page; null where there is none') })
      .meta({ id: 'AuditEntries' }),
    shape: toPagedList,
  });

export const personOperations = () => [
  ...operatorOperations(),
  ...policyOperations(),
  auditOperation(),
];
