import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Counterparty, Place } from '../../conformance/subject.ts';
import type { Address } from '../../fault-proxy/fault-proxy.ts';

/**
 * The bank of the template rail: books each key once, settles a step with each `advance`, signs what
 * it says, and posts events until they are taken.
 */
type Bank = {
  readonly address: Address;
  /** How the payment of a reference is to end; `paid` when this was not called. */
  expect(reference: string, outcome: 'paid' | 'rejected' | 'returned'): void;
  /** The amounts of all that was booked under the reference and not refused. */
  listAmounts(reference: string): readonly bigint[];
  advance(): Promise<void>;
  close(): Promise<void>;
};

export const bankSecret = 'shared by the bank and its only client';

const orderSchema = z.object({
  key: z.string(),
  reference: z.string(),
  amount: z.string(),
  currency: z.string(),
});
type Booking = z.output<typeof orderSchema> & {
  state: 'accepted' | 'paid' | 'rejected' | 'returned';
};

async function openBank({ callbackUrl }: { callbackUrl: string }): Promise<Bank> {
  const bookings = new Map<string, Booking>();
  const outcomes = new Map<string, string>();
  const events: string[] = [];
  const book = (body: string): Booking => {
    const order = orderSchema.parse(JSON.parse(body));
    const state = outcomes.get(order.reference) === 'rejected' ? 'rejected' : 'accepted';
    const booking: Booking = bookings.get(order.key) ?? { ...order, state };
    bookings.set(order.key, booking);
    return booking;
  };
  const answer = (path: string, body: string): object => {
    const reference = path.split('/')[2];
    if (reference === undefined) return describe(book(body));
    const found = [...bookings.values()].find((booking) => booking.reference === reference);
    return found === undefined ? { reference, state: 'none' } : describe(found);
  };
  const server = createServer((request, response) => {
    readText(request)
      .then((body) => JSON.stringify(answer(request.url ?? '', body)))
      .then((text) => response.setHeader('x-signature', signAsBank(text)).end(text))
      .catch(() => response.writeHead(400).end());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return {
    address: { host: '127.0.0.1', port },
    expect: (reference, outcome) => void outcomes.set(reference, outcome),
    listAmounts: (reference) =>
      [...bookings.values()]
        .filter((booking) => booking.reference === reference && booking.state !== 'rejected')
        .map(({ amount }) => BigInt(amount)),
    advance: async () => {
      for (const booking of bookings.values()) {
        const next = settle(booking.state, outcomes.get(booking.reference));
        if (next === booking.state) continue;
        booking.state = next;
        const id = `${booking.key} ${next}`;
        events.push(JSON.stringify({ id, payment: describe(booking) }));
      }
      for (const event of events.splice(0)) {
        if (!(await post(callbackUrl, event))) events.push(event);
      }
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The bank as a counterparty of the conformance suite. */
export async function openBankCounterparty(
  place: Place,
  describeConfig: (url: string) => object,
): Promise<Counterparty> {
  const bank = await openBank(place);
  return {
    address: bank.address,
    config: (address) => describeConfig(`http://127.0.0.1:${address?.port}`),
    instruct: (draft, outcome) => {
      bank.expect(draft.reference, outcome);
      return {
        ...draft,
        payerKey: 'bank',
        countryCode: 'ESP',
        deliveryType: 'BANK_DEPOSIT',
        currency: 'EUR',
        amountMinor: 12_345n,
        attributes: { BankAccountNumber: 'ES9121000418450200051332' },
      };
    },
    payments: async ({ reference }) => bank.listAmounts(reference),
    advance: () => bank.advance(),
    close: () => bank.close(),
  };
}

export function signAsBank(text: string): string {
  return createHmac('sha256', bankSecret).update(text).digest('hex');
}

function settle(state: Booking['state'], outcome: string | undefined): Booking['state'] {
  if (state === 'accepted') return 'paid';
  return state === 'paid' && outcome === 'returned' ? 'returned' : state;
}

function describe({ reference, amount, currency, state }: Booking): object {
  const isBad = state === 'rejected' || state === 'returned';
  return { reference, amount, currency, state, ...(isBad ? { reason: 'CLOSED' } : {}) };
}

async function post(callbackUrl: string, event: string): Promise<boolean> {
  try {
    const headers = { 'x-signature': signAsBank(event) };
    return (await fetch(callbackUrl, { method: 'POST', headers, body: event })).ok;
  } catch {
    return false;
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
