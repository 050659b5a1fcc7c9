import { z } from 'zod';
import { createAccount } from '../accounts/accounts.ts';
import { amountFaults } from '../core/amount-faults.ts';
import { findCurrencyFault, getCurrency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { parseAmount } from '../core/money.ts';
import type { EnvironmentClock } from '../db/environment-clock.ts';
import type { Dispatcher } from '../dispatch/dispatch.ts';
import { defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { decimalField, integerField, requireField, textField } from '../http/schema.ts';
import { balanceAnswer, writeBalance } from '../ledger/ledger.routes.ts';
import { fundBalance } from '../ledger/ledger.ts';
import { type PayoutServices, readPayoutToken } from '../payouts/payouts.routes.ts';
import type { Scheduler } from '../payouts/scheduler.ts';
import { scriptedOutcomes } from '../rails/sandbox/rail.ts';
import { readUserToken } from '../users/users.routes.ts';
import { aimClock, followClock, scriptPayout } from './sandbox.ts';

export type SandboxServices = PayoutServices & {
  readonly clock: EnvironmentClock;
  readonly dispatcher: Dispatcher;
  readonly scheduler: Scheduler;
  /** How far ahead of real time the clock may be moved. */
  readonly clockDaysMax: number;
  /** Decides about a user's identity verification. @throws AppError not_found, illegal_move. */
  decideVerification(
    session: Parameters<Parameters<RouteContext<PayoutServices>['write']>[0]>[0],
    decision: { accountId: string; userId: string; decision: 'approved' | 'declined' },
  ): Promise<unknown>;
  forget(): void;
};

type Context = RouteContext<SandboxServices>;

const clockAnswer = z
  .object({ now: z.string().describe('RFC 3339, UTC, milliseconds') })
  .meta({ id: 'SandboxClock' });

/** A century; later times would not have the form that clients expect. */
const advanceSecondsMax = 100 * 366 * 86_400;

const instantPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/;

/** A real instant; `Date.parse` reads 30 February as 2 March. */
function isInstant(text: string): boolean {
  if (!instantPattern.test(text)) return false;
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text.slice(0, 19));
}

const clockRequest = z
  .object({
    advance_s: integerField({ min: 0, max: advanceSecondsMax }).optional(),
    to: z
      .string()
      .refine(isInstant, {
        error: 'must be a time in RFC 3339 ending in Z',
      })
      .optional()
      .describe('RFC 3339, ending in Z'),
  })
  .refine((body) => (body.advance_s === undefined) !== (body.to === undefined), {
    error: 'must have exactly one of advance_s and to',
  })
  .meta({
    id: 'SandboxClockMove',
    oneOf: [requireField('advance_s', 'integer'), requireField('to', 'string')],
  });

export function sandboxRoutes(): Route<SandboxServices>[] {
  return [
    accountRoute(),
    fundRoute(),
    readClockRoute(),
    moveClockRoute(),
    payoutRoute(),
    verificationRoute(),
  ];
}

const sandbox = {
  isVersioned: false,
  isSandbox: true,
  // Apart from other scopes, so that a key can pay in staging without changing what it is tested with.
  access: 'sandbox:write',
  tag: 'Sandbox',
} as const;

function accountRoute(): Route<SandboxServices> {
  return defineRoute({
    ...sandbox,
    method: 'POST',
    path: '/sandbox/accounts',
    operationId: 'createSandboxAccount',
    summary: 'Create an account',
    description: 'With credentials of its own and an empty USD balance.',
    body: z.object({ name: textField(200).min(1) }).meta({ id: 'SandboxAccountRequest' }),
    response: z
      .object({
        account: z.string(),
        client_id: z.string(),
        client_secret: z.string(),
        api_key: z.string(),
      })
      .meta({ id: 'SandboxAccount' }),
    handle: ({ env, write }: Context, { body }) =>
      write(
        async (session) => {
          const made = await createAccount(session, {
            name: body.name,
            environmentName: env.name,
            keys: env.keys,
          });
          await fundBalance(session, {
            accountId: made.account,
            currency: 'USD',
            amountMinor: 0n,
          });
          return made;
        },
        { isAcrossAccounts: true },
      ),
  });
}

function fundRoute(): Route<SandboxServices> {
  return defineRoute({
    ...sandbox,
    method: 'POST',
    path: '/sandbox/fund',
    operationId: 'fundSandboxBalance',
    summary: 'Fund a balance',
    description: 'Creates the balance if there is none.',
    body: z
      .object({ currency_code: z.string(), amount: decimalField })
      .meta({ id: 'SandboxFunding' }),
    response: balanceAnswer,
    handle: ({ accountId, write }: Context, { body }) => {
      const currencyFault = findCurrencyFault(body.currency_code);
      if (currencyFault !== undefined) {
        const detail = `currency_code ${currencyFault}`;
        throw new AppError('invalid_request', detail, {
          faults: [{ pointer: '/currency_code', code: 'unknown_currency', detail }],
        });
      }
      const currency = getCurrency(body.currency_code);
      const amount = parseAmount(body.amount.text, currency);
      if (!amount.ok) {
        const fault = amountFaults('amount', amount.fault, currency);
        throw new AppError('invalid_request', fault.detail, {
          faults: [{ pointer: '/amount', ...fault }],
        });
      }
      return write(
        async (session) =>
          writeBalance(
            await fundBalance(session, {
              accountId,
              currency: currency.code,
              amountMinor: amount.minor,
            }),
          ),
        { isOneEffect: true },
      );
    },
  });
}

function readClockRoute(): Route<SandboxServices> {
  return defineRoute({
    ...sandbox,
    method: 'GET',
    path: '/sandbox/clock',
    operationId: 'readSandboxClock',
    summary: 'Read the clock',
    access: 'bearer',
    response: clockAnswer,
    handle: async ({ env }: Context) => {
      await env.clock.refresh(env.db.system);
      return { now: new Date(env.clock.nowMs()).toISOString() };
    },
  });
}

function moveClockRoute(): Route<SandboxServices> {
  return defineRoute({
    ...sandbox,
    method: 'POST',
    path: '/sandbox/clock',
    operationId: 'moveSandboxClock',
    summary: 'Move the clock forward',
    description:
      'All accounts share the clock. Everything due until the new time happens before the answer. The clock must stay within a configured number of days of real time, by default 400.',
    body: clockRequest,
    response: clockAnswer,
    refusals: [409],
    handle: async ({ env, write }: Context, { body }) => {
      const move =
        body.to === undefined
          ? { advanceMs: (body.advance_s ?? 0) * 1000 }
          : { toMs: Date.parse(body.to) };
      const answer = await write(
        async (session) => {
          const now = await aimClock(session, move, env.clockDaysMax);
          return { now: now.toISOString() };
        },
        { isAcrossAccounts: true },
      );
      await followClock(env);
      return answer;
    },
  });
}

function payoutRoute(): Route<SandboxServices> {
  return defineRoute({
    ...sandbox,
    method: 'POST',
    path: '/sandbox/payout/{payout_token}',
    operationId: 'scriptSandboxPayout',
    summary: 'Set the outcome of a payout',
    description:
      'The simulated network reports this outcome of a committed payout; 409 where it is not possible.',
    params: z.object({ payout_token: z.string() }),
    body: z.object({ outcome: z.enum(scriptedOutcomes) }).meta({ id: 'SandboxOutcome' }),
    response: z
      .object({ payout_token: z.string(), outcome: z.string() })
      .meta({ id: 'SandboxOutcomeApplied' }),
    refusals: [404, 409],
    handle: ({ env, accountId, write }: Context, { params, body }) => {
      const payoutId = readPayoutToken(params.payout_token);
      const { outcome } = body;
      return write(async (session) => {
        const script = { accountId, payoutId, outcome, nowMs: env.clock.nowMs() };
        await scriptPayout({ session, keys: env.keys }, script);
        return { payout_token: params.payout_token, outcome };
      });
    },
  });
}

function verificationRoute(): Route<SandboxServices> {
  return defineRoute({
    ...sandbox,
    method: 'POST',
    path: '/sandbox/kyc/{user_token}',
    operationId: 'decideSandboxVerification',
    summary: 'Decide about an identity check',
    params: z.object({ user_token: z.string() }),
    body: z.object({ decision: z.enum(['approved', 'declined']) }).meta({ id: 'SandboxDecision' }),
    response: z
      .object({ user_token: z.string(), decision: z.string() })
      .meta({ id: 'SandboxDecisionApplied' }),
    refusals: [404],
    handle: ({ env, accountId, write }: Context, { params, body }) => {
      const userId = readUserToken(params.user_token);
      return write(async (session) => {
        await env.decideVerification(session, { accountId, userId, decision: body.decision });
        return { user_token: params.user_token, decision: body.decision };
      });
    },
  });
}
