import assert from 'node:assert/strict';
import type { Address, Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
} from '../../src/rails/contract/contract.ts';
import { railModule } from '../../src/rails/evm/rail.ts';
import { type Anvil, startAnvil } from '../counterparties/evm/anvil.ts';
import { openTestHost, type TestHost } from './rail.ts';

/** An evm rail on a chain of its own, for the tests of this folder. */

export type Scene = {
  readonly anvil: Anvil;
  readonly host: TestHost;
  readonly rail: RailCalls;
  readonly payer: Address;
  readonly privateKey: Hex;
  readonly token: Address;
  /** The environment's time: real time and what was added to it. */
  readonly clock: { aheadMs: number };
  /** Requests to nodes go through here; a test may put something else in its place. */
  readonly wire: { fetch: typeof fetch };
  /** The same rail on the same memory, as another process would run it. */
  openAgain(changes?: Readonly<Record<string, unknown>>, on?: RailHost): Promise<RailCalls>;
  close(): Promise<void>;
};

export const confirmations = 3;
export const finalBlocks = 5;
/** 1000 USDC. */
export const tokenSupply = 1_000_000_000n;

export async function openScene(changes: Readonly<Record<string, unknown>> = {}): Promise<Scene> {
  const anvil = await startAnvil();
  const privateKey = generatePrivateKey();
  const payer = privateKeyToAccount(privateKey).address;
  const token = await anvil.deployToken(6);
  await anvil.giveEther(payer, '100');
  await anvil.giveTokens(token, payer, tokenSupply);
  const clock = { aheadMs: 0 };
  const wire = { fetch };
  const host = await openTestHost({
    name: 'chain',
    nowMs: () => Date.now() + clock.aheadMs,
    fetch: (...request) => wire.fetch(...request),
  });
  const config = {
    rpcUrls: [anvil.url],
    chainId: anvil.chainId,
    key: { privateKey },
    tokens: [{ currency: 'USDC', address: token, decimals: 6 }],
    defaultBlocks: confirmations,
    finalBlocks,
    ...changes,
  };
  const open = (more: Readonly<Record<string, unknown>>, on: RailHost): Promise<RailCalls> => {
    // Amounts of tests are far smaller than their fees.
    const fees = {
      shareMaxBasisPoints: null,
      ...((more['fees'] ?? changes['fees']) as object | undefined),
    };
    return railModule.create(railModule.configSchema.parse({ ...config, ...more, fees }), on);
  };
  return {
    anvil,
    host,
    rail: await open({}, host),
    payer,
    privateKey,
    token,
    clock,
    wire,
    openAgain: (more = {}, on = host) => open(more, on),
    close: async () => {
      await host.close();
      await anvil.close();
    },
  };
}

export const calm: CallContext = { signal: new AbortController().signal };

export function makeAddress(): Address {
  return privateKeyToAccount(generatePrivateKey()).address;
}

let orders = 0;

export function makeInstruction(order: {
  to: string;
  amountMinor: bigint;
  currency?: string;
  reference?: string;
}): Instruction {
  orders += 1;
  const nobody = '';
  return {
    reference: order.reference ?? `payout${String(orders).padStart(6, '0')}`,
    payerKey: 'wallet',
    countryCode: 'DEU',
    deliveryType: 'CRYPTOCURRENCY',
    currency: order.currency ?? 'ETH',
    amountMinor: order.amountMinor,
    attributes: { BankAccountNumber: order.to },
    beneficiary: {
      firstName: nobody,
      middleName: nobody,
      lastName: nobody,
      businessName: nobody,
      address1: nobody,
      address2: nobody,
      city: nobody,
      stateProvince: nobody,
      postalCode: nobody,
      countryCode: 'DEU',
      email: nobody,
      mobileNumber: nobody,
      dateOfBirth: nobody,
    },
    originator: { accountId: 'account', name: 'Example Ltd' },
    pickupCode: '',
    committedAtMs: Date.now() - 1000,
    availableAtMs: Date.now(),
  };
}

export async function work({ rail }: Pick<Scene, 'rail'>): Promise<number | undefined> {
  assert(rail.work !== undefined);
  return rail.work(calm);
}

export async function send(scene: Scene, instruction: Instruction): Promise<RailAnswer> {
  return scene.rail.send(instruction, calm);
}

export async function query(scene: Scene, instruction: Instruction): Promise<RailAnswer> {
  return scene.rail.query(instruction, calm);
}

/** Passes and blocks in turn, until the rail has nothing to look after any more. */
export async function settle(scene: Scene, turns = 60): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    if ((await work(scene)) === undefined) return;
    await scene.anvil.mine(1);
  }
  assert.fail(`the rail does not come to rest: ${JSON.stringify(scene.host.lines.slice(-3))}`);
}

/**
 * What the rail holds for wrong since then. Its second line of defence (taking a transaction for its
 * own that it does not remember) would otherwise hide that the first one fails.
 */
export function listErrors({ host }: Scene, after: number): string[] {
  const lines = host.lines.slice(after);
  return lines.filter(({ level }) => level === 'error').map(({ message }) => message);
}

/** A node that refuses some requests as it would what it does not know. */
export function refuseRequests(isRefused: (body: string) => boolean): typeof fetch {
  return (...request) => {
    const body = request[1]?.body;
    if (typeof body !== 'string' || !isRefused(body)) return fetch(...request);
    const { id } = JSON.parse(body) as { id: number };
    const error = { code: -32_000, message: 'not available' };
    return Promise.resolve(new Response(JSON.stringify({ jsonrpc: '2.0', id, error })));
  };
}

export type Records = readonly Record<string, unknown>[];

/** What the rail remembers, as a backup of the database has it. */
export async function saveRecords({ host }: Scene): Promise<Records> {
  return host.db.system.rows<Record<string, unknown>>({
    name: '',
    text: 'select * from rail_records',
  });
}

export async function restoreRecords({ host }: Scene, rows: Records): Promise<void> {
  await host.db.system.rows({ name: '', text: 'delete from rail_records' });
  for (const row of rows) {
    const names = Object.keys(row);
    const values = names.map((_, index) => `$${index + 1}`);
    const text = `insert into rail_records (${names.join(', ')}) values (${values.join(', ')})`;
    await host.db.system.rows({ name: '', text }, Object.values(row));
  }
}

/** Two operators have looked at what was recovered. */
export async function release({ rail }: Scene): Promise<void> {
  assert(rail.recover !== undefined && rail.confirmRecovery !== undefined);
  await rail.recover(Date.now() - 3_600_000, calm);
  await rail.confirmRecovery(calm);
}

/** Gwei, the minor unit of ETH, in wei. */
export const gwei = 10n ** 9n;

/** What the chain says was paid, as text that can be compared. */
export async function listPaid({ anvil, payer }: Scene): Promise<string[]> {
  const payments = await anvil.listPayments(payer);
  return payments.map(({ recipient, units }) => `${recipient} ${units}`).toSorted();
}

export async function listUnits({ anvil, payer }: Scene, to: string): Promise<bigint[]> {
  const payments = await anvil.listPayments(payer);
  return payments.filter(({ recipient }) => recipient === to.toLowerCase()).map((one) => one.units);
}

export async function countSent({ anvil, payer }: Scene): Promise<number> {
  return Number(await anvil.rpc<Hex>('eth_getTransactionCount', [payer, 'latest']));
}
