import type { RailHost } from '../contract/contract.ts';
import { getDustMinor, readAddress } from './addresses.ts';
import { type Coin, selectCoins } from './coin-selection.ts';
import { type FeeBounds, getFeeMinor, getShareMinor } from './fees.ts';
import type { Node, Tip } from './node.ts';
import {
  listOpenReplacementSets,
  type PaymentContext,
  type ReplacementSetValue,
  type Version,
} from './records.ts';
import type { Signer } from './signer.ts';
import {
  assertTransaction,
  formatUnsigned,
  nameOutpoint,
  readTransaction,
  stripSignatures,
} from './transaction.ts';

/** Composes and signs a transaction for payments; does not send it. */

/** For one pass. */
export type PassContext = PaymentContext & {
  readonly node: Node;
  readonly signer: Signer;
  readonly tip: Tip;
  /** Logs the same line once per block. */
  readonly note: RailHost['log'];
};

export type ComposePlan = {
  readonly payments: ReplacementSetValue['payments'];
  readonly changeScript: string;
  readonly mustSpend: readonly Coin[];
  readonly coins: readonly Coin[];
  readonly rate: bigint;
  readonly feeMin: (weight: number) => bigint;
};

/** `feeTooHigh`: the fee would exceed its share of the amounts. */
export type Composed =
  | { readonly kind: 'composed'; readonly version: Version }
  | { readonly kind: 'insufficientFunds' | 'feeTooHigh' };

export async function compose(context: PassContext, plan: ComposePlan): Promise<Composed> {
  const { config, tip } = context;
  const paidMinor = plan.payments.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  const feeMaxMinor = getShareMinor(paidMinor, config.fees);
  let rate = plan.rate;
  let selection = select(context, { ...plan, rate });
  if (selection !== undefined && selection.feeMinor > feeMaxMinor) {
    rate = (feeMaxMinor * 4000n) / BigInt(selection.weight);
    if (rate < config.fees.rateMin) return { kind: 'feeTooHigh' };
    selection = select(context, { ...plan, rate });
  }
  if (selection === undefined) return { kind: 'insufficientFunds' };
  const { coins, feeMinor, changeMinor, weight } = selection;
  if (feeMinor > feeMaxMinor) return { kind: 'feeTooHigh' };
  const change =
    changeMinor === 0n ? undefined : { script: plan.changeScript, amountMinor: changeMinor };
  const outputs = change === undefined ? plan.payments : [...plan.payments, change];
  const transaction = context.signer.build(coins, outputs);
  assertDestinations(context, plan.payments);
  const expected = { coins, payments: plan.payments, change, feeMaxMinor };
  assertTransaction(formatUnsigned(transaction), expected);
  const rawHex = await context.signer.sign(transaction, coins);
  // A wallet signs outside the rail, so its result is checked, too.
  assertTransaction(rawHex, expected);
  // Not compared by id: a P2SH-P2WPKH input has its script in the signed transaction.
  if (stripSignatures(rawHex) !== formatUnsigned(transaction)) {
    throw new Error('the signed transaction is not the one that was composed');
  }
  const { txid } = readTransaction(rawHex);
  return {
    kind: 'composed',
    version: {
      txid,
      rawHex,
      coins: [...coins],
      changeMinor,
      feeMinor,
      rate: (feeMinor * 4000n) / BigInt(weight),
      builtHeight: tip.height,
      wasTaken: false,
    },
  };
}

/** The script of every payment must be that of its address on this network. */
function assertDestinations(
  { network }: PassContext,
  payments: readonly { address: string; script: string }[],
): void {
  for (const { address, script } of payments) {
    if (readAddress(network, address)?.script !== script) {
      throw new Error(`a payment has a destination that is not valid on ${network.name}`);
    }
  }
}

function select({ config, network, signer }: PassContext, plan: ComposePlan) {
  const { inputsMax, consolidateBelowRate, consolidateInputs } = config.coins;
  return selectCoins({
    ...plan,
    changeKind: signer.changeKind,
    dustMinor: getDustMinor(network, plan.changeScript),
    inputsMax,
    consolidation: { rate: consolidateBelowRate, inputs: consolidateInputs },
  });
}

/** Spendable coins that no open replacement set holds. Read the counter before. */
export async function listFreeCoins({
  stores,
  config,
  node,
  signer,
}: PassContext): Promise<Coin[]> {
  const found = await node.listCoins(config.coins.confirmationsMin, signer.owns);
  const sets = await listOpenReplacementSets(stores);
  const held = new Set(
    sets.flatMap(({ versions }) =>
      versions.flatMap(({ coins }) => coins.map((coin) => nameOutpoint(coin))),
    ),
  );
  return found.filter((coin) => !held.has(nameOutpoint(coin)));
}

/** The fee rate to use, and the lowest that the node accepts. */
export async function readRates(
  { config, node }: PassContext,
  atLeast: bigint,
): Promise<{ requested: bigint; minimum: bigint; increment: bigint; bounds: FeeBounds }> {
  const estimated = await node.estimateRate(config.fees.targetBlocks);
  const wanted = estimated ?? config.fees.rateFallback;
  const limits = await node.getRateLimits();
  return { requested: wanted > atLeast ? wanted : atLeast, ...limits, bounds: config.fees };
}

/** No minimum beyond the rate. */
export function noFeeMin(): bigint {
  return 0n;
}

/** The lowest fee of a replacement (BIP 125, rules 3 and 4). */
export function getReplacementFee(
  versions: readonly Version[],
  increment: bigint,
): (weight: number) => bigint {
  const highest = versions.reduce((most, { feeMinor }) => (feeMinor > most ? feeMinor : most), 0n);
  return (weight) => highest + getFeeMinor(weight, increment);
}
