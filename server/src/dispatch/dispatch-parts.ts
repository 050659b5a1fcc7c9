import { type EnvironmentName } from '../core/access.ts';
import { type KeyRing } from '../core/sealing.ts';
import { type EnvironmentClock } from '../db/environment-clock.ts';
import { type Database } from '../db/postgres/pool.ts';
import { type ApprovalHold } from '../payouts/approval-hold.ts';
import { type Rail } from '../rails/contract/contract.ts';
import { type TravelRules } from '../travel-rule/travel-rule.ts';
import { type DispatchRow } from './dispatch.sql.ts';
import { type Observation } from './observations.ts';
import { type RailRuntime } from './rail-runtimes.ts';
import { type RouterServices } from './routing.ts';
import { type SendMarker } from './send-marker.ts';
import { type Measurements } from './standings.ts';

/** What the dispatcher is made with, and the checks before a payout is sent. */

/** Of the router, what the dispatcher does not know by itself. */
export type GivenRouter = Pick<RouterServices, 'catalog' | 'rates' | 'measure'>;

export type DispatchServices = {
  db: Database;
  keys: KeyRing;
  clock: EnvironmentClock;
  rails: ReadonlyMap<string, Rail>;
  /** What finding another payer and evaluating the present one depend on. */
  router: GivenRouter;
  measurements: Measurements;
  /** Checks before a payout is sent first; undefined: none. */
  rules: Rules | undefined;
  /** Undefined: nothing is asked of sender and recipient. */
  travelRules?: TravelRules;
  /** Advanced before anything is sent. */
  marker?: Pick<SendMarker, 'advance' | 'retryAdvance'>;
  /** A rail refused a payment at the price that it had quoted: makes it quote again. */
  requestPrices?: (rail: string) => Promise<void>;
  onAnswer: (rail: string, outcome: string) => void;
  onError: (error: unknown) => void;
  times: DispatchTimes;
};

/** What the rules depend on. */
export type CheckedRow = Pick<
  DispatchRow,
  | 'account_id'
  | 'payout_id'
  | 'user_id'
  | 'data_key'
  | 'person'
  | 'user_country'
  | 'attr_set_id'
  | 'attributes'
  | 'country'
  | 'delivery_type'
  | 'source_currency'
  | 'source_amount'
  | 'destination_currency'
>;

export type Rules = {
  /** Only payouts of accounts with limits or approval rules of their own are checked. */
  readonly onlyOfAccounts?: boolean;
  /** In the order of the rows: what stops the payout; undefined lets it pass. */
  check(rows: readonly CheckedRow[]): Promise<readonly (RuleHit | Waiting | undefined)[]>;
};

/** The payout is checked again when a screening service has answered, which is waited for. */
export type Waiting = { exception: 'none'; wait: 'opinion' };

/** What a check has found, as an exception. */
export type CheckHit = { exception: 'screening' | 'velocity'; detail: string };

export type RuleHit =
  | CheckHit
  /** Persons have to approve it first. */
  | { exception: 'approval'; hold: ApprovalHold };

export type DispatchTimes = {
  /** After it, another process may claim what a dead one held. */
  leaseMs: number;
  /** Shorter than the lease: the answer of a call that took longer would be refused anyway. */
  callMsMax: number;
};

/** In staging, moving the clock waits for the leases of dead processes, and calls are short. */
export const dispatchTimes: Readonly<Record<EnvironmentName, DispatchTimes>> = {
  staging: { leaseMs: 5_000, callMsMax: 4_000 },
  live: { leaseMs: 60_000, callMsMax: 45_000 },
};

export type Parts = DispatchServices & {
  runtimes: ReadonlyMap<string, RailRuntime>;
  fullRouter: RouterServices;
  /** Returns whether it was applied. */
  record: (observation: Observation) => Promise<boolean>;
  /** Cancel instead of sending or querying. */
  isCancelling: boolean;
  /** Ids of claimed payouts that a stop is for; what a rail may have of them is still queried. */
  stopped: ReadonlySet<string>;
  holdFor?: CheckHit | undefined;
  /** When the lease ends, by the steady clock. */
  endMs: number;
};
