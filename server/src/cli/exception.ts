import { z } from 'zod';
import { formatToken } from '../core/ids.ts';
import { formatMinor } from '../core/money.ts';
import { closeUnmatchedException } from '../exceptions/decisions.ts';
import {
  closeInboundExceptions,
  type DecisionRow,
  exceptionKinds,
  inboundKinds,
  type ListedException,
  listExceptionPage,
} from '../exceptions/exceptions.ts';
import { defineCommand } from './command.ts';
import {
  account,
  cursor,
  exception,
  flag,
  from,
  identifier,
  limit,
  oneOf,
  option,
  payout,
  rail,
  reason,
  to,
} from './options.ts';

const pageRows = 100;

const listCommand = defineCommand({
  name: 'exception list',
  permission: 'read',
  about: 'list exceptions, newest first',
  options: {
    account: account.optional(),
    kind: oneOf('kind', exceptionKinds).optional(),
    rail: rail.optional(),
    payout: payout.optional(),
    from: from.optional(),
    to: to.optional(),
    closed: flag('closed ones instead of open ones'),
    all: flag('open and closed ones'),
    limit: limit.optional(),
    cursor: cursor.optional(),
  },
  check: ({ all, closed }) => (all && closed ? '--all and --closed exclude each other' : undefined),
  run: async ({ db }, values) => {
    const { account: accountId, payout: payoutId, all, closed, limit: count = pageRows } = values;
    const state = all ? 'all' : closed ? 'closed' : 'open';
    const filter = {
      accountId,
      payoutId,
      kind: values.kind,
      rail: values.rail,
      from: values.from,
      to: values.to,
    };
    const page = await listExceptionPage(db, filter, { state, cursor: values.cursor, count });
    return {
      matching: page.matching,
      shown: page.rows.length,
      // Null on the last page.
      next_cursor: page.next ?? null,
      exceptions: page.rows.map(describeException),
    };
  },
});

const inboundKind = option(
  { value: 'kind', about: `all of this kind and rail: ${inboundKinds.join(', ')}` },
  z.enum(inboundKinds, {
    error: `must be one of ${inboundKinds.join(', ')}; payout decide closes the others`,
  }),
);

const newest = identifier('the newest exception to close, of exception list: later ones stay open');

const closeCommand = defineCommand({
  name: 'exception close',
  permission: 'decide',
  about: 'close an exception of an inbound message that belongs to no payout, or all of a kind',
  options: {
    exception: exception.optional(),
    kind: inboundKind.optional(),
    rail: rail.optional(),
    from: from.optional(),
    to: to.optional(),
    newest: newest.optional(),
    reason,
  },
  check: ({ exception: id, kind, rail: railName, from: begin, to: end, newest: last }) => {
    const hasFilter = [kind, railName, begin, end, last].some((value) => value !== undefined);
    const isMany = kind !== undefined && railName !== undefined;
    const isOne = id !== undefined;
    return isOne === hasFilter || (!isOne && !isMany)
      ? 'give --exception, or --kind and --rail for all of them'
      : undefined;
  },
  resultNames: ['closed'],
  run: async ({ db, operator }, { exception: id, kind, rail: railName, ...values }) => {
    const decision = { decidedBy: operator.name, reason: values.reason };
    if (kind === undefined || railName === undefined) {
      await closeUnmatchedException(db, { id: id ?? '', ...decision });
      return { result: 'done', closed: 1 };
    }
    const filter = { ...values, kind, rail: railName };
    return { result: 'done', closed: await closeInboundExceptions(db, filter, decision) };
  },
});

export const exceptionCommands = [listCommand, closeCommand];

function describeException(row: ListedException) {
  return {
    account_id: row.account_id,
    id: row.id,
    payout_token: row.payout_id === null ? '' : formatToken('payout', row.payout_id),
    payout_version: row.payout_version ?? '',
    user_token: row.user_id === null ? '' : formatToken('user', row.user_id),
    rail: row.rail,
    kind: row.kind,
    detail: row.detail,
    ...describeAmount(row),
    opened_at: row.opened_at,
    closed_at: row.closed_at,
    resolution: row.resolution,
    approvers: row.approvers,
    expires_at: row.expires_at,
    decisions: row.decisions.map(describeDecision),
  };
}

/** Decimal; null where the exception is about no amount. */
function describeAmount({ amount, currency }: Pick<ListedException, 'amount' | 'currency'>) {
  return { amount: amount === null ? null : formatMinor(amount, currency ?? ''), currency };
}

export function describeDecision(row: DecisionRow) {
  return {
    decided_at: row.decided_at,
    action: row.action,
    decided_by: row.decided_by,
    reason: row.reason,
    // False: it waited for a second person.
    is_effective: row.is_effective,
  };
}
