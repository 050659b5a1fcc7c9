import { randomUUID } from 'node:crypto';
import type { CallContext, Instruction } from '../../src/rails/contract/contract.ts';
import type { PayerDeclaration } from '../../src/rails/contract/declarations.ts';
import { railModule } from '../../src/rails/wise/rail.ts';
import {
  openWise,
  type WiseOptions,
  type WiseSimulator,
} from '../counterparties/wise/wise-simulator.ts';
import { openAlways, payerBase } from './payer.ts';
import { type HostGround, openTestHost, type TestHost, type TestHostOptions } from './rail.ts';

/** The simulated Wise, and a rail that is set up against it. */

export const context: CallContext = { signal: new AbortController().signal };

export const wisePayer: PayerDeclaration = {
  ...payerBase,
  key: 'wise-gb',
  companyKey: 'wise',
  payerName: 'Wise',
  countryCode: 'GBR',
  deliveryType: 'BANK_DEPOSIT',
  currencies: ['GBP'],
  availability: openAlways(60),
  numberOfLocations: 1,
};

export const usPayer: PayerDeclaration = {
  ...wisePayer,
  key: 'wise-us',
  countryCode: 'USA',
  currencies: ['USD'],
};

export const germanPayer: PayerDeclaration = {
  ...wisePayer,
  key: 'wise-de',
  countryCode: 'DEU',
  currencies: ['EUR'],
};

/** Its form depends on the bank and on the kind of recipient. */
export const philippinePayer: PayerDeclaration = {
  ...wisePayer,
  key: 'wise-ph',
  countryCode: 'PHL',
  currencies: ['PHP'],
  options: { recipientType: 'philippines' },
};

export function configureWise(wise: WiseSimulator, changes: object = {}) {
  return railModule.configSchema.parse({
    baseUrl: wise.url,
    credentials: { token: wise.token },
    profileId: wise.profileId,
    sourceCurrency: 'EUR',
    webhookKeys: [wise.webhookKey],
    fundingSeconds: 0,
    ...changes,
  });
}

export type WiseRail = {
  readonly wise: WiseSimulator;
  readonly host: TestHost;
  readonly rail: Awaited<ReturnType<typeof railModule.create>>;
  /** Another instance on the same store, or on the same Wise. */
  again(
    changes?: object,
    payer?: Partial<PayerDeclaration>,
    parts?: Partial<Pick<TestHost, 'fetch' | 'nowMs' | 'realNowMs'>>,
  ): Promise<WiseRail['rail']>;
  close(): Promise<void>;
};

let opened = 0;

/**
 * The clock of a time-out would be a race on a busy machine: where the simulator is silent, the request
 * ends at once, as it would after `timeoutSeconds`.
 */
function createImpatience(): { fetch: typeof fetch; onSilence: (request: string) => void } {
  const waiting = new Map<string, AbortController>();
  return {
    fetch: async (address, options) => {
      const { pathname, search } = new URL(address instanceof Request ? address.url : address);
      const request = `${options?.method ?? 'GET'} ${pathname}${search}`;
      const controller = new AbortController();
      waiting.set(request, controller);
      const given = options?.signal ?? undefined;
      const signals = [controller.signal, ...(given === undefined ? [] : [given])];
      try {
        return await fetch(address, { ...options, signal: AbortSignal.any(signals) });
      } finally {
        if (waiting.get(request) === controller) waiting.delete(request);
      }
    },
    onSilence: (request) => {
      waiting.get(request)?.abort(new DOMException('no answer in time', 'TimeoutError'));
    },
  };
}

/** Each with a store of its own on the ground. */
export async function openWiseRail(
  ground: HostGround,
  options: { readonly wise?: WiseOptions; readonly host?: Partial<TestHostOptions> } = {},
): Promise<WiseRail> {
  const { onSilence, fetch } = createImpatience();
  const wise = await openWise({ onSilence, ...options.wise });
  opened += 1;
  const named = {
    name: `wise_${opened}`,
    payers: [wisePayer, usPayer, germanPayer],
    fetch,
    ...options.host,
  };
  const host = await openTestHost(named, ground);
  const again: WiseRail['again'] = (changes = {}, payer = {}, parts = {}) => {
    const payers = host.payers.map((one) => ({ ...one, ...payer }));
    return railModule.create(configureWise(wise, changes), { ...host, payers, ...parts });
  };
  const rail = await again();
  return {
    wise,
    host,
    rail,
    again,
    close: async () => {
      await wise.close();
      await host.close();
    },
  };
}

export function newInstruction(changes: Partial<Instruction> = {}): Instruction {
  return {
    reference: randomUUID(),
    payerKey: wisePayer.key,
    countryCode: 'GBR',
    deliveryType: 'BANK_DEPOSIT',
    currency: 'GBP',
    amountMinor: 10_010n,
    attributes: { BankRoutingNumber: '23-14-70', BankAccountNumber: '28821822' },
    beneficiary: {
      firstName: 'Ada',
      middleName: '',
      lastName: 'Byron',
      businessName: '',
      address1: '12 St James Square',
      address2: '',
      city: 'London',
      stateProvince: '',
      postalCode: 'SW1Y 4JH',
      countryCode: 'GBR',
      email: '',
      mobileNumber: '',
      dateOfBirth: '',
    },
    originator: { accountId: 'account', name: 'Trader' },
    pickupCode: '',
    committedAtMs: Date.now(),
    availableAtMs: Date.now() + 3_600_000,
    ...changes,
  };
}

/** Within the currency of the balance. */
export function toGermany(lastName = 'Byron'): Instruction {
  const base = newInstruction();
  return {
    ...base,
    payerKey: germanPayer.key,
    countryCode: 'DEU',
    currency: 'EUR',
    attributes: { BankAccountNumber: 'DE89370400440532013000' },
    beneficiary: { ...base.beneficiary, lastName },
  };
}

export function toPhilippines(
  attributes: Instruction['attributes'],
  beneficiary: Partial<Instruction['beneficiary']> = {},
): Instruction {
  const base = newInstruction();
  return {
    ...base,
    payerKey: philippinePayer.key,
    countryCode: 'PHL',
    currency: 'PHP',
    attributes,
    beneficiary: { ...base.beneficiary, ...beneficiary },
  };
}

export function toAmerica(changes: Partial<Instruction> = {}): Instruction {
  const base = newInstruction();
  return {
    ...base,
    payerKey: usPayer.key,
    countryCode: 'USA',
    currency: 'USD',
    attributes: {
      BankRoutingNumber: '021000021',
      BankAccountNumber: '000123456789',
      BankAccountType: 'CHECKING',
    },
    beneficiary: { ...base.beneficiary, countryCode: 'USA', stateProvince: 'NY', city: 'New York' },
    ...changes,
  };
}
