import type { PassContext } from './compose.ts';
import { buryFamily, findForeignSpender } from './displaced.ts';
import {
  changeFamily,
  type Family,
  type FamilyState,
  type FamilyValue,
  findAnchors,
  getNewest,
  type Version,
} from './records.ts';
import { replaceVersion } from './replace.ts';
import { nameOutpoint } from './transaction.ts';
import { hearPaid, hearTaken } from './unconfirmed.ts';

/**
 * Where a family stands: in the chain, on its way, or displaced. Sending a version again is
 * harmless at any time, so that whatever is in doubt is sent again.
 */
export async function watchFamily(context: PassContext, family: Family): Promise<void> {
  const confirmed = await findConfirmed(context, family);
  if (confirmed !== undefined) return settle(context, family, confirmed);
  const current = await noteUnconfirmed(context, family);
  if (current === undefined) return;
  const reached = await bringOut(context, current);
  if (reached === 'lost' || reached === 'held') return;
  const newest = getNewest(current);
  const { height, isBehind } = context.tip;
  // Without the newest blocks nothing can be said about what is stuck or displaced.
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
    // The node wants a higher fee. One attempt for each block is enough.
    if (height > newest.builtHeight) await replaceVersion(context, current, { kind: 'stuck' });
    return;
  }
  await handleDisplaced(context, current, missing);
}

type Confirmed = { readonly version: Version; readonly depth: number };

async function findConfirmed(
  { node }: PassContext,
  { versions }: Family,
): Promise<Confirmed | undefined> {
  for (const version of versions.toReversed()) {
    const found = await node.findTransaction(version.txid);
    if (found?.block !== undefined) return { version, depth: found.block.depth };
  }
  return undefined;
}

/** Undefined when another process has changed the family meanwhile. */
async function save(
  { host }: PassContext,
  family: Family,
  next: { state: FamilyState; value: FamilyValue },
): Promise<Family | undefined> {
  const { state, value } = next;
  const { key, revision } = family;
  if (!(await host.store.write([changeFamily(family, state, value)]))) return undefined;
  return { ...value, key, state, revision: revision + 1 };
}

async function settle(
  context: PassContext,
  family: Family,
  { version, depth }: Confirmed,
): Promise<void> {
  const { host, network, config } = context;
  const { txid } = version;
  const confirmedFamily = { ...family, confirmed: { txid, depth } };
  const due = family.payments.filter((entry) => !entry.isPaid && entry.depthNeeded <= depth);
  for (const depthNeeded of new Set(due.map((entry) => entry.depthNeeded))) {
    const entries = due.filter((entry) => entry.depthNeeded === depthNeeded);
    await hearPaid(host, { network, family: confirmedFamily, entries, depthNeeded, txid });
  }
  const payments = family.payments.map((entry) => ({
    ...entry,
    isPaid: entry.isPaid || entry.depthNeeded <= depth,
  }));
  const state = getStateInChain(payments, depth, config.finalConfirmations);
  const isSame = family.confirmed?.txid === txid && state === family.state;
  // The depth of what is paid already is nobody's business until it is final.
  if (isSame && (state !== 'open' || family.confirmed?.depth === depth)) return;
  const value = { ...confirmedFamily, payments };
  await save(context, family, { state, value });
}

function getStateInChain(
  payments: FamilyValue['payments'],
  depth: number,
  finalDepth: number,
): FamilyState {
  if (!payments.every(({ isPaid }) => isPaid)) return 'open';
  return depth >= finalDepth ? 'closed' : 'paid';
}

/** The chain does not hold it (any more): after a reorganisation it is on its way again. */
async function noteUnconfirmed(context: PassContext, family: Family): Promise<Family | undefined> {
  const { confirmed, key, state } = family;
  if (confirmed === null) return family;
  const fields = { family: key, txid: confirmed.txid, depth: confirmed.depth };
  context.note('warn', 'a reorganisation has undone a transaction', fields);
  return save(context, family, { state, value: { ...family, confirmed: null } });
}

/**
 * Sees to it that the node has the newest version, or else an older one. `held`: it has an older one
 * and replaces nothing, as Litecoin's nodes do. `lost`: another process has changed the family.
 */
async function bringOut(
  context: PassContext,
  family: Family,
): Promise<'in mempool' | 'held' | 'refused' | 'lost'> {
  let isHeld = false;
  const { node, config } = context;
  for (const version of family.versions.toReversed()) {
    if (await node.isInMempool(version.txid)) {
      const noted = await noteTaken(context, family, version);
      return noted === 'in mempool' && isHeld ? 'held' : noted;
    }
    const result = await node.broadcast(version.rawHex, config.fees.rateMax);
    if (result.kind === 'taken') return noteTaken(context, family, version);
    isHeld ||= result.isConflict;
    const fields = { family: family.key, txid: version.txid, refusal: result.detail };
    context.note('warn', 'the node refuses a transaction', fields);
  }
  return 'refused';
}

async function noteTaken(
  context: PassContext,
  family: Family,
  { txid, wasTaken }: Version,
): Promise<'in mempool' | 'lost'> {
  if (wasTaken) return 'in mempool';
  await hearTaken(context.host, family, txid);
  const versions = family.versions.map((version) =>
    version.txid === txid ? { ...version, wasTaken: true } : version,
  );
  await save(context, family, { state: family.state, value: { ...family, versions } });
  // What follows would need the new revision; the next pass has it.
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
 * No version can be sent because coins of it are gone. As long as one coin that all versions spend
 * is still there, a new version that spends it excludes all others at once. Otherwise the family is
 * given up when what displaced it is so deep that it stays.
 */
async function handleDisplaced(
  context: PassContext,
  family: Family,
  missing: ReadonlySet<string>,
): Promise<void> {
  const { tip, config } = context;
  const anchors = findAnchors(family.versions);
  const isLeft = anchors.some((anchor) => !missing.has(nameOutpoint(anchor)));
  const isDue = family.versions.length === 1 || tip.height > getNewest(family).builtHeight;
  if (isLeft && isDue && (await replaceVersion(context, family, { kind: 'repair', missing })))
    return;
  // One anchor that is spent elsewhere is enough: every version needs all of them.
  const spender = await findForeignSpender(context, family, anchors);
  const fields = { family: family.key, txid: getNewest(family).txid };
  if (spender === undefined) {
    context.note(
      'error',
      'the coins of a transaction are gone, and nothing is known to spend them',
      fields,
    );
    return;
  }
  const { txid, depth, paysTheSame } = spender;
  if (paysTheSame) {
    const details = { ...fields, spender: txid };
    context.note(
      'error',
      'an unknown transaction makes the same payments; a person must look',
      details,
    );
    return;
  }
  const depthMin = Math.max(
    config.conflictConfirmations,
    ...family.payments.map(({ depthNeeded }) => depthNeeded),
  );
  if (depth >= depthMin) return buryFamily(context, family, txid);
  const details = { ...fields, spender: txid, depth, depthMin };
  context.note('warn', 'a foreign transaction spends the coins of ours', details);
}
