/** What the operators' API answers, as the console uses it. Times are ISO 8601 in UTC, amounts decimals. */

export type List<Row> = { data: Row[]; next?: string | null; matching?: number };

export type Exception = {
  account_id: string;
  id: string;
  /** "" where it belongs to no payout; the recipient likewise. */
  payout_token: string;
  user_token: string;
  /** Of the payout as it was when this was read. */
  payout_version: string;
  rail: string;
  kind: string;
  detail: string;
  amount: string | null;
  currency: string | null;
  opened_at: string;
  closed_at: string | null;
  resolution: string;
  /** Of an approval: so many persons must release it, and until when. */
  approvers: number | null;
  expires_at: string | null;
  decisions: {
    decided_at: string;
    action: string;
    decided_by: string;
    reason: string;
    is_effective: boolean;
  }[];
};

export type Approval = {
  approval: string;
  action: string;
  requested_by: string;
  reason: string;
  requested_at: string;
  expires_at: string;
  options: Record<string, unknown>;
};

export type Rail = {
  rail: string;
  health: string;
  is_frozen: boolean;
  being_sent: number;
  handed_over: number;
  waiting: number;
  funds: { currency: string; amount: string }[];
  /** "" where an amount is not known. */
  prefunding: {
    currency: string;
    funds: string;
    committed: string;
    scheduled: string;
    left: string;
  }[];
  /** Null where tariffs are the price. */
  prices: { age_seconds: number | null; unpriced: number } | null;
  /** Times are "" where there is none. */
  heard_at: string;
  oldest_unanswered_at: string;
  unresolved_inbound: number;
  unmatched_inbound: number;
  refused_callbacks_last_day: number;
  next_cut_off_at: string;
  last_day: RailResults | null;
  last_30_days: RailResults | null;
};

export type Freeze = {
  id: string;
  scope: string;
  reason: string;
  frozen_by: string;
  since: string;
  waiting: number;
  account_id?: string;
  user_token?: string;
  country?: string;
  delivery_type?: string;
  currency?: string;
  rail?: string;
  lifted_at?: string;
  lifted_by?: string;
  lift_reason?: string;
};

export type OperatorPolicy = { action: string; persons: number; above_usd: string };

export type LegalHold = {
  hold: string;
  account: string;
  user_token: string;
  reason: string;
  placed_by: string;
  placed_at: string;
  until: string;
  ended_by: string | null;
  ended_at: string | null;
};

export type RecoveryRail = { rail: string; state: string; detail: string; payments: number };

export type RecoveredPayment = {
  rail: string;
  id: string;
  reference: string;
  currency: string;
  amount: string;
  outcome: string;
  happened_at: string;
  result: string;
  /** "" where it belongs to none. */
  payout_token: string;
};

/** Of a database that was restored; without more where none is open. */
export type Recovery = {
  state: string;
  recovery?: { reason: string; since: string; started_at: string };
  rails?: RecoveryRail[];
  releases?: { decided_by: string; reason: string; decided_at: string }[];
  payments?: RecoveredPayment[];
};

export type AuditEntry = {
  sequence: string;
  created_at: string;
  actor: string;
  actor_kind: string;
  role: string | null;
  credential: string;
  address: string;
  action: string;
  object: unknown;
  reason: string;
  outcome: string;
  before: unknown;
  after: unknown;
  account_id: string | null;
  request_id: string;
};

export type Group = {
  name: string;
  committed: number;
  completed: number;
  canceled: number;
  /** 0 to 1; null: none ended. */
  success: number | null;
  median_seconds: number | null;
  /** Hundredths of a percent, as the margin. */
  fee_bps: number | null;
  margin_bps: number | null;
};

export type RailResults = Group & {
  /** 0 to 1; null: none was completed. */
  on_time: number | null;
  /** Payouts whose provider quoted a fee and charged one; the averages are theirs. */
  charged: number;
  quoted_cost_bps: number | null;
  cost_bps: number | null;
};

export type OverviewFigures = {
  days: number;
  balances: {
    account_id: string;
    account_name: string;
    currency: string;
    available: string;
    reserved: string;
    in_transit: string;
  }[];
  payouts_by_day: { day: string; status: string; count: number }[];
  corridors: Group[];
  rails: Group[];
  needs: { exceptions: number; approvals: number; identities: number; freezes: number };
};

export type PendingIdentity = {
  account: string;
  user_token: string;
  session_id: string;
  provider: string;
  status: string;
  submission: number;
  created_at: string;
  updated_at: string;
  decisions: { decision: string; decided_by: string; decided_at: string }[];
};

export type Identity = {
  account: string;
  sessions: {
    session_id: string;
    status: string;
    submission: number;
    created_at: string;
    updated_at: string;
    expires_at: string | null;
  }[];
  decisions: {
    decided_at: string;
    decided_by: string;
    decision: string;
    reason: string;
    is_effective: boolean;
    session_id: string;
    submission: number;
  }[];
};

export type IdentityImages = {
  session_id: string;
  submission: number;
  images: { type: string; media_type: string; content: string }[];
};

/** Results of screening, newest first; their members are shown by their names. */
export type Screenings = { screenings: Record<string, unknown>[] };

/** An entry of a sanctions list that was cleared for a recipient. */
export type Clearance = {
  clearance: string;
  account: string;
  user_token: string;
  entry: string;
  entry_name: string;
  state: 'in_force' | 'changed' | 'expired' | 'ended';
  reason: string | null;
  cleared_by: string;
  cleared_at: string;
  until: string;
};

/** What a change of the lists found before a payout. */
export type WaitingScreenings = {
  progress: { screened: string; remaining: string; finished_at: string | null } | null;
  recipients: {
    account: string;
    user_token: string;
    result: number;
    entries: string;
    screened_at: string;
  }[];
  payouts: { account: string; payout_token: string; entries: string; screened_at: string }[];
};

export type BankEntry = {
  entry: string;
  booked_on: string;
  direction: string;
  amount: string;
  currency: string;
  bank_account: string;
  references: string[];
  bank_reference: string;
};

export type OpenSettlement = {
  settlement: string;
  booked_on: string;
  direction: string;
  amount: string;
  currency: string;
  kind: string;
  account: string;
  payout_token: string;
  reference: string;
  provider_reference: string;
};

export type Unreconciled = { in_bank_only: BankEntry[]; in_ledger_only: OpenSettlement[] };

export type AccountLimit = {
  name: string;
  per: string;
  hours: number;
  count_max: string | null;
  usd_max: string | null;
  corridor: string | null;
};

export type ExchangeRate = {
  base: string;
  quote: string;
  rate: string;
  source: string;
  as_of: string;
  expires_at: string | null;
  is_usable: boolean;
};

export type Tariff = {
  effective_from: string | null;
  fee: { up_to: string | null; fixed: string; basis_points: number }[];
  margin_basis_points: number;
  agreed_rates: { pair: string; rate: string }[];
  min_limit: string;
  max_limit: string;
};

export type PayerTariffs = {
  rail: string;
  payer_key: string;
  payer_name: string;
  country: string;
  delivery_type: string;
  currencies: string[];
  tariffs: Tariff[];
};

export type Operator = {
  operator: string;
  name: string;
  role: string;
  created_at: string;
  key_created_at: string;
  revoked_at: string | null;
  is_genuine: boolean;
};

export type Budget = {
  currency: string;
  per_proposal: string | null;
  per_day: string | null;
  open_max: number;
};

export type Credential = {
  id: string;
  kind: string;
  scopes: string[];
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  replaced_by: string | null;
  budgets: Budget[];
};

/** A policy of approvals is a JSON document, see docs/guides/approvals.md. */
export type ApprovalPolicyVersion = {
  version: number;
  is_in_force: boolean;
  /** It was changed past the service, and holds every payout. */
  is_forged: boolean;
  policy: Record<string, unknown>;
  set_by: string;
  reason: string;
  set_at: string;
  replaced_at: string | null;
};

export type ApprovalPreview = {
  payouts: number;
  held: number;
  rules: { name: string; held: number }[];
  examples: { payout_token: string; rules: string[] }[];
};

export type Margin = {
  margin: {
    charges?: { rail: string; kind: string; currency: string; amount: string }[];
  };
};
