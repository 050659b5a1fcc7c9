import { plainArray, textArray } from '../db/arrays.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, one } from '../db/rows.ts';

/** What the code of an observation covers. */
export const vouchedColumns = {
  account_id: column.uuid,
  payout_id: column.uuid,
  id: column.uuid,
  source: column.text,
  outcome: column.text,
  reason: column.text,
  code: column.text,
  amount: nullable(column.bigint),
};

const results = ['applied', 'no_effect', 'exception', 'stale', 'illegal', 'not_found'] as const;
export type ApplyResult = (typeof results)[number];

const applyOne = defineQuery({
  name: 'apply_observation',
  text: `select apply_observation($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as result`,
  columns: { result: column.oneOf(...results) },
});

const applyMany = defineQuery({
  name: 'apply_observations',
  text: `
    select ordinal, result from apply_observations($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
      $11)`,
  columns: { ordinal: column.integer, result: column.oneOf(...results, 'held') },
});

/** What comes with an observation: the fields of the type `observation_details` in the schema. */
export type ObservationDetails = {
  /** Of the payment, 32 hexadecimal digits; the rail's latest attempt when absent. */
  reference?: string;
  /** Milliseconds: when it happened, according to the rail; now when absent. */
  at?: number;
  code?: string;
  provider_reference?: string;
  /** Minor units, as text. */
  amount?: string;
  charges?: readonly { id: string; kind: string; currency: string; amount: string }[];
  standing?: string;
  /** JSON: the candidates when it was sent first, and after a rejection. */
  first_routing?: string;
  routing?: string;
  next_rail?: string;
  next_payer?: string;
  /** JSON: what the provider of the next payer asks, where it quotes prices. */
  next_price?: string;
  is_exhausted?: boolean;
  exception?: string;
  detail?: string;
};

export type Observation = {
  accountId: string;
  payoutId: string;
  /** Who reports it; undefined: the payout's present rail. */
  rail: string | undefined;
  observationId: string;
  source: 'send' | 'query' | 'sandbox' | 'callback' | 'file' | 'poll' | 'person';
  outcome: string;
  reason: string;
  /** Of the claim under which a rail answered; undefined for notifications and persons. */
  fence: bigint | undefined;
  /** When to query next; undefined: as the state requires. */
  dueAt: Date | undefined;
  details: ObservationDetails | undefined;
};

/** With its code. */
export type VouchedObservation = Observation & { mac: Buffer };

export async function applyObservationRow(
  session: Session,
  observation: VouchedObservation,
): Promise<ApplyResult> {
  const { result } = await one(session, applyOne, [
    observation.accountId,
    observation.payoutId,
    observation.observationId,
    observation.source,
    observation.outcome,
    observation.reason,
    observation.fence ?? null,
    observation.dueAt ?? null,
    formatDetails(observation),
    observation.mac,
  ]);
  return result;
}

/**
 * The result of each observation, by its ordinal from 1; `held`: another transaction has the account.
 * Each payout may be named once.
 */
export async function applyObservationRows(
  session: Session,
  observations: readonly VouchedObservation[],
  mayWait: boolean,
): Promise<{ ordinal: number; result: ApplyResult | 'held' }[]> {
  const list = <T>(read: (observation: VouchedObservation) => T): T[] => observations.map(read);
  return many(session, applyMany, [
    plainArray(list(({ accountId }) => accountId)),
    plainArray(list(({ payoutId }) => payoutId)),
    plainArray(list(({ observationId }) => observationId)),
    textArray(list(({ source }) => source)),
    textArray(list(({ outcome }) => outcome)),
    textArray(list(({ reason }) => reason)),
    plainArray(list(({ fence }) => fence ?? null)),
    list(({ dueAt }) => dueAt ?? null),
    textArray(list(formatDetails)),
    list(({ mac }) => mac),
    mayWait,
  ]);
}

/** Null where there are none: a client of the sandbox may give none. */
function formatDetails({ rail, details }: Observation): string | null {
  if (rail === undefined && details === undefined) return null;
  return JSON.stringify({ rail, ...details });
}
