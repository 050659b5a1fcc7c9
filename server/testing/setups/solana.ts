import assert from 'node:assert/strict';
import type { Address } from '@solana/kit';
import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailFunds,
  RailHost,
  RecoveredPayment,
} from '../../src/rails/contract/contract.ts';
import { configSchema } from '../../src/rails/solana/config.ts';
import { addressAttribute, openPayments } from '../../src/rails/solana/payment.ts';
import { railModule } from '../../src/rails/solana/rail.ts';
import { makeKey, type Solana, startSolana } from '../counterparties/solana/solana-simulator.ts';
import { makeInstruction } from './evm.ts';
import { openTestHost, type TestHost } from './rail.ts';

/** A solana rail on its real store, and a simulated cluster with 1,000 USDC and 1 SOL. */

export type Actor = {
  readonly rail: RailCalls;
  send(instruction: Instruction): Promise<RailAnswer>;
  query(instruction: Instruction): Promise<RailAnswer>;
  cancel(instruction: Instruction): Promise<RailAnswer>;
  /** The outcome and the code of what it waits for. */
  explain(instruction: Instruction): Promise<readonly [string, string | undefined]>;
  work(): Promise<number | undefined>;
  /** Runs passes and makes blocks until the payments, or all, are final. */
  settle(turns?: number, only?: readonly Instruction[]): Promise<void>;
  check(): Promise<readonly string[]>;
  readFunds(): Promise<readonly RailFunds[]>;
  recover(): Promise<readonly RecoveredPayment[]>;
  findUnknownPayments(): Promise<string | undefined>;
};

export type TestRun = Actor & {
  readonly solana: Solana;
  readonly host: TestHost;
  readonly payer: Address;
  readonly mint: Address;
  /** Carries all requests to the cluster; a test may replace it. */
  readonly wire: { fetch: typeof fetch };
  instruct(amountMinor: bigint): Instruction;
  /** What the recipient holds, smallest units. */
  held(instruction: Instruction): Promise<bigint | undefined>;
  /** The signed bytes of a payment, the oldest first. */
  listWires(instruction: Instruction): Promise<string[]>;
  rpc(method: string, params: readonly unknown[]): Promise<unknown>;
  /** The same rail with an empty store, as after a restore. */
  openEmpty(): Promise<Actor>;
  close(): Promise<void>;
};

const context: CallContext = { signal: new AbortController().signal };
const settleTurns = 40;

export async function createTestRun({
  decimals = 6,
  ...changes
}: Readonly<Record<string, unknown>> = {}): Promise<TestRun> {
  const solana = await startSolana();
  const { secretKey, address: payer } = makeKey();
  const mint = await solana.createMint(6);
  solana.giveSol(payer, 1_000_000_000n);
  await solana.giveTokens({ owner: payer, mint }, 1_000_000_000n);
  const wire: { fetch: typeof fetch } = { fetch };
  const hosts: TestHost[] = [];
  const openHost = async (): Promise<TestHost> => {
    const host = await openTestHost({
      name: 'chain',
      nowMs: () => Date.now(),
      fetch: (...request) => wire.fetch(...request),
    });
    hosts.push(host);
    return host;
  };
  const host = await openHost();
  const config = configSchema.parse({
    rpcUrls: [solana.url],
    cluster: 'private',
    genesisHash: solana.genesisHash,
    key: { secretKey },
    tokens: [{ currency: 'USDC', mint, decimals }],
    ...changes,
  });
  const open = async (on: RailHost) => act(await railModule.create(config, on), solana);
  const book = openPayments(host, config);
  const readRecipient = ({ attributes }: Instruction) =>
    (attributes[addressAttribute] ?? '') as Address;
  return {
    ...(await open(host)),
    solana,
    host,
    payer,
    mint,
    wire,
    instruct: (amountMinor) =>
      makeInstruction({ to: makeKey().address, amountMinor, currency: 'USDC' }),
    held: (instruction) => solana.readTokens(readRecipient(instruction), mint),
    listWires: async ({ reference }) =>
      (await book.find(reference))?.value.attempts.flatMap((one) => one.wire ?? []) ?? [],
    rpc: async (method, params) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const response = await fetch(solana.url, { method: 'POST', body });
      return response.json();
    },
    openEmpty: async () => open(await openHost()),
    close: async () => {
      for (const one of hosts) await one.close();
      await solana.close();
    },
  };
}

function act(rail: RailCalls, solana: Solana): Actor {
  const { work, cancel, check, readFunds, recover, findUnknownPayments } = rail;
  assert(work && cancel && check && readFunds && recover && findUnknownPayments);
  const query = (instruction: Instruction) => rail.query(instruction, context);
  const isSettled = async (only: readonly Instruction[] | undefined): Promise<boolean> => {
    if (only === undefined) return (await work(context)) === undefined;
    await work(context);
    const answers = await Promise.all(only.map(query));
    return answers.every(({ outcome }) => outcome !== 'accepted');
  };
  return {
    rail,
    query,
    send: (instruction) => rail.send(instruction, context),
    cancel: (instruction) => cancel(instruction, context),
    explain: async (instruction) => {
      const { outcome, code } = await query(instruction);
      return [outcome, code];
    },
    work: () => work(context),
    settle: async (turns = settleTurns, only?) => {
      for (let turn = 0; turn < turns; turn += 1) {
        if (await isSettled(only)) return;
        solana.advance();
      }
      assert.fail('payments are still open');
    },
    check: () => check(context),
    readFunds: () => readFunds(context),
    recover: () => recover(0, context),
    findUnknownPayments: () => findUnknownPayments(context),
  };
}
