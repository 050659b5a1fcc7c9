import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../../setups/free-port.ts';

/**
 * A chain for tests: Litecoin Core in regtest on 127.0.0.1, without peers, in a temporary folder.
 * `LITECOIND` names the program; without it, it is found on the PATH.
 */

export type PaidOutput = {
  readonly txid: string;
  readonly amountMinor: bigint;
  /** 0: in the mempool. */
  readonly depth: number;
};

export type TestNode = {
  readonly address: { readonly host: string; readonly port: number };
  /** `user:password`. */
  readonly credentials: string;
  readonly folder: string;
  /** @throws Error with the code and message of a refusal. Amounts come as JSON numbers. */
  call<T = string>(method: string, params?: readonly unknown[], wallet?: string): Promise<T>;
  /** Sends one output for each amount (decimal text) to an address; not mined. */
  fund(address: string, amounts: readonly string[]): Promise<string>;
  /**
   * Sends again what the miner has sent and a reorganization has removed, as wallets do. The node
   * drops it if the reward that it spends is immature at the lower height.
   */
  resendFunds(): Promise<void>;
  /** Mines blocks with all transactions of the mempool. */
  mine(count: number): Promise<void>;
  /** Mines blocks without transactions. */
  mineEmpty(count: number): Promise<void>;
  /** A new address of the miner. */
  newAddress(kind?: 'bech32' | 'legacy' | 'p2sh-segwit'): Promise<string>;
  /** All outputs to an address, in the chain and the mempool. */
  listPaid(address: string): Promise<PaidOutput[]>;
  /** Before a kill the chain is flushed to disk, since a node without peers cannot fetch it again. */
  stop(how: 'kill' | 'stop'): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes its folder. */
  close(): Promise<void>;
};

const startMsMax = 120_000;

/** Killed when the tests end early. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

const minerWallet = 'miner';

type Funding = { txid: string; confirmations: number; category: string; time: number };

export async function startLitecoind(options: { isReplacing?: boolean } = {}): Promise<TestNode> {
  const folder = await mkdtemp(join(tmpdir(), 'outlay-litecoind-'));
  const port = await findFreePort();
  const credentials = `outlay:${randomBytes(16).toString('hex')}`;
  const call = createCall(`http://127.0.0.1:${port}`, credentials);
  const listPaid = createPaymentReader(call);
  let child: ChildProcess | undefined;
  const halt = async (signal: NodeJS.Signals): Promise<void> => {
    const current = child;
    child = undefined;
    if (current === undefined) return;
    const ended = new Promise<void>((resolve) => current.once('exit', () => resolve()));
    current.kill(signal);
    await ended;
  };
  const stop: TestNode['stop'] = async (how) => {
    if (how === 'kill') await call('gettxoutsetinfo');
    await halt(how === 'kill' ? 'SIGKILL' : 'SIGTERM');
  };
  const start = async (): Promise<void> => {
    child = await launch({ folder, port, credentials, isReplacing: options.isReplacing ?? true });
    const wallets = await call<string[]>('listwallets');
    const known = await call<{ wallets: { name: string }[] }>('listwalletdir');
    const isKnown = known.wallets.some(({ name }) => name === minerWallet);
    if (wallets.includes(minerWallet)) return;
    await call(isKnown ? 'loadwallet' : 'createwallet', [minerWallet]);
  };
  const newAddress: TestNode['newAddress'] = (kind = 'bech32') =>
    call('getnewaddress', ['', kind], minerWallet);
  const node: TestNode = {
    address: { host: '127.0.0.1', port },
    credentials,
    folder,
    call,
    newAddress,
    fund: async (address, amounts) => {
      // One transaction each, since an address may occur only once in one.
      let txid = '';
      for (const amount of amounts)
        txid = await call('sendtoaddress', [address, amount], minerWallet);
      return txid;
    },
    resendFunds: async () => {
      const { transactions } = await call<{ transactions: Funding[] }>(
        'listsinceblock',
        [],
        minerWallet,
      );
      const removed = transactions.filter(
        ({ confirmations, category }) => confirmations === 0 && category === 'send',
      );
      for (const { txid } of removed.toSorted((left, right) => left.time - right.time)) {
        const { hex } = await call<{ hex: string }>('gettransaction', [txid], minerWallet);
        await call('sendrawtransaction', [hex]);
      }
    },
    mine: async (count) => {
      await call('generatetoaddress', [count, await newAddress()]);
    },
    mineEmpty: async (count) => {
      const address = await newAddress();
      for (let index = 0; index < count; index += 1) await call('generateblock', [address, []]);
    },
    listPaid,
    stop,
    start,
    close: async () => {
      await halt('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await start();
    // The first reward is spendable after a hundred blocks.
    await node.mine(120);
  } catch (error) {
    await node.close();
    throw error;
  }
  return node;
}

type LaunchOptions = {
  folder: string;
  port: number;
  credentials: string;
  /** Litecoin's nodes do not replace transactions by default. */
  isReplacing: boolean;
};

async function launch(options: LaunchOptions): Promise<ChildProcess> {
  const { folder, port, credentials, isReplacing } = options;
  const [user, password] = credentials.split(':');
  const program = process.env['LITECOIND'] ?? 'litecoind';
  const child = spawn(
    program,
    [
      `-datadir=${folder}`,
      '-regtest',
      '-listen=0',
      '-dnsseed=0',
      '-connect=0',
      '-server=1',
      '-rpcbind=127.0.0.1',
      '-rpcallowip=127.0.0.1',
      `-rpcport=${port}`,
      `-rpcuser=${user}`,
      `-rpcpassword=${password}`,
      '-rpcthreads=8',
      '-rpcworkqueue=128',
      '-fallbackfee=0.0002',
      // Never activates MWEB, which `generateblock` does not support.
      '-vbparams=mweb:9999999999:9999999999',
      `-mempoolreplacement=${isReplacing ? 1 : 0}`,
      '-debug=0',
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const log = createWriteStream(join(folder, 'output.log'), { flags: 'a' });
  child.stdout.pipe(log);
  child.stderr.pipe(log);
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  running.add(child);
  child.once('exit', (code) => {
    running.delete(child);
    failure ??= new Error(`litecoind ended with ${code}`);
  });
  const call = createCall(`http://127.0.0.1:${port}`, credentials);
  const untilMs = Date.now() + startMsMax;
  for (;;) {
    if (failure !== undefined) {
      const output = await readFile(join(folder, 'output.log'), 'utf8').catch(() => '');
      throw new Error(`${program} does not start: ${output.slice(-500)}`, { cause: failure });
    }
    try {
      await call('getblockchaininfo');
      return child;
    } catch (error) {
      if (Date.now() > untilMs) {
        child.kill('SIGKILL');
        throw error;
      }
      await sleep(100);
    }
  }
}

function createCall(url: string, credentials: string): TestNode['call'] {
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  return async (method, params = [], wallet) => {
    const response = await fetch(wallet === undefined ? `${url}/` : `${url}/wallet/${wallet}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ id: 0, method, params }),
    });
    const { result, error } = (await response.json()) as {
      result: never;
      error: { code: number; message: string } | null;
    };
    if (error !== null) throw new Error(`${method}: ${error.code} ${error.message}`);
    return result;
  };
}

type Output = { txid: string; script: string; amountMinor: bigint };
type Block = { hash: string; outputs: Output[] };
type NodeTransaction = {
  txid: string;
  vout: { value: number; scriptPubKey: { hex: string } }[];
};

/** Reads each block once, unless a reorganization displaced it. */
function createPaymentReader(call: TestNode['call']): TestNode['listPaid'] {
  const blocks: Block[] = [];
  const follow = async (): Promise<void> => {
    const height = await call<number>('getblockcount');
    blocks.length = Math.min(blocks.length, height + 1);
    while (blocks.length > 0) {
      const hash = await call('getblockhash', [blocks.length - 1]);
      if (blocks.at(-1)?.hash === hash) break;
      blocks.pop();
    }
    while (blocks.length <= height) {
      const hash = await call('getblockhash', [blocks.length]);
      const block = await call<{ tx: NodeTransaction[] }>('getblock', [hash, 2]);
      blocks.push({ hash, outputs: block.tx.flatMap(listOutputs) });
    }
  };
  return async (address) => {
    const { scriptPubKey } = await call<{ scriptPubKey: string }>('validateaddress', [address]);
    await follow();
    const inChain = blocks.flatMap(({ outputs }, height) =>
      outputs.map((output) => ({ ...output, depth: blocks.length - height })),
    );
    const inMempool = [];
    for (const txid of await call<string[]>('getrawmempool')) {
      // It may have left the mempool meanwhile.
      const found = await call<NodeTransaction>('getrawtransaction', [txid, true]).catch(
        () => null,
      );
      if (found === null) continue;
      inMempool.push(...listOutputs(found).map((output) => ({ ...output, depth: 0 })));
    }
    return [...inChain, ...inMempool]
      .filter(({ script }) => script === scriptPubKey)
      .map(({ txid, amountMinor, depth }) => ({ txid, amountMinor, depth }));
  };
}

function listOutputs({ txid, vout }: NodeTransaction): Output[] {
  return vout.map(({ value, scriptPubKey }) => ({
    txid,
    script: scriptPubKey.hex,
    amountMinor: BigInt(Math.round(value * 1e8)),
  }));
}
