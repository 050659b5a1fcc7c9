import { ConfigError } from '../config.ts';
import { findCurrency } from '../core/currency.ts';
import { findTokenId, formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import type { Environment } from '../environment/environment.ts';
import { closeUnmatchedException } from '../exceptions/decisions.ts';
import {
  closeInboundExceptions,
  type DecisionRow,
  inboundKinds,
  type ListedException,
  listExceptionPage,
} from '../exceptions/exceptions.ts';
import { need, tell, type Values } from './command-values.ts';

/** The commands about exceptions. They answer JSON. */

type Command = (env: Environment, values: Values) => Promise<unknown>;

const pageRows = 100;

export const exceptionCommands: Readonly<Record<string, Command>> = {
  'exception list': async (env, values) => {
    const { account: accountId, kind, rail, payout, cursor, limit } = values;
    const filter = {
      accountId,
      kind,
      rail,
      payoutId: payout === undefined ? undefined : findTokenId('payout', payout),
      ...readPeriod(values),
    };
    if (values.all === true && values.closed === true) {
      throw new ConfigError('--all and --closed exclude each other');
    }
    const state = values.all === true ? 'all' : values.closed === true ? 'closed' : 'open';
    const count = limit === undefined ? pageRows : Number(limit);
    const page = await tell(listExceptionPage(env.db, filter, { state, cursor, count }));
    return {
      matching: page.matching,
      shown: page.rows.length,
      // Null on the last page.
      next_cursor: page.next ?? null,
      exceptions: page.rows.map(describeException),
    };
  },
  'exception close': async (env, values) => {
    const by = { decidedBy: need(values, 'by'), reason: need(values, 'reason') };
    const { exception: id, kind, rail } = values;
    const isOne = id !== undefined;
    const isMany = kind !== undefined && rail !== undefined;
    const hasFilter = [kind, rail, values.from, values.to].some((value) => value !== undefined);
    if (isOne === hasFilter || (!isOne && !isMany)) {
      throw new ConfigError('give --exception ID, or --kind and --rail for all of them');
    }
    if (isOne) {
      await tell(closeUnmatchedException(env.db, { id, ...by }));
      return { result: 'done', closed: 1 };
    }
    const known = inboundKinds.find((one) => one === kind);
    if (known === undefined || rail === undefined) {
      throw new ConfigError(
        `only exceptions of inbound messages close together: --kind ${inboundKinds.join(', ')}; ` +
          'for a payout use payout decide',
      );
    }
    const filter = { kind: known, rail, ...readPeriod(values) };
    return { result: 'done', closed: await closeInboundExceptions(env.db, filter, by) };
  },
};

function readPeriod({ from, to }: Values): { from: Date | undefined; to: Date | undefined } {
  const read = (text: string | undefined) => (text === undefined ? undefined : new Date(text));
  return { from: read(from), to: read(to) };
}

function describeException(row: ListedException) {
  return {
    account_id: row.account_id,
    id: row.id,
    payout_token: row.payout_id === null ? '' : formatToken('payout', row.payout_id),
    rail: row.rail,
    kind: row.kind,
    detail: row.detail,
    ...describeAmount(row),
    opened_at: row.opened_at,
    closed_at: row.closed_at,
    resolution: row.resolution,
    decisions: row.decisions.map(describeDecision),
  };
}

/** Decimal; null where the exception is about no amount. */
function describeAmount({ amount, currency }: Pick<ListedException, 'amount' | 'currency'>) {
  const known = findCurrency(currency ?? '');
  if (amount === null || known === undefined) {
    return { amount: amount === null ? null : `${amount} minor units`, currency };
  }
  return { amount: formatAmount(amount, known), currency };
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
