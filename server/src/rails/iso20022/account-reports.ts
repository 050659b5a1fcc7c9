import { createHash } from 'node:crypto';
import type { Charge, RailObservation } from '../contract/contract.ts';
import { describeReport, type EntryContext, findReturned, isAmountOf } from './booked-amounts.ts';
import { type IdentifiedBooking, identifyBooking } from './bookings.ts';
import type { AccountReport, BookedEntry, Money } from './camt.ts';
import { getReason } from './codes.ts';
import { type EntryTarget, findTarget } from './entry-targets.ts';
import {
  type Findings,
  type MessageContext,
  makeProblem,
  moneyOf,
  readInstant,
} from './findings.ts';
import { cleanReference } from './pain002.ts';
import type { Payment } from './payments.ts';

/**
 * Turns the entries of an account report into outcomes of payments. The same message gives the same
 * findings however often it is read, and a statement repeats a notification without effect.
 */
export async function observeAccountReport(
  report: AccountReport,
  context: MessageContext,
): Promise<Findings> {
  const { config, host } = context;
  const accounts = new Set(
    config.debtors.map(({ iban, account }) => iban || account.replaceAll(' ', '')),
  );
  const findings: Findings = { observations: [], problems: [] };
  for (const { position, detail, money } of report.faults) {
    const name = [context.message, position];
    const where = `entry ${position} of message ${context.message.slice(0, 12)}: ${detail}`;
    findings.problems.push(makeProblem('not_understood', { name, detail: where, money }));
  }
  const seen = new Map<string, number>();
  let ignored = 0;
  for (const entry of report.entries) {
    const atMs = readInstant(entry.bookedAt || report.createdAt, host.nowMs());
    const isOurs = accounts.has(entry.account);
    const found = await observeEntry(entry, { context, atMs, source: report.source, isOurs });
    findings.observations.push(...found.observations);
    for (const { kind, detail } of found.faults) {
      const name = nameEntry(entry);
      const count = (seen.get(`${kind} ${name.join(' ')}`) ?? 0) + 1;
      seen.set(`${kind} ${name.join(' ')}`, count);
      const where = `${describeEntry(entry)} in message ${context.message.slice(0, 12)}: ${detail}`;
      findings.problems.push(
        makeProblem(kind, { name: [...name, String(count)], detail: where, money: entry.booked }),
      );
    }
    if (found.observations.length === 0 && found.faults.length === 0) ignored += 1;
  }
  if (ignored > 0)
    host.log('info', 'entries of a report belong to no payment of this rail', { ignored });
  return findings;
}

type EntryFault = { readonly kind: 'not_understood' | 'unmatched'; readonly detail: string };
type EntryFindings = {
  readonly observations: RailObservation[];
  readonly faults: readonly EntryFault[];
};

const nothing: EntryFindings = { observations: [], faults: [] };

function fault(kind: EntryFault['kind'], detail: string): EntryFindings {
  return { observations: [], faults: [{ kind, detail }] };
}

/** The parts that are the same in every report of the entry. */
function nameEntry(entry: BookedEntry): string[] {
  const { account, direction, booked, endToEndId, bankReference, bookedAt, code, batch } = entry;
  const money = `${booked?.amountMinor ?? ''} ${booked?.currency ?? ''}`;
  const day = bookedAt.slice(0, 10);
  return [account, direction, money, endToEndId, bankReference, day, code, batch?.id ?? ''];
}

/** Position, codes and references only: other texts of an entry may be personal data. */
function describeEntry(entry: BookedEntry): string {
  const { position, direction, isReturn, code, endToEndId, bankReference, batch } = entry;
  const parts = [
    `entry ${position} (${direction}${isReturn ? ', return or reversal' : ''})`,
    code === '' ? '' : `reason ${code}`,
    describeReference('end-to-end id', endToEndId),
    describeReference('bank reference', bankReference),
    describeReference('batch', batch?.id ?? ''),
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function describeReference(name: string, text: string): string {
  const reference = cleanReference(text);
  return reference === '' ? '' : `${name} ${reference}`;
}

async function observeEntry(
  entry: BookedEntry,
  given: EntryContext & { readonly isOurs: boolean },
): Promise<EntryFindings> {
  const target = await findTarget(entry, given.context);
  if (!given.isOurs) {
    return target.kind === 'none'
      ? nothing
      : fault(
          'unmatched',
          'it names a payment of this rail and is booked on an account that is not configured',
        );
  }
  switch (target.kind) {
    case 'none':
      return observeForeign(entry);
    case 'batch':
      return observeBatch(entry, target, given);
    case 'payment':
      return observePayment(entry, target.payment, given);
    case 'unknown_payout':
      return observeUnknown(entry, target.reference, given);
  }
}

/** An entry of no payment of ours: a return, or a debit with a reference, needs a person. */
function observeForeign(entry: BookedEntry): EntryFindings {
  if (entry.isReturn) return fault('unmatched', 'it matches no payment of this rail');
  const isOrdered = cleanReference(entry.endToEndId) !== '' && entry.endToEndId !== 'NOTPROVIDED';
  if (entry.direction === 'debit' && !entry.isCharge && isOrdered) {
    return fault('unmatched', 'it is a payment that this rail did not send');
  }
  return nothing;
}

async function observePayment(
  entry: BookedEntry,
  payment: Payment,
  given: EntryContext,
): Promise<EntryFindings> {
  if (entry.isCharge) return observeCharge(entry, payment, given);
  if (entry.direction === 'credit') return observeReturn(entry, payment, given);
  if (entry.isReturn) {
    return fault('not_understood', 'a return of the payment was reversed: the money left again');
  }
  return observeDebit(entry, payment, given);
}

async function observeDebit(
  entry: BookedEntry,
  payment: Payment,
  given: EntryContext,
): Promise<EntryFindings> {
  const { booked, bankReference } = entry;
  const { reference } = payment.value.order;
  if (booked === undefined || !isAmountOf(entry, payment)) {
    return fault('unmatched', 'the debit does not have the amount of the payment');
  }
  const report = describeReport('debit', { entry, booked, given });
  const ordered = moneyOf(payment);
  const identified = await identifyBooking(given.context.host, reference, { report, ordered });
  if (identified === undefined || identified.ordinal > 1) {
    return fault('not_understood', 'the payment was debited already: this may be a second debit');
  }
  await given.context.bankReferences.note(bankReference, reference);
  const { amountMinor } = payment.value.order;
  const observation = describeDebit(entry, { id: identified.id, reference, amountMinor, given });
  return { observations: withLaterCharges(observation, payment, identified), faults: [] };
}

function describeDebit(
  entry: BookedEntry,
  debit: { id: string; reference: string; amountMinor: bigint; given: EntryContext },
): RailObservation {
  const { bankReference } = entry;
  const { id, reference, amountMinor, given } = debit;
  return {
    id,
    reference,
    outcome: 'paid',
    atMs: given.atMs,
    amountMinor,
    ...(bankReference === '' ? {} : { providerReference: bankReference }),
    charges: describeCharges(entry, id.slice(reference.length + 1)),
  };
}

async function observeReturn(
  entry: BookedEntry,
  payment: Payment,
  given: EntryContext,
): Promise<EntryFindings> {
  const { booked } = entry;
  const { reference } = payment.value.order;
  const amountMinor = findReturned(entry, payment);
  if (booked === undefined || amountMinor === undefined) {
    return fault('unmatched', 'the return does not name an amount in the currency of the payment');
  }
  const report = describeReport('return', { entry, booked, given });
  const ordered = moneyOf(payment);
  const identified = await identifyBooking(given.context.host, reference, { report, ordered });
  if (identified === undefined) {
    return fault('unmatched', 'it may repeat a known return of this amount, or be another one');
  }
  const { id } = identified;
  const observation = describeReturn(entry, { id, reference, amountMinor, given });
  return { observations: withLaterCharges(observation, payment, identified), faults: [] };
}

function describeReturn(
  entry: BookedEntry,
  returned: { id: string; reference: string; amountMinor: bigint; given: EntryContext },
): RailObservation {
  const { bankReference, code } = entry;
  const { id, reference, amountMinor, given } = returned;
  return {
    id,
    reference,
    outcome: 'returned',
    reason: code === '' ? 'sent_back' : getReason(code),
    atMs: given.atMs,
    amountMinor,
    ...(code === '' ? {} : { code }),
    ...(bankReference === '' ? {} : { providerReference: bankReference }),
    charges: describeCharges(entry, id.slice(reference.length + 1)),
  };
}

/** A charge that is booked separately does not change the state of the payment. */
async function observeCharge(
  entry: BookedEntry,
  payment: Payment,
  given: EntryContext,
): Promise<EntryFindings> {
  const { direction, booked } = entry;
  if (direction === 'credit') return fault('not_understood', 'a charge was refunded');
  if (booked === undefined) return fault('not_understood', 'the charge has no amount');
  const { reference } = payment.value.order;
  const report = describeReport('charge', { entry, booked, given });
  const ordered = undefined;
  const identified = await identifyBooking(given.context.host, reference, { report, ordered });
  if (identified === undefined) {
    return fault('unmatched', 'it may repeat a known charge of this amount, or be another one');
  }
  const { id } = identified;
  const charge: Charge = { id: id.slice(reference.length + 1), kind: 'bank', ...booked };
  const outcome = chooseChargedOutcome(payment);
  return {
    observations: [{ id, reference, outcome, atMs: given.atMs, charges: [charge] }],
    faults: [],
  };
}

/**
 * What the service knows already. After a return `paid` would say that the payment was made again, and
 * after a rejection `accepted` that the bank has it all the same.
 */
function chooseChargedOutcome({ state }: Payment): 'accepted' | 'paid' | 'rejected' {
  return state === 'paid' || state === 'rejected' ? state : 'accepted';
}

/**
 * The booking counts as the first message reports it. Charges that another one adds are a report of their
 * own; those that both have are one by their ids.
 */
function withLaterCharges(
  observation: RailObservation,
  payment: Payment,
  { isRepeated }: IdentifiedBooking,
): RailObservation[] {
  const { id, reference, atMs, charges = [] } = observation;
  if (!isRepeated || charges.length === 0) return [observation];
  const names = charges.map((charge) => charge.id).toSorted();
  const digest = createHash('sha256').update(names.join()).digest('hex').slice(0, 16);
  const outcome = chooseChargedOutcome(payment);
  return [observation, { id: `${id}:charges:${digest}`, reference, outcome, atMs, charges }];
}

/** The service may know the reference although this rail has no record of it. */
async function observeUnknown(
  entry: BookedEntry,
  reference: string,
  given: EntryContext,
): Promise<EntryFindings> {
  const { booked, direction } = entry;
  if (entry.isCharge) return fault('unmatched', 'it is a charge of an unknown payment');
  if (booked === undefined)
    return fault('unmatched', 'it is of an unknown payment, without amount');
  if (direction === 'debit' && entry.isReturn) {
    return fault('unmatched', 'it reverses a return of an unknown payment');
  }
  const kind = direction === 'debit' ? 'debit' : 'return';
  const report = describeReport(kind, { entry, booked, given });
  const ordered = undefined;
  const identified = await identifyBooking(given.context.host, reference, { report, ordered });
  if (identified === undefined)
    return fault('unmatched', 'it may repeat a known booking, or be another one');
  const { amountMinor } = booked;
  const described = { id: identified.id, reference, amountMinor, given };
  const observation =
    kind === 'debit' ? describeDebit(entry, described) : describeReturn(entry, described);
  return { observations: [observation], faults: [] };
}

/** A booking of a whole batch counts for each of its payments, where count and sum agree. */
async function observeBatch(
  entry: BookedEntry,
  { id: batchId, payments }: Extract<EntryTarget, { kind: 'batch' }>,
  given: EntryContext,
): Promise<EntryFindings> {
  const { batch, booked, direction } = entry;
  if (entry.isCharge) return nothing;
  if (direction === 'debit' && entry.isReturn) {
    return fault('not_understood', 'a return of the whole batch was reversed');
  }
  const sumMinor = payments.reduce((total, { value }) => total + value.order.amountMinor, 0n);
  const isOneCurrency = payments.every(({ value }) => value.order.currency === booked?.currency);
  const count = batch?.count ?? '';
  const isCount = count === '' || count === String(payments.length);
  if (!isOneCurrency || !isCount || sumMinor !== booked?.amountMinor) {
    return fault('unmatched', 'count or sum of the batch differ from those of its payments');
  }
  const observations: RailObservation[] = [];
  const faults: EntryFault[] = [];
  for (const payment of payments) {
    const single = { ...entry, booked: moneyOf(payment), bankReference: '', charges: [] };
    const found =
      direction === 'debit'
        ? await observeDebit(single, payment, given)
        : await observeReturn(single, payment, given);
    observations.push(...found.observations);
    faults.push(...found.faults);
  }
  if (direction === 'debit' && batchId !== '') {
    await given.context.bankReferences.note(entry.bankReference, batchId);
  }
  return { observations, faults };
}

/** Equal charges of one entry are numbered, in whatever order a message has them. */
function describeCharges({ charges }: BookedEntry, name: string): Charge[] {
  const seen = new Map<string, number>();
  return charges.map(({ currency, amountMinor }: Money) => {
    const money = `${currency}:${amountMinor}`;
    const ordinal = (seen.get(money) ?? 0) + 1;
    seen.set(money, ordinal);
    return { id: `${name}:${ordinal}:${money}`, kind: 'bank', currency, amountMinor };
  });
}
