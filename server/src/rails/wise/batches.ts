import type { CallContext, RecordChange } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { reportProblem } from '../kit/problem-messages.ts';
import { askFunding, cancelGroup, completeGroup, createGroup, readGroup } from './batch-calls.ts';
import { isFunded } from './funding.ts';
import type { Group, GroupValue } from './groups.ts';
import {
  findPayments,
  type KnownGroup as Known,
  listMembers,
  type Members,
  readMembers,
} from './members.ts';
import { writeTransfer } from './order.ts';
import type { Payment, PaymentValue } from './payments.ts';
import { type BatchGroup, transferSchema } from './protocol.ts';
import type { Setup } from './setup.ts';
import { readStanding } from './states.ts';

/**
 * Batch groups: payments that wait are put into a group, which is created at Wise, gets its transfers,
 * is completed and then funded as a whole. Each pass reads what there is at Wise and takes the steps
 * that are missing, so that it does not matter where an earlier one was interrupted.
 */

/** Returns when the next pass makes sense, the environment's milliseconds. */
export async function workGroups(setup: Setup, context: CallContext): Promise<number | undefined> {
  const { config, groups, host } = setup;
  const isWaiting = await formGroup(setup);
  const underWay: Group[] = [];
  for (const state of ['open', 'funding', 'cancelling'] as const) {
    for await (const group of groups.list({ state })) underWay.push(group);
  }
  for (const group of underWay) await continueGroup(setup, group, context);
  if (isWaiting || underWay.some(({ state }) => state !== 'funding')) return host.nowMs() + pauseMs;
  if (underWay.length === 0) return undefined;
  return host.nowMs() + Math.max(pauseMs, config.fundingSeconds * 1000);
}

const pauseMs = 1000;

const defaults = { waitSeconds: 0, transfersMax: 50 };

type Refusal = { readonly reason: Reason; readonly code: string };

const expired: Refusal = { reason: 'price_worse', code: 'rate.expired' };
const cancelled: Refusal = { reason: 'payer_refused', code: 'cancelled' };

/**
 * Puts what waits into a group when the first has waited long enough. Whether something is left to be
 * done soon.
 */
async function formGroup(setup: Setup): Promise<boolean> {
  const { config, groups, host, payments } = setup;
  const { waitSeconds, transfersMax } = config.batchGroups ?? defaults;
  const page = await payments.page({ state: 'waiting', count: transfersMax });
  const now = host.realNowMs();
  const isDue =
    page.length === transfersMax ||
    page.some(({ value }) => (value.waitingSinceMs ?? 0) + waitSeconds * 1000 <= now);
  if (!isDue) return page.length > 0;
  const late = page.filter(({ value }) => (value.order?.fixedUntilMs ?? 0) <= now);
  for (const one of late) await host.store.write(refuse(setup, one, expired));
  const waiting = page.filter((one) => !late.includes(one));
  const [first] = waiting;
  if (first === undefined) return late.length > 0;
  const references = waiting.map(({ key }) => key);
  const value: GroupValue = { references, fundingCount: 0, fundedAtMs: 0 };
  // Where one of them was canceled meanwhile nothing is written, and the next pass finds the others.
  await host.store.write([
    groups.change({ key: first.key, revision: 0 }, { state: 'open', value }),
    ...waiting.flatMap((one) =>
      payments.change(one, { state: 'grouped', value: { ...one.value, groupKey: first.key } }),
    ),
  ]);
  return true;
}

async function continueGroup(setup: Setup, group: Group, context: CallContext): Promise<void> {
  const payments = await findPayments(setup, group);
  if (group.state === 'open') return fillGroup(setup, { group, payments }, context);
  if (group.state === 'funding') return followGroup(setup, { group, payments }, context);
  return endCancelled(setup, { group, payments }, context);
}

/** From the group's creation to its first funding. */
async function fillGroup(setup: Setup, known: Known, context: CallContext): Promise<void> {
  const { group, payments } = known;
  const { groupId } = group.value;
  if (groupId === undefined) {
    // Nothing can have left for the payments.
    if (isQuoteOver(setup, payments)) return endGroup(setup, { ...known, refusal: expired });
    // A group whose answer is lost stays empty, and is never used.
    const created = await createGroup(setup, group.key, context);
    if (created === undefined) return;
    const value = { ...group.value, groupId: created.id };
    if (!(await setup.groups.write(group, { state: 'open', value }))) return;
    const next = { ...group, revision: group.revision + 1, value };
    return fillGroup(setup, { group: next, payments }, context);
  }
  const now = await readGroup(setup, groupId, context);
  if (now === undefined) return;
  if (now.status === 'COMPLETED') {
    // Completed by an earlier pass: the transfers show whether it was funded.
    return followGroup(setup, known, context);
  }
  if (now.status !== 'NEW' || isQuoteOver(setup, payments)) {
    return startCancelling(setup, known, context);
  }
  const refused = await addTransfers(setup, { known, now }, context);
  if (refused === undefined) return;
  const full = await readGroup(setup, groupId, context);
  if (full?.status !== 'NEW') return;
  const members = await readMembers(setup, known, { group: full, context });
  if (members === undefined) return;
  const isWhole = payments.every(
    ({ key, state }) => state !== 'grouped' || members.transfers.has(key) || refused.has(key),
  );
  if (!isWhole) return;
  // The group is never completed, so that nothing of it can be funded.
  if (members.transfers.size === 0) return endGroup(setup, { ...known, refused });
  // Refused where a transfer was added since it was read, such as by a request that was on its way.
  if (!(await completeGroup(setup, full, context))) return;
  return fundGroup(setup, { ...known, members, refused }, context);
}

/**
 * Adds what the group lacks. Returns the refusals by reference; undefined where a transfer has no
 * definite answer, so that the next pass has to look again.
 */
async function addTransfers(
  setup: Setup,
  { known, now }: { readonly known: Known; readonly now: BatchGroup },
  context: CallContext,
): Promise<Refusals | undefined> {
  const { api, config } = setup;
  const members = await readMembers(setup, known, { group: now, context });
  if (members === undefined) return undefined;
  const refused = new Map<string, Refusal>();
  for (const { key: reference, state, value } of known.payments) {
    const { order, details = {} } = value;
    if (state !== 'grouped' || members.transfers.has(reference) || order === undefined) continue;
    const answer = await api(
      {
        method: 'POST',
        path: `/v3/profiles/${config.profileId}/batch-groups/${now.id}/transfers`,
        body: writeTransfer({ reference, order, details }),
      },
      transferSchema,
      context,
    );
    if (answer.kind === 'refused') {
      refused.set(reference, { reason: 'payer_refused', code: answer.code.slice(0, 200) });
    }
    if (answer.kind !== 'refused' && answer.kind !== 'answered') return undefined;
  }
  return refused;
}

/**
 * Funds the completed group. The records of the group and of its payments say so before the request
 * leaves, in one write, so that of several processes one funds. What the group lacks Wise has refused,
 * and no transfer is added to a completed group.
 */
async function fundGroup(
  setup: Setup,
  {
    group,
    payments,
    members,
    refused,
  }: Known & { readonly members: Members; readonly refused?: Refusals },
  context: CallContext,
): Promise<void> {
  const { groups, host } = setup;
  const fundingCount = group.value.fundingCount + 1;
  const value = { ...group.value, fundingCount, fundedAtMs: host.realNowMs() };
  const changes = payments.flatMap((payment): readonly RecordChange[] => {
    if (!isLeft(payment)) return [];
    const transferId = members.transfers.get(payment.key)?.id;
    if (transferId === undefined) return refuse(setup, payment, refused?.get(payment.key));
    const { fundedAtMs } = value;
    const next: PaymentValue = { ...payment.value, transferId, fundingCount, fundedAtMs };
    return setup.payments.change(payment, { state: 'funding', value: next });
  });
  const isWritten = await host.store.write([
    groups.change(group, { state: 'funding', value }),
    ...changes,
  ]);
  if (!isWritten || value.groupId === undefined) return;
  const isDone = await askFunding(setup, value.groupId, context);
  // Any other answer proves nothing: the transfers are authoritative.
  if (!isDone) return;
  const seen = { ...group, state: 'funding', revision: group.revision + 1, value } as const;
  const funded = [...members.transfers].filter(
    ([, { status }]) => readStanding(status) !== 'cancelled',
  );
  await endFunded(setup, { group: seen, references: funded.map(([reference]) => reference) });
}

type Refusals = ReadonlyMap<string, Refusal>;

function refuse(
  { payments }: Setup,
  payment: Payment,
  refusal: Refusal = { reason: 'payer_refused', code: 'transfer.refused' },
): readonly RecordChange[] {
  return payments.change(payment, { state: 'refused', value: { ...payment.value, ...refusal } });
}

/**
 * The payments first: a group that is not ended yet is looked at again. One whose transfer was
 * canceled before the funding stays as it is, and is refused by its query.
 */
async function endFunded(
  { groups, payments }: Setup,
  { group, references }: { readonly group: Group; readonly references: readonly string[] },
): Promise<void> {
  for (const reference of references) {
    await payments.update(reference, (now) =>
      now?.state === 'funding'
        ? { state: 'funded', value: { ...now.value, fundingCount: 0 } }
        : undefined,
    );
  }
  await groups.write(group, { state: 'funded', value: group.value });
}

/**
 * A funding may have left: the transfers show it, once it has had time to arrive. Where none of them
 * has its money it is repeated: a transfer pays once, however often it is asked for.
 */
async function followGroup(setup: Setup, known: Known, context: CallContext): Promise<void> {
  const { config, host } = setup;
  const { group, payments } = known;
  const { groupId = '', fundedAtMs } = group.value;
  if (host.realNowMs() - fundedAtMs < config.fundingSeconds * 1000) return;
  const now = await readGroup(setup, groupId, context);
  if (now === undefined) return;
  if (now.status !== 'COMPLETED') return startCancelling(setup, known, context);
  const members = await readMembers(setup, known, { group: now, context });
  if (members === undefined) return;
  const found = await readFundings(setup, members, context);
  if (found === undefined) return;
  const { funded, waiting } = found;
  if (waiting.length === 0) {
    if (group.state === 'funding') return endFunded(setup, { group, references: funded });
    // Funded before this database knew of it, as after a restore.
    return keepFunding(setup, { ...known, members });
  }
  if (funded.length > 0) {
    return reportPart(setup, group, { funded, waiting });
  }
  if (isQuoteOver(setup, payments)) return startCancelling(setup, known, context);
  return fundGroup(setup, { ...known, members }, context);
}

/** It is not funded again: a person cancels the other transfers at Wise, or funds them there. */
async function reportPart({ host }: Setup, group: Group, found: Fundings): Promise<void> {
  const { groupId = '' } = group.value;
  const counts = { funded: found.funded.length, waiting: found.waiting.length };
  const what = `Wise has funded ${counts.funded} of its transfers and not the other ${counts.waiting}`;
  const detail = `batch group ${groupId} of ${group.key}: ${what}`;
  const id = `part-funded:${group.key}`;
  const problem = { id, kind: 'not_understood', detail } as const;
  if ((await reportProblem(host, problem, detail)) === 'new') {
    host.log('error', 'Wise has funded a part of a batch group only', {
      reference: group.key,
      ...counts,
    });
  }
}

type Fundings = { readonly funded: readonly string[]; readonly waiting: readonly string[] };

/** References by what became of their transfers; one that was canceled without its money is neither. */
async function readFundings(
  setup: Setup,
  { transfers }: Members,
  context: CallContext,
): Promise<Fundings | undefined> {
  const funded: string[] = [];
  const waiting: string[] = [];
  for (const [reference, { id, status }] of transfers) {
    const standing = readStanding(status);
    const isOpen = standing === 'unfunded' || standing === 'cancelled';
    const isPaid = isOpen ? await isFunded(setup, id, context) : true;
    if (isPaid === undefined) return undefined;
    if (isPaid) funded.push(reference);
    else if (standing === 'unfunded') waiting.push(reference);
  }
  return { funded, waiting };
}

async function keepFunding(
  setup: Setup,
  { group, payments: known, members }: Known & { readonly members: Members },
): Promise<void> {
  const { groups, host, payments } = setup;
  const changes = known.flatMap((payment) => {
    if (payment.state !== 'grouped') return [];
    const transferId = members.transfers.get(payment.key)?.id;
    if (transferId === undefined) return refuse(setup, payment);
    const value = { ...payment.value, transferId };
    return payments.change(payment, { state: 'funding', value });
  });
  const next = { state: 'funding', value: group.value } as const;
  await host.store.write([groups.change(group, next), ...changes]);
}

/** After that, Wise creates no transfer by the quote, and converts at a rate that was never quoted. */
function isQuoteOver({ host }: Setup, payments: readonly Payment[]): boolean {
  const now = host.realNowMs();
  return payments.filter(isLeft).some(({ value }) => (value.order?.fixedUntilMs ?? 0) <= now);
}

function isLeft({ state }: Payment): boolean {
  return state === 'grouped' || state === 'funding';
}

/** Recorded before the request leaves, so that no funding leaves afterwards. */
async function startCancelling(
  setup: Setup,
  { group, payments }: Known,
  context: CallContext,
): Promise<void> {
  const { value } = group;
  setup.host.log('warn', 'a batch group is canceled', { reference: group.key });
  const next = { state: 'cancelling', value } as const;
  if (!(await setup.groups.write(group, next))) return;
  const revision = group.revision + 1;
  return endCancelled(setup, { group: { ...group, ...next, revision }, payments }, context);
}

/**
 * Cancels the group at Wise, which is final and refused where it is funded, and ends each payment when
 * its transfer is canceled, or as it was funded.
 */
async function endCancelled(setup: Setup, known: Known, context: CallContext): Promise<void> {
  const { group, payments } = known;
  const { groupId } = group.value;
  const refusal = isQuoteOver(setup, payments) ? expired : cancelled;
  if (groupId === undefined) return endGroup(setup, { ...known, refusal });
  let now = await readGroup(setup, groupId, context);
  if (now?.status === 'NEW' || now?.status === 'COMPLETED') {
    now = (await cancelGroup(setup, now, context)) ?? now;
  }
  if (now === undefined) return;
  const members = await listMembers(setup, { known, group: now, isCancelled: true }, context);
  if (members === undefined) return;
  const funded = new Map<string, string>();
  for (const [reference, { id, status }] of members.transfers) {
    const isPaid = await isFunded(setup, id, context);
    if (isPaid === undefined) return;
    if (isPaid) funded.set(reference, id);
    else if (readStanding(status) !== 'cancelled') return;
  }
  const isOver = now.status === 'CANCELLED' || funded.size > 0;
  if (isOver) await endGroup(setup, { ...known, refusal, funded });
}

/** Only the `funded` transfers of the group, by reference, can still be paid. */
async function endGroup(
  setup: Setup,
  {
    group,
    payments: known,
    refusal,
    refused,
    funded,
  }: Known & {
    readonly refusal?: Refusal;
    readonly refused?: Refusals;
    readonly funded?: ReadonlyMap<string, string>;
  },
): Promise<void> {
  const { groups, host, payments } = setup;
  const changes = known.filter(isLeft).flatMap((payment) => {
    const transferId = funded?.get(payment.key);
    if (transferId === undefined) {
      return refuse(setup, payment, refused?.get(payment.key) ?? refusal);
    }
    const value = { ...payment.value, transferId, fundingCount: 0 };
    return payments.change(payment, { state: 'funded', value });
  });
  const state = (funded?.size ?? 0) > 0 ? 'funded' : 'cancelled';
  await host.store.write([groups.change(group, { state, value: group.value }), ...changes]);
}
