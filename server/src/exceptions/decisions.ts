import { getCurrency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { type KeyRing, rowContext } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { defineProtectedTable, renewMac } from '../db/protected-tables.ts';
import { getDestinationToken } from '../destinations/catalog.ts';
import { findFreshPrice, getProviderCost } from '../destinations/provider-pricing.ts';
import { type Dispatcher, listTriedPayers } from '../dispatch/dispatch.ts';
import { describeTerms } from '../dispatch/failover.ts';
import { findNextPayer, type RouterServices } from '../dispatch/routing.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { findGenuineOperator } from '../operators/operators.ts';
import { needsTwoPersons, type Policy } from '../operators/policies.ts';
import { decideSeenResults, readSeenResults } from '../screening/seen-results.ts';
import {
  closeUnmatched,
  type DecidedPayoutRow,
  type DecideResult,
  decidePayoutRow,
  findDecidedPayout,
  listVotes,
  type NextPayer,
  openDecisionOf,
  openMissingRails,
  type VoteRow,
  vouchedColumns,
} from './decisions.sql.ts';

export { findAccountOfPayout, findPayoutVersion } from './decisions.sql.ts';

/** Decisions of persons about payouts that are held, contradicted, or without a payer. */

export const decisionActions = [
  'release',
  'refund',
  'retry',
  'paid',
  'not_paid',
  'returned',
  'write_off',
  'dismiss',
] as const;
export type DecisionAction = (typeof decisionActions)[number];

export type Decision = {
  accountId: string;
  payoutId: string;
  action: DecisionAction;
  /** The name of the operator, and the id. */
  decidedBy: string;
  operatorId: string;
  reason: string;
  /** Of the payout that the person saw (`payout_version`); undefined: whatever has become of it. */
  version?: string | undefined;
};

export type DecisionServices = {
  db: Database;
  keys: KeyRing;
  dispatcher: Pick<Dispatcher, 'router' | 'cancelOne'>;
  rates: () => MidRates;
  /** Which payouts need two people. */
  readPolicy: () => Promise<Pick<Policy, 'persons' | 'aboveUsd'>>;
};

/**
 * Records a decision. `waiting`: a second, different person must decide the same.
 *
 * @throws AppError not_found, payout_changed, illegal_move (with the cause), own_payout, recovering.
 */
export async function decidePayout(
  services: DecisionServices,
  decision: Decision,
): Promise<'done' | 'waiting'> {
  const { db } = services;
  let payout = await findDecidedPayout(db.system, decision);
  if (payout === undefined) throw new AppError('not_found', 'Payout not found');
  refuseMaker(payout, decision);
  refuseOutdated(decision, payout.version);
  refuseRecovering(decision, payout);
  if (decision.action === 'not_paid' && payout.is_in_flight) {
    // A rail that collects orders would still send this one.
    const isAsked = await services.dispatcher.cancelOne(decision.accountId, decision.payoutId);
    payout = (await findDecidedPayout(db.system, decision)) ?? payout;
    if (payout.status === 'CANCELLED') return 'done';
    if (!isAsked) throw refuseClaimed(decision);
  }
  const next = decision.action === 'retry' ? await findRetry(services, payout) : undefined;
  const money = { currency: payout.source_currency, minor: payout.source_amount };
  const needsTwo = needsTwoPersons(await services.readPolicy(), money, services.rates());
  const counted = { personsNeeded: needsTwo ? 2 : 1, next };
  const { user_id: userId } = payout;
  const clears = decision.action === 'release' && payout.has_open_screening;
  const result = await db.systemTransaction(async (session) => {
    const storing = { session, keys: services.keys };
    const seen = await readSeenResults(session, { ...decision, userId });
    const stored = await storeDecision(storing, decision, counted);
    // A release clears the recipient of the hits, for later payouts too.
    if (stored === 'done' && clears) {
      await decideSeenResults(storing, seen, { ...decision, decision: 'cleared' });
    }
    return stored;
  });
  if (result === 'not_found') throw new AppError('not_found', 'Payout not found');
  if (result === 'claimed') throw refuseClaimed(decision);
  if (result === 'illegal') {
    throw new AppError(
      'illegal_move',
      `${decision.action} is not possible: the payout is ${payout.status}${
        payout.has_open_exception
          ? ', which this decision does not fit, or an attempt may still be in flight'
          : ' and no exception of it is open'
      }`,
    );
  }
  return result;
}

const refuseClaimed = ({ action }: Decision) =>
  new AppError(
    'illegal_move',
    `${action} is not possible while a process is working on the payout: see what has become of ` +
      'it in a minute, and decide then',
  );

const givingBack: ReadonlySet<DecisionAction> = new Set(['refund', 'not_paid', 'write_off']);

/** What a rail has paid may not be listed yet. @throws AppError recovering. */
function refuseRecovering({ action }: Decision, { is_recovering: isOpen }: DecidedPayoutRow): void {
  if (!isOpen || !givingBack.has(action)) return;
  throw new AppError(
    'recovering',
    `${action} is not possible before the recovery after a restore is released: a rail may have paid it`,
  );
}

/** A decision counts for what was open when it was made, by an operator who exists, as it was written. */
async function storeDecision(
  { session, keys }: VoteServices,
  decision: Decision,
  { personsNeeded, next }: { personsNeeded: number; next: NextPayer | undefined },
): Promise<DecideResult> {
  const opened = await openDecisionOf(session, { ...decision, next });
  if (opened === undefined) return 'not_found';
  refuseOutdated(decision, opened.version);
  const { about } = opened;
  const asked = { ...decision, about };
  const votes: string[] = [];
  for (const row of await listVotes(session, asked)) {
    if (!keys.isMac(describeVote(asked, row), row.mac)) continue;
    const voter = await findGenuineOperator({ session, keys }, { id: row.operator_id });
    if (voter !== undefined) votes.push(row.id);
  }
  const id = newId();
  const { decidedBy, operatorId, reason } = decision;
  const row = { id, decided_by: decidedBy, operator_id: operatorId, reason };
  const mac = keys.mac(describeVote(asked, row));
  return decidePayoutRow(session, { ...asked, id, mac, votes, personsNeeded, next });
}

type VoteServices = { session: Session; keys: KeyRing };

/** What the code of a decision covers. */
function describeVote(
  asked: { accountId: string; payoutId: string; action: string; about: Buffer },
  { id, decided_by: by, operator_id: operatorId, reason }: Omit<VoteRow, 'mac'>,
): string {
  const { accountId, payoutId, action, about } = asked;
  const row = [accountId, payoutId, id, action, by, operatorId, reason, about.toString('hex')];
  return rowContext('payout_decisions', ...row);
}

/** The same of a stored one. */
export function describeDecision({
  account_id: accountId,
  payout_id: payoutId,
  action,
  about,
  ...row
}: Omit<VoteRow, 'mac'> & {
  account_id: string;
  payout_id: string;
  action: string;
  about: Buffer;
}): string {
  return describeVote({ accountId, payoutId, action, about }, row);
}

export const protectedDecisions = defineProtectedTable({
  table: 'payout_decisions',
  key: { account_id: 'uuid', payout_id: 'uuid', id: 'uuid' },
  values: ['mac'],
  columns: vouchedColumns,
  replacement: 'renew_payout_decisions',
  renew: renewMac(describeDecision),
});

/** Who created or committed a payout does not approve it. @throws AppError own_payout. */
function refuseMaker(payout: DecidedPayoutRow, { action, operatorId }: Decision): void {
  if (action !== 'release' || !payout.has_open_approval) return;
  if (operatorId !== payout.created_by && operatorId !== payout.committed_by) return;
  throw new AppError(
    'own_payout',
    'The operator who created or committed a payout cannot approve it',
  );
}

/** @throws AppError payout_changed, where the person saw another version. */
export function refuseOutdated(seen: { version?: string | undefined }, version: string): void {
  if (seen.version === undefined || seen.version === version) return;
  throw new AppError(
    'payout_changed',
    'The payout has changed since you looked at it, so that the decision was not recorded: look again, and decide about what you see then',
  );
}

/**
 * Another payer within the quoted cost; or, where the exception is that the payer asks more than quoted,
 * the same payer at what it asks now.
 */
async function findRetry({ db, dispatcher }: DecisionServices, payout: DecidedPayoutRow) {
  const { router } = dispatcher;
  const name = { accountId: payout.account_id, payoutId: payout.payout_id };
  const { next, nextPrice } = await findNextPayer(router, describeTerms(payout), {
    payout: { session: db.system, ...name },
    tried: await listTriedPayers(db.system, name),
  });
  if (next !== undefined) {
    return { rail: next.railName, payerKey: next.key, providerPrice: nextPrice };
  }
  if (!payout.has_open_price) {
    throw new AppError('illegal_move', 'no other payer can pay it within the quoted cost');
  }
  const { rail, payer_key: payerKey } = payout;
  const price = findAcceptedPrice(router, payout);
  if (price === undefined) {
    const detail =
      'no other payer can pay it within the quoted cost, and its payer has no fresh price';
    throw new AppError('illegal_move', detail);
  }
  return { rail, payerKey, providerPrice: price.text };
}

/** What the provider of the present payer asks now, if that is known and covers the amount. */
function findAcceptedPrice(router: RouterServices, payout: DecidedPayoutRow) {
  const { rail, payer_key: payerKey, destination_amount: destinationMinor } = payout;
  const payer = router.catalog().findPayer(getDestinationToken(rail, payerKey));
  const pair = {
    source: getCurrency(payout.source_currency),
    destination: getCurrency(payout.destination_currency),
  };
  if (payer?.offer === undefined) return undefined;
  const found = findFreshPrice(payer.name, payer.offer, pair);
  if (!found.ok || getProviderCost(found.price, destinationMinor) === undefined) return undefined;
  return found.price;
}

/** Opens exceptions for payouts whose rail no process has configured; returns how many are new. */
export function reportMissingRails(db: Database, railNames: readonly string[]): Promise<number> {
  return openMissingRails(db.system, railNames);
}

/** @throws AppError not_found. */
export async function closeUnmatchedException(
  db: Database,
  close: { id: string; decidedBy: string; reason: string },
): Promise<void> {
  const resolution = `dismissed by ${close.decidedBy}: ${close.reason}`;
  if (!(await closeUnmatched(db.system, close.id, resolution))) {
    throw new AppError('not_found', 'open exception without an account not found');
  }
}
