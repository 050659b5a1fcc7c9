/** What a back-test answers, as the console uses it. */

/** Amounts are decimals in USD. */
export type BacktestSide = {
  payouts: number;
  fee_usd: string;
  margin_usd: string;
  cost_usd: string;
  charges_usd: string;
  payouts_without_charges: number;
  earned_usd: string;
  mean_arrival_seconds: number;
  arrive_within_hour: number;
  arrive_within_day: number;
  delayed_by_daily_limits: number;
  expected_failures: number;
  payouts_without_failure_rate: number;
};

export type BacktestSides = { before: BacktestSide; after: BacktestSide };

export type BacktestExample = {
  payout_token: string;
  before: string | null;
  after: string | null;
  before_cost_usd: string | null;
  after_cost_usd: string | null;
  reason: string;
};

export type BacktestReason = { reason: string; payouts: number };

export type Backtest = {
  payouts: number;
  replayed: number;
  left_out: { reason: string; payouts: number; detail: string }[];
  priced_as_quoted: number;
  valued_at_present_rates: number;
  charges_without_rate: number;
  total: BacktestSides;
  corridors: (BacktestSides & {
    source_currency: string;
    country: string;
    delivery_type: string;
    destination_currency: string;
  })[];
  rails: (BacktestSides & { rail: string })[];
  not_routed: { before: BacktestReason[]; after: BacktestReason[] };
  lost: number;
  admitted: number;
  moved: number;
  moves: { from: string; to: string; payouts: number }[];
  examples: { moved: BacktestExample[]; lost: BacktestExample[]; admitted: BacktestExample[] };
  next: string | null;
};
