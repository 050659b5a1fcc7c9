import type { PassContext } from './compose.ts';
import { closeDisplacedSet, findConflictingSpender } from './conflicts.ts';
import { notifyAccepted, notifyPaid } from './notify.ts';
import {
  findAnchors,
  getNewest,
  type ReplacementSet,
  type ReplacementSetState,
  type ReplacementSetValue,
  type Version,
} from './records.ts';
import { replaceVersion } from './replace.ts';
import { nameOutpoint } from './transaction.ts';

/**
 * Tracks a replacement set: in the chain, in the mempool, or displaced. Sending a version again is
 * always harmless, so it is done in any doubt.
 */
export async function watchReplacementSet(
  context: PassContext,
  set: ReplacementSet,
): Promise<void> {
  const confirmed = await findConfirmed(context, set);
  if (confirmed !== undefined) return settle(context, set, confirmed);
  const current = await recordUnconfirmed(context, set);
  if (current === undefined) return;
  const reached = await ensureBroadcast(context, current);
  if (reached === 'lost' || reached === 'held') return;
  const newest = getNewest(current);
  const { height, isBehind } = context.tip;
  // Without the newest blocks a stuck or displaced transaction cannot be recognized.
  if (isBehind) return;
  if (reached === 'in mempool') {
    const age = height - newest.builtHeight;
    if (age >= context.config.fees.replaceAfterBlocks) {
      await replaceVersion(context, current, { kind: 'stuck' });
    }
    return;
  }
  const missing = await findMissing(context, newest.coins);
  if (missing.size === 0) {
    // The node requires a higher fee. One attempt per block is enough.
    if (height > newest.builtHeight) await replaceVersion(context, current, { kind: 'stuck' });
    return;
  }
  await handleDisplaced(context, current, missing);
}

type Confirmed = { readonly version: Version; readonly depth: number };

async function findConfirmed(
  { node }: PassContext,
  { versions }: ReplacementSet,
): Promise<Confirmed | undefined> {
  for (const version of versions.toReversed()) {
    const found = await node.findTransaction(version.txid);
    if (found?.block !== undefined) return { version, depth: found.block.depth };
  }
  return undefined;
}

/** Undefined when another process has changed the set meanwhile. */
async function save(
  { stores }: PassContext,
  set: ReplacementSet,
  next: { state: ReplacementSetState; value: ReplacementSetValue },
): Promise<ReplacementSet | undefined> {
  const { key, revision } = set;
  if (!(await stores.sets.write(set, next))) return undefined;
  return { ...next.value, key, state: next.state, revision: revision + 1 };
}

async function settle(
  context: PassContext,
  set: ReplacementSet,
  { version, depth }: Confirmed,
): Promise<void> {
  const { host, network, config } = context;
  const { txid } = version;
  const confirmedSet = { ...set, confirmed: { txid, depth } };
  const due = set.payments.filter((entry) => !entry.isPaid && entry.depthNeeded <= depth);
  for (const depthNeeded of new Set(due.map((entry) => entry.depthNeeded))) {
    const entries = due.filter((entry) => entry.depthNeeded === depthNeeded);
    await notifyPaid(host, { network, set: confirmedSet, entries, depthNeeded, txid });
  }
  const payments = set.payments.map((entry) => ({
    ...entry,
    isPaid: entry.isPaid || entry.depthNeeded <= depth,
  }));
  const state = getStateInChain(payments, depth, config.finalConfirmations);
  const isSame = set.confirmed?.txid === txid && state === set.state;
  // The depth of a paid set is not recorded until it is final.
  if (isSame && (state !== 'open' || set.confirmed?.depth === depth)) return;
  const value = { ...confirmedSet, payments };
  await save(context, set, { state, value });
}

function getStateInChain(
  payments: ReplacementSetValue['payments'],
  depth: number,
  finalDepth: number,
): ReplacementSetState {
  if (!payments.every(({ isPaid }) => isPaid)) return 'open';
  return depth >= finalDepth ? 'closed' : 'paid';
}

/** Not in the chain, or no longer after a reorganization. */
async function recordUnconfirmed(
  context: PassContext,
  set: ReplacementSet,
): Promise<ReplacementSet | undefined> {
  const { confirmed, key, state } = set;
  if (confirmed === null) return set;
  const fields = { set: key, txid: confirmed.txid, depth: confirmed.depth };
  context.note('warn', 'a reorganization has removed a transaction from the chain', fields);
  return save(context, set, { state, value: { ...set, confirmed: null } });
}

/**
 * Ensures that the node has the newest version, or else an older one. `held`: it has an older one and
 * replaces nothing, as Litecoin's nodes do by default. `lost`: another process has changed the set.
 */
async function ensureBroadcast(
  context: PassContext,
  set: ReplacementSet,
): Promise<'in mempool' | 'held' | 'refused' | 'lost'> {
  let isHeld = false;
  const { node, config } = context;
  for (const version of set.versions.toReversed()) {
    if (await node.isInMempool(version.txid)) {
      const logged = await recordAccepted(context, set, version);
      return logged === 'in mempool' && isHeld ? 'held' : logged;
    }
    const result = await node.broadcast(version.rawHex, config.fees.rateMax);
    if (result.kind === 'accepted') return recordAccepted(context, set, version);
    isHeld ||= result.isConflict;
    const fields = { set: set.key, txid: version.txid, refusal: result.detail };
    context.note('warn', 'the node refuses a transaction', fields);
  }
  return 'refused';
}

async function recordAccepted(
  context: PassContext,
  set: ReplacementSet,
  { txid, wasTaken }: Version,
): Promise<'in mempool' | 'lost'> {
  if (wasTaken) return 'in mempool';
  await notifyAccepted(context.host, set, txid);
  const versions = set.versions.map((version) =>
    version.txid === txid ? { ...version, wasTaken: true } : version,
  );
  await save(context, set, { state: set.state, value: { ...set, versions } });
  // The next pass continues with the new revision.
  return 'lost';
}

async function findMissing(
  { node }: PassContext,
  coins: Version['coins'],
): Promise<ReadonlySet<string>> {
  const missing = new Set<string>();
  for (const coin of coins) if (!(await node.isUnspent(coin))) missing.add(nameOutpoint(coin));
  return missing;
}

/**
 * No version can be sent because its coins are spent elsewhere. While one coin that all versions spend
 * is left, a new version that spends it excludes all others. Otherwise the set is closed when the
 * transaction that displaced it is deep enough.
 */
async function handleDisplaced(
  context: PassContext,
  set: ReplacementSet,
  missing: ReadonlySet<string>,
): Promise<void> {
  const { tip, config } = context;
  const anchors = findAnchors(set.versions);
  const isLeft = anchors.some((anchor) => !missing.has(nameOutpoint(anchor)));
  const isDue = set.versions.length === 1 || tip.height > getNewest(set).builtHeight;
  if (isLeft && isDue && (await replaceVersion(context, set, { kind: 'repair', missing }))) return;
  // One anchor spent elsewhere is enough: every version needs all of them.
  const spender = await findConflictingSpender(context, set, anchors);
  const fields = { set: set.key, txid: getNewest(set).txid };
  if (spender === undefined) {
    context.note(
      'error',
      'the coins of a transaction are missing, and nothing known spends them',
      fields,
    );
    return;
  }
  const { txid, depth, paysTheSame } = spender;
  if (paysTheSame) {
    const details = { ...fields, spender: txid };
    context.note(
      'error',
      'an unknown transaction makes the same payments; a person must decide',
      details,
    );
    return;
  }
  const depthMin = Math.max(
    config.conflictConfirmations,
    ...set.payments.map(({ depthNeeded }) => depthNeeded),
  );
  if (depth >= depthMin) return closeDisplacedSet(context, set, txid);
  const details = { ...fields, spender: txid, depth, depthMin };
  context.note('warn', 'a conflicting transaction spends the coins of a transaction', details);
}
