import { askRate, compose, getReplacementFee, listFreeCoins, type PassContext } from './compose.ts';
import { boundRate } from './fees.ts';
import {
  addTransaction,
  changeCounter,
  changeFamily,
  type Family,
  findAnchors,
  getCounter,
  getNewest,
} from './records.ts';
import { nameOutpoint } from './transaction.ts';

/**
 * A further version of a family: the same payments, a higher fee, and at least one coin in common
 * with all versions before. Stored before it is sent, like the first one.
 */
export type ReplacementCause =
  /** It has waited too long, or the node wants more. */
  | { readonly kind: 'stuck' }
  /** Some of its coins are gone; the others are kept. */
  | { readonly kind: 'repair'; readonly missing: ReadonlySet<string> };

/** A version that is only a little dearer would seldom be taken sooner. */
function raise(rate: bigint): bigint {
  return (rate * 5n) / 4n;
}

/** Beyond this a family is left as it is: every version must be looked at in every pass. */
const versionsMax = 50;

/** False when the family is as it was. */
export async function replaceVersion(
  context: PassContext,
  family: Family,
  cause: ReplacementCause,
): Promise<boolean> {
  const { host, node, config } = context;
  const newest = getNewest(family);
  const fields = { family: family.key, txid: newest.txid };
  if (family.versions.length >= versionsMax) {
    context.note('error', 'a transaction has been replaced too often', fields);
    return false;
  }
  const least = cause.kind === 'stuck' ? raise(newest.rate) : newest.rate;
  const { asked, minimum, increment, bounds } = await askRate(context, least);
  const rate = boundRate(asked, minimum, bounds);
  if (rate === undefined || (cause.kind === 'stuck' && rate <= newest.rate)) {
    context.note('warn', 'a transaction is stuck, and its fee is at its bound', fields);
    return false;
  }
  const mustSpend =
    cause.kind === 'stuck'
      ? newest.coins
      : newest.coins.filter((coin) => !cause.missing.has(nameOutpoint(coin)));
  const counter = await getCounter(host.store);
  const composed = await compose(context, {
    payments: family.payments,
    changeScript: family.changeScript,
    mustSpend,
    coins: await listFreeCoins(context),
    rate,
    feeMin: getReplacementFee(family.versions, increment),
  });
  if (composed.kind !== 'composed') {
    const why = composed.kind === 'poor' ? 'the coins do not suffice' : 'its fee is at its bound';
    context.note('warn', `a transaction cannot be replaced: ${why}`, fields);
    return false;
  }
  const versions = [...family.versions, composed.version];
  // The guard against paying twice: without a common coin two versions could both confirm.
  if (findAnchors(versions).length === 0) throw new Error('the versions have no coin in common');
  const changes = [
    changeCounter(counter, 0),
    changeFamily(family, family.state, { ...family, versions }),
    addTransaction(composed.version.txid, family.key),
  ];
  // Another process was faster: what follows is for a later pass, too.
  if (!(await host.store.write(changes))) return true;
  context.note('info', 'a transaction is replaced', { ...fields, by: composed.version.txid });
  const result = await node.broadcast(composed.version.rawHex, config.fees.rateMax);
  if (result.kind === 'taken') host.wake();
  else
    context.note('warn', 'the node refuses a replacement', { ...fields, refusal: result.detail });
  return true;
}
