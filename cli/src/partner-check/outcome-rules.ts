import { type Rule, Skip, type Trial, Violation } from './check.ts';
import { nextStates, type Statement, type Statements } from './history.ts';

/** Rules about what was stated before: an outcome is final, also after a restart. */

export const outcomeRules: readonly Rule[] = [
  {
    name: 'outcomes-final',
    rule: 'A rejected payment stays rejected, a paid one stays paid or is returned, and an unknown one is never booked later.',
    check: async (trial) => {
      const payments = [...trial.history.now].filter(([, { state }]) => isFinal(state));
      // What may still change has changed when an order that came later is paid.
      const last = trial.newOrder();
      const { state } = await trial.put(last);
      if (state !== 'rejected') {
        await trial.waitFor('the state "paid" of a last order', async () =>
          (await trial.query(last)).state === 'paid' ? true : undefined,
        );
      }
      for (const [reference, before] of payments) await expectSame(trial, reference, before);
    },
  },
];

/** Checked first, because the orders of this run do not say what an earlier process has booked. */
export const earlierRules: readonly Rule[] = [
  {
    name: 'earlier-orders',
    rule: 'Orders of an earlier run are still booked, after a restart too: again, they are the same payments.',
    check: async (trial) => {
      const { earlier } = trial.history;
      if (earlier.size === 0) throw new Skip('no earlier run has written the file of --remember');
      for (const [reference, before] of earlier) await expectSame(trial, reference, before);
      await orderAgain(trial, earlier);
    },
  },
];

function isFinal(state: Statement['state']): boolean {
  return state !== 'accepted' && state !== 'ready_for_pickup';
}

async function expectSame(trial: Trial, reference: string, before: Statement): Promise<void> {
  const { status, json, fault } = await trial.call({
    method: 'GET',
    path: `/payments/${reference}`,
  });
  if (fault !== undefined) throw new Violation(`${reference}: the answer does not count: ${fault}`);
  const stated = (json ?? {}) as { state?: unknown; partner_reference?: unknown };
  const state = status === 404 ? 'unknown' : String(stated.state);
  if (!nextStates[before.state].includes(state)) {
    throw new Violation(`${reference} was ${before.state}, and is ${state} now`);
  }
  const { partner_reference: name } = before;
  if (name !== undefined && stated.partner_reference !== name) {
    throw new Violation(`${reference}: partner_reference was ${name}, and is another one now`);
  }
}

/** Each order that was booked is the same payment; with another amount it is a conflict. */
async function orderAgain(trial: Trial, earlier: Statements): Promise<void> {
  for (const [reference, { order, state, partner_reference: name }] of earlier) {
    if (order === undefined || state === 'unknown') continue;
    const path = `/payments/${reference}`;
    const again = await trial.call({ method: 'PUT', path, body: order });
    const payment = trial.expectPayment(again, order);
    const isOther = name !== undefined && payment.partner_reference !== name;
    if (isOther || !nextStates[state].includes(payment.state)) {
      throw new Violation(`${reference} was booked again by the same order`);
    }
    if (state !== 'paid') continue;
    const body = { ...order, amount: `1${order.amount}` };
    const conflict = await trial.call({ method: 'PUT', path, body });
    trial.expectRefusal(conflict, 409, 'reference_conflict');
  }
}
