import type { RailHost } from '../contract/contract.ts';
import { getDustMinor, readAddress } from './addresses.ts';
import { type Coin, selectCoins } from './coin-selection.ts';
import { type FeeBounds, getFeeMinor, getShareMinor } from './fees.ts';
import type { Node, Tip } from './node.ts';
import type { PaymentContext } from './payments.ts';
import { type FamilyValue, listLiveFamilies, type Version } from './records.ts';
import type { Signer } from './signer.ts';
import {
  assertTransaction,
  formatUnsigned,
  nameOutpoint,
  readTransaction,
  stripSignatures,
} from './transaction.ts';

/** A signed transaction for payments, from the coins that there are. Nothing leaves here. */

/** What one pass of the rail works with. */
export type PassContext = PaymentContext & {
  readonly node: Node;
  readonly signer: Signer;
  readonly tip: Tip;
  /** A line in the log, the same one once for each block. */
  readonly note: RailHost['log'];
};

export type ComposePlan = {
  readonly payments: FamilyValue['payments'];
  readonly changeScript: string;
  readonly mustSpend: readonly Coin[];
  readonly coins: readonly Coin[];
  readonly rate: bigint;
  readonly feeMin: (weight: number) => bigint;
};

/** `poor`: the coins do not suffice. `dear`: the fee would exceed its share of what is paid. */
export type Composed =
  | { readonly kind: 'composed'; readonly version: Version }
  | { readonly kind: 'poor' | 'dear' };

export async function compose(context: PassContext, plan: ComposePlan): Promise<Composed> {
  const { config, tip } = context;
  const paidMinor = plan.payments.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  const feeMaxMinor = getShareMinor(paidMinor, config.fees);
  let rate = plan.rate;
  let selection = select(context, { ...plan, rate });
  if (selection !== undefined && selection.feeMinor > feeMaxMinor) {
    rate = (feeMaxMinor * 4000n) / BigInt(selection.weight);
    if (rate < config.fees.rateMin) return { kind: 'dear' };
    selection = select(context, { ...plan, rate });
  }
  if (selection === undefined) return { kind: 'poor' };
  const { coins, feeMinor, changeMinor, weight } = selection;
  if (feeMinor > feeMaxMinor) return { kind: 'dear' };
  const change =
    changeMinor === 0n ? undefined : { script: plan.changeScript, amountMinor: changeMinor };
  const outputs = change === undefined ? plan.payments : [...plan.payments, change];
  const transaction = context.signer.build(coins, outputs);
  assertDestinations(context, plan.payments);
  const expected = { coins, payments: plan.payments, change, feeMaxMinor };
  assertTransaction(formatUnsigned(transaction), expected);
  const rawHex = await context.signer.sign(transaction, coins);
  // What comes back from a wallet is looked at like anybody else's transaction.
  assertTransaction(rawHex, expected);
  // Its own id may differ: a coin on a witness key hash in a script hash shows its script there.
  if (stripSignatures(rawHex) !== formatUnsigned(transaction)) {
    throw new Error('what was signed is another transaction');
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

/** The script of every payment is that of its address on this network, still. */
function assertDestinations(
  { network }: PassContext,
  payments: readonly { address: string; script: string }[],
): void {
  for (const { address, script } of payments) {
    if (readAddress(network, address)?.script !== script) {
      throw new Error(`a payment has a destination that is none on ${network.name}`);
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

/** The coins that can be spent and that no live family holds. Read the counter before. */
export async function listFreeCoins({ host, config, node, signer }: PassContext): Promise<Coin[]> {
  const found = await node.listCoins(config.coins.confirmationsMin, signer.owns);
  const families = await listLiveFamilies(host.store);
  const held = new Set(
    families.flatMap(({ versions }) =>
      versions.flatMap(({ coins }) => coins.map((coin) => nameOutpoint(coin))),
    ),
  );
  return found.filter((coin) => !held.has(nameOutpoint(coin)));
}

/** What the rate should be, and what the node takes at least. */
export async function askRate(
  { config, node }: PassContext,
  asked: bigint,
): Promise<{ asked: bigint; minimum: bigint; increment: bigint; bounds: FeeBounds }> {
  const estimated = await node.estimateRate(config.fees.targetBlocks);
  const wanted = estimated ?? config.fees.rateFallback;
  const limits = await node.getRateLimits();
  return { asked: wanted > asked ? wanted : asked, ...limits, bounds: config.fees };
}

/** Nothing beyond the rate is asked for. */
export function noFeeMin(): bigint {
  return 0n;
}

/** What a transaction must pay to take the place of others (BIP 125, rules 3 and 4). */
export function getReplacementFee(
  versions: readonly Version[],
  increment: bigint,
): (weight: number) => bigint {
  const highest = versions.reduce((most, { feeMinor }) => (feeMinor > most ? feeMinor : most), 0n);
  return (weight) => highest + getFeeMinor(weight, increment);
}
