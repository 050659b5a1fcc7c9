import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Abi,
  type Address,
  concat,
  encodeDeployData,
  encodeFunctionData,
  type Hex,
  keccak256,
  pad,
  parseEther,
  toHex,
} from 'viem';

/**
 * A chain for a test: Foundry's anvil from npm, a compiled token, and a reader that lists all
 * payments from the blocks.
 */

export type AnvilOptions = {
  /** Seconds between blocks; absent: only `mine` makes them. */
  blockSeconds?: number;
  chainId?: number;
};

/** A payment by an account, as the chain shows it. */
export type ChainPayment = {
  /** Lower case. */
  readonly recipient: string;
  /** null: coin. Lower case. */
  readonly contract: string | null;
  readonly units: bigint;
  readonly hash: string;
};

export type Anvil = {
  readonly url: string;
  readonly chainId: number;
  rpc<Result = unknown>(method: string, params?: readonly unknown[]): Promise<Result>;
  mine(blocks: number): Promise<void>;
  /** Sets a balance, in ether. */
  giveEther(account: string, ether: string): Promise<void>;
  deployToken(decimals: number): Promise<Address>;
  giveTokens(contract: string, holder: string, units: bigint): Promise<void>;
  setTokenMode(contract: string, mode: 0 | 1 | 2 | 3 | 4): Promise<void>;
  /** From now on the token refuses transfers to this holder, waiting ones included. */
  blockHolder(contract: string, holder: string): Promise<void>;
  /** All payments of an account, in the order of the chain. */
  listPayments(payer: string): Promise<ChainPayment[]>;
  close(): Promise<void>;
};

/** Installed apart from the other packages, because it exists for one kind of machine. */
const require = createRequire(import.meta.url);

const packages = createRequire(join(import.meta.dirname, '../../../../anvil/package.json'));

function findProgram(): string {
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch;
  return packages.resolve(`@foundry-rs/anvil-${process.platform}-${cpu}/bin/anvil`);
}

export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const { blockSeconds, chainId = 31_337 } = options;
  const mining = blockSeconds === undefined ? ['--no-mining'] : ['--block-time', `${blockSeconds}`];
  const child = spawn(
    findProgram(),
    ['--host', '127.0.0.1', '--port', '0', '--chain-id', `${chainId}`, '--threads', '1', ...mining],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const kill = (): boolean => child.kill('SIGKILL');
  const stopWatching = endWithProcess(kill);
  const url = await readUrl(child);
  const rpc = createCaller(url);
  return {
    url,
    chainId,
    rpc,
    mine: async (blocks) => {
      await rpc('anvil_mine', [toHex(blocks)]);
    },
    giveEther: async (account, ether) => {
      await rpc('anvil_setBalance', [account, toHex(parseEther(ether))]);
    },
    ...createTokens(rpc),
    listPayments: createPaymentReader(rpc),
    close: async () => {
      stopWatching();
      const ended = new Promise((resolve) => child.once('exit', resolve));
      kill();
      await ended;
    },
  };
}

/** Ends the node with a test that is stopped from outside. */
function endWithProcess(kill: () => void): () => void {
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
  const die = (signal: NodeJS.Signals): void => {
    kill();
    stopWatching();
    process.kill(process.pid, signal);
  };
  const stopWatching = (): void => {
    process.off('exit', kill);
    for (const signal of signals) process.off(signal, die);
  };
  process.on('exit', kill);
  for (const signal of signals) process.on(signal, die);
  return stopWatching;
}

/** anvil chooses a free port and prints it. */
async function readUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`anvil ended: ${output}`)));
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-10_000);
      const match = /Listening on (127\.0\.0\.1:\d+)/.exec(output);
      if (match !== null) resolve(`http://${match[1]}`);
    });
  });
}

type Caller = Anvil['rpc'];

type BlockView = {
  hash: string;
  transactions: { hash: string; from: string; to: string; value: Hex }[];
};
type ReceiptView = {
  status: Hex;
  contractAddress: Address;
  logs: { address: string; topics: Hex[]; data: Hex }[];
};

function createCaller(url: string): Caller {
  return async <Result>(method: string, params: readonly unknown[] = []): Promise<Result> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const answer = (await response.json()) as { result: Result; error?: { message: string } };
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  };
}

type Compiled = { abi: Abi; bytecode: Hex };
let compiled: Promise<Compiled> | undefined;

const readToken = (): Promise<Compiled> => (compiled ??= readCompiled());

/** Loading the compiler takes longer than many a test, so that what it made is kept. */
async function readCompiled(): Promise<Compiled> {
  const source = readFileSync(new URL('test-token.sol', import.meta.url), 'utf8');
  const { version } = require('solc/package.json') as { version: string };
  const hash = createHash('sha256').update(`${version}\n${source}`).digest('hex');
  const cache = fileURLToPath(new URL('../../../../node_modules/.cache', import.meta.url));
  const file = join(cache, `test-token-${hash.slice(0, 16)}.json`);
  if (!existsSync(file)) {
    mkdirSync(cache, { recursive: true });
    // Renamed, so that another test never reads half of it.
    const unfinished = `${file}.${process.pid}`;
    writeFileSync(unfinished, JSON.stringify(await compileToken(source)));
    renameSync(unfinished, file);
  }
  return JSON.parse(readFileSync(file, 'utf8')) as Compiled;
}

async function compileToken(source: string): Promise<Compiled> {
  const { default: solc } = await import('solc');
  const input = {
    language: 'Solidity',
    sources: { 'test-token.sol': { content: source } },
    settings: { outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const contract = output.contracts?.['test-token.sol']?.TestToken;
  if (contract === undefined) throw new Error(JSON.stringify(output.errors));
  return { abi: contract.abi, bytecode: `0x${contract.evm.bytecode.object}` };
}

/** An impersonated account, so that the rail's account keeps its nonces for itself. */
const deployer = '0x00000000000000000000000000000000000d0000';

function createTokens(
  rpc: Caller,
): Pick<Anvil, 'deployToken' | 'giveTokens' | 'setTokenMode' | 'blockHolder'> {
  const send = async (transaction: { to?: string; data: Hex }) => {
    await rpc('anvil_impersonateAccount', [deployer]);
    await rpc('anvil_setBalance', [deployer, toHex(parseEther('1000'))]);
    // A high tip, so that it is mined before payments in the mempool.
    const fees = { maxFeePerGas: toHex(10n ** 12n), maxPriorityFeePerGas: toHex(10n ** 12n) };
    const gas = toHex(3_000_000);
    const hash = await rpc('eth_sendTransaction', [
      { from: deployer, gas, ...fees, ...transaction },
    ]);
    for (;;) {
      const receipt = await rpc<ReceiptView | null>('eth_getTransactionReceipt', [hash]);
      if (receipt?.status === '0x1') return receipt;
      if (receipt !== null) throw new Error('a transaction of the deployer failed');
      await rpc('anvil_mine', ['0x1']);
    }
  };
  return {
    deployToken: async (decimals) => {
      const data = encodeDeployData({ ...(await readToken()), args: [decimals] });
      return (await send({ data })).contractAddress;
    },
    giveTokens: async (contract, holder, units) => {
      const { abi } = await readToken();
      const data = encodeFunctionData({ abi, functionName: 'mint', args: [holder, units] });
      await send({ to: contract, data });
    },
    // Written into the contract's storage, so that no block is mined.
    setTokenMode: async (contract, mode) => {
      await rpc('anvil_setStorageAt', [contract, toHex(0), toHex(mode, { size: 32 })]);
    },
    blockHolder: async (contract, holder) => {
      // The slot of a mapping's entry is the hash of its key and the mapping's slot, here the fourth.
      const slot = concat([pad(holder as Hex), toHex(3, { size: 32 })]);
      await rpc('anvil_setStorageAt', [contract, keccak256(slot), toHex(1, { size: 32 })]);
    },
  };
}

const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/** Reads each block once, unless it is displaced. */
function createPaymentReader(rpc: Caller): Anvil['listPayments'] {
  const blocks: { hash: string; payments: (ChainPayment & { payer: string })[] }[] = [];
  const readBlock = async (number: number) => {
    const block = await rpc<BlockView>('eth_getBlockByNumber', [toHex(number), true]);
    const payments = [];
    for (const transaction of block.transactions) {
      const payer = transaction.from.toLowerCase();
      const made = await readPayments(rpc, transaction);
      payments.push(...made.map((payment) => ({ ...payment, payer })));
    }
    blocks.push({ hash: block.hash, payments });
  };
  const catchUp = async () => {
    const last = Number(await rpc('eth_blockNumber'));
    for (let isSame = false; !isSame; ) {
      const known = blocks.length - 1;
      const block = await rpc<BlockView | null>('eth_getBlockByNumber', [
        toHex(Math.max(known, 0)),
        false,
      ]);
      isSame = known < 0 || block?.hash === blocks[known]?.hash;
      if (!isSame) blocks.pop();
    }
    for (let number = blocks.length; number <= last; number += 1) await readBlock(number);
  };
  let turn: Promise<unknown> = Promise.resolve();
  return async (payer) => {
    // One at a time, since each continues where the last one ended.
    const mine = turn.then(catchUp);
    turn = mine.catch(() => undefined);
    await mine;
    const all = blocks.flatMap(({ payments }) => payments);
    return all.filter((payment) => payment.payer === payer.toLowerCase());
  };
}

async function readPayments(
  rpc: Caller,
  transaction: BlockView['transactions'][number],
): Promise<ChainPayment[]> {
  const { hash, value, to } = transaction;
  const receipt = await rpc<ReceiptView>('eth_getTransactionReceipt', [hash]);
  if (receipt.status !== '0x1') return [];
  if (BigInt(value) > 0n) {
    return [{ recipient: to.toLowerCase(), contract: null, units: BigInt(value), hash }];
  }
  return receipt.logs
    .filter((log) => log.topics[0] === transferTopic)
    .map((log) => ({
      recipient: `0x${(log.topics[2] ?? '').slice(26)}`.toLowerCase(),
      contract: log.address.toLowerCase(),
      units: BigInt(log.data),
      hash,
    }));
}
