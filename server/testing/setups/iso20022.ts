import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { composeIBAN } from 'ibantools';
import { newId } from '../../src/core/ids.ts';
import type { Beneficiary, Instruction, RailCalls } from '../../src/rails/contract/contract.ts';
import type { PayerDeclaration } from '../../src/rails/contract/declarations.ts';
import { type Config, configSchema } from '../../src/rails/iso20022/config.ts';
import { railModule } from '../../src/rails/iso20022/rail.ts';
import {
  type BankSimulator,
  openBankSimulator,
} from '../counterparties/iso20022/bank-simulator.ts';
import { openAlways, payerBase } from './payer.ts';
import { openTestHost, type TestHost } from './rail.ts';
import { randomDigits } from './random-digits.ts';

/** A rail of bank files, its folder, and the simulated bank. */

export const debtorIban = 'DE89370400440532013000';

export const testPayers: readonly PayerDeclaration[] = [
  declarePayer('eu', { currencies: ['EUR'] }),
  declarePayer('instant', {
    currencies: ['EUR'],
    options: { service: 'instant' },
    availability: openAlways(0),
  }),
  declarePayer('world', { currencies: ['USD', 'EUR', 'JPY'] }),
];

function declarePayer(
  key: string,
  some: Pick<PayerDeclaration, 'currencies'> & Partial<PayerDeclaration>,
): PayerDeclaration {
  return {
    ...payerBase,
    key,
    companyKey: 'bank',
    payerName: 'A bank',
    countryCode: 'DEU',
    deliveryType: 'BANK_DEPOSIT',
    availability: openAlways(60),
    ...some,
  };
}

export const schemePayers: readonly PayerDeclaration[] = [
  declarePayer('us', { countryCode: 'USA', currencies: ['USD'], availability: openAlways(0) }),
];

/** Of a bank that is a member of FedNow or RTP. */
export function describeScheme(profile: 'fednow' | 'rtp'): Record<string, unknown> {
  return {
    version: 'pacs.008.001.09',
    scheme: { profile, routingNumber: '021000021' },
    debtors: [
      {
        key: 'us',
        name: 'Outlay Tests Inc.',
        country: 'US',
        town: 'Boston',
        account: '987654321',
        currencies: ['USD'],
      },
    ],
  };
}

export function makeSchemeInstruction(some: Partial<Instruction> = {}): Instruction {
  return makeInstruction({
    payerKey: 'us',
    countryCode: 'USA',
    currency: 'USD',
    attributes: { BankAccountNumber: randomDigits(12), BankRoutingNumber: '011401533' },
    ...some,
  });
}

export function makeConfig(folder: string, some: Record<string, unknown> = {}): Config {
  return configSchema.parse({
    version: 'pain.001.001.10',
    messagePrefix: 'T1',
    initiatingParty: { name: 'Outlay Tests GmbH', id: '' },
    debtors: [
      {
        key: 'main',
        name: 'Outlay Tests GmbH',
        country: 'DE',
        town: 'Köln',
        iban: debtorIban,
        bic: 'COBADEFFXXX',
        accountCurrency: 'EUR',
        currencies: ['EUR', 'USD', 'JPY'],
      },
    ],
    schedule: { everySeconds: 0 },
    pollSeconds: 1,
    exchange: { mode: 'directory', folder },
    ...some,
  });
}

/** A new German account. */
export function makeIban(): string {
  const iban = composeIBAN({ countryCode: 'DE', bban: `37040044${randomDigits(10)}` });
  if (iban === null) throw new Error('no IBAN could be composed');
  return iban;
}

export const beneficiary: Beneficiary = {
  firstName: 'Zoë',
  middleName: '',
  lastName: 'Müller-Łukasz',
  businessName: '',
  address1: 'Rua do Açúcar 17',
  address2: '',
  city: 'São Paulo',
  stateProvince: 'SP',
  postalCode: '01310-100',
  countryCode: 'BRA',
  email: 'zoe@example.org',
  mobileNumber: '5511999990000',
  dateOfBirth: '1990-01-02',
};

export function makeInstruction(some: Partial<Instruction> = {}): Instruction {
  return {
    reference: newId().replaceAll('-', ''),
    payerKey: 'eu',
    countryCode: 'DEU',
    deliveryType: 'BANK_DEPOSIT',
    currency: 'EUR',
    amountMinor: 12_345n,
    attributes: { BankAccountNumber: makeIban() },
    beneficiary,
    originator: { accountId: newId(), name: 'Client & Söhne' },
    pickupCode: '12345678',
    committedAtMs: 0,
    availableAtMs: 0,
    ...some,
  };
}

export type TestRail = {
  readonly folder: string;
  readonly host: TestHost;
  readonly config: Config;
  readonly rail: RailCalls;
  readonly bank: BankSimulator;
  /** The clock of the rail and of the bank. */
  readonly clock: { nowMs: number };
  /** Runs a pass; returns when the next one is due. */
  work(): Promise<number | undefined>;
  close(): Promise<void>;
};

export const noSignal = new AbortController().signal;

export async function openTestRail(
  some: Record<string, unknown> = {},
  payers: readonly PayerDeclaration[] = testPayers,
): Promise<TestRail> {
  const folder = await mkdtemp(join(tmpdir(), 'outlay-iso20022-'));
  const clock = { nowMs: Date.parse('2026-03-04T09:00:00Z') };
  const host = await openTestHost({
    name: 'bank_test',
    payers,
    nowMs: () => clock.nowMs,
  });
  const config = makeConfig(folder, some);
  const rail = await railModule.create(config, host);
  const bank = await openBankSimulator({ folder });
  return {
    folder,
    host,
    config,
    rail,
    bank,
    clock,
    work: async () => rail.work?.({ signal: noSignal }),
    close: async () => {
      await rail.close?.();
      await host.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
