import { isDeepStrictEqual } from 'node:util';
import { needCapability } from './capabilities.ts';
import { type Order, type Rule, Skip, type Trial, Violation } from './check.ts';
import { findEventFault } from './forms.ts';

/** Rules about events: in the list, and as callbacks. */

type Event = { readonly id: string; readonly payment: { reference: string; state: string } };
type Page = { readonly events: readonly Event[]; readonly next: string };

export const reportRules: readonly Rule[] = [
  {
    name: 'events-complete',
    rule: 'GET /events/{after} lists an event for every change of a payment, `next` leading to its end.',
    check: async (trial) => {
      const order = trial.newOrder();
      await pay(trial, order);
      await trial.waitFor('an event of the payment in the list', async () => {
        const events = await readAll(trial);
        return events.find(
          ({ payment }) => payment.reference === order.reference && payment.state === 'paid',
        );
      });
    },
  },
  {
    name: 'booked-events',
    rule: 'GET /events/{after} lists an event "accepted" for every order as soon as it is booked.',
    check: async (trial) => {
      await needCapability(trial, 'booked_events');
      const order = trial.newOrder();
      await trial.put(order);
      const events = (await readAll(trial)).filter(
        ({ payment }) => payment.reference === order.reference,
      );
      if (events[0]?.payment.state !== 'accepted') {
        throw new Violation('the first event of the order must be that of its booking');
      }
    },
  },
  {
    name: 'events-stable',
    rule: 'The list of events has a fixed order and different ids; events are only added at its end.',
    check: async (trial) => {
      await pay(trial, trial.newOrder());
      const before = (await readAll(trial)).map(({ id }) => id);
      const after = (await readAll(trial)).map(({ id }) => id);
      if (new Set(after).size < after.length) throw new Violation('ids of events must differ');
      if (!isDeepStrictEqual(after.slice(0, before.length), before)) {
        throw new Violation('the events that were listed before have changed their order');
      }
    },
  },
  {
    name: 'callback-authentic',
    rule: 'Events are posted to callback_url, authenticated, with the id that they have in the list.',
    check: async (trial) => {
      const order = trial.newOrder();
      expectCallbacks(trial);
      await pay(trial, order);
      const callback = await trial.waitFor('a callback', async () =>
        trial.listener.received.find(({ reference }) => reference === order.reference),
      );
      if (callback.fault !== undefined) throw new Violation(`the callback: ${callback.fault}`);
      const isListed = (await readAll(trial)).some(({ id }) => id === callback.eventId);
      if (!isListed) throw new Violation('the event of the callback is not in the list');
    },
  },
  {
    name: 'callback-repeated',
    rule: 'A callback that is not answered with 2xx is posted again, with the same id.',
    check: async (trial) => {
      const order = trial.newOrder();
      expectCallbacks(trial);
      await pay(trial, order);
      await trial.waitFor('a second callback, after status 503 to the first one,', async () =>
        trial.listener.received.find(
          ({ reference, status }) => reference === order.reference && status === 200,
        ),
      );
    },
  },
];

function expectCallbacks({ description: { access } }: Trial): void {
  if (access.level !== 'signed' && access.callbackKeys.length === 0) {
    throw new Skip('the file has no callbackKeys, so that callbacks are not used');
  }
}

async function pay(trial: Trial, order: Order): Promise<void> {
  await trial.put(order);
  await trial.waitFor('the state "paid"', async () =>
    (await trial.query(order)).state === 'paid' ? true : undefined,
  );
}

const pagesMax = 1000;

async function readAll(trial: Trial): Promise<readonly Event[]> {
  const events: Event[] = [];
  let after = '0';
  for (let read = 0; read < pagesMax; read += 1) {
    const exchange = await trial.call({ method: 'GET', path: `/events/${after}` });
    const page = exchange.json as Partial<Page> | null | undefined;
    if (exchange.status !== 200) throw new Violation(`expected status 200, not ${exchange.status}`);
    if (exchange.fault !== undefined) {
      throw new Violation(`the answer does not count: ${exchange.fault}`);
    }
    if (!Array.isArray(page?.events) || typeof page.next !== 'string') {
      throw new Violation('a page must have the list "events" and the text "next"');
    }
    if (page.events.length > 100) throw new Violation('a page must have at most 100 events');
    for (const event of page.events) {
      const fault = findEventFault(event);
      if (fault !== undefined) throw new Violation(fault);
    }
    events.push(...(page.events as Event[]));
    if (page.events.length === 0) return events;
    if (page.next === after) throw new Violation('"next" must move on where there are events');
    after = page.next;
  }
  throw new Violation(`the list of events does not end after ${pagesMax} pages`);
}
