import { getCurrency } from '../../server/src/core/currency.ts';
import { getAmountMinor } from '../../server/src/core/money.ts';
import {
  type PartnerOptions,
  type PartnerProcess,
  startPartner,
} from '../../server/testing/setups/partner.ts';
import {
  type BookedPayment,
  type Counterpart,
  type CounterpartPlaces,
  type Destination,
  declareRail,
  type PayerPlan,
} from './counterpart.ts';
import { writeSecret } from './secrets.ts';

/** Two partner simulators with every fault that they can inject; one of them takes batches. */

type Faults = NonNullable<PartnerOptions['faults']>;

/** What can go wrong with an order, or with a batch of them. */
const orderFaults: Faults = [
  { kind: 'error_after', share: 0.03 },
  { kind: 'error_before', share: 0.02 },
  { kind: 'reset_after', share: 0.03 },
  { kind: 'reset_before', share: 0.02 },
  { kind: 'silent_after', share: 0.01 },
  { kind: 'busy', share: 0.02 },
  { kind: 'garbage', share: 0.02 },
  { kind: 'cut', share: 0.02 },
  { kind: 'unsigned', share: 0.01 },
  { kind: 'wrong_amount', share: 0.01 },
  { kind: 'delay', share: 0.05, delayMs: 700 },
];

const queryFaults: Faults = [
  { kind: 'error_before', share: 0.05 },
  { kind: 'reset_before', share: 0.05 },
  { kind: 'wrong_reference', share: 0.02 },
];

const applyTo = (on: Faults[number]['on'], faults: Faults): Faults =>
  faults.map((fault) => ({ ...fault, on }));

/** A small share of everything that can go wrong with an order, a question or a callback. */
const troubles: PartnerOptions = {
  settleMs: 300,
  collectMs: 500,
  fee: '0.35',
  lostShare: 0.1,
  duplicateShare: 0.15,
  reorderShare: 0.1,
  reorderMs: 1500,
  forgedShare: 0.05,
  callbackRetryMs: 250,
  faults: [
    ...applyTo('put', orderFaults),
    ...applyTo('get', queryFaults),
    ...applyTo('batch', orderFaults),
    ...applyTo('batch_query', queryFaults),
  ],
};

/** Of each payer. */
const recipientsCount = 3;

export type PartnerPlan = {
  readonly rail: string;
  readonly knobs: PartnerOptions;
  readonly payers: readonly PayerPlan[];
  /** Of the rail's own configuration. */
  readonly config?: object;
};

/** One offer to clients, which stands for both partners: where one refuses, the other takes over. */
const openPayer: PayerPlan = {
  ...payer('open', 'Trial open bank', 'BANK_DEPOSIT'),
  isDynamicToken: true,
};

/** By the last digit of the reference, which is a random one. */
const plans: readonly PartnerPlan[] = [
  {
    rail: 'partner_a',
    knobs: {
      ...troubles,
      rejectPattern: '^[0-9a-f]{31}[01]$',
      rejectLaterPattern: '^[0-9a-f]{31}2$',
      // No reason that lies with the recipient: another payer may take over.
      rejectReason: 'payer_unavailable',
      returnPattern: '^[0-9a-f]{31}3$',
      returnAfterMs: 1500,
    },
    payers: [
      payer('a-cash', 'Trial cash A', 'CASH_PICKUP'),
      payer('a-bank', 'Trial bank A', 'BANK_DEPOSIT'),
      openPayer,
    ],
  },
  {
    rail: 'partner_b',
    knobs: {
      ...troubles,
      rejectLaterPattern: '^[0-9a-f]{31}4$',
      returnPattern: '^[0-9a-f]{31}5$',
      returnAfterMs: 1000,
      returnParts: [2500, 1500],
      capabilities: ['batches'],
      batchBusyShare: 0.03,
    },
    // Every order leaves in a batch, also one that is due by itself.
    config: { capabilities: ['batches'], batches: { ordersMin: 1, requestsMax: 2 } },
    payers: [openPayer, payer('b-cash', 'Trial cash B', 'CASH_PICKUP')],
  },
];

function payer(key: string, name: string, deliveryType: string): PayerPlan {
  return { key, name, country: 'MEX', deliveryType, currencies: ['MXN'] };
}

export const partnerNames: readonly string[] = plans.map(({ rail }) => rail);

export async function openPartner(rail: string, places: CounterpartPlaces): Promise<Counterpart> {
  const plan = plans.find((one) => one.rail === rail);
  if (plan === undefined) throw new Error(`no partner is called ${rail}`);
  return openPlannedPartner(plan, places);
}

export async function openPlannedPartner(
  plan: PartnerPlan,
  places: CounterpartPlaces,
): Promise<Counterpart> {
  const { rail } = plan;
  const partner = await startPartner(plan.knobs);
  const { keys } = partner;
  const secret = (name: string, key: string) => writeSecret(places.folder, { name, value: key });
  const config = {
    baseUrl: partner.url,
    signingKey: { ...keys.outlay, key: secret('outlay', keys.outlay.key) },
    partnerKeys: [{ ...keys.partner, key: secret('partner', keys.partner.key) }],
    timeoutSeconds: 2,
    orderSeconds: 4,
    bookingSeconds: 1,
    eventsSeconds: 3,
    ...plan.config,
  };
  return {
    rail,
    config: declareRail({ kind: 'partner', name: rail, config }, plan.payers),
    destinations: Array.from({ length: recipientsCount }, () =>
      plan.payers.map(describeDestination),
    ).flat(),
    crash: async () => {
      await partner.kill();
      await partner.restart();
    },
    holdBack: () => partner.setOptions({ faults: [], batchBusyShare: 0 }),
    letCome: () => returnLate(partner),
    isQuiet: async () => (await partner.readRecords()).pendingEvents === 0,
    listBooked: () => listBooked(partner),
    close: partner.close,
  };
}

function describeDestination({ name, country, deliveryType }: PayerPlan): Destination {
  return {
    way: { country, deliveryType, currency: 'MXN' },
    payerName: name,
    values: {},
    plannedOutcome: 'by the reference',
  };
}

/** Some payments come back days after they counted as paid, in part or as a whole. */
async function returnLate(partner: PartnerProcess): Promise<void> {
  const { payments } = await partner.readRecords();
  const chosen = Object.entries(payments).filter(
    ([reference, { state, returns }]) =>
      state === 'paid' && returns.length === 0 && reference.endsWith('6'),
  );
  for (const [index, [reference, { amount }]] of chosen.entries()) {
    const returned = index % 2 === 0 ? amount : '1.00';
    await partner.control('/control/return', { reference, id: 'late', amount: returned });
  }
}

async function listBooked(partner: PartnerProcess): Promise<BookedPayment[]> {
  const { payments } = await partner.readRecords();
  return Object.entries(payments).flatMap(([reference, payment]) => {
    const { state, paidCount, amount, currency, returns } = payment;
    const read = (text: string): bigint => getAmountMinor(text, getCurrency(currency));
    const booked = (outcome: BookedPayment['state']): BookedPayment => ({
      reference,
      recipient: undefined,
      currency,
      amountMinor: read(amount),
      state: outcome,
      returnedMinor: returns.reduce((sum, one) => sum + read(one.amount), 0n),
    });
    if (paidCount > 0) return Array.from({ length: paidCount }, () => booked('paid'));
    return [booked(state === 'rejected' ? 'refused' : 'open')];
  });
}
