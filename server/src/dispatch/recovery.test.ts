import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { createCompany, createPayer, createRates } from '../../testing/setups/destinations.ts';
import {
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  describeQuote,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { createPersons } from '../../testing/setups/persons.ts';
import { AppError } from '../core/errors.ts';
import { getRate } from '../core/rate.ts';
import { compileCatalog, getDestinationToken } from '../destinations/catalog.ts';
import { createScheduler } from '../payouts/scheduler.ts';
import { cancelScheduleRow } from '../payouts/schedules.sql.ts';
import type { Rail, RailAnswer, RecoveredPayment } from '../rails/contract/contract.ts';
import { derivePaymentId, encodeReference } from '../rails/contract/references.ts';
import {
  beginRecovery,
  createRecoveryState,
  describeRecovery,
  findLead,
  followMarker,
  releaseRecovery,
  runRecovery,
} from './recovery.ts';
import { createSendMarker, type SendMarker } from './send-marker.ts';

let money: MoneyTest;
let person: ReturnType<typeof createPersons>;
let owner: Owner;
let folder: string;
let marker: SendMarker;
before(async () => {
  money = await createMoneyTest();
  person = createPersons(money);
  owner = await money.createOwner({ USD: 100_000_000n });
  folder = await mkdtemp(join(tmpdir(), 'outlay-recovery-'));
  marker = openMarker();
});
afterEach(async () => {
  await money.rows(
    `update recoveries set listed_at = now(), released_at = now(), closed_at = now()
     where closed_at is null`,
  );
  await money.assertSound();
  await money.rows(`update payout_dispatches set due_at = '9999-01-01'`);
});
after(async () => {
  await money[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const openMarker = (dataDirectory = folder): SendMarker =>
  createSendMarker({
    db: money.db,
    environmentName: 'staging',
    dataDirectory,
    steadyMs: () => performance.now(),
  });

function describePaid(payout: Pick<CommittedPayout, 'reference'>): RecoveredPayment {
  return {
    reference: payout.reference,
    currency: 'MXN',
    amountMinor: 180_000n,
    outcome: 'paid',
    providerReference: `p-${payout.reference.slice(0, 8)}`,
    atMs: Date.now(),
    detail: 'event 7',
  };
}

/** A rail whose counterparty made these payments and reports them to a query. */
function createRail(payments: readonly RecoveredPayment[]) {
  const paid = new Set(payments.map(({ reference }) => reference));
  const fake = createFakeRail(({ kind, reference }): RailAnswer => {
    if (kind === 'query') {
      return paid.has(reference)
        ? { outcome: 'paid' }
        : { outcome: 'retry', reason: 'unreachable' };
    }
    return { outcome: 'paid' };
  });
  return { ...fake, recover: async () => payments };
}

const errors: unknown[] = [];
const servicesOf = (rail: Rail) => ({
  db: money.db,
  rails: [rail],
  marker,
  onError: (error: unknown) => errors.push(error),
});

const release = async (name: string) =>
  releaseRecovery(money, { ...(await person(name)), reason: 'compared', acceptsUnlisted: false });

async function releaseByTwo(rail: Rail): Promise<void> {
  assert.equal(await release('ada'), 'waiting');
  assert.equal(await release('bob'), 'released');
  await runRecovery(servicesOf(rail));
}

test('while a recovery is open nothing is sent, and commits are refused', async () => {
  const payout = await money.quoteAndCommit(owner);
  const rail = createRail([]);
  const state = createRecoveryState(money.db);
  await state.refresh();
  state.refuse();
  assert.equal(await beginRecovery(servicesOf(rail), 'a test'), true);
  assert.equal(await beginRecovery(servicesOf(rail), 'a test'), false);
  await state.refresh();
  assert.throws(state.refuse, (error) => error instanceof AppError && error.code === 'recovering');
  const dispatcher = money.createDispatcher(rail);
  assert.equal(await dispatcher.runDue(), 0);
  await dispatcher.drain();
  await assert.rejects(release('ada'), /has not listed/);
  await runRecovery(servicesOf(rail));
  assert.equal(await release('ada'), 'waiting');
  assert.equal(await release('ada'), 'waiting', 'the same person again');
  assert.equal(await dispatcher.runDue(), 0);
  assert.equal(await release('bob'), 'released');
  assert.equal(await dispatcher.runDue(), 0, 'until the rails have taken over what was found');
  await runRecovery(servicesOf(rail));
  await state.refresh();
  state.refuse();
  assert.equal(await dispatcher.runDue(), 1);
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
});

test('a committed payout whose payment the rail lists is queried and never sent', async () => {
  const payout = await money.quoteAndCommit(owner);
  const rail = createRail([describePaid(payout)]);
  await beginRecovery(servicesOf(rail), 'a test');
  await runRecovery(servicesOf(rail));
  const report = await describeRecovery({ db: money.db });
  assert.equal(report.state, 'listed');
  assert.deepEqual(
    report.payments?.map(({ result, payout_id: id }) => [result, id]),
    [['linked', payout.payoutId]],
  );
  await releaseByTwo(rail);
  await money.createDispatcher(rail).runDue();
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
  assert.deepEqual(
    rail.calls.map(({ kind }) => kind),
    ['query'],
  );
});

test('a listed payment that its payout knows asks nobody', async () => {
  const payout = await money.quoteAndCommit(owner);
  await money.createDispatcher(createFakeRail(() => ({ outcome: 'paid' }))).runDue();
  const rail = createRail([describePaid(payout)]);
  await beginRecovery(servicesOf(rail), 'a test');
  await runRecovery(servicesOf(rail));
  const { payments } = await describeRecovery({ db: money.db });
  assert.deepEqual(
    payments?.map(({ result, payout_id: id }) => [result, id]),
    [['known', payout.payoutId]],
  );
  const asked = await money.rows('select from exceptions where payout_id = $1', [payout.payoutId]);
  assert.equal(asked.length, 0);
});

test('a payout stored as not sent is queried if the rail lists its payment', async () => {
  const payout = await money.quoteAndCommit(owner);
  await money
    .createDispatcher(createFakeRail(() => ({ outcome: 'retry', reason: 'unreachable' })))
    .runDue();
  const rail = createRail([describePaid(payout)]);
  await beginRecovery(servicesOf(rail), 'a test');
  await runRecovery(servicesOf(rail));
  await releaseByTwo(rail);
  await money.advance(3_600_000);
  await money.createDispatcher(rail).runDue();
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
  assert.equal(rail.sends(), 0);
});

test('the payment of a quote is matched when its client commits it', async () => {
  const quoted = describeQuote(owner);
  const { id } = await money.quote(owner, quoted);
  const [row] = await money.rows<{ reference: string }>(
    'select payment_reference($1, $2, 1) as reference',
    [owner.accountId, quoted.clientTransferId],
  );
  const rail = createRail([describePaid({ reference: row?.reference ?? '' })]);
  await beginRecovery(servicesOf(rail), 'a test');
  await runRecovery(servicesOf(rail));
  const open = () =>
    money.rows<{ kind: string; payout_id: string; amount: bigint }>(
      `select kind, payout_id, amount from exceptions
       where kind = 'recovered' and closed_at is null`,
    );
  assert.deepEqual(await open(), [{ kind: 'recovered', payout_id: id, amount: 180_000n }]);
  await releaseByTwo(rail);
  assert.equal((await money.commit(owner, id)).result, 'success');
  await money.createDispatcher(rail).runDue();
  assert.equal((await money.payout(id)).status, 'COMPLETED');
  assert.equal(rail.sends(), 0);
  assert.deepEqual(await open(), []);
});

test('a scheduled payout whose payment the rail lists is not canceled, and queried when it runs', async () => {
  const hourMs = 3_600_000;
  const soon = (hours: number): Date => new Date(money.clock.nowMs() + hours * hourMs);
  const quote = await money.quote(owner, {
    destinationToken: getDestinationToken('fake', 'one'),
    schedule: {
      scheduledFor: '2030-01-01',
      runsAt: soon(1),
      deadlineAt: soon(3),
      givenSide: 'source',
      maxSourceMinor: undefined,
      minDestinationMinor: undefined,
    },
  });
  const payout = { ...owner, payoutId: quote.id };
  assert.equal((await money.commit(owner, quote.id)).result, 'success');
  const paymentId = derivePaymentId({
    accountId: owner.accountId,
    clientTransferId: quote.client_transfer_id,
    attempt: 1,
  });
  const rail = {
    ...createRail([describePaid({ reference: encodeReference('digits', paymentId) })]),
    companies: [createCompany('first')],
    payers: [createPayer('one')],
  };
  await beginRecovery(servicesOf(rail), 'a test');
  await runRecovery(servicesOf(rail));
  const { payments } = await describeRecovery({ db: money.db });
  assert.deepEqual(
    payments?.map(({ result, payout_id: id }) => [result, id]),
    [['found', quote.id]],
  );
  await releaseByTwo(rail);
  const session = money.db.tenant(owner.accountId);
  const cancelled = await cancelScheduleRow(session, { ...payout, reason: 'a test' });
  assert.equal(cancelled.result, 'disputed');
  await money.advance(hourMs);
  const catalog = compileCatalog([rail]);
  const scheduler = createScheduler({
    db: money.db,
    keys: money.keys,
    rails: [rail],
    nowMs: money.clock.nowMs,
    catalog: () => catalog,
    rates: () => createRates({ 'USD/MXN': getRate('20') }),
    leaseMs: 5000,
    wakeDispatch: () => undefined,
    onError: (error) => errors.push(error),
  });
  await scheduler.drain();
  await money.createDispatcher(rail).runDue();
  assert.equal((await money.payout(quote.id)).status, 'COMPLETED');
  assert.deepEqual(
    rail.calls.map(({ kind }) => kind),
    ['query'],
  );
});

test('the payment of an unknown payout is matched when its client quotes it again', async () => {
  const anew = describeQuote(owner);
  const [row] = await money.rows<{ reference: string }>(
    'select payment_reference($1, $2, 1) as reference',
    [owner.accountId, anew.clientTransferId],
  );
  const rail = createRail([describePaid({ reference: row?.reference ?? '' })]);
  await beginRecovery(servicesOf(rail), 'a test');
  await runRecovery(servicesOf(rail));
  const { payments } = await describeRecovery({ db: money.db });
  assert.deepEqual(
    payments?.map(({ result }) => result),
    ['unmatched'],
  );
  await releaseByTwo(rail);
  const payout = await money.quoteAndCommit(owner, anew);
  await money.createDispatcher(rail).runDue();
  assert.equal((await money.payout(payout.payoutId)).status, 'COMPLETED');
  assert.equal(rail.sends(), 0);
});

test('a payment through another rail opens an exception', async () => {
  const payout = await money.quoteAndCommit(owner);
  const rail = createRail([]);
  const other = { ...createRail([describePaid(payout)]), name: 'other' };
  const services = { ...servicesOf(rail), rails: [rail, other] };
  await beginRecovery(services, 'a test');
  await runRecovery(services);
  assert.equal(await release('ada'), 'waiting');
  assert.equal(await release('bob'), 'released');
  await runRecovery(services);
  await money.createDispatcher(rail).runDue();
  assert.equal((await money.payout(payout.payoutId)).status, 'HOLD');
  assert.equal(rail.sends(), 0);
});

test('payments without a reference are listed by transaction, and known ones are matched', async () => {
  const payout = await money.quoteAndCommit(owner);
  const answer = { outcome: 'accepted', providerReference: '0xknown' } as const;
  await money.createDispatcher(createFakeRail(() => answer)).runDue();
  const bare = { ...describePaid({ reference: '' }), currency: 'ETH', destination: '0xAb' };
  const rail = createRail([
    { ...bare, providerReference: '0xknown' },
    { ...bare, providerReference: '0xother' },
    { ...bare, providerReference: '0xempty', amountMinor: 0n, outcome: 'unknown' },
  ]);
  await beginRecovery(servicesOf(rail), 'a test');
  await runRecovery(servicesOf(rail));
  const { rails, payments } = await describeRecovery({ db: money.db });
  assert.deepEqual(
    rails?.map(({ state, detail }) => [state, detail]),
    [['listed', '']],
  );
  assert.deepEqual(
    payments?.map(({ id, result, payout_id: payoutId }) => [id, result, payoutId]).toSorted(),
    [
      ['0xempty', 'unmatched', null],
      ['0xknown', 'known', payout.payoutId],
      ['0xother', 'unmatched', null],
    ],
  );
  await releaseByTwo(rail);
});

test('a rail that cannot list its payments must be accepted explicitly', async () => {
  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  await beginRecovery(servicesOf(rail), 'a test');
  await runRecovery(servicesOf(rail));
  await assert.rejects(release('ada'), /--accept-unlisted/);
  const given = { reason: 'compared by hand', acceptsUnlisted: true };
  assert.equal(await releaseRecovery(money, { ...(await person('ada')), ...given }), 'waiting');
});

test('the marker file shows that the database was restored to an earlier moment', async () => {
  const services = servicesOf(createRail([]));
  await marker.advance();
  const backup = await money.rows<{ send_marker: bigint }>('select send_marker from environment');
  await openMarker().advance();
  assert.equal(await findLead(services), undefined);
  await money.rows('update environment set send_marker = $1', [backup[0]?.send_marker]);
  assert.match((await findLead(services)) ?? '', /1 ahead/);
  await beginRecovery(services, 'a test');
  await runRecovery(services);
  await releaseByTwo(services.rails[0] as Rail);
  assert.equal(await findLead(services), undefined);
  assert.deepEqual(errors, []);
});

test('a restore below running processes is found, and a released one is not found again', async () => {
  const rail = createRail([]);
  const other = await mkdtemp(join(folder, 'server-'));
  const markers = [openMarker(), openMarker(other)];
  const [worker, server] = markers.map((own) => ({ ...servicesOf(rail), marker: own }));
  assert.ok(worker !== undefined && server !== undefined);
  const state = createRecoveryState(money.db);
  await worker.marker.advance();
  await followMarker(server);
  await state.refresh();
  state.refuse();
  await money.rows('update environment set send_marker = send_marker - 1');
  // The worker sends nothing more, and a process that only serves refuses commits.
  await assert.rejects(openMarker().advance(), /restored while this process ran/);
  await followMarker(server);
  await state.refresh();
  assert.throws(() => state.refuse(), { code: 'recovering' });
  await followMarker(worker);
  await runRecovery(worker);
  await releaseByTwo(rail);
  for (const one of [server, worker]) await followMarker(one);
  await state.refresh();
  state.refuse();
  await openMarker().advance();
  assert.deepEqual(errors, []);
});

/** One after the other, a few that hang would take longer than a probe of the start waits. */
test('all rails are compared at the same time, and one that fails hides no other', async () => {
  let asked = 0;
  const compare = async (found: string | undefined): Promise<string | undefined> => {
    asked += 1;
    await new Promise(setImmediate);
    assert.equal(asked, 2);
    if (found === undefined) throw new Error('no answer');
    return found;
  };
  const ofRail = (name: string, found?: string): Rail => ({
    ...createRail([]),
    name,
    findUnknownPayments: () => compare(found),
  });
  const rails = [ofRail('silent'), ofRail('ahead', 'one more')];
  const services = { ...servicesOf(createRail([])), rails };
  assert.equal(await findLead(services), 'rail ahead: one more');
  assert.deepEqual(errors.splice(0).map(String), ['Error: no answer']);
});
