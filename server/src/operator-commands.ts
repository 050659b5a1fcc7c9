import { readFileSync } from 'node:fs';
import type { parseArgs } from 'node:util';
import { ConfigError } from './config.ts';
import { AppError } from './core/errors.ts';
import { findTokenId, formatToken, isUuid } from './core/ids.ts';
import type { Environment } from './environment.ts';
import {
  closeUnmatchedException,
  type DecisionAction,
  decidePayout,
  decisionActions,
  findAccountOfPayout,
  listExceptions,
} from './payouts/decisions.ts';
import { explainPayout } from './payouts/explain.ts';
import { findMargin } from './payouts/margin.ts';
import { secretContext } from './rails/open.ts';
import { sealedPrefix } from './rails/rail-config.ts';
import { findAccountOfUser } from './users/users.ts';

/** The commands of those who run the service, about payouts and rails. All answer JSON. */

export type Values = Readonly<Record<string, string | boolean | undefined>> &
  ReturnType<typeof parseArgs>['values'];
type Command = (env: Environment, values: Values) => Promise<unknown>;

const exceptionsShown = 200;
const checkMsMax = 30_000;

export const operatorCommands: Readonly<Record<string, Command>> = {
  'exception list': async (env, values) => {
    const rows = await listExceptions(env.db, {
      accountId: typeof values['account'] === 'string' ? values['account'] : undefined,
      includesClosed: values['all'] === true,
      count: exceptionsShown,
    });
    return rows.map(({ payout_id: payoutId, ...row }) => ({
      ...row,
      payout_token: payoutId === null ? '' : formatToken('payout', payoutId),
    }));
  },
  'exception close': async (env, values) => {
    const id = need(values, 'exception');
    if (!isUuid(id)) throw new ConfigError('--exception is not an identifier');
    const close = { id, decidedBy: need(values, 'by'), reason: need(values, 'reason') };
    await tell(closeUnmatchedException(env.db, close));
    return { result: 'done' };
  },
  'payout explain': async (env, values) => {
    const name = await findPayout(env, values);
    return tell(explainPayout({ session: env.db.system, router: env.router }, name));
  },
  'payout decide': async (env, values) => {
    const action = need(values, 'action');
    if (!(decisionActions as readonly string[]).includes(action)) {
      throw new ConfigError(`--action is one of ${decisionActions.join(', ')}`);
    }
    const result = await tell(
      decidePayout(env, {
        ...(await findPayout(env, values)),
        action: action as DecisionAction,
        decidedBy: need(values, 'by'),
        reason: need(values, 'reason'),
      }),
    );
    return { result };
  },
  'payout cancel': async (env, values) => {
    const name = await findPayout(env, values);
    await env.dispatcher.cancelOne(name.accountId, name.payoutId);
    return tell(explainPayout({ session: env.db.system, router: env.router }, name));
  },
  'payout margin': async (env, values) => {
    const name = await findPayout(env, values);
    return findMargin(env.db.system, name);
  },
  'screening import': async (env, values) => {
    const reports = await env.importLists(values['accept-doubts'] === true);
    if (reports.some(({ ok }) => !ok)) process.exitCode = 1;
    return reports;
  },
  'rail check': async (env) => {
    const checked = env.rails.map(async (rail) => ({
      rail: rail.name,
      kind: rail.kind,
      faults: await checkRail(rail),
    }));
    return Promise.all(checked);
  },
  'secret seal': async (env, values) => {
    const plain = readFileSync(need(values, 'file'));
    return `${sealedPrefix}${env.keys.seal(plain, secretContext).toString('base64')}`;
  },
};

async function checkRail(rail: Environment['rails'][number]): Promise<readonly string[]> {
  if (rail.check === undefined) return [];
  try {
    return await rail.check({ signal: AbortSignal.timeout(checkMsMax) });
  } catch (error) {
    return [error instanceof Error ? error.message : 'it cannot be checked'];
  }
}

export async function findPayout(
  env: Environment,
  values: Values,
): Promise<{ accountId: string; payoutId: string }> {
  const payoutId = findTokenId('payout', need(values, 'payout'));
  const accountId =
    payoutId === undefined ? undefined : await findAccountOfPayout(env.db.system, payoutId);
  if (payoutId === undefined || accountId === undefined) {
    throw new ConfigError('--payout is no token of a payout');
  }
  return { accountId, payoutId };
}

export async function findUserKey(env: Environment, values: Values) {
  const userId = findTokenId('user', need(values, 'user'));
  const accountId =
    userId === undefined ? undefined : await findAccountOfUser(env.db.system, userId);
  if (userId === undefined || accountId === undefined) {
    throw new ConfigError('--user is no token of a user');
  }
  return { accountId, userId };
}

export function need(values: Values, name: string): string {
  const value = values[name];
  if (typeof value !== 'string' || value === '') throw new ConfigError(`--${name} is missing`);
  return value;
}

/** A refusal of the service, as the sentence that the person at the terminal reads. */
export async function tell<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AppError) throw new ConfigError(error.message, { cause: error });
    throw error;
  }
}
