import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import type { z } from 'zod';
import type { configSchema } from '../../src/rails/adyen/config.ts';
import { railModule } from '../../src/rails/adyen/rail.ts';
import { signBody } from '../../src/rails/adyen/webhooks.ts';
import type { Instruction, RailCalls, RailObservation } from '../../src/rails/contract/contract.ts';
import type { PayerDeclaration } from '../../src/rails/contract/declarations.ts';
import type { Counterparty, Place } from '../conformance/subject.ts';
import {
  type AdyenSimulator,
  type AdyenSimulatorOptions,
  openAdyenSimulator,
} from '../counterparties/adyen/adyen-simulator.ts';
import { payerBase } from './payer.ts';
import { openTestHost, type TestHost } from './rail.ts';

/** The simulated Adyen, a rail against it, and instructions. */

export const adyenAccount = {
  apiKey: 'AQEyhmfxK4.simulated.key.of.the.rail',
  webhookKey: '44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056',
  balanceAccountId: 'BA00000000000000000000001',
};

export type AdyenConfigInput = z.input<typeof configSchema>;

export function describeAdyenConfig(
  port: number | undefined,
  changes: Partial<AdyenConfigInput> = {},
): AdyenConfigInput {
  const url = `http://127.0.0.1:${port}`;
  return {
    environment: 'test',
    balanceAccountId: adyenAccount.balanceAccountId,
    apiKey: adyenAccount.apiKey,
    webhookKeys: [adyenAccount.webhookKey],
    apiUrl: url,
    reportsUrl: url,
    timeoutSeconds: 10,
    ...changes,
  };
}

export function declarePayer(
  key: string,
  options: PayerDeclaration['options'] = {},
  changes: Partial<PayerDeclaration> = {},
): PayerDeclaration {
  return {
    ...payerBase,
    key,
    companyKey: 'adyen',
    payerName: 'Bank transfer',
    countryCode: 'ESP',
    deliveryType: 'BANK_DEPOSIT',
    currencies: ['EUR'],
    options,
    ...changes,
  };
}

export const adyenPayers: readonly PayerDeclaration[] = [
  declarePayer('bank'),
  declarePayer('instant', { priorities: 'instant,regular' }),
  declarePayer('reviewed', { approvals: '1' }),
  declarePayer('card', {}, { accountForm: 'stored_card' }),
  declarePayer('instrument', {}, { accountForm: 'provider_account' }),
  declarePayer('wallet', {}, { accountForm: 'provider_account', deliveryType: 'MOBILE_WALLET' }),
];

/** What identifies the recipient, by the payer's key. */
export const adyenAttributes = {
  bank: { BankAccountNumber: 'ES9121000418450200051332' },
  instant: { BankAccountNumber: 'ES9121000418450200051332' },
  card: { CardNumber: 'ZMV627QSCQVDKG66', BillReferenceNumber: 'customer 42' },
  instrument: { BankAccountNumber: 'SE1234567890ABC1234567890' },
  wallet: { BankAccountNumber: 'BA00000000000000000000777' },
} as const;

/** 123.45 EUR to a bank account in Spain, under a reference of its own. */
export function newAdyenInstruction(changes: Partial<Instruction> = {}): Instruction {
  const nowMs = Date.now();
  return {
    reference: randomUUID().replaceAll('-', ''),
    payerKey: 'bank',
    countryCode: 'ESP',
    deliveryType: 'BANK_DEPOSIT',
    currency: 'EUR',
    amountMinor: 12_345n,
    attributes: adyenAttributes.bank,
    beneficiary: {
      firstName: 'Ana',
      middleName: '',
      lastName: 'Núñez',
      businessName: '',
      address1: 'Calle Mayor 5',
      address2: '',
      city: 'Sevilla',
      stateProvince: '',
      postalCode: '41001',
      countryCode: 'ESP',
      email: '',
      mobileNumber: '',
      dateOfBirth: '',
    },
    originator: { accountId: 'acct_1', name: 'Example Ltd' },
    pickupCode: '',
    committedAtMs: nowMs,
    availableAtMs: nowMs + 60_000,
    ...changes,
  };
}

/** The payers of a conformance run take turns. */
export type AdyenRun = {
  readonly payerKeys: readonly (keyof typeof adyenAttributes)[];
  readonly options?: AdyenSimulatorOptions['options'];
};

/** For the conformance suite. */
export function createOpenCounterparty(run: AdyenRun) {
  return async ({ callbackUrl }: Place): Promise<Counterparty> => {
    const simulator = await openAdyenSimulator({
      ...adyenAccount,
      webhookUrl: callbackUrl,
      ...(run.options !== undefined && { options: run.options }),
    });
    const plannedOutcomes = { paid: 'paid', rejected: 'refused', returned: 'returned' } as const;
    let count = 0;
    return {
      payers: adyenPayers,
      address: simulator.address,
      config: (address) => describeAdyenConfig(address?.port, { timeoutSeconds: 0.4 }),
      instruct: (draft, outcome) => {
        const payerKey = run.payerKeys[count % run.payerKeys.length] ?? 'bank';
        count += 1;
        simulator.expect(draft.reference, plannedOutcomes[outcome]);
        return {
          ...draft,
          payerKey,
          attributes: adyenAttributes[payerKey],
          // The suite's address lacks the state that an American cardholder needs.
          beneficiary: { ...draft.beneficiary, countryCode: 'ESP' },
          countryCode: 'ESP',
          deliveryType: payerKey === 'wallet' ? 'MOBILE_WALLET' : 'BANK_DEPOSIT',
          currency: 'EUR',
          amountMinor: 12_345n,
        };
      },
      payments: async ({ reference }) =>
        simulator.books
          .listPayments()
          .filter((transfer) => transfer.reference === reference && transfer.status !== 'refused')
          .filter(({ status }) => status !== 'cancelled')
          .map(({ order }) => BigInt(order.amount.value)),
      advance: () => simulator.advance(),
      close: () => simulator.close(),
    };
  };
}

export type AdyenBench = {
  readonly simulator: AdyenSimulator;
  readonly host: TestHost;
  readonly rail: RailCalls;
  readonly clock: { nowMs: number };
  /** As many times what Adyen does next with each of its transfers. */
  advance(steps: number): Promise<void>;
  /** Delivers all webhooks about the payment, in this order, and returns what the rail reads in them. */
  readWebhooks(
    payment: Pick<Instruction, 'reference'>,
    isReversed?: boolean,
  ): Promise<RailObservation[]>;
  /** The same rail on the same records, as another process has it. */
  again(changes?: Partial<AdyenConfigInput>): Promise<RailCalls>;
  close(): Promise<void>;
};

export type AdyenBenchOptions = {
  readonly options?: AdyenSimulatorOptions['options'];
  readonly config?: Partial<AdyenConfigInput>;
  readonly fetch?: typeof fetch;
};

/** One clock for both sides; it moves only when a test moves it. */
export async function openAdyenBench(bench: AdyenBenchOptions = {}): Promise<AdyenBench> {
  const clock = { nowMs: Date.now() };
  const nowMs = () => clock.nowMs;
  const { options = {} } = bench;
  const simulator = await openAdyenSimulator({ ...adyenAccount, nowMs, options });
  const host = await openTestHost({
    name: 'adyen',
    payers: adyenPayers,
    nowMs,
    realNowMs: nowMs,
    ...(bench.fetch !== undefined && { fetch: bench.fetch }),
  });
  const again: AdyenBench['again'] = (changes = {}) => {
    const config = describeAdyenConfig(simulator.address.port, { ...bench.config, ...changes });
    return railModule.create(railModule.configSchema.parse(config), host);
  };
  const rail = await again();
  return {
    simulator,
    host,
    rail,
    clock,
    advance: async (steps) => {
      for (let step = 0; step < steps; step += 1) await simulator.advance();
    },
    readWebhooks: ({ reference }, isReversed = false) => {
      const bodies = [...simulator.books.webhooks.values()]
        .map(({ body }) => body)
        .filter((body) => body.includes(reference));
      return deliver(rail, isReversed ? bodies.toReversed() : bodies);
    },
    again,
    close: async () => {
      await simulator.close();
      await host.close();
    },
  };
}

/** What the rail reads in signed webhooks. */
async function deliver(rail: RailCalls, bodies: readonly string[]): Promise<RailObservation[]> {
  const observations: RailObservation[] = [];
  for (const text of bodies) {
    const body = Buffer.from(text);
    const headers = { hmacsignature: signBody(body, adyenAccount.webhookKey) };
    const message = { method: 'POST', path: '', query: {}, headers, body };
    const reading = await rail.readCallback?.(message);
    assert.ok(reading?.kind === 'accepted');
    observations.push(...reading.message.observations);
  }
  return observations;
}

/** A bench for the tests of a file: open before the first one, closed after the last one. */
export function prepareAdyenBench(): AdyenBench {
  let opened: AdyenBench | undefined;
  before(async () => {
    opened = await openAdyenBench();
  });
  after(() => opened?.close());
  return new Proxy({} as AdyenBench, {
    get: (_target, name) => {
      assert.ok(opened !== undefined, 'a hook opens the bench before the first test');
      return Reflect.get(opened, name);
    },
  });
}

export const context = { signal: new AbortController().signal };
