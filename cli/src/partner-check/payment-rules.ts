import {
  newReference,
  type Outcome,
  type Payment,
  type Rule,
  Skip,
  type Trial,
  Violation,
} from './check.ts';

/** Rules about payments: one reference is one payment, whatever is repeated. */

export const paymentRules: readonly Rule[] = [
  {
    name: 'payment-paid',
    rule: 'An order is booked before it is answered, can be queried at once, and is paid in the end.',
    check: async (trial) => void (await reach(trial, 'paid')),
  },
  {
    name: 'payment-rejected',
    rule: 'A rejected payment has the state "rejected", a reason, and no returns.',
    check: async (trial) => {
      const payment = await reach(trial, 'rejected');
      if ((payment.reason ?? '') === '')
        throw new Violation('a rejected payment must have a reason');
      if (payment.returns.length > 0)
        throw new Violation('a rejected payment must have no returns');
    },
  },
  {
    name: 'payment-returned',
    rule: 'A returned payment lists its returns, with different ids.',
    check: async (trial) => {
      const { returns } = await reach(trial, 'returned');
      if (returns.length === 0) throw new Violation('a returned payment must list its returns');
      const ids = new Set(returns.map(({ id }) => id));
      if (ids.size < returns.length) throw new Violation('returns must have different ids');
    },
  },
  {
    name: 'duplicate-order',
    rule: 'The same order again answers with the same payment, and does not pay again.',
    check: async (trial) => {
      const order = trial.newOrder();
      const call = { method: 'PUT', path: `/payments/${order.reference}`, body: order } as const;
      const first = trial.expectPayment(await trial.call(call), order);
      const more = await Promise.all([1, 2, 3].map(() => trial.call(call)));
      for (const exchange of more) {
        const again = trial.expectPayment(exchange, order);
        if (again.partner_reference !== first.partner_reference) {
          throw new Violation('partner_reference changed, so that a second payment was booked');
        }
      }
    },
  },
  {
    name: 'concurrent-orders',
    rule: 'The same order five times at once is one payment.',
    check: async (trial) => {
      const order = trial.newOrder();
      const call = { method: 'PUT', path: `/payments/${order.reference}`, body: order } as const;
      const exchanges = await Promise.all([1, 2, 3, 4, 5].map(() => trial.call(call)));
      const payments = exchanges
        // A partner may be busy with the first one.
        .filter(({ status }) => status !== 503)
        .map((exchange) => trial.expectPayment(exchange, order));
      const names = new Set(payments.map(({ partner_reference: name }) => name));
      if (names.size > 1) throw new Violation('partner_reference differs between the answers');
    },
  },
  {
    name: 'conflicting-order',
    rule: 'Another order under a known reference answers 409 reference_conflict and changes nothing.',
    check: async (trial) => {
      const order = trial.newOrder();
      await trial.put(order);
      const other = { ...order, amount: `1${order.amount}` };
      const path = `/payments/${order.reference}`;
      const exchange = await trial.call({ method: 'PUT', path, body: other });
      trial.expectRefusal(exchange, 409, 'reference_conflict');
      await trial.query(order);
    },
  },
  {
    name: 'cancel-unknown',
    rule: 'Canceling an unknown reference books it as rejected; an order that arrives later is not paid.',
    check: async (trial) => {
      const order = trial.newOrder();
      const canceled = trial.expectPayment(await trial.call(cancel(order)), order);
      if (canceled.state !== 'rejected') throw new Violation('state must be "rejected"');
      const late = await trial.put(order);
      if (late.state !== 'rejected') {
        throw new Violation('an order after its cancellation must stay rejected');
      }
    },
  },
  {
    name: 'cancel-booked',
    rule: 'Canceling a booked payment stops it (rejected, for ever) or answers how it stands.',
    check: async (trial) => {
      const order = trial.newOrder();
      await trial.put(order);
      const canceled = trial.expectPayment(await trial.call(cancel(order)), order);
      const after = await trial.query(order);
      const isOver = canceled.state === 'rejected' || after.state === 'rejected';
      if (isOver && canceled.state !== after.state) {
        throw new Violation(`canceled as ${canceled.state}, then queried as ${after.state}`);
      }
    },
  },
  {
    name: 'cancel-paid',
    rule: 'Canceling a paid payment answers that it is paid, and leaves it so.',
    check: async (trial) => {
      const order = trial.newOrder();
      await trial.put(order);
      await trial.waitFor('the state "paid"', async () =>
        (await trial.query(order)).state === 'paid' ? true : undefined,
      );
      const canceled = trial.expectPayment(await trial.call(cancel(order)), order);
      const { state } = await trial.query(order);
      for (const given of [canceled.state, state]) {
        if (given !== 'paid') throw new Violation(`a paid payment must stay paid, not ${given}`);
      }
    },
  },
  {
    name: 'malformed-cancellation',
    rule: 'A cancellation whose body has another reference is refused with 400 malformed.',
    check: async (trial) => {
      const order = trial.newOrder();
      const { path } = cancel(order);
      const body = { ...cancel(order).body, reference: newReference() };
      const exchange = await trial.call({ method: 'POST', path, body });
      trial.expectRefusal(exchange, 400, 'malformed');
    },
  },
];

function cancel(order: { reference: string; amount: string; currency: string }) {
  const { reference, amount, currency } = order;
  const body = { reference, amount, currency };
  return { method: 'POST', path: `/payments/${reference}/cancel`, body } as const;
}

/** Orders a payment that ends so, and queries it until it has. */
async function reach(trial: Trial, outcome: Outcome): Promise<Payment> {
  if (outcome !== 'paid' && trial.description[outcome] === undefined) {
    throw new Skip(`the file has no "${outcome}": what differs for an order that ends so`);
  }
  const order = trial.newOrder(outcome);
  await trial.put(order);
  await trial.query(order);
  return await trial.waitFor(`the state "${outcome}"`, async () => {
    const payment = await trial.query(order);
    return payment.state === outcome ? payment : undefined;
  });
}
