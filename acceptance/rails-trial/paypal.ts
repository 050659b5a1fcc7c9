import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCurrency } from '../../server/src/core/currency.ts';
import { getAmountMinor } from '../../server/src/core/money.ts';
import type { BookedItem } from '../../server/testing/counterparties/paypal/paypal-books.ts';
import type { PaypalRecords } from '../../server/testing/counterparties/paypal/paypal-simulator.ts';
import {
  type BookedPayment,
  type Counterpart,
  type CounterpartPlaces,
  declareRail,
} from './counterpart.ts';
import { createRevivable, findFreePort } from './processes.ts';
import { writeSecret } from './secrets.ts';

/** The simulated PayPal, with every fault that it can inject. */

const rail = 'paypal';
const name = 'Trial PayPal';
const recipientsCount = 6;

/** By the last digit of the reference, which is a random one. */
const plannedOutcomes = {
  failPattern: '^[0-9a-f]{31}[01]$',
  unclaimedPattern: '^[0-9a-f]{31}2$',
  claimMs: 2_000,
  abandonPattern: '^[0-9a-f]{31}3$',
  returnMs: 4_000,
  refundPattern: '^[0-9a-f]{31}4$',
  denyPattern: '^[0-9a-f]{31}5$',
  holdPattern: '^[0-9a-f]{31}6$',
};

const troubles = {
  stepMs: 200,
  balances: { USD: '900000000.00' },
  lostShare: 0.1,
  duplicateShare: 0.15,
  lateShare: 0.2,
  forgedShare: 0.05,
};

const faults = [
  { on: 'order', kind: 'error_after', share: 0.03 },
  { on: 'order', kind: 'error_before', share: 0.02 },
  { on: 'order', kind: 'reset_after', share: 0.03 },
  { on: 'order', kind: 'reset_before', share: 0.02 },
  { on: 'order', kind: 'silent_after', share: 0.01 },
  { on: 'order', kind: 'busy', share: 0.02 },
  { on: 'order', kind: 'maintenance', share: 0.02 },
  { on: 'order', kind: 'garbage', share: 0.02 },
  { on: 'order', kind: 'delay', share: 0.03, delayMs: 700 },
  { on: 'batch', kind: 'error_before', share: 0.05 },
  { on: 'batch', kind: 'reset_after', share: 0.05 },
  { on: 'token', kind: 'maintenance', share: 0.1 },
  { on: 'other', kind: 'reset_before', share: 0.03 },
];

export async function openPaypal(places: CounterpartPlaces): Promise<Counterpart> {
  const { folder, callbackUrl } = places;
  const credentials = {
    clientId: `trial-${randomBytes(8).toString('hex')}`,
    clientSecret: randomBytes(24).toString('hex'),
  };
  const secretFile = join(folder, 'credentials.json');
  writeFileSync(secretFile, JSON.stringify(credentials), { mode: 0o600 });
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const program = '../../server/testing/counterparties/paypal/paypal-program.ts';
  const paypal = createRevivable({
    args: [
      join(import.meta.dirname, program),
      `--folder=${folder}`,
      `--secret-file=${secretFile}`,
      `--webhook=${callbackUrl}`,
      `--port=${port}`,
      `--options=${JSON.stringify({ ...plannedOutcomes, ...troubles, faults })}`,
    ],
    logFile: join(folder, 'simulator.log'),
    isReady: (printed) => printed.includes('"port"'),
  });
  await paypal.start();
  const config = {
    baseUrl: url,
    clientId: credentials.clientId,
    clientSecret: writeSecret(folder, { name: 'client', value: credentials.clientSecret }),
    webhookId: '1JE4291016473214C',
    emailSubject: 'A payment of the trial',
    timeoutSeconds: 2,
    // By the environment's clock, which the trial moves by minutes.
    eventsSeconds: 3,
  };
  const payer = { country: 'USA', deliveryType: 'MOBILE_WALLET', currencies: ['USD'] };
  const destination = {
    way: { country: 'USA', deliveryType: 'MOBILE_WALLET', currency: 'USD' },
    payerName: name,
    values: { PhoneNumber: '+14085551234' },
    plannedOutcome: 'by the reference',
  };
  const call = async (path: string, init: RequestInit = {}): Promise<PaypalRecords> =>
    (await (await fetch(url + path, init)).json()) as PaypalRecords;
  return {
    rail,
    config: declareRail({ kind: 'paypal', name: rail, config }, [{ ...payer, key: 'us', name }]),
    destinations: Array.from({ length: recipientsCount }, () => destination),
    crash: async () => {
      await paypal.kill();
      await paypal.start();
    },
    holdBack: async () => {
      await call('/control/options', { method: 'POST', body: JSON.stringify({ faults: [] }) });
    },
    isQuiet: async () => {
      const { batches, pendingEvents } = await call('/control/records');
      return pendingEvents === 0 && batches.every(({ status }) => !status.startsWith('P'));
    },
    listBooked: async () => {
      const { batches } = await call('/control/records');
      return batches.flatMap(({ items }) => items.map(describeBooked));
    },
    close: paypal.kill,
  };
}

function describeBooked({ senderItemId, currency, value, status }: BookedItem): BookedPayment {
  const amountMinor = getAmountMinor(value, getCurrency(currency));
  const states = { SUCCESS: 'paid', FAILED: 'refused', RETURNED: 'undone', REFUNDED: 'undone' };
  const state = (states as Readonly<Record<string, BookedPayment['state']>>)[status] ?? 'open';
  return {
    reference: senderItemId,
    recipient: undefined,
    currency,
    amountMinor,
    state,
    returnedMinor: state === 'undone' ? amountMinor : 0n,
  };
}
