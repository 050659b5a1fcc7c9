import { getCurrency } from '../../core/currency.ts';
import { formatAmount } from '../../core/money.ts';
import type { RailFunds, RecoveredPayment } from '../contract/contract.ts';
import { buildReplacementSet } from './build.ts';
import type { PassContext } from './compose.ts';
import type { OwnKeys } from './keys.ts';
import type { Node } from './node.ts';
import { NodeRefusal, type NodeRpc, NodeUnavailable, refusals } from './node-rpc.ts';
import {
  listOpenReplacementSets,
  type PaymentContext,
  type RecordState,
  type ReplacementSet,
} from './records.ts';
import { listSent } from './recover.ts';
import { getCheckedTip, prepareNode, SetupError } from './setup.ts';
import { createNodeSigner, createOwnSigner } from './signer.ts';
import { acceptWallet, compareWallet } from './wallet-scan.ts';
import { watchReplacementSet } from './watch.ts';

/** Passes: watch open replacement sets, then pay what waits. */

export type PassesOptions = PaymentContext & {
  readonly keys: OwnKeys | undefined;
  readonly rpc: NodeRpc;
  readonly openNode: (signal: AbortSignal) => Node;
};

export type Passes = {
  /** When the next pass is due; undefined: after the usual pause. */
  work(signal: AbortSignal): Promise<number | undefined>;
  check(signal: AbortSignal): Promise<readonly string[]>;
  /** Compares the records with the wallet. `unread`: the node does not answer. */
  compare(signal: AbortSignal): Promise<RecordState | 'unread'>;
  /** What the wallet can spend now. */
  readFunds(signal: AbortSignal): Promise<readonly RailFunds[]>;
  recover(sinceMs: number, signal: AbortSignal): Promise<readonly RecoveredPayment[]>;
  confirmRecovery(signal: AbortSignal): Promise<void>;
};

/** A limit, so that a pass ends and its transactions are watched however much waits. */
const buildsMax = 20;

export function createPasses(options: PassesOptions): Passes {
  const { config, host } = options;
  const opener = createOpener(options);
  const watch = createWatch();

  /** Open replacement sets are watched at the usual pace, however long a batch waits. */
  const pickTime = (dueAtMs: number | undefined): number | undefined =>
    dueAtMs !== undefined && dueAtMs < host.nowMs() + config.pollSeconds * 1000
      ? dueAtMs
      : undefined;
  const pass = async (signal: AbortSignal): Promise<number | undefined> => {
    const context = await opener.open(signal);
    for (const set of await listOpenReplacementSets(context.stores)) await watch(context, set);
    // A node out of sync would list coins that are already spent.
    if (context.tip.isBehind) return undefined;
    if ((await compareWallet(context)) === 'behind') {
      context.note('error', 'nothing is paid until the recovery is released');
      return undefined;
    }
    for (let count = 0; count < buildsMax; count += 1) {
      const result = await buildReplacementSet(context);
      if (result.kind === 'idle') return pickTime(result.dueAtMs);
      await watch(context, result.set);
    }
    return host.nowMs();
  };
  return {
    work: async (signal) => {
      try {
        return await pass(signal);
      } catch (error) {
        if (!isNodeError(error)) throw error;
        opener.reset();
        host.log('warn', 'the node cannot be used', { detail: describeError(error) });
        return undefined;
      }
    },
    check: async (signal) => {
      try {
        const context = await opener.open(signal);
        const { tip, node, signer } = context;
        if (tip.isBehind) return ['the node is out of sync'];
        const coins = await node.listCoins(config.coins.confirmationsMin, signer.owns);
        const problems = coins.length === 0 ? ['the wallet has no spendable coins'] : [];
        if ((await compareWallet(context)) === 'current') return problems;
        return [...problems, behindProblem];
      } catch (error) {
        if (!isNodeError(error)) throw error;
        return [describeError(error)];
      }
    },
    compare: async (signal) => {
      try {
        const context = await opener.open(signal);
        return context.tip.isBehind ? 'unread' : await compareWallet(context);
      } catch (error) {
        if (!isNodeError(error)) throw error;
        return 'unread';
      }
    },
    readFunds: async (signal) => readFunds(await opener.open(signal)),
    ...createRecovery(opener, host),
  };
}

async function readFunds({ node, config, network, signer }: PassContext): Promise<RailFunds[]> {
  const coins = await node.listCoins(config.coins.confirmationsMin, signer.owns);
  const minor = coins.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  const currency = getCurrency(network.currency);
  return [{ currency: currency.code, amount: formatAmount(minor, currency) }];
}

const behindProblem =
  "the wallet has sent transactions that the rail's records lack: nothing is paid until the " +
  'recovery is released';

function createRecovery(
  opener: Opener,
  host: PaymentContext['host'],
): Pick<Passes, 'recover' | 'confirmRecovery'> {
  const open = async (signal: AbortSignal): Promise<PassContext> => {
    const context = await opener.open(signal);
    if (!context.tip.isBehind) return context;
    throw new SetupError('the node is out of sync');
  };
  return {
    recover: async (sinceMs, signal) => listSent(await open(signal), sinceMs),
    confirmRecovery: async (signal) => {
      if (!(await acceptWallet(await open(signal)))) {
        throw new Error('the records changed meanwhile: release the recovery again');
      }
      host.log('warn', 'the recovery is released');
      host.wake();
    },
  };
}

type Opener = {
  open(signal: AbortSignal): Promise<PassContext>;
  /** The wallet may be unloaded after a restart of the node: it is opened again. */
  reset(): void;
};

function createOpener(options: PassesOptions): Opener {
  const { config, keys } = options;
  let isPrepared = false;
  const noteOnce = createNote(options);
  return {
    open: async (signal) => {
      const node = options.openNode(signal);
      const { network, rpc, host } = options;
      const tip = await getCheckedTip({ node, network });
      const setup = { config, network, keys, rpc, node, signal, store: host.store, tip };
      if (!isPrepared) await prepareNode(setup);
      isPrepared = true;
      const signer =
        config.keys.mode === 'node'
          ? createNodeSigner(node, config.keys.changeKind)
          : createOwnSigner(getKeys(keys));
      return { ...options, node, signer, tip, note: noteOnce(tip.hash) };
    },
    reset: () => {
      isPrepared = false;
    },
  };
}

function createNote({ host }: PassesOptions): (tipHash: string) => PassContext['note'] {
  let logged: { tipHash: string; lines: Set<string> } = { tipHash: '', lines: new Set() };
  return (tipHash) => (level, message, fields) => {
    if (logged.tipHash !== tipHash) logged = { tipHash, lines: new Set() };
    const line = JSON.stringify([message, fields]);
    if (logged.lines.has(line)) return;
    logged.lines.add(line);
    host.log(level, message, fields);
  };
}

type Watch = (context: PassContext, set: ReplacementSet) => Promise<void>;

function createWatch(): Watch {
  /** Paid replacement sets already watched at this end of the chain. */
  let seenAt: { tipHash: string; keys: Set<string> } = { tipHash: '', keys: new Set() };
  return async (context, set) => {
    const { key, state } = set;
    const tipHash = context.tip.hash;
    if (seenAt.tipHash !== tipHash) seenAt = { tipHash, keys: new Set() };
    if (state === 'paid' && seenAt.keys.has(key)) return;
    try {
      await watchReplacementSet(context, set);
      if (state === 'paid') seenAt.keys.add(key);
    } catch (error) {
      // A failure concerns one set only, unless the node or the wallet is missing.
      if (error instanceof NodeUnavailable || isWithoutWallet(error)) throw error;
      const detail = describeError(error);
      context.note('error', 'watching a transaction failed', { set: key, detail });
    }
  };
}

function isWithoutWallet(error: unknown): boolean {
  return error instanceof NodeRefusal && error.code === refusals.walletNotFound;
}

function isNodeError(error: unknown): error is Error {
  return (
    error instanceof NodeUnavailable || error instanceof NodeRefusal || error instanceof SetupError
  );
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const { cause } = error;
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return inner instanceof Error
    ? `${error.message} (${inner.message.slice(0, 100)})`
    : error.message;
}

function getKeys(keys: OwnKeys | undefined): OwnKeys {
  if (keys === undefined) throw new Error('the rail must have keys of its own');
  return keys;
}
