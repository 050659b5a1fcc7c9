import { z } from 'zod';
import { listAuditEntries } from '../audit/audit.ts';
import { ConfigError } from '../config.ts';
import { AppError } from '../core/errors.ts';
import { takePage } from '../db/time-page.ts';
import { findServiceUrl } from '../environment/demo-account.ts';
import { listOpenApprovals, withdrawApproval } from '../operators/approvals.ts';
import { formatConsoleLink } from '../operators/console-link.ts';
import { createLink } from '../operators/logins.ts';
import {
  createFirstOwner,
  createOperator,
  findGenuineOperator,
  type GenuineOperator,
  getOperator,
  listOperators,
  renewOperatorKey,
  requireNewName,
  revokeOperator,
} from '../operators/operators.ts';
import {
  changePolicy,
  getPolicy,
  isValued,
  listPolicies,
  policyActions,
} from '../operators/policies.ts';
import { operatorRoles } from '../operators/roles.ts';
import { defineCommand, RowPage } from './command.ts';
import type { CommandContext } from './context.ts';
import {
  from,
  identifier,
  limit,
  oneOf,
  operatorName,
  option,
  reason,
  rowCursor,
  to,
  usdAmount,
} from './options.ts';

/** Operators, what needs two of them, and what they did. */

const words = option(
  { value: 'words', about: 'beginning of the command, such as account' },
  z.string().max(100, 'must be at most 100 characters'),
);
const sequence = option(
  { value: 'sequence', about: 'entries before this one' },
  z.string().regex(/^[1-9]\d{0,17}$/, 'must be the sequence of an entry'),
);

const services = ({ db, keys }: CommandContext) => ({ session: db.system, keys });

/** Without the secret: the name of the key. */
async function findState(context: CommandContext, name: string) {
  const found = (await listOperators(services(context))).find((each) => each.name === name);
  if (found === undefined) return null;
  const { operator, role, key, revoked_at: revokedAt } = found;
  return { operator, role, key, revoked_at: revokedAt };
}

const operatorCommandList = [
  defineCommand({
    name: 'operator list',
    permission: 'read',
    about: 'list the operators',
    options: {},
    run: (context) => listOperators(services(context)),
  }),
  defineCommand({
    name: 'operator create',
    permission: 'administer',
    about: 'create an operator; the key is shown only once. The first one is an owner',
    options: { name: operatorName, role: oneOf('role', operatorRoles), reason: reason.optional() },
    approval: async ({ db }, { name, role }) => {
      await requireNewName(db.system, name);
      return { policy: 'operator', role };
    },
    snapshot: (context, { name }) => findState(context, name),
    bootstrap: async ({ db, keys }, { name, role }) => {
      if (role !== 'owner') throw new ConfigError('the first operator must have the role owner');
      const created = await db.systemTransaction((session) =>
        createFirstOwner({ session, keys }, name),
      );
      if (created !== undefined) return created;
      throw new ConfigError('another operator was created meanwhile');
    },
    run: ({ db, keys, operator }, { name, role }) =>
      db.systemTransaction((session) =>
        createOperator({ session, keys }, { name, role, createdBy: operator.id }),
      ),
  }),
  defineCommand({
    name: 'operator revoke',
    permission: 'administer',
    about: 'revoke an operator at once',
    options: { name: operatorName, reason },
    snapshot: (context, { name }) => findState(context, name),
    run: async ({ db }, { name }) => {
      await db.systemTransaction(async (session) =>
        revokeOperator(session, await getOperator(session, name)),
      );
      return { result: 'revoked' };
    },
  }),
  defineCommand({
    name: 'operator renew-key',
    permission: 'own',
    about: 'replace your own key; the old one ends at once, the new one is shown only once',
    options: {},
    snapshot: (context) => findState(context, context.operator.name),
    run: ({ db, keys, operator }) =>
      db.systemTransaction((session) => renewOperatorKey({ session, keys }, operator)),
  }),
];

async function getInvited(context: CommandContext, name: string): Promise<GenuineOperator> {
  const found = await findGenuineOperator(services(context), name);
  if (found !== undefined) return found;
  throw new AppError('not_found', `there is no operator ${name}: use operator create first`);
}

const inviteCommand = defineCommand({
  name: 'operator invite',
  permission: 'administer',
  about: 'make a link that logs an operator in to the console once, within a day',
  options: { name: operatorName, reason: reason.optional() },
  argument: 'name',
  resultNames: ['expires_at'],
  approval: async (context, { name }) => {
    await getInvited(context, name);
    return { policy: 'operator' };
  },
  run: async ({ config, ...context }, { name }) => {
    const found = await getInvited({ config, ...context }, name);
    const { token, expiresAt } = await createLink(services({ config, ...context }), found);
    const link = formatConsoleLink(findServiceUrl(config, context.name), token);
    return { operator: name, link, expires_at: expiresAt };
  },
});

const policyCommands = [
  defineCommand({
    name: 'policy list',
    permission: 'read',
    about: 'list which actions need two operators',
    options: {},
    run: async (context) => (await listPolicies(services(context))).map(describePolicy),
  }),
  defineCommand({
    name: 'policy set',
    permission: 'administer',
    about: 'change which actions need two operators',
    options: {
      action: oneOf('action', policyActions),
      persons: oneOf('persons', ['1', '2']),
      aboveUsd: usdAmount('two people from just above this many whole USD').optional(),
      reason,
    },
    check: ({ action, aboveUsd }) =>
      aboveUsd !== undefined && !isValued(action)
        ? `--above-usd does not apply: ${action} has no amount`
        : undefined,
    approval: () => ({ policy: 'policy' }),
    snapshot: async (context, { action }) =>
      describePolicy(await getPolicy(services(context), action)),
    run: async ({ db, keys }, { action, persons, aboveUsd = 0n }) => {
      const policy = { action, persons: persons === '1' ? 1 : 2, aboveUsd } as const;
      await changePolicy({ session: db.system, keys }, policy);
      return describePolicy(policy);
    },
  }),
];

function describePolicy(policy: { action: string; persons: number; aboveUsd: bigint }) {
  const { action, persons, aboveUsd } = policy;
  return { action, persons, above_usd: aboveUsd };
}

const approvalCommands = [
  defineCommand({
    name: 'approval list',
    permission: 'read',
    about: 'list requests that wait for a second operator; running the same command approves one',
    options: { limit: limit.optional(), cursor: rowCursor.optional() },
    run: async (context, { limit: count = 100, cursor }) => {
      const { rows, next } = await listOpenApprovals(services(context), { cursor, count });
      const described = rows.map(({ id, parameters, ...row }) => ({
        approval: id,
        ...row,
        options: JSON.parse(parameters) as unknown,
      }));
      return new RowPage(described, next);
    },
  }),
  defineCommand({
    name: 'approval withdraw',
    permission: 'own',
    about:
      'take back a request of yours that waits for a second person, or that of another operator where your role may change accounts',
    options: { approval: identifier('request'), reason },
    run: async ({ db, operator }, { approval }) => {
      await db.systemTransaction((session) => withdrawApproval(session, approval, operator));
      return { result: 'withdrawn' };
    },
  }),
];

const auditCommands = [
  defineCommand({
    name: 'audit list',
    permission: 'read',
    about: 'list the audit log, newest first',
    options: {
      name: operatorName.optional(),
      action: words.optional(),
      from: from.optional(),
      to: to.optional(),
      before: sequence.optional(),
      limit: limit.optional(),
    },
    run: async ({ db }, { name, limit: count = 100, ...filter }) => {
      const { action, from: begin, to: end, before } = filter;
      const query = { actor: name, action, from: begin, to: end, before, count: count + 1 };
      const found = await listAuditEntries(db.system, query);
      const { rows, next } = takePage(found, count, ({ sequence: last }) => last);
      const described = rows.map(({ object, state_before: was, state_after: is, ...row }) => ({
        ...row,
        object: JSON.parse(object) as unknown,
        before: parseState(was),
        after: parseState(is),
      }));
      return new RowPage(described, next, 'before');
    },
  }),
];

const parseState = (text: string): unknown => (text === '' ? null : JSON.parse(text));

export const operatorCommands = [
  ...operatorCommandList,
  inviteCommand,
  ...policyCommands,
  ...approvalCommands,
  ...auditCommands,
];
