import type { components } from './generated/operators.ts';

/** What the operators' API answers. Times are ISO 8601 in UTC, amounts decimals. */

type Schemas = components['schemas'];

export type List<Row> = { data: Row[]; next?: string | null; matching?: number };

export type OperatorAccount = Schemas['OperatorAccount'];
export type Exception = Schemas['OperatorException'];
export type Approval = Schemas['Approval'];
export type Rail = Schemas['OperatorRail'];
export type Freeze = Schemas['Freeze'];
export type Sending = Schemas['Sending'];
export type OperatorPolicy = Schemas['OperatorPolicy'];
export type LegalHold = Schemas['LegalHold'];
export type AuditEntry = Schemas['AuditEntry'];
export type Group = Schemas['Performance'];
export type RailResults = Schemas['RailPerformance'];
export type OverviewFigures = Schemas['Overview'];
export type IdentityImages = Schemas['IdentityImages'];
export type Screenings = Schemas['OperatorScreenings'];
export type Clearance = Schemas['Clearance'];
export type WaitingScreenings = Schemas['WaitingScreenings'];
export type BankEntry = Schemas['BankEntry'];
export type OpenSettlement = Schemas['OpenSettlement'];
export type Unreconciled = Schemas['Unreconciled'];
export type SuspenseBalance = Schemas['SuspenseBalance'];
export type SuspenseList = Schemas['Suspense'];
export type AccountLimit = Schemas['AccountLimit'];
export type ExchangeRate = Schemas['ExchangeRate'];
export type Tariff = Schemas['Tariff'];
export type PayerTariffs = Schemas['PayerTariffs'];
export type Operator = Schemas['Operator'];
export type Budget = Schemas['CredentialBudget'];
export type Credential = Schemas['AccountCredential'];
export type ApprovalPolicyVersion = Schemas['ApprovalPolicyVersion'];
export type ApprovalPreview = Schemas['ApprovalPreview'];

type IdentityDecision = { decision: string; decided_by: string; decided_at: string };

export type PendingIdentity = Schemas['OperatorPendingIdentity'] & {
  decisions: IdentityDecision[];
};

export type Identity = Pick<Schemas['OperatorIdentity'], 'account'> & {
  sessions: {
    session_id: string;
    status: string;
    submission: number;
    created_at: string;
    updated_at: string;
    expires_at: string | null;
  }[];
  decisions: (IdentityDecision & {
    reason: string;
    is_effective: boolean;
    session_id: string;
    submission: number;
  })[];
};

export type Backtest = Schemas['Backtest'];
export type BacktestSide = Schemas['BacktestSide'];
export type BacktestSides = { before: BacktestSide; after: BacktestSide };
export type BacktestExample = Backtest['examples']['moved'][number];
export type BacktestReason = Backtest['not_routed']['before'][number];

export type RecoveredPayment = NonNullable<Schemas['Recovery']['payments']>[number];
export type RecoveryRail = { rail: string; state: string; detail: string; payments: number };

/** Of a database that was restored; without more where none is open. */
export type Recovery = Pick<Schemas['Recovery'], 'state' | 'payments'> & {
  recovery?: { reason: string; since: string; started_at: string };
  rails?: RecoveryRail[];
  releases?: { decided_by: string; reason: string; decided_at: string }[];
};

export type Margin = {
  margin: {
    charges?: { rail: string; kind: string; currency: string; amount: string }[];
  };
};
