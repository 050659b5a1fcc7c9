import { assert } from '../../src/core/errors.ts';
import type { Session } from '../../src/db/postgres/pool.ts';
import type { MoneyTest } from '../setups/money.ts';
import { readRows } from '../setups/read-rows.ts';
import { checkEnd, checkState, type Start } from './checks.ts';
import { describeState } from './describe-state.ts';
import { listMoves, type Scene } from './moves.ts';
import { look } from './seen.ts';
import { type Faults, noFaults, type World } from './world.ts';

/**
 * Goes through every order in which a committed payout, the processes that work on it, its counterparties
 * and faults can act, up to a number of moves. The functions of the database and the service are the real
 * ones; each branch is rolled back to a savepoint. States that were met before are not entered again.
 */

export type Explored = { states: number; moves: number };

export type Exploring = {
  faults: Partial<Faults>;
  movesMax: number;
  /** Replaces a part of a function of the database, to see that what it prevents would be found. */
  defect?: { in: string; part: string; by: string };
};

/** Explores a new payout of 100 USD. Nothing of it stays. @throws Error with the moves that led to a fault. */
export async function exploreNew(money: MoneyTest, exploring: Exploring): Promise<Explored> {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { accountId, payoutId } = await money.quoteAndCommit(owner);
  const end: { found?: Explored } = {};
  const rollBack = new Error('rolled back');
  try {
    await money.ownerTransaction(async (session) => {
      if (exploring.defect !== undefined) await plant(session, exploring.defect);
      end.found = await explore(
        { session, keys: money.keys, payout: { accountId, payoutId } },
        exploring,
      );
      throw rollBack;
    });
  } catch (error) {
    if (error !== rollBack) throw error;
  }
  assert(end.found !== undefined, 'an exploration ends with what it found');
  return end.found;
}

async function plant(session: Session, defect: NonNullable<Exploring['defect']>): Promise<void> {
  const text = 'select pg_get_functiondef($1::regproc) as text';
  const [row] = await readRows<{ text: string }>(session, { name: '', text }, [defect.in]);
  const changed = row?.text.replace(defect.part, defect.by);
  if (changed === undefined || changed === row?.text) throw new Error(`${defect.in} has changed`);
  await run(session, changed);
}

async function explore(scene: Scene, { faults, movesMax }: Exploring): Promise<Explored> {
  const { session } = scene;
  const first: World = {
    payments: {},
    wire: [],
    reports: [],
    workers: [],
    freeze: undefined,
    hasRules: (faults.hold ?? 0) > 0,
    left: { ...noFaults, ...faults },
  };
  const { wallet } = await look(session, scene.payout);
  // The commit has taken the amount and the fee.
  const start: Start = {
    wallet: wallet + 10_100,
    contradictions: first.left.contradiction,
    ended: new Set(),
  };
  const visited = new Map<string, number>();
  const path: string[] = [];
  let moves = 0;

  const visit = async (world: World, left: number): Promise<void> => {
    const seen = await look(session, scene.payout);
    checkState(world, seen, start);
    const state = describeState(world, seen);
    const before = visited.get(state);
    if (before !== undefined && before >= left) return;
    visited.set(state, left);
    const place = `at_${left}`;
    await run(session, `savepoint ${place}`);
    if (before === undefined) {
      await checkEnd(scene, { world, seen }, start);
      await run(session, `rollback to savepoint ${place}`);
    }
    for (const { name, play } of left === 0 ? [] : listMoves(world, seen)) {
      moves += 1;
      path.push(name);
      const next = await play(scene);
      await run(session, checkDeferred);
      await visit(next, left - 1);
      await run(session, `rollback to savepoint ${place}`);
      path.pop();
    }
    await run(session, `release savepoint ${place}`);
  };
  try {
    await visit(first, movesMax);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`${message}\nafter: ${path.join('; ')}`, { cause: error });
  }
  return { states: visited.size, moves };
}

/** What is else checked at the end of a transaction. */
const checkDeferred =
  'do $$ begin set constraints all immediate; set constraints all deferred; end $$';

async function run(session: Session, text: string): Promise<void> {
  await readRows(session, { name: '', text });
}
