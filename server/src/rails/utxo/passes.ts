import type { RecoveredPayment } from '../contract/contract.ts';
import { buildFamily } from './build.ts';
import type { PassContext } from './compose.ts';
import type { OwnKeys } from './keys.ts';
import type { Node } from './node.ts';
import { NodeRefusal, type NodeRpc, NodeSilence, refusals } from './node-rpc.ts';
import type { PaymentContext } from './payments.ts';
import { type Family, listLiveFamilies } from './records.ts';
import { listSent } from './recover.ts';
import { getCheckedTip, prepareNode, SetupError } from './setup.ts';
import { createNodeSigner, createOwnSigner } from './signer.ts';
import type { MemoryState } from './wallet-records.ts';
import { acceptWallet, compareWallet } from './wallet-scan.ts';
import { watchFamily } from './watch.ts';

/** One pass after the other: look at what is on its way, then send what waits. */

export type PassesOptions = PaymentContext & {
  readonly keys: OwnKeys | undefined;
  readonly rpc: NodeRpc;
  readonly openNode: (signal: AbortSignal) => Node;
};

export type Passes = {
  /** When the next pass makes sense; undefined: after the usual pause. */
  work(signal: AbortSignal): Promise<number | undefined>;
  check(signal: AbortSignal): Promise<readonly string[]>;
  /** Compares the memory with the wallet. `unread`: the node does not say. */
  compare(signal: AbortSignal): Promise<MemoryState | 'unread'>;
  recover(sinceMs: number, signal: AbortSignal): Promise<readonly RecoveredPayment[]>;
  confirmRecovery(signal: AbortSignal): Promise<void>;
};

/** So that one pass ends, and what it sent is looked at, however much waits. */
const buildsMax = 20;

export function createPasses(options: PassesOptions): Passes {
  const { config, host } = options;
  const opener = createOpener(options);
  const watch = createWatch();

  /** What is on its way is looked at in the usual pace, however long a batch is to wait. */
  const pickTime = (dueAtMs: number | undefined): number | undefined =>
    dueAtMs !== undefined && dueAtMs < host.nowMs() + config.pollSeconds * 1000
      ? dueAtMs
      : undefined;
  const pass = async (signal: AbortSignal): Promise<number | undefined> => {
    const context = await opener.open(signal);
    for (const family of await listLiveFamilies(host.store)) await watch(context, family);
    // A node that is behind would offer coins that are spent already.
    if (context.tip.isBehind) return undefined;
    if ((await compareWallet(context)) === 'behind') {
      context.note('error', 'nothing is paid until the recovery is released');
      return undefined;
    }
    for (let count = 0; count < buildsMax; count += 1) {
      const result = await buildFamily(context);
      if (result.kind === 'idle') return pickTime(result.dueAtMs);
      await watch(context, result.family);
    }
    return host.nowMs();
  };
  return {
    work: async (signal) => {
      try {
        return await pass(signal);
      } catch (error) {
        if (!isOfNode(error)) throw error;
        opener.forget();
        host.log('warn', 'the node cannot be worked with', { detail: describeError(error) });
        return undefined;
      }
    },
    check: async (signal) => {
      try {
        const context = await opener.open(signal);
        const { tip, node, signer } = context;
        if (tip.isBehind) return ['the node has not caught up with its chain'];
        const coins = await node.listCoins(config.coins.confirmationsMin, signer.owns);
        const faults = coins.length === 0 ? ['the wallet has no coins that can be spent'] : [];
        if ((await compareWallet(context)) === 'current') return faults;
        return [...faults, behindFault];
      } catch (error) {
        if (!isOfNode(error)) throw error;
        return [describeError(error)];
      }
    },
    compare: async (signal) => {
      try {
        const context = await opener.open(signal);
        return context.tip.isBehind ? 'unread' : await compareWallet(context);
      } catch (error) {
        if (!isOfNode(error)) throw error;
        return 'unread';
      }
    },
    ...createRecovery(opener, host),
  };
}

const behindFault =
  "the wallet has sent what the rail's memory does not know: nothing is paid until the recovery " +
  'is released';

function createRecovery(
  opener: Opener,
  host: PaymentContext['host'],
): Pick<Passes, 'recover' | 'confirmRecovery'> {
  const open = async (signal: AbortSignal): Promise<PassContext> => {
    const context = await opener.open(signal);
    if (!context.tip.isBehind) return context;
    throw new SetupError('the node has not caught up with its chain');
  };
  return {
    recover: async (sinceMs, signal) => listSent(await open(signal), sinceMs),
    confirmRecovery: async (signal) => {
      if (!(await acceptWallet(await open(signal)))) {
        throw new Error('the memory of the rail changed meanwhile: release it again');
      }
      host.log('warn', 'the recovery is released');
      host.wake();
    },
  };
}

type Opener = {
  open(signal: AbortSignal): Promise<PassContext>;
  /** The wallet may be gone after a restart of the node: it is looked for again. */
  forget(): void;
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
    forget: () => {
      isPrepared = false;
    },
  };
}

function createNote({ host }: PassesOptions): (tipHash: string) => PassContext['note'] {
  let noted: { tipHash: string; lines: Set<string> } = { tipHash: '', lines: new Set() };
  return (tipHash) => (level, message, fields) => {
    if (noted.tipHash !== tipHash) noted = { tipHash, lines: new Set() };
    const line = JSON.stringify([message, fields]);
    if (noted.lines.has(line)) return;
    noted.lines.add(line);
    host.log(level, message, fields);
  };
}

type Watch = (context: PassContext, family: Family) => Promise<void>;

function createWatch(): Watch {
  /** The end of the chain at which a family that is paid was seen last; no need to look again. */
  let seenAt: { tipHash: string; keys: Set<string> } = { tipHash: '', keys: new Set() };
  return async (context, family) => {
    const { key, state } = family;
    const tipHash = context.tip.hash;
    if (seenAt.tipHash !== tipHash) seenAt = { tipHash, keys: new Set() };
    if (state === 'paid' && seenAt.keys.has(key)) return;
    try {
      await watchFamily(context, family);
      if (state === 'paid') seenAt.keys.add(key);
    } catch (error) {
      // One that cannot be handled parks itself; without a node or wallet there is no going on.
      if (error instanceof NodeSilence || isWithoutWallet(error)) throw error;
      const detail = describeError(error);
      context.note('error', 'a transaction cannot be handled', { family: key, detail });
    }
  };
}

function isWithoutWallet(error: unknown): boolean {
  return error instanceof NodeRefusal && error.code === refusals.walletNotFound;
}

function isOfNode(error: unknown): error is Error {
  return (
    error instanceof NodeSilence || error instanceof NodeRefusal || error instanceof SetupError
  );
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'an unknown error';
  const { cause } = error;
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return inner instanceof Error
    ? `${error.message} (${inner.message.slice(0, 100)})`
    : error.message;
}

function getKeys(keys: OwnKeys | undefined): OwnKeys {
  if (keys === undefined) throw new Error('the rail has no keys');
  return keys;
}
