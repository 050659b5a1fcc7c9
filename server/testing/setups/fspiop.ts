import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../../src/core/ids.ts';
import type { Instruction, RailCalls, RailHost } from '../../src/rails/contract/contract.ts';
import type { PayerDeclaration } from '../../src/rails/contract/declarations.ts';
import { nameTransfer, paymentSchema } from '../../src/rails/fspiop/payment.ts';
import { railModule } from '../../src/rails/fspiop/rail.ts';
import { payeeFsp, type SimulatorOptions } from '../counterparties/fspiop/hub-callbacks.ts';
import { type HubSimulator, openHubSimulator } from '../counterparties/fspiop/hub-simulator.ts';
import { type FaultProxy, openFaultProxy } from '../fault-proxy/fault-proxy.ts';
import { openAlways, payerBase } from './payer.ts';
import { openTestHost, type TestHost } from './rail.ts';

/** A rail with a host on a database, an endpoint for callbacks and a simulated hub. */

export type CallbackEndpoint = { readonly url: string; close(): Promise<void> };

/** Receives callbacks in place of the service's HTTP server. */
export async function openCallbackEndpoint(
  find: () => { rail: RailCalls; host: RailHost },
): Promise<CallbackEndpoint> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const answer = async (): Promise<number> => {
        const { rail, host } = find();
        const reading = await rail.readCallback?.({
          method: request.method ?? '',
          path: (request.url ?? '').replace('/rails/momo', ''),
          query: {},
          headers: Object.fromEntries(
            Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
          ),
          body: Buffer.concat(chunks),
        });
        if (reading?.kind !== 'accepted') return reading?.kind === 'refused' ? 401 : 400;
        await host.receive(reading.message);
        return 200;
      };
      answer().then(
        (status) => response.writeHead(status).end(),
        () => response.writeHead(500).end(),
      );
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/rails/momo`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

export const payer: PayerDeclaration = {
  ...payerBase,
  key: 'kenya',
  companyKey: 'wallets',
  payerName: 'Wallets of Kenya',
  countryCode: 'KEN',
  deliveryType: 'MOBILE_WALLET',
  currencies: ['KES'],
  availability: openAlways(1),
};

export function describeConfig(simulator: HubSimulator, hubUrl: string) {
  const { keys } = simulator;
  return {
    hubUrl,
    fspId: 'outlay',
    hubFspId: 'hub',
    privateKey: keys.payer.privatePem,
    publicKeys: { hub: keys.hub.publicPem, [payeeFsp]: keys.payee.publicPem },
    payer: { idType: 'BUSINESS', id: 'outlay' },
    callMs: 2_000,
    againMs: 200,
  };
}

let wallets = 0;

/** Generous: only what never comes waits for it. */
const untilMsMax = 60_000;

/** A new wallet for each payment; the behavior of the simulated hub selects the outcome. */
export function nameWallet(behavior: string): string {
  wallets += 1;
  return `+2547${String(wallets).padStart(4, '0')}99${behavior}`;
}

export function instruct(changes: Partial<Instruction> & { behavior?: string } = {}): Instruction {
  const { behavior = '0000', ...rest } = changes;
  return {
    reference: newId(),
    payerKey: payer.key,
    countryCode: 'KEN',
    deliveryType: 'MOBILE_WALLET',
    currency: 'KES',
    amountMinor: 150_050n,
    attributes: { PhoneNumber: nameWallet(behavior) },
    beneficiary: {
      firstName: 'Ada',
      middleName: '',
      lastName: 'Otieno',
      businessName: '',
      address1: '',
      address2: '',
      city: '',
      stateProvince: '',
      postalCode: '',
      countryCode: 'KEN',
      email: '',
      mobileNumber: '',
      dateOfBirth: '',
    },
    originator: { accountId: 'account', name: 'Some Client' },
    pickupCode: '',
    committedAtMs: Date.now(),
    availableAtMs: Date.now() + 60_000,
    ...rest,
  };
}

export type TestRun = {
  readonly host: TestHost;
  readonly simulator: HubSimulator;
  /** Between the rail and the hub. */
  readonly proxy: FaultProxy;
  rail: RailCalls;
  /** Opens the rail again on the same records, as after a crash. */
  restart(): Promise<void>;
  /** Runs passes until the condition holds. */
  until(isDone: () => boolean | Promise<boolean>): Promise<void>;
  close(): Promise<void>;
};

export const context = { signal: new AbortController().signal };

/** Quotes of a payment. A quote that is asked for again, on a busy machine too, counts once. */
export async function countQuotes({ host }: TestRun, reference: string): Promise<number> {
  const record = await host.store.get('payments', nameTransfer(reference));
  return paymentSchema.parse(record?.value).quotes;
}

export async function openTestRun(
  changes: {
    config?: Record<string, unknown>;
    simulator?: Partial<SimulatorOptions>;
    payers?: readonly PayerDeclaration[];
    nowMs?: () => number;
    /** As nowMs when absent. */
    realNowMs?: () => number;
  } = {},
): Promise<TestRun> {
  const folder = await mkdtemp(join(tmpdir(), 'fspiop-'));
  const found: { rail?: RailCalls; host?: RailHost } = {};
  const endpoint = await openCallbackEndpoint(() => {
    if (found.rail === undefined || found.host === undefined) throw new Error('not open yet');
    return { rail: found.rail, host: found.host };
  });
  const nowMs = changes.nowMs ?? Date.now;
  const realNowMs = changes.realNowMs ?? nowMs;
  const simulator = await openHubSimulator({
    folder,
    port: 0,
    callbackUrl: endpoint.url,
    nowMs: realNowMs,
    ...changes.simulator,
  });
  const payers = changes.payers ?? [payer];
  const host = await openTestHost({
    name: 'momo',
    payers,
    nowMs,
    realNowMs,
    callbackUrl: endpoint.url,
  });
  const proxy = await openFaultProxy(simulator.address);
  const open = (): Promise<RailCalls> =>
    railModule.create(
      railModule.configSchema.parse({
        ...describeConfig(simulator, `http://127.0.0.1:${proxy.address.port}`),
        ...changes.config,
      }),
      host,
    );
  const run: TestRun = {
    host,
    simulator,
    proxy,
    rail: await open(),
    restart: async () => {
      run.rail = await open();
      found.rail = run.rail;
    },
    until: async (isDone) => {
      const endMs = performance.now() + untilMsMax;
      while (performance.now() < endMs) {
        await run.rail.work?.(context);
        if (await isDone()) return;
        await sleep(20);
      }
      throw new Error(`it did not come within ${untilMsMax} ms`);
    },
    close: async () => {
      await proxy.close();
      await simulator.close();
      await endpoint.close();
      await host.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  found.rail = run.rail;
  found.host = host;
  return run;
}
