import { newId } from '../../src/core/ids.ts';
import type { KeyRing } from '../../src/core/sealing.ts';
import type { Session } from '../../src/db/postgres/pool.ts';
import { claimDispatches, passChecks } from '../../src/dispatch/dispatch.sql.ts';
import { park, planNext } from '../../src/dispatch/next-step.ts';
import { applyObservation, type ObservationDetails } from '../../src/dispatch/observations.ts';
import { decidePayoutRow, openDecisionOf } from '../../src/exceptions/decisions.sql.ts';
import type { PayoutName } from '../../src/payouts/payout-name.ts';
import type { RailAnswer } from '../../src/rails/contract/contract.ts';
import { readRows } from '../setups/read-rows.ts';
import type { Seen } from './seen.ts';
import {
  answerOf,
  listLive,
  namePayment,
  receive,
  returnPart,
  settle,
  spend,
  type Worker,
  type World,
} from './world.ts';

/**
 * Everything that can happen next to a payout: each move is one step of the service, in the order in
 * which it takes them, or one event outside.
 */

export type Scene = { session: Session; keys: KeyRing; payout: PayoutName };

export type Move = { readonly name: string; readonly play: (scene: Scene) => Promise<World> };

const move = (name: string, play: Move['play']): Move => ({ name, play });
const event = (name: string, world: World): Move => move(name, async () => world);

export const secondPayer = { rail: 'second', payerKey: 'two', providerPrice: undefined };

export function listMoves(world: World, seen: Seen): Move[] {
  return [
    ...listClaims(world, seen),
    ...world.workers.flatMap((worker, place) => listWork(world, worker, place)),
    ...listEvents(world),
    ...listFreezes(world),
    ...listReports(world),
    ...listDecisions(world, seen),
  ];
}

const workersMax = 2;
const dayMs = 86_400_000;

function listClaims(world: World, seen: Seen): Move[] {
  if (world.workers.length >= workersMax || !seen.isScheduled) return [];
  const claims = [move('claim', (scene) => claim(scene, world, false))];
  if (world.left.cancel === 0) return claims;
  const canceled = spend(world, 'cancel');
  return [...claims, move('claim to cancel', (scene) => claim(scene, canceled, true))];
}

/** The payout is claimed by another process once the lease of the one before has ended. */
async function claim(
  { session, payout }: Scene,
  world: World,
  isCanceling: boolean,
): Promise<World> {
  await readRows(
    session,
    { name: '', text: 'update payout_dispatches set lease_until = null where payout_id = $1' },
    [payout.payoutId],
  );
  const [row] = await claimDispatches(session, {
    counts: new Map(),
    // Longer than the search takes: leases end by a move.
    leaseMs: dayMs,
    hasRules: world.hasRules && !isCanceling,
    only: payout,
    isCanceling,
  });
  // Whoever had it before calls no rail any more, and may still record an answer.
  const workers = world.workers.filter(({ answer }) => answer !== undefined);
  return { ...world, workers: row === undefined ? workers : [...workers, { row, isCanceling }] };
}

function replaceWorker(world: World, place: number, worker?: Worker): World {
  return { ...world, workers: world.workers.toSpliced(place, 1, ...(worker ? [worker] : [])) };
}

function listWork(world: World, worker: Worker, place: number): Move[] {
  const crash =
    world.left.crash === 0
      ? []
      : [event(`crash of ${place}`, replaceWorker(spend(world, 'crash'), place))];
  return worker.answer === undefined
    ? [...crash, ...listCalls(world, worker, place)]
    : [...crash, ...listRecords(world, worker, { answer: worker.answer, place })];
}

const lost: RailAnswer = { outcome: 'unknown', reason: 'no_answer' };

/** The call to the rail: what becomes of it, and what the caller learns. */
function listCalls(world: World, worker: Worker, place: number): Move[] {
  const { row, isCanceling } = worker;
  const payment = namePayment(row);
  const learn = (name: string, after: World, answer: RailAnswer): Move => {
    // As `normalizeOutcome`: what was taken once is not called unsent.
    const wasTaken = answer.outcome === 'retry' && row.was_taken;
    const known = wasTaken ? lost : answer;
    return event(`${name} by ${place}`, replaceWorker(after, place, { ...worker, answer: known }));
  };
  const told = (name: string, after: World): Move[] => [
    learn(name, after, answerOf(after, payment)),
    ...(world.left.loss === 0 ? [] : [learn(`${name}, answer lost`, spend(after, 'loss'), lost)]),
  ];
  if (row.mode === 'check') return listChecks(world, worker, place);
  if (row.mode === 'send' && isCanceling) {
    return [learn('cancel unsent', world, { outcome: 'rejected', reason: 'cancelled' })];
  }
  if (row.mode === 'send') {
    const delayed = { ...spend(world, 'delay'), wire: [...world.wire, payment] };
    return [
      ...told('send, booked', receive(world, payment, 'booked')),
      ...told('send, paid', receive(world, payment, 'paid')),
      ...told('send, refused', receive(world, payment, 'refused')),
      learn('send, busy', world, { outcome: 'retry', reason: 'busy' }),
      ...(world.left.delay === 0 ? [] : [learn('send, delayed', delayed, lost)]),
    ];
  }
  if (!isCanceling) return told('query', world);
  // What the rail has not booked it refuses from now on, and a booked one if it still can.
  const state = world.payments[payment];
  const withdrawn =
    state === undefined || state === 'booked'
      ? { ...world, payments: { ...world.payments, [payment]: 'refused' as const } }
      : world;
  return [
    ...told('cancel', withdrawn),
    ...(state === 'booked' ? told('cancel in vain', world) : []),
  ];
}

/** The rules pass the payout or hold it; nothing is sent yet. */
function listChecks(world: World, { row }: Worker, place: number): Move[] {
  const passes = move(`passes by ${place}`, async ({ session }) => {
    await passChecks(session, [row]);
    return replaceWorker(world, place);
  });
  if (world.left.hold === 0) return [passes];
  const held = move(`is held by ${place}`, async ({ session, keys, payout }) => {
    const { outcome, reason, details } = park({ detail: 'listed' }, 'review', 'screening');
    await applyObservation(
      { session, keys },
      {
        ...payout,
        rail: row.rail,
        observationId: newId(),
        source: 'send',
        outcome,
        reason,
        fence: row.fence,
        dueAt: undefined,
        details,
      },
    );
    return replaceWorker(spend(world, 'hold'), place);
  });
  return [passes, held];
}

/** The answer is recorded; a rejection may lead to another payer. */
function listRecords(
  world: World,
  { row, isCanceling }: Worker,
  { answer, place }: { answer: RailAnswer; place: number },
): Move[] {
  const record = (
    name: string,
    after: World,
    more: { isLate?: boolean; next?: ObservationDetails },
  ) =>
    move(`${name} by ${place}`, async ({ session, keys, payout }) => {
      const nowMs = Date.now();
      const sinceMs = more.isLate === true ? nowMs - dayMs - 1 : undefined;
      const step = planNext(answer, {
        tries: row.tries,
        unknownSinceMs: sinceMs ?? row.unknown_since?.getTime(),
        firstTriedAtMs: sinceMs ?? row.first_tried_at?.getTime(),
        availableAtMs: row.estimated_availability.getTime(),
        nowMs,
        sendsNotifications: true,
      });
      await applyObservation(
        { session, keys },
        {
          ...payout,
          rail: row.rail,
          observationId: newId(),
          source: row.mode === 'query' ? 'query' : 'send',
          outcome: step.outcome,
          reason: step.reason,
          fence: row.fence,
          dueAt: step.dueAtMs === undefined ? undefined : new Date(step.dueAtMs),
          details: { reference: row.reference, ...step.details, ...more.next },
        },
      );
      return replaceWorker(after, place);
    });
  const isLate = answer.outcome === 'unknown' || answer.outcome === 'retry';
  return [
    record('record', world, {}),
    ...(isLate && world.left.day > 0
      ? [record('record after a day', spend(world, 'day'), { isLate: true })]
      : []),
    ...(isCanceling ? [] : listFailovers(world, row.rail, answer.outcome)).map(({ name, next }) =>
      record(`record, ${name}`, spend(world, 'failover'), { next }),
    ),
  ];
}

/** Where a refused payout continues: payers are tried once. */
function listFailovers({ left }: World, rail: string, outcome: string) {
  if (outcome !== 'rejected' || left.failover === 0) return [];
  const { rail: nextRail, payerKey } = secondPayer;
  const taken = { name: 'another payer', next: { next_rail: nextRail, next_payer: payerKey } };
  const exhausted = { name: 'no payer left', next: { is_exhausted: true } };
  return rail === nextRail ? [exhausted] : [taken, exhausted];
}

function listEvents(world: World): Move[] {
  const arrivals = world.wire.flatMap((payment, index) => {
    const rest = { ...world, wire: world.wire.toSpliced(index, 1) };
    return (['booked', 'refused'] as const).map((state) =>
      event(`arrives, ${state}`, receive(rest, payment, state)),
    );
  });
  const changes = Object.entries(world.payments).flatMap(([payment, state]) => [
    ...(world.left.echo > 0
      ? [event(`reports again: ${state}`, settle(spend(world, 'echo'), payment, state))]
      : []),
    ...(state === 'booked' && world.left.pickup > 0
      ? [event('lets pick up', settle(spend(world, 'pickup'), payment, 'ready'))]
      : []),
    ...(state === 'booked' && world.left.amount > 0
      ? [event('pays less', settle(spend(world, 'amount'), payment, 'misstated'))]
      : []),
    ...(state === 'booked' || state === 'ready'
      ? [
          event('pays', settle(world, payment, 'paid')),
          event('refuses late', settle(world, payment, 'refused')),
        ]
      : []),
    ...(state === 'paid' && world.left.part > 0
      ? [event('returns a part', returnPart(spend(world, 'part'), payment))]
      : []),
    ...(state === 'paid' && world.left.return > 0
      ? [event('returns', settle(spend(world, 'return'), payment, 'returned'))]
      : []),
    ...(state === 'refused' && world.left.contradiction > 0
      ? [event('pays after all', settle(spend(world, 'contradiction'), payment, 'paid'))]
      : []),
  ]);
  return [...arrivals, ...changes];
}

function listFreezes(world: World): Move[] {
  const { freeze, left } = world;
  if (freeze !== undefined) {
    const text = 'select lift_freeze($1, $2, $3)';
    const lift = move('lift', async ({ session }) => {
      await readRows(session, { name: '', text }, [freeze, 'Ana', 'over']);
      return { ...world, freeze: undefined };
    });
    return [lift];
  }
  if (left.freeze === 0) return [];
  const id = newId();
  const stop = { id, scope: 'sending', reason: 'a fault', frozen_by: 'Ana' };
  const freezing = move('freeze', async ({ session }) => {
    const text = 'select id from create_freeze($1)';
    await readRows(session, { name: '', text }, [JSON.stringify(stop)]);
    return { ...spend(world, 'freeze'), freeze: id };
  });
  return [freezing];
}

function listReports(world: World): Move[] {
  return world.reports.flatMap((report, index) => {
    const rest = { ...world, reports: world.reports.toSpliced(index, 1) };
    const deliver = (name: string, after: World, next?: ObservationDetails) =>
      move(`${name}: ${report.outcome}`, async ({ session, keys, payout }) => {
        const [rail = '', reference = ''] = report.payment.split('/');
        await applyObservation(
          { session, keys },
          {
            ...payout,
            rail,
            observationId: newId(),
            source: 'callback',
            outcome: report.outcome,
            reason: '',
            fence: undefined,
            dueAt: undefined,
            details: {
              reference,
              at: report.atMs,
              ...(report.amount !== undefined && { amount: report.amount }),
              ...next,
            },
          },
        );
        return after;
      });
    const [rail = ''] = report.payment.split('/');
    return [
      deliver('report', rest),
      ...(world.left.repeat > 0 ? [deliver('report, to be repeated', spend(world, 'repeat'))] : []),
      ...listFailovers(world, rail, report.outcome).map(({ name, next }) =>
        deliver(`report, ${name}`, spend(rest, 'failover'), next),
      ),
    ];
  });
}

const inFlight: ReadonlySet<string> = new Set(['sending', 'unknown', 'accepted']);

/** What a person may decide who knows what the counterparties did. */
function listDecisions(world: World, seen: Seen): Move[] {
  const isInFlight = seen.attempts.some(({ state }) => inFlight.has(state));
  if (world.left.decision === 0 || (seen.open.length === 0 && !isInFlight)) return [];
  const states = Object.values(world.payments);
  const isPaid = states.includes('paid') || states.includes('misstated');
  const isGone = listLive(world).length === 0;
  const actions = [
    'release',
    ...(seen.status === 'ERROR' && isGone ? ['retry'] : []),
    ...(isGone ? ['refund', 'not_paid'] : []),
    ...(isPaid ? ['paid', 'write_off'] : []),
    ...(states.includes('returned') ? ['returned'] : []),
  ];
  const after = spend(world, 'decision');
  return actions.map((action) => move(`decide ${action}`, (scene) => decide(scene, after, action)));
}

async function decide({ session, payout }: Scene, after: World, action: string): Promise<World> {
  const next = action === 'retry' ? secondPayer : undefined;
  const opened = await openDecisionOf(session, { ...payout, action, next });
  if (opened === undefined) throw new Error('the payout is gone');
  await decidePayoutRow(session, {
    ...payout,
    action,
    id: newId(),
    decidedBy: 'Ana',
    operatorId: newId(),
    reason: 'as the counterparty says',
    about: opened.about,
    mac: Buffer.alloc(36),
    votes: [],
    personsNeeded: 1,
    next,
  });
  return after;
}
