import assert from 'node:assert/strict';
import type { Address, Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { column, defineQuery, exec, one } from '../../src/db/rows.ts';
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

/** An evm rail with its own chain, for tests. */

export type TestRun = {
  readonly anvil: Anvil;
  readonly host: TestHost;
  readonly rail: RailCalls;
  readonly payer: Address;
  readonly privateKey: Hex;
  readonly token: Address;
  /** How far the environment's clock is ahead. */
  readonly clock: { aheadMs: number };
  /** Carries all requests to nodes; a test may replace it. */
  readonly wire: { fetch: typeof fetch };
  /** The same rail on the same records, as in another process. */
  openAgain(changes?: Readonly<Record<string, unknown>>, on?: RailHost): Promise<RailCalls>;
  close(): Promise<void>;
};

export const confirmations = 3;
export const finalBlocks = 5;
/** 1000 USDC. */
export const tokenSupply = 1_000_000_000n;

export async function openTestRun(
  changes: Readonly<Record<string, unknown>> = {},
): Promise<TestRun> {
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
    // Fees in tests are far higher than the amounts.
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

export const context: CallContext = { signal: new AbortController().signal };

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
  const none = '';
  return {
    reference: order.reference ?? `payout${String(orders).padStart(6, '0')}`,
    payerKey: 'wallet',
    countryCode: 'DEU',
    deliveryType: 'CRYPTOCURRENCY',
    currency: order.currency ?? 'ETH',
    amountMinor: order.amountMinor,
    attributes: { BankAccountNumber: order.to },
    beneficiary: {
      firstName: none,
      middleName: none,
      lastName: none,
      businessName: none,
      address1: none,
      address2: none,
      city: none,
      stateProvince: none,
      postalCode: none,
      countryCode: 'DEU',
      email: none,
      mobileNumber: none,
      dateOfBirth: none,
    },
    originator: { accountId: 'account', name: 'Example Ltd' },
    pickupCode: '',
    committedAtMs: Date.now() - 1000,
    availableAtMs: Date.now(),
  };
}

export async function work({ rail }: Pick<TestRun, 'rail'>): Promise<number | undefined> {
  assert(rail.work !== undefined);
  return rail.work(context);
}

export async function send(run: TestRun, instruction: Instruction): Promise<RailAnswer> {
  return run.rail.send(instruction, context);
}

export async function query(run: TestRun, instruction: Instruction): Promise<RailAnswer> {
  return run.rail.query(instruction, context);
}

/** Runs passes and mines blocks until no payment is open. */
export async function settle(run: TestRun, turns = 60): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    if ((await work(run)) === undefined) return;
    await run.anvil.mine(1);
  }
  assert.fail(`payments are still open: ${JSON.stringify(run.host.lines.slice(-3))}`);
}

/**
 * The errors logged since then. Linking unknown transactions to payments would otherwise hide that
 * transactions were not recorded.
 */
export function listErrors({ host }: TestRun, after: number): string[] {
  const lines = host.lines.slice(after);
  return lines.filter(({ level }) => level === 'error').map(({ message }) => message);
}

/** A node that refuses some requests. */
export function refuseRequests(isRefused: (body: string) => boolean): typeof fetch {
  return (...request) => {
    const body = request[1]?.body;
    if (typeof body !== 'string' || !isRefused(body)) return fetch(...request);
    const { id } = JSON.parse(body) as { id: number };
    const error = { code: -32_000, message: 'not available' };
    return Promise.resolve(new Response(JSON.stringify({ jsonrpc: '2.0', id, error })));
  };
}

const recordsQuery = defineQuery({
  name: 'save_rail_records',
  text: `select coalesce(jsonb_agg(to_jsonb(r)), '[]')::text as records from rail_records r`,
  columns: { records: column.text },
});

/** The rail's records as JSON, as a backup of the database has them. */
export async function saveRecords({ host }: TestRun): Promise<string> {
  return (await one(host.db.system, recordsQuery)).records;
}

export async function restoreRecords({ host }: TestRun, records: string): Promise<void> {
  await exec(host.db.system, { name: '', text: 'delete from rail_records' });
  const text = `
    insert into rail_records
    select * from jsonb_populate_recordset(null::rail_records, $1::jsonb)`;
  await exec(host.db.system, { name: '', text }, [records]);
}

/** Two operators have released the recovery. */
export async function release({ rail }: TestRun): Promise<void> {
  assert(rail.recover !== undefined && rail.confirmRecovery !== undefined);
  await rail.recover(Date.now() - 3_600_000, context);
  await rail.confirmRecovery(context);
}

/** Gwei, the minor unit of ETH, in wei. */
export const gwei = 10n ** 9n;

/** All payments on the chain, as comparable text. */
export async function listPaid({ anvil, payer }: TestRun): Promise<string[]> {
  const payments = await anvil.listPayments(payer);
  return payments.map(({ recipient, units }) => `${recipient} ${units}`).toSorted();
}

export async function listUnits({ anvil, payer }: TestRun, to: string): Promise<bigint[]> {
  const payments = await anvil.listPayments(payer);
  return payments
    .filter(({ recipient }) => recipient === to.toLowerCase())
    .map(({ units }) => units);
}

export async function countSent({ anvil, payer }: TestRun): Promise<number> {
  return Number(await anvil.rpc<Hex>('eth_getTransactionCount', [payer, 'latest']));
}
