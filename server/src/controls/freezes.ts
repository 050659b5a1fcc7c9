import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { formatTimeCursor, type Paged, readTimeCursor, takePage } from '../db/time-page.ts';
import {
  countSending,
  countStoppedPasses,
  countUndrained,
  createFreezeRow,
  type EffectiveFreeze,
  type FreezeObject,
  type FreezeRow,
  findFreezeRow,
  liftFreezeRow,
  listEffective,
  listFreezeRows,
  listStoppedPayouts,
  type RailSending,
  type Stoppable,
} from './freezes.sql.ts';

export {
  type FreezeObject,
  type FreezeRow,
  findGlobalFreeze,
  freezeScopes,
  hasRailContact,
  listFrozenRails,
  type RailSending,
  readFreezesInForce,
} from './freezes.sql.ts';

/**
 * Freezes: what an operator has stopped. A freeze is honored
 * by the next claim of every process, because claims and freezes exclude each other in the database.
 */

/** The operator's name, and why. */
export type Deciding = { by: string; reason: string };

export type Stopped = {
  freeze: FreezeRow;
  /** False: the same object was frozen already. */
  isNew: boolean;
  /** What it applies to, by rail, as of the moment from which nothing more is sent. */
  rails: RailSending[];
};

export async function stop(db: Database, object: FreezeObject, by: Deciding): Promise<Stopped> {
  const stopped = await db.systemTransaction(async (session) => {
    const named = { id: newId(), frozen_by: by.by, reason: by.reason };
    const { id, is_new: isNew } = await createFreezeRow(session, { ...object, ...named });
    return {
      freeze: await getFreeze(session, id),
      isNew,
      rails: await countSending(session, id),
    };
  });
  if (object.scope === 'sending' || object.scope === 'rail') await waitForPasses(db.system);
  return stopped;
}

/** A pass that is under way notices the stop within a second, and ends with its present call. */
const passMsMax = 10_000;
const pollMs = 50;

async function waitForPasses(session: Session): Promise<void> {
  for (let waitedMs = 0; waitedMs < passMsMax; waitedMs += pollMs) {
    if ((await countStoppedPasses(session)) === 0) return;
    await sleep(pollMs);
  }
}

/** `released`: payouts that waited for the end of the freeze. */
export type Resumed = { result: 'resumed'; released: number };

/** @throws AppError not_found; illegal_move where it is no longer in force. */
export async function resume(db: Database, id: string, deciding: Deciding): Promise<Resumed> {
  return db.systemTransaction(async (session) => {
    await getFreeze(session, id);
    const released = await liftFreezeRow(session, { id, ...deciding });
    if (released !== undefined) return { result: 'resumed', released };
    throw new AppError('illegal_move', 'the freeze was lifted before');
  });
}

/** @throws AppError not_found, illegal_move. */
export async function requireOpenFreeze(session: Session, id: string): Promise<void> {
  const { lifted_at: liftedAt } = await getFreeze(session, id);
  if (liftedAt !== null) throw new AppError('illegal_move', 'the freeze was lifted before');
}

async function getFreeze(session: Session, id: string): Promise<FreezeRow> {
  const freeze = await findFreezeRow(session, id);
  if (freeze === undefined) throw new AppError('not_found', 'Freeze not found');
  return freeze;
}

const liftedPrefix = 'lifted.';

/**
 * Those in force first, then those that were lifted, each newest first. The cursor tells which of them
 * a page ended with.
 *
 * @throws AppError invalid_request for a cursor of no page.
 */
export async function listFreezes(
  session: Session,
  { withLifted, cursor, count }: { withLifted: boolean; cursor: string | undefined; count: number },
): Promise<Paged<FreezeRow>> {
  const isPastOpen = cursor?.startsWith(liftedPrefix) === true;
  const after = readTimeCursor(isPastOpen ? cursor.slice(liftedPrefix.length) : cursor);
  const countMax = count + 1;
  const found = isPastOpen
    ? []
    : await listFreezeRows(session, 'inForce', { after, count: countMax });
  if ((withLifted || isPastOpen) && found.length < countMax) {
    const page = { after: isPastOpen ? after : undefined, count: countMax - found.length };
    found.push(...(await listFreezeRows(session, 'lifted', page)));
  }
  const { rows, next } = takePage(
    found,
    count,
    ({ lifted_at: liftedAt, since_us: us, id: key }) => {
      const place = formatTimeCursor({ us, key });
      return liftedAt === null ? place : `${liftedPrefix}${place}`;
    },
  );
  return { rows: rows.map(({ since_us: _, ...row }) => row), next };
}

export async function describeSending(session: Session): Promise<RailSending[]> {
  return countSending(session, undefined);
}

/** Which of these payouts a stop is for: a query of them must not repeat an order. */
export async function findStopped(
  session: Session,
  payouts: readonly Stoppable[],
): Promise<ReadonlySet<string>> {
  return new Set(payouts.length === 0 ? [] : await listStoppedPayouts(session, payouts));
}

export type Drained = { batches: number; unsent: number };

/** What was committed and no rail has confirmed yet. */
export const readUndrained: (session: Session) => Promise<Drained> = countUndrained;

export type StopFacts = {
  accountId: string;
  country: string;
  deliveryType: string;
  currency: string;
  /** Of all payers that may pay it. */
  rails: readonly string[];
};

/** The codes of what holds such payouts now; that of a recipient is the status of the user. */
export async function findStops(
  session: Session,
  facts: StopFacts,
): Promise<('account_frozen' | 'commits_stopped' | HoldingCode)[]> {
  return holdPayouts(await listEffective(session, facts.accountId), facts);
}

/** The same of freezes that were read before. */
export function holdPayouts(
  open: readonly EffectiveFreeze[],
  facts: StopFacts,
): ('account_frozen' | 'commits_stopped' | HoldingCode)[] {
  const codes = open.flatMap((freeze) => {
    if (freeze.scope === 'account') return ['account_frozen' as const];
    if (freeze.scope === 'commits') return ['commits_stopped' as const];
    const code = findHolding(freeze, facts, open);
    return code === undefined ? [] : [code];
  });
  return [...new Set(codes)];
}

export type HoldingCode = 'sending_stopped' | 'corridor_frozen' | 'rail_frozen';

function findHolding(
  freeze: EffectiveFreeze,
  { country, deliveryType, currency, rails }: StopFacts,
  open: readonly EffectiveFreeze[],
): HoldingCode | undefined {
  if (freeze.scope === 'sending') return 'sending_stopped';
  const isCorridor =
    freeze.scope === 'corridor' &&
    freeze.country === country &&
    (freeze.delivery_type ?? deliveryType) === deliveryType &&
    (freeze.currency ?? currency) === currency;
  if (isCorridor) return 'corridor_frozen';
  const frozen = open.filter(({ scope }) => scope === 'rail').map(({ rail }) => rail);
  return freeze.scope === 'rail' && rails.every((rail) => frozen.includes(rail))
    ? 'rail_frozen'
    : undefined;
}
