import { bouncingEnd, refusedEnd } from '../../server/testing/counterparties/wise/forms.ts';
import {
  type Fault,
  openWise,
  type WiseSimulator,
} from '../../server/testing/counterparties/wise/wise-simulator.ts';
import {
  type BookedPayment,
  type Counterpart,
  type CounterpartPlaces,
  type Destination,
  declareRail,
  type PayerPlan,
} from './counterpart.ts';
import { writeSecret } from './secrets.ts';

/** The simulated Wise with a small share of everything that can go wrong. */

const booking = /^POST \/v3\/profiles\/\d+\/transfers\/\d+\/payments/;

const troubles: readonly Fault[] = [
  { on: booking, kind: 'error_before', share: 0.03 },
  { on: booking, kind: 'error_after', share: 0.03 },
  { on: booking, kind: 'reset_before', share: 0.02 },
  { on: booking, kind: 'reset_after', share: 0.03 },
  { on: booking, kind: 'silent_after', share: 0.01 },
  { on: booking, kind: 'rate_limited', share: 0.02 },
  { on: booking, kind: 'garbage', share: 0.02 },
  { on: /^POST \/v1\/transfers/, kind: 'reset_after', share: 0.03 },
  { on: /^POST \/v1\/transfers/, kind: 'error_after', share: 0.02 },
  { on: /./, kind: 'maintenance', share: 0.01 },
  { on: /^GET /, kind: 'reset_before', share: 0.02 },
];

const payer: PayerPlan = {
  key: 'gb',
  name: 'Trial Wise',
  country: 'GBR',
  deliveryType: 'BANK_DEPOSIT',
  currencies: ['GBP'],
};

/** By the end of the account. */
const plannedOutcomes: Readonly<Record<string, string>> = {
  '28821822': 'paid',
  '31926819': 'paid',
  '60161331': 'paid',
  [`2882${refusedEnd}`]: 'refused',
  [`2882${bouncingEnd}`]: 'sent back',
};

export const wiseName = 'wise';

export async function openWiseCounterpart(places: CounterpartPlaces): Promise<Counterpart> {
  const wise = await openWise({
    balances: { EUR: '900000000' },
    callbackUrl: places.callbackUrl,
    settleMs: 300,
  });
  wise.setFaults(troubles);
  wise.setWebhookFaults({ lostShare: 0.1, duplicateShare: 0.15, forgedShare: 0.05 });
  const secret = (name: string, value: string) => writeSecret(places.folder, { name, value });
  const config = {
    baseUrl: wise.url,
    credentials: { token: secret('token', wise.token) },
    profileId: wise.profileId,
    sourceCurrency: 'EUR',
    webhookKeys: [secret('webhooks', wise.webhookKey)],
    timeoutSeconds: 2,
    fundingSeconds: 3,
    pollSeconds: 3,
  };
  return {
    rail: wiseName,
    config: declareRail({ kind: 'wise', name: wiseName, config }, [payer]),
    destinations: Object.entries(plannedOutcomes).map(describeDestination),
    holdBack: async () => {
      wise.setFaults([]);
      wise.setWebhookFaults({});
    },
    isQuiet: async () => wise.pendingWebhooks === 0 && wise.isSettled,
    listBooked: async () => listBooked(wise),
    close: wise.close,
  };
}

function describeDestination([account, plannedOutcome]: readonly [string, string]): Destination {
  const { country, deliveryType, name } = payer;
  return {
    way: { country, deliveryType, currency: 'GBP' },
    payerName: name,
    values: { BankRoutingNumber: '231470', BankAccountNumber: account },
    plannedOutcome,
  };
}

/** A transfer pays by its funding; one that was never funded pays nothing. */
function listBooked(wise: WiseSimulator): readonly BookedPayment[] {
  return wise.transfers.flatMap((transfer) => {
    const { reference, quote, status, fundings, wasStopped } = transfer;
    const { targetCurrency: currency, targetMinor: amountMinor } = quote;
    const isBack = status === 'funds_refunded';
    const booked: BookedPayment = {
      reference,
      recipient: undefined,
      currency,
      amountMinor,
      state: readState(transfer),
      returnedMinor: isBack && !wasStopped ? amountMinor : 0n,
    };
    return Array.from({ length: fundings }, () => booked);
  });
}

function readState({
  status,
  wasStopped,
}: WiseSimulator['transfers'][number]): BookedPayment['state'] {
  if (wasStopped) return 'refused';
  if (status === 'funds_refunded') return 'undone';
  return status === 'outgoing_payment_sent' ? 'paid' : 'open';
}
