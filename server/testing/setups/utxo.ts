import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
} from '../../src/rails/contract/contract.ts';
import { formatScript, readMainAddress } from '../../src/rails/utxo/addresses.ts';
import { configSchema } from '../../src/rails/utxo/config.ts';
import { createOwnKeys } from '../../src/rails/utxo/keys.ts';
import { getNetwork } from '../../src/rails/utxo/networks.ts';
import { railModule } from '../../src/rails/utxo/rail.ts';
import type { TestNode } from '../counterparties/utxo/litecoind.ts';
import { openTestHost, type TestHost } from './rail.ts';

/** A utxo rail on a test node, with a clock that tests move. */

export type Mode = 'own' | 'node';

export const litecoinRegtest = getNetwork('litecoin', 'regtest');

export type Account = {
  /** `config.keys`. */
  readonly keys: Record<string, unknown>;
  readonly wallet: string;
  /** The address for coins of the rail. */
  readonly deposit: string;
};

/** New keys of the rail, or a new wallet in the node. */
export async function openAccount(node: TestNode, mode: Mode): Promise<Account> {
  const wallet = `rail-${randomBytes(6).toString('hex')}`;
  if (mode === 'node') {
    await node.call('createwallet', [wallet]);
    const deposit = await node.call('getnewaddress', ['', 'bech32'], wallet);
    return { keys: { mode, wallet }, wallet, deposit };
  }
  const secret = randomBytes(32).toString('hex');
  const addressCount = 2;
  const own = createOwnKeys(litecoinRegtest, {
    secret,
    kind: 'wpkh',
    path: undefined,
    addressCount,
  });
  const deposit = formatScript(litecoinRegtest, own.getDepositScript(0)) ?? '';
  return { keys: { mode, wallet, secret, addressCount }, wallet, deposit };
}

/** The regtest address of a main network address with `mainAddresses`. */
export function findRegtestAddress(mainAddress: string): string | undefined {
  return readMainAddress(litecoinRegtest, mainAddress)?.address;
}

/** Few confirmations and no batching; `more` replaces parts. */
export function describeConfig(
  node: Pick<TestNode, 'address' | 'credentials'>,
  account: Account,
  more: Record<string, unknown> = {},
): unknown {
  const { host, port } = node.address;
  return {
    network: 'litecoin',
    chain: 'regtest',
    rpc: { url: `http://${host}:${port}`, credentials: node.credentials },
    keys: account.keys,
    batch: { waitSeconds: 0 },
    fees: { rateMin: '1', rateFallback: '10', targetBlocks: 6, replaceAfterBlocks: 3 },
    coins: { confirmationsMin: 1 },
    confirmations: [
      { upTo: '1', count: 2 },
      { upTo: null, count: 4 },
    ],
    conflictConfirmations: 5,
    finalConfirmations: 20,
    ...more,
  };
}

export type TestRail = {
  readonly calls: RailCalls;
  readonly host: TestHost;
  /** Moves the rail's clock ahead of real time. */
  advanceMs(ms: number): void;
  send(instruction: Instruction): Promise<RailAnswer>;
  query(instruction: Instruction): Promise<RailAnswer>;
  cancel(instruction: Instruction): Promise<RailAnswer>;
  pass(): Promise<number | undefined>;
  /** The same rail on the same records, as in another process. */
  again(replaced?: Partial<RailHost>): Promise<TestRail>;
  close(): Promise<void>;
};

const context: CallContext = { signal: new AbortController().signal };

export async function openTestRail(
  config: unknown,
  options: { readonly fetch?: typeof fetch } = {},
): Promise<TestRail> {
  let aheadMs = 0;
  const nowMs = (): number => Date.now() + aheadMs;
  const host = await openTestHost({ name: 'coins', nowMs, ...options });
  const open = async (own: TestHost): Promise<TestRail> => {
    const calls = await railModule.create(configSchema.parse(config), own);
    const { cancel, work } = calls;
    if (cancel === undefined || work === undefined)
      throw new Error('the rail must have cancel and work');
    return {
      calls,
      host: own,
      advanceMs: (ms) => {
        aheadMs += ms;
      },
      send: (instruction) => calls.send(instruction, context),
      query: (instruction) => calls.query(instruction, context),
      cancel: (instruction) => cancel(instruction, context),
      pass: () => work(context),
      again: (replaced = {}) => open({ ...own.again(), ...replaced }),
      close: () => host.close(),
    };
  };
  return open(host);
}

/** A payment to an address with a new reference. */
export function instruct(address: string, amountMinor: bigint): Instruction {
  const empty = '';
  return {
    reference: randomBytes(16).toString('hex'),
    payerKey: 'ltc',
    countryCode: 'USA',
    deliveryType: 'CRYPTOCURRENCY',
    currency: 'LTC',
    amountMinor,
    attributes: { BankAccountNumber: address },
    beneficiary: {
      firstName: 'Ada',
      middleName: empty,
      lastName: 'Example',
      businessName: empty,
      address1: empty,
      address2: empty,
      city: empty,
      stateProvince: empty,
      postalCode: empty,
      countryCode: 'USA',
      email: empty,
      mobileNumber: empty,
      dateOfBirth: empty,
    },
    originator: { accountId: 'test', name: 'Test' },
    pickupCode: empty,
    committedAtMs: 0,
    availableAtMs: 0,
  };
}

export type TestBench = {
  /** A rail with one coin for each amount (decimal text). */
  open(
    mode: Mode,
    coins: readonly string[],
    more?: Record<string, unknown>,
  ): Promise<{ rail: TestRail; account: Account; deposit: string; wallet: string }>;
  payTo(amountMinor: bigint): Promise<{ address: string; instruction: Instruction }>;
  listAmounts(address: string): Promise<bigint[]>;
};

export function createBench(node: TestNode): TestBench {
  return {
    open: async (mode, coins, more = {}) => {
      const account = await openAccount(node, mode);
      const rail = await openTestRail(describeConfig(node, account, more));
      // The first pass creates the wallet, which must exist before the coins.
      await rail.pass();
      await node.fund(account.deposit, coins);
      await node.mine(1);
      return { rail, account, deposit: account.deposit, wallet: account.wallet };
    },
    payTo: async (amountMinor) => {
      const address = await node.newAddress();
      return { address, instruction: instruct(address, amountMinor) };
    },
    listAmounts: async (address) =>
      (await node.listPaid(address)).map(({ amountMinor }) => amountMinor),
  };
}

export async function expectOutcome(
  rail: TestRail,
  instruction: Instruction,
  outcome: RailAnswer['outcome'],
): Promise<RailAnswer> {
  const answer = await rail.query(instruction);
  assert.equal(answer.outcome, outcome, JSON.stringify([answer.outcome, rail.host.lines]));
  return answer;
}
