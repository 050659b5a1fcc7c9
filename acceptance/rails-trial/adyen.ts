import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import type {
  AdyenRecords,
  SimulatedRecord,
} from '../../server/testing/counterparties/adyen/adyen-simulator.ts';
import type { simulatorOptionsSchema } from '../../server/testing/counterparties/adyen/simulator-options.ts';
import {
  type BookedPayment,
  type Counterpart,
  type CounterpartPlaces,
  declareRail,
  type PayerPlan,
} from './counterpart.ts';
import { createRevivable, findFreePort } from './processes.ts';
import { writeSecret } from './secrets.ts';

/** The simulated Adyen, with every fault of calls and webhooks that it has. */

const program = join(
  import.meta.dirname,
  '../../server/testing/counterparties/adyen/adyen-program.ts',
);

/** By the last digit of the reference, which is a random one. */
const troubles: z.input<typeof simulatorOptionsSchema> = {
  settleMs: 250,
  fee: { value: 12, currency: 'EUR', by: 'event' },
  refusePattern: '^[0-9a-f]{31}[01]$',
  failPattern: '^[0-9a-f]{31}2$',
  returnPattern: '^[0-9a-f]{31}3$',
  reviewPattern: '^[0-9a-f]{31}4$',
  listLagMs: 400,
  lostShare: 0.1,
  duplicateShare: 0.15,
  reorderShare: 0.1,
  reorderMs: 1500,
  forgedShare: 0.05,
  retryMs: 250,
  faults: [
    { on: 'create', kind: 'error_after', share: 0.03 },
    { on: 'create', kind: 'error_before', share: 0.02 },
    { on: 'create', kind: 'reset_after', share: 0.03 },
    { on: 'create', kind: 'reset_before', share: 0.02 },
    { on: 'create', kind: 'silent_after', share: 0.01 },
    { on: 'create', kind: 'busy', share: 0.02 },
    { on: 'create', kind: 'garbage', share: 0.02 },
    { on: 'create', kind: 'cut', share: 0.02 },
    { on: 'create', kind: 'wrong_amount', share: 0.01 },
    { on: 'create', kind: 'delay', share: 0.05, delayMs: 700 },
    { on: 'get', kind: 'error_before', share: 0.05 },
    { on: 'get', kind: 'wrong_amount', share: 0.02 },
    { on: 'list', kind: 'reset_before', share: 0.05 },
    { on: 'list', kind: 'garbage', share: 0.02 },
  ],
};

const bank = { country: 'DEU', deliveryType: 'BANK_DEPOSIT', currencies: ['EUR'] } as const;
const payers: readonly PayerPlan[] = [
  { ...bank, key: 'regular', name: 'Trial Adyen' },
  {
    ...bank,
    key: 'instant',
    name: 'Trial Adyen instant',
    options: { priorities: 'instant,regular' },
  },
  { ...bank, key: 'card', name: 'Trial Adyen card', accountForm: 'stored_card' },
  {
    ...bank,
    key: 'wallet',
    name: 'Trial Adyen wallet',
    deliveryType: 'MOBILE_WALLET',
    accountForm: 'provider_account',
  },
];

/** The attributes of a recipient of the payer; ordinary ones where there are none. */
const valuesOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  card: { CardNumber: 'TRIAL-TOKEN-OF-A-CARD', BillReferenceNumber: 'trial' },
  wallet: { BankAccountNumber: 'BA00000000000000000000777' },
};

/** Of each payer. */
const recipientsCount = 4;

export async function openAdyen({ folder, callbackUrl }: CounterpartPlaces): Promise<Counterpart> {
  const secrets = {
    apiKey: randomBytes(24).toString('hex'),
    webhookKey: randomBytes(32).toString('hex'),
    balanceAccountId: 'BA00000000000000000000001',
  };
  const secretFile = join(folder, 'simulator.json');
  writeFileSync(secretFile, JSON.stringify(secrets), { mode: 0o600 });
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const adyen = createRevivable({
    args: [
      program,
      `--port=${port}`,
      `--folder=${folder}`,
      `--secret-file=${secretFile}`,
      `--webhook-url=${callbackUrl}`,
      `--options=${JSON.stringify(troubles)}`,
    ],
    logFile: join(folder, 'simulator.log'),
    isReady: (printed) => printed.includes('"port"'),
  });
  await adyen.start();
  const config = {
    environment: 'test',
    balanceAccountId: secrets.balanceAccountId,
    apiKey: writeSecret(folder, { name: 'api', value: secrets.apiKey }),
    webhookKeys: [writeSecret(folder, { name: 'webhook', value: secrets.webhookKey })],
    apiUrl: url,
    reportsUrl: url,
    timeoutSeconds: 2,
    pollSeconds: 3,
  };
  const rail = 'adyen';
  let isHeldBack = false;
  return {
    rail,
    config: declareRail({ kind: 'adyen', name: rail, config }, payers),
    destinations: Array.from({ length: recipientsCount }, () =>
      payers.map(({ key, name, country, deliveryType }) => ({
        way: { country, deliveryType, currency: 'EUR' },
        payerName: name,
        values: valuesOf[key] ?? {},
        plannedOutcome: 'by the reference',
      })),
    ).flat(),
    crash: async () => {
      await adyen.kill();
      await adyen.start();
      if (isHeldBack) await control(url, 'options', { faults: [] });
    },
    holdBack: async () => {
      isHeldBack = true;
      await control(url, 'options', { faults: [] });
    },
    letCome: () => returnLate(url),
    isQuiet: async () => (await readRecords(url)).pendingWebhooks === 0,
    listBooked: async () => (await readRecords(url)).transfers.map(describeRecord),
    close: adyen.kill,
  };
}

async function readRecords(url: string): Promise<AdyenRecords> {
  return (await (await fetch(`${url}/records`)).json()) as AdyenRecords;
}

async function control(url: string, name: string, body: object): Promise<void> {
  const response = await fetch(`${url}/control/${name}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`control of the simulated Adyen: ${response.status}`);
}

/** Some transfers come back days after they counted as paid. */
async function returnLate(url: string): Promise<void> {
  const { transfers } = await readRecords(url);
  for (const { reference, status } of transfers) {
    if (status !== 'booked' || !reference.endsWith('6')) continue;
    await control(url, 'force', { reference, status: 'returned' });
  }
}

/** A failed or returned transfer is a refusal until it counts as paid, and a return afterwards. */
function describeRecord({ reference, status, value, currency }: SimulatedRecord): BookedPayment {
  const isBack = status === 'failed' || status === 'returned';
  const isRefused = status === 'refused' || status === 'cancelled';
  const amountMinor = BigInt(value);
  return {
    reference,
    recipient: undefined,
    currency,
    amountMinor,
    state: isBack ? 'undone' : isRefused ? 'refused' : status === 'booked' ? 'paid' : 'open',
    returnedMinor: isBack ? amountMinor : 0n,
  };
}
