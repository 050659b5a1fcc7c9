import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { z } from 'zod';
import { newId } from '../../src/core/ids.ts';
import type { Instruction, RailCalls } from '../../src/rails/contract/contract.ts';
import type { PayerDeclaration } from '../../src/rails/contract/declarations.ts';
import { configSchema, type PaypalConfig } from '../../src/rails/paypal/config.ts';
import { railModule } from '../../src/rails/paypal/rail.ts';
import type { Counterparty, Place } from '../conformance/subject.ts';
import {
  openPaypalSimulator,
  type PaypalOpening,
  type PaypalSimulator,
} from '../counterparties/paypal/paypal-simulator.ts';
import type { simulatorOptionsSchema } from '../counterparties/paypal/simulator-options.ts';
import { payerBase } from './payer.ts';
import { openHostGround, openTestHost, type TestHost } from './rail.ts';
import { randomDigits } from './random-digits.ts';

/** The simulated PayPal with a rail that is set up against it. */

const paypalPayer: Omit<PayerDeclaration, 'key'> = {
  ...payerBase,
  companyKey: 'paypal',
  payerName: 'PayPal',
  countryCode: 'USA',
  deliveryType: 'MOBILE_WALLET',
  currencies: ['USD'],
};

export const payers: readonly PayerDeclaration[] = [
  { ...paypalPayer, key: 'email' },
  { ...paypalPayer, key: 'phone', options: { recipient: 'phone' } },
];

export function describeConfig(
  { credentials, webhookId }: Pick<PaypalSimulator, 'credentials' | 'webhookId'>,
  baseUrl: string,
): z.input<typeof configSchema> {
  return {
    ...credentials,
    baseUrl,
    webhookId,
    emailSubject: 'You have a payment',
    timeoutSeconds: 10,
  };
}

export async function openPaypalCounterparty({ callbackUrl }: Place): Promise<Counterparty> {
  const paypal = await openPaypalSimulator({ webhookUrl: callbackUrl });
  return {
    payers,
    address: { host: '127.0.0.1', port: paypal.port },
    // The suite has answers that never come.
    config: (address) => ({
      ...describeConfig(paypal, `http://127.0.0.1:${address?.port}`),
      timeoutSeconds: 0.7,
    }),
    instruct: (draft, outcome) => {
      paypal.expect(draft.reference, outcome);
      return {
        ...draft,
        payerKey: 'email',
        countryCode: 'USA',
        deliveryType: 'MOBILE_WALLET',
        currency: 'USD',
        amountMinor: 12_345n,
        attributes: { PhoneNumber: '+14085551234' },
      };
    },
    payments: async ({ reference }) => paypal.listAmounts(reference),
    advance: () => paypal.advance(),
    close: () => paypal.close(),
  };
}

export type PaypalTest = {
  readonly paypal: PaypalSimulator;
  readonly host: TestHost;
  readonly rail: RailCalls;
  /** How webhooks were read, in order. */
  readonly readings: string[];
  /** Real time and the environment's, from the real one at the start. */
  readonly clock: { aheadMs: number };
  /** A rail on the same records, as after a restart. */
  again(changes?: Partial<z.input<typeof configSchema>>): Promise<RailCalls>;
  /** A rail on an empty database, as after a restore to before everything. */
  restore(): Promise<{ readonly host: TestHost; readonly rail: RailCalls }>;
  /** Some turns of PayPal, each with a pass of the rail. */
  turn(times?: number): Promise<void>;
  close(): Promise<void>;
};

export const context = { signal: new AbortController().signal };

export type PaypalTestOptions = {
  readonly options?: z.input<typeof simulatorOptionsSchema>;
  readonly config?: Partial<z.input<typeof configSchema>>;
  readonly fetch?: typeof fetch;
};

export async function openPaypalTest(given: PaypalTestOptions = {}): Promise<PaypalTest> {
  const clock = { aheadMs: 0 };
  const nowMs = (): number => Date.now() + clock.aheadMs;
  const readings: string[] = [];
  const server = createServer((request, response) => {
    const answer = async (): Promise<number> => {
      const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
      const reading = await rail.readCallback?.({
        method: request.method ?? '',
        path: (request.url ?? '').replace('/rails/paypal', ''),
        query: {},
        headers: Object.fromEntries(headers) as Record<string, string>,
        body: Buffer.from(await text(request)),
      });
      readings.push(reading?.kind ?? 'none');
      if (reading?.kind === 'accepted') await host.receive(reading.message);
      return reading?.kind === 'accepted' ? 200 : 401;
    };
    answer().then(
      (status) => response.writeHead(status).end(),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const callbackUrl = `http://127.0.0.1:${port}/rails/paypal`;
  const opening: PaypalOpening = { webhookUrl: callbackUrl, nowMs, options: given.options ?? {} };
  const paypal = await openPaypalSimulator(opening);
  const ground = await openHostGround();
  let hosts = 0;
  const openHost = (): Promise<TestHost> => {
    hosts += 1;
    const fetching = given.fetch === undefined ? {} : { fetch: given.fetch };
    const times = { nowMs, realNowMs: nowMs };
    const name = hosts === 1 ? 'paypal' : `restored_${hosts}`;
    return openTestHost({ name, payers, callbackUrl, ...times, ...fetching }, ground);
  };
  const host = await openHost();
  const open = (changes: Partial<z.input<typeof configSchema>> = {}, on = host) => {
    const config: PaypalConfig = configSchema.parse({
      ...describeConfig(paypal, paypal.baseUrl),
      ...given.config,
      ...changes,
    });
    return railModule.create(config, on);
  };
  const rail = await open();
  return {
    paypal,
    host,
    rail,
    readings,
    clock,
    again: (changes) => open(changes),
    restore: async () => {
      const empty = await openHost();
      return { host: empty, rail: await open({}, empty) };
    },
    turn: async (times = 4) => {
      for (let count = 0; count < times; count += 1) {
        await paypal.advance();
        await rail.work?.(context);
      }
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await paypal.close();
      await ground.close();
    },
  };
}

/** A payment of 100.10 USD to an e-mail address, under a reference of its own. */
export function newInstruction(changes: Partial<Instruction> = {}): Instruction {
  const email = `recipient.${randomDigits(8)}@example.com`;
  return {
    reference: newId().replaceAll('-', ''),
    payerKey: 'email',
    countryCode: 'USA',
    deliveryType: 'MOBILE_WALLET',
    currency: 'USD',
    amountMinor: 10_010n,
    attributes: { PhoneNumber: '+14085551234' },
    beneficiary: {
      firstName: 'Ana',
      middleName: '',
      lastName: 'Walker',
      businessName: '',
      address1: '',
      address2: '',
      city: '',
      stateProvince: '',
      postalCode: '',
      countryCode: 'USA',
      email,
      mobileNumber: '',
      dateOfBirth: '',
    },
    originator: { accountId: 'acct_1', name: 'Example Ltd' },
    pickupCode: '',
    committedAtMs: Date.now(),
    availableAtMs: Date.now() + 60_000,
    ...changes,
  };
}
