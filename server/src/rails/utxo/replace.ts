import {
  compose,
  getReplacementFee,
  listFreeCoins,
  type PassContext,
  readRates,
} from './compose.ts';
import { boundRate } from './fees.ts';
import {
  addTransaction,
  findAnchors,
  getNewest,
  type ReplacementSet,
  setCounterKey,
} from './records.ts';
import { nameOutpoint } from './transaction.ts';

/**
 * Another version of a replacement set: the same payments, a higher fee, and at least one coin in
 * common with all earlier versions. Recorded before it is sent, like the first one.
 */
export type ReplacementCause =
  /** It has waited too long, or the node requires a higher fee. */
  | { readonly kind: 'stuck' }
  /** Some of its coins are spent elsewhere; the others stay. */
  | { readonly kind: 'repair'; readonly missing: ReadonlySet<string> };

/** A smaller raise would seldom confirm sooner. */
function raise(rate: bigint): bigint {
  return (rate * 5n) / 4n;
}

/** A limit, since every version is examined in every pass. */
const versionsMax = 50;

/** False when the set is unchanged. */
export async function replaceVersion(
  context: PassContext,
  set: ReplacementSet,
  cause: ReplacementCause,
): Promise<boolean> {
  const { host, node, config, stores } = context;
  const newest = getNewest(set);
  const fields = { set: set.key, txid: newest.txid };
  if (set.versions.length >= versionsMax) {
    context.note('error', 'a transaction has reached the limit of replacements', fields);
    return false;
  }
  const least = cause.kind === 'stuck' ? raise(newest.rate) : newest.rate;
  const { requested, minimum, increment, bounds } = await readRates(context, least);
  const rate = boundRate(requested, minimum, bounds);
  if (rate === undefined || (cause.kind === 'stuck' && rate <= newest.rate)) {
    context.note('warn', 'a stuck transaction is at its fee limit', fields);
    return false;
  }
  const mustSpend =
    cause.kind === 'stuck'
      ? newest.coins
      : newest.coins.filter((coin) => !cause.missing.has(nameOutpoint(coin)));
  const counter = await stores.counters.read(setCounterKey);
  const composed = await compose(context, {
    payments: set.payments,
    changeScript: set.changeScript,
    mustSpend,
    coins: await listFreeCoins(context),
    rate,
    feeMin: getReplacementFee(set.versions, increment),
  });
  if (composed.kind !== 'composed') {
    const why =
      composed.kind === 'insufficientFunds' ? 'insufficient funds' : 'its fee is at the limit';
    context.note('warn', `a transaction cannot be replaced: ${why}`, fields);
    return false;
  }
  const versions = [...set.versions, composed.version];
  // Prevents a double payment: without a common coin two versions could both confirm.
  if (findAnchors(versions).length === 0)
    throw new Error('the versions must have a coin in common');
  const changes = [
    stores.counters.change(counter, counter.next),
    stores.sets.change(set, { state: set.state, value: { ...set, versions } }),
    addTransaction(stores, composed.version.txid, set.key),
  ];
  // Another process was faster; a later pass continues.
  if (!(await host.store.write(changes))) return true;
  context.note('info', 'a transaction is replaced', { ...fields, by: composed.version.txid });
  const result = await node.broadcast(composed.version.rawHex, config.fees.rateMax);
  if (result.kind === 'accepted') host.wake();
  else
    context.note('warn', 'the node refuses a replacement', { ...fields, refusal: result.detail });
  return true;
}
