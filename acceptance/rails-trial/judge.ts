import type { PayoutRecord, Snapshot } from './books.ts';
import type { BookedPayment } from './counterpart.ts';
import type { Entry } from './journal.ts';

/**
 * Compares what the client was answered, what the counterparts booked and what the service has in its
 * books. It computes only; every line of its findings is a violation.
 */

export type Evidence = {
  readonly entries: readonly Entry[];
  readonly snapshot: Snapshot;
  readonly booked: readonly { readonly rail: string; readonly payment: BookedPayment }[];
  /** What the account was funded with, minor units by currency. */
  readonly funded: Readonly<Record<string, bigint>>;
};

export type RailScore = {
  readonly rail: string;
  committed: number;
  completed: number;
  cancelled: number;
  /** Before a person, with an open question that says why. */
  held: number;
  unknown: number;
  /** Through this rail after another one had refused it. */
  rerouted: number;
  /** By the counterpart's records. */
  paid: number;
  returned: number;
};

export type Verdict = {
  /** Why payouts did not end as completed, the most frequent first. */
  readonly reasons: readonly { readonly text: string; readonly count: number }[];
  readonly violations: readonly string[];
  readonly scores: readonly RailScore[];
};

type Payment = BookedPayment & { readonly rail: string };

export function judge(evidence: Evidence): Verdict {
  const { snapshot, entries } = evidence;
  const violations: string[] = [];
  const { byPayout, strays } = matchPayments(evidence);
  for (const payment of strays) {
    violations.push(`${payment.rail}: paid without a committed payout: ${describe(payment)}`);
  }
  for (const payout of snapshot.payouts) {
    const payments = byPayout.get(payout.id) ?? [];
    violations.push(...judgePayout(payout, payments).map((text) => `${name(payout)}: ${text}`));
  }
  violations.push(
    ...judgeAcknowledged(entries, snapshot.payouts),
    ...judgeWallets(evidence),
    ...judgeSettlement(snapshot, byPayout),
    ...judgeSuspense(snapshot),
    ...snapshot.unmatched.map((text) => `a question that belongs to no payout: ${text}`),
  );
  return { violations, reasons: countReasons(snapshot), scores: score(snapshot.payouts, byPayout) };
}

function describe({ reference, recipient, currency, amountMinor, state }: Payment): string {
  return `${reference ?? recipient} ${amountMinor} ${currency} ${state}`;
}

function name({ id, rail, status }: PayoutRecord): string {
  return `${rail} ${id} ${status}`;
}

type Matched = {
  readonly byPayout: ReadonlyMap<string, readonly Payment[]>;
  /** Paid, and for no payout. */
  readonly strays: readonly Payment[];
};

/** A payment belongs to the payout of its reference, or of its recipient and its very own amount. */
function matchPayments({ entries, snapshot, booked }: Evidence): Matched {
  const byReference = new Map(
    snapshot.payouts.flatMap(({ id, references }) =>
      references.map((reference) => [reference, id]),
    ),
  );
  const byRecipient = new Map<string, string>();
  const recipients = new Set<string>();
  const idsByTransfer = new Map(snapshot.payouts.map(({ transferId, id }) => [transferId, id]));
  for (const { destination, transferId, currency, amountMinor } of entries) {
    const recipient = destination.values['BankAccountNumber']?.toLowerCase();
    const id = idsByTransfer.get(transferId);
    if (recipient === undefined || destination.way.deliveryType !== 'CRYPTOCURRENCY') continue;
    recipients.add(recipient);
    if (id !== undefined) byRecipient.set(`${recipient} ${currency} ${amountMinor}`, id);
  }
  const byPayout = new Map<string, Payment[]>();
  const strays: Payment[] = [];
  for (const { rail, payment } of booked) {
    const whole = { ...payment, rail };
    const { reference, currency, amountMinor } = payment;
    const recipient = payment.recipient?.toLowerCase() ?? '';
    // A chain also shows what the payer keeps for itself.
    if (reference === undefined && !recipients.has(recipient)) continue;
    const id =
      reference === undefined
        ? byRecipient.get(`${recipient} ${currency} ${amountMinor}`)
        : byReference.get(reference.replaceAll('-', '').toLowerCase());
    if (id !== undefined) {
      byPayout.set(id, [...(byPayout.get(id) ?? []), whole]);
    } else if (payment.state !== 'refused') {
      strays.push(whole);
    }
  }
  return { byPayout, strays };
}

const isLive = ({ state }: Payment): boolean => state !== 'refused';

function judgePayout(payout: PayoutRecord, payments: readonly Payment[]): string[] {
  const live = payments.filter(isLive);
  const [payment] = live;
  const faults: string[] = [];
  if (live.length > 1) {
    faults.push(`paid ${live.length} times: ${live.map(describe).join('; ')}`);
  }
  for (const one of live) {
    const isRight = one.amountMinor === payout.amountMinor && one.currency === payout.currency;
    if (!isRight) faults.push(`is ${payout.amountMinor} ${payout.currency}, paid ${describe(one)}`);
  }
  const isAsked = payout.exceptions.length > 0;
  const hasEnded = payout.status === 'COMPLETED' || payout.status === 'CANCELLED';
  // No counterpart contradicts itself here: who asks a person has misunderstood one.
  if (hasEnded && isAsked) faults.push(`a person is asked: ${payout.exceptions.join(', ')}`);
  switch (payout.status) {
    case 'COMPLETED':
      if (payment?.state !== 'paid')
        faults.push(`the counterpart says ${describePayment(payment)}`);
      else if (payment.returnedMinor > 0n) faults.push('the counterpart sent it back');
      break;
    case 'CANCELLED':
      faults.push(...judgeCancelled(payout, payment));
      break;
    case 'HOLD':
    case 'ERROR':
      if (!isAsked) faults.push('no exception is open for it');
      break;
    default:
      faults.push(`it did not end; the counterpart says ${describePayment(payment)}`);
  }
  return faults;
}

function describePayment(payment: Payment | undefined): string {
  return payment === undefined ? 'that nothing was paid' : describe(payment);
}

function judgeCancelled(payout: PayoutRecord, payment: Payment | undefined): string[] {
  const { returnedMinor, wasCompleted } = payout;
  if (payment === undefined) return wasCompleted ? ['it counted as paid, and never was'] : [];
  if (payment.state === 'undone' && !wasCompleted) return [];
  if (payment.returnedMinor === 0n) return [`refunded, and ${describePayment(payment)}`];
  if (payment.returnedMinor === returnedMinor && wasCompleted) return [];
  return [`sent back ${payment.returnedMinor}, and counted ${returnedMinor}`];
}

/** What was answered with success is there, and is the only one of its transfer. */
function judgeAcknowledged(entries: readonly Entry[], payouts: readonly PayoutRecord[]): string[] {
  const byId = new Map(payouts.map((payout) => [payout.id, payout]));
  const countOf = new Map<string, number>();
  for (const { transferId } of payouts) {
    countOf.set(transferId, (countOf.get(transferId) ?? 0) + 1);
  }
  return entries.flatMap((entry) => {
    const { transferId, acknowledged, others, rail } = entry;
    const faults: string[] = [];
    const fault = (text: string): void => {
      faults.push(`${rail}: transfer ${transferId}: ${text}`);
    };
    const payout = acknowledged === undefined ? undefined : byId.get(acknowledged);
    if (acknowledged !== undefined && payout === undefined) {
      fault(`the acknowledged commit of ${acknowledged} is lost`);
    }
    if (payout !== undefined) {
      const { amountMinor, currency } = payout;
      const isAsAsked = amountMinor === entry.amountMinor && currency === entry.currency;
      if (!isAsAsked) fault(`asked for ${entry.amountMinor}, committed ${amountMinor} ${currency}`);
    }
    if (others.length > 0) fault(`also committed as ${others.join(', ')}`);
    const count = countOf.get(transferId) ?? 0;
    if (count > 1) fault(`committed ${count} times`);
    return faults;
  });
}

/** What a payout has cost its sender by its status. */
function findCost(payout: PayoutRecord): bigint {
  const { status, sourceMinor, feeMinor, amountMinor, returnedMinor, wasCompleted } = payout;
  if (status !== 'CANCELLED') return sourceMinor + feeMinor;
  if (!wasCompleted) return 0n;
  return sourceMinor - (sourceMinor * returnedMinor) / amountMinor + feeMinor;
}

function judgeWallets({ snapshot, funded }: Evidence): string[] {
  const expected = new Map(Object.entries(funded));
  for (const payout of snapshot.payouts) {
    const { sourceCurrency: currency } = payout;
    expected.set(currency, (expected.get(currency) ?? 0n) - findCost(payout));
  }
  return [...expected].flatMap(([currency, amount]) => {
    const wallet = findBalance(snapshot, { name: 'wallet', currency });
    return wallet === amount ? [] : [`the wallet has ${wallet} ${currency} and not ${amount}`];
  });
}

/** Nothing came back that had not been paid. */
function judgeSuspense({ balances }: Snapshot): string[] {
  return balances
    .filter(({ name: account, balance }) => account === 'suspense' && balance !== 0n)
    .map(({ currency, balance }) => `${balance} ${currency} are in suspense`);
}

function findBalance(
  { balances }: Snapshot,
  { name: wanted, currency }: { name: string; currency: string },
): bigint {
  const found = balances.find((one) => one.name === wanted && one.currency === currency);
  return found?.balance ?? 0n;
}

/** What went out through a rail by the ledger is what its counterpart paid and took. */
function judgeSettlement(
  snapshot: Snapshot,
  byPayout: ReadonlyMap<string, readonly Payment[]>,
): string[] {
  const expected = new Map<string, bigint>();
  const count = (key: string, amount: bigint): void => {
    expected.set(key, (expected.get(key) ?? 0n) + amount);
  };
  for (const { rail, currency, amount } of snapshot.charges) count(`${rail} ${currency}`, amount);
  for (const { id, wasCompleted } of snapshot.payouts) {
    // What is held, or went back before it counted as paid, is not in the account of the rail.
    if (!wasCompleted) continue;
    for (const { rail, currency, ...payment } of (byPayout.get(id) ?? []).filter(isLive)) {
      count(`${rail} ${currency}`, payment.amountMinor - payment.returnedMinor);
    }
  }
  for (const { name: account, currency } of snapshot.balances) {
    const [, rail] = /^settlement:(.+)$/.exec(account) ?? [];
    if (rail !== undefined) count(`${rail} ${currency}`, 0n);
  }
  return [...expected].flatMap(([key, amount]) => {
    const [rail = '', currency = ''] = key.split(' ');
    const balance = findBalance(snapshot, { name: `settlement:${rail}`, currency });
    if (balance === amount) return [];
    return [`${rail}: settled ${balance} ${currency} by the ledger, ${amount} by its counterpart`];
  });
}

function countReasons({ payouts }: Snapshot): Verdict['reasons'] {
  const counts = new Map<string, number>();
  for (const { rail, status, statusReason, exceptions } of payouts) {
    if (status === 'COMPLETED') continue;
    const text = [rail, status, statusReason, ...exceptions].filter((one) => one !== '').join(', ');
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts]
    .map(([text, count]) => ({ text, count }))
    .toSorted((a, b) => b.count - a.count);
}

function createScore(rail: string): RailScore {
  const ends = { completed: 0, cancelled: 0, held: 0, unknown: 0 };
  return { rail, committed: 0, ...ends, rerouted: 0, paid: 0, returned: 0 };
}

function score(
  payouts: readonly PayoutRecord[],
  byPayout: ReadonlyMap<string, readonly Payment[]>,
): RailScore[] {
  const scores = new Map<string, RailScore>();
  for (const { rail, id, status, isUnknown } of payouts) {
    const row = scores.get(rail) ?? createScore(rail);
    scores.set(rail, row);
    const payments = byPayout.get(id) ?? [];
    const live = payments.filter(isLive);
    row.committed += 1;
    row.completed += Number(status === 'COMPLETED');
    row.cancelled += Number(status === 'CANCELLED');
    row.held += Number(status === 'HOLD' || status === 'ERROR');
    row.unknown += Number(isUnknown && status !== 'CANCELLED' && status !== 'COMPLETED');
    row.rerouted += Number(payments.some((payment) => payment.rail !== rail));
    row.paid += live.filter(({ state }) => state === 'paid').length;
    row.returned += live.filter(({ returnedMinor }) => returnedMinor > 0n).length;
  }
  return [...scores.values()].toSorted((a, b) => (a.rail < b.rail ? -1 : 1));
}
