import { readFileSync } from 'node:fs';
import { ConfigError } from '../config.ts';
import { findTokenId } from '../core/ids.ts';
import { explainPayout } from '../dispatch/explain.ts';
import { describeRecovery, releaseRecovery } from '../dispatch/recovery.ts';
import type { Environment } from '../environment/environment.ts';
import {
  type DecisionAction,
  decidePayout,
  decisionActions,
  findAccountOfPayout,
} from '../exceptions/decisions.ts';
import { listDecisions } from '../exceptions/exceptions.ts';
import { findMargin } from '../payouts/margin.ts';
import { checkRails } from '../rails/host/check.ts';
import { secretContext } from '../rails/host/open.ts';
import { sealedPrefix } from '../rails/host/rail-config.ts';
import { findAccountOfUser } from '../users/users.ts';
import { need, tell, type Values } from './command-values.ts';
import { describeDecision } from './exception-commands.ts';

/** The commands of those who run the service, about payouts and rails. All answer JSON. */

type Command = (env: Environment, values: Values) => Promise<unknown>;

export const operatorCommands: Readonly<Record<string, Command>> = {
  'payout explain': async (env, values) => {
    const name = await findPayout(env, values);
    const explained = await tell(
      explainPayout({ session: env.db.system, router: env.router }, name),
    );
    const persons = await listDecisions(env.db, name);
    return { ...explained, persons_decided: persons.map(describeDecision) };
  },
  'payout decide': async (env, values) => {
    const action = need(values, 'action');
    if (!(decisionActions as readonly string[]).includes(action)) {
      throw new ConfigError(`--action must be one of ${decisionActions.join(', ')}`);
    }
    // A retry chooses among all rails; one that is left out could be the one it should choose.
    if (action === 'retry') refuseFaulty(env, undefined);
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
    const services = { session: env.db.system, router: env.router };
    const { attempts } = await tell(explainPayout(services, name));
    const rail = attempts.at(-1)?.rail;
    if (rail !== undefined) refuseFaulty(env, rail);
    await env.recovery.refresh();
    await tell((async () => env.recovery.refuse())());
    await env.dispatcher.cancelOne(name.accountId, name.payoutId);
    return tell(explainPayout(services, name));
  },
  'payout margin': async (env, values) => {
    const name = await findPayout(env, values);
    return findMargin(env.db.system, name);
  },
  'recovery show': async (env) => describeRecovery(env),
  'recovery release': async (env, values) => {
    const result = await tell(
      releaseRecovery(env, {
        decidedBy: need(values, 'by'),
        reason: need(values, 'reason'),
        acceptsUnlisted: values['accept-unlisted'] === true,
      }),
    );
    return { result };
  },
  'screening import': async (env, values) => {
    const reports = await env.importLists(values['accept-doubts'] === true);
    if (reports.some(({ ok }) => !ok)) process.exitCode = 1;
    return reports;
  },
  'rail check': async (env) => {
    const reports = await checkRails(env.rails);
    // Rails that cannot even be opened, and faults of the file itself.
    const names = new Set(env.railFaults.map(({ rail }) => rail));
    const unopened = [...names].map((name) => ({
      rail: name ?? '',
      kind: '',
      faults: env.railFaults.filter(({ rail }) => rail === name).map(({ text }) => text),
    }));
    const all = [...unopened, ...reports];
    if (all.some(({ faults }) => faults.length > 0)) process.exitCode = 1;
    return all;
  },
  'secret seal': async (env, values) => {
    const plain = readFileSync(need(values, 'file'));
    return `${sealedPrefix}${env.keys.seal(plain, secretContext).toString('base64')}`;
  },
};

/** @throws ConfigError where the rail, or any rail at all, has faults in the operator's file. */
function refuseFaulty(env: Environment, name: string | undefined): void {
  const faults = env.railFaults.filter(({ rail }) => name === undefined || rail === name);
  if (faults.length === 0) return;
  const texts = faults.map(({ text }) => text).join('; ');
  throw new ConfigError(`this needs rails that cannot be opened: ${texts}`);
}

export async function findPayout(
  env: Environment,
  values: Values,
): Promise<{ accountId: string; payoutId: string }> {
  const payoutId = findTokenId('payout', need(values, 'payout'));
  const accountId =
    payoutId === undefined ? undefined : await findAccountOfPayout(env.db.system, payoutId);
  if (payoutId === undefined || accountId === undefined) {
    throw new ConfigError(`payout not found in ${env.name}`);
  }
  return { accountId, payoutId };
}

export async function findUserKey(env: Environment, values: Values) {
  const userId = findTokenId('user', need(values, 'user'));
  const accountId =
    userId === undefined ? undefined : await findAccountOfUser(env.db.system, userId);
  if (userId === undefined || accountId === undefined) {
    throw new ConfigError(`user not found in ${env.name}`);
  }
  return { accountId, userId };
}
