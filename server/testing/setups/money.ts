import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createAccount } from '../../src/accounts/accounts.ts';
import { newId } from '../../src/core/ids.ts';
import { createKeyRing } from '../../src/core/sealing.ts';
import { createEnvironmentClock } from '../../src/db/environment-clock.ts';
import {
  connectDatabase,
  type Database,
  findSqlState,
  type Session,
} from '../../src/db/postgres/pool.ts';
import { type Catalog, compileCatalog } from '../../src/destinations/catalog.ts';
import {
  createDispatcher,
  type DispatchTimes,
  dispatchTimes,
  type Rules,
} from '../../src/dispatch/dispatch.ts';
import {
  type ApplyResult,
  applyObservation,
  type Observation,
  type ObservationDetails,
} from '../../src/dispatch/observations.ts';
import type { SendMarker } from '../../src/dispatch/send-marker.ts';
import { createMeasurements } from '../../src/dispatch/standings.ts';
import { verifyMoves } from '../../src/exceptions/move-proof.ts';
import type { MidRates } from '../../src/fx/rate-book.ts';
import { verifyChains } from '../../src/ledger/chain-source.ts';
import { verifyEvents } from '../../src/ledger/event-proof.ts';
import { verifyJournals } from '../../src/ledger/journal-proof.ts';
import { fundBalance, verifyLedger } from '../../src/ledger/ledger.ts';
import { commitPayoutRow } from '../../src/payouts/commit.sql.ts';
import { type PayoutRow } from '../../src/payouts/payouts.sql.ts';
import { insertPayout, type NewPayout } from '../../src/payouts/quotes.sql.ts';
import type { Rail, RailAnswer } from '../../src/rails/contract/contract.ts';
import { derivePaymentId, encodeReference } from '../../src/rails/contract/references.ts';
import type { TravelRules } from '../../src/travel-rule/travel-rule.ts';
import { createUser, prepareUser } from '../../src/users/users.ts';
import { createTestDatabase, patientLimits } from './database.ts';
import { openOwner } from './owner-session.ts';
import { readRows } from './read-rows.ts';
import { untilAdmitted } from './until-admitted.ts';

/** An empty environment, with helpers that create accounts, users and payouts. */

export type Owner = { accountId: string; userId: string };
type DispatcherOptions = {
  through?: Database;
  rates?: MidRates;
  rules?: Rules;
  /** Instead of one compiled from the rails alone. */
  catalog?: () => Catalog;
  requestPrices?: (rail: string) => Promise<void>;
  /** Those of staging where absent. */
  times?: DispatchTimes;
  marker?: SendMarker;
  travelRules?: TravelRules;
};

/** A router and measurements; without rates it finds no other payers. */
export function createRouting(db: Database, rails: readonly Rail[], rates = noRates) {
  const catalog = compileCatalog(rails);
  const measurements = createMeasurements(db.system);
  return {
    router: { catalog: () => catalog, rates: () => rates, measure: measurements.measure },
    measurements,
  };
}

const noRates: MidRates = {
  find: () => ({ ok: false, reason: 'unknown', detail: 'a test has no rates' }),
};

/** `reference`: of its first payment. */
export type CommittedPayout = Owner & { payoutId: string; reference: string };
export type MoneyTest = Awaited<ReturnType<typeof createMoneyTest>>;

const hourMs = 3_600_000;

export async function createMoneyTest(options: { environmentName?: 'staging' | 'live' } = {}) {
  const { environmentName = 'staging' } = options;
  const database = await createTestDatabase();
  const db = connectDatabase({ ...database, connectionsMax: 12, limits: patientLimits });
  const others: Database[] = [];
  const schemaOwner = openOwner(database.url, database.opener);
  const keys = createKeyRing(randomBytes(32));
  const rows = <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    readRows<Row>(schemaOwner.session, { name: '', text }, values);
  await rows(`insert into environment (name, master_key_id) values ($1, 'test')`, [
    environmentName,
  ]);
  const clock = await createEnvironmentClock(db.system, {
    environmentName,
    steadyMs: () => performance.now(),
    realNowMs: Date.now,
  });

  const test = {
    url: database.url,
    db,
    keys,
    clock,
    /** Runs a statement as the owner, who sees all accounts. */
    rows,
    ownerTransaction: schemaOwner.transaction,
    /** Another pool on the same database, as of another process. */
    connect: (): Database => {
      const other = connectDatabase({
        url: database.url,
        connectionsMax: 12,
        limits: patientLimits,
      });
      others.push(other);
      return other;
    },
    /** Creates a funded account with a user. */
    createOwner: async (funds: Readonly<Record<string, bigint>> = {}): Promise<Owner> => {
      const made = await db.systemTransaction((session) =>
        createAccount(session, { name: 'Test', environmentName, keys }),
      );
      const accountId = made.account;
      await Promise.all(
        Object.entries(funds).map(([currency, amountMinor]) =>
          fundBalance(db.system, { accountId, currency, amountMinor }),
        ),
      );
      return { accountId, userId: await test.createUser(accountId) };
    },
    createUser: async (accountId: string): Promise<string> => {
      const name = randomBytes(8).toString('hex');
      const user = prepareUser(
        { keys, accountId },
        {
          internal_user_id: name,
          country: 'MEX',
          first_name: 'Ana',
          last_name: 'Gómez',
          email: `${name}@example.org`,
          metadata: undefined,
        },
      );
      const created = await untilAdmitted(() => createUser(db.tenant(accountId), user));
      return created.id;
    },
    quote: (owner: Owner, changes: Partial<NewPayout> = {}): Promise<PayoutRow> =>
      untilAdmitted(() =>
        insertPayout(db.tenant(owner.accountId), { ...describeQuote(owner), ...changes }),
      ),
    describeQuote,
    commit: (owner: Owner, payoutId: string, through: Database = db) =>
      untilAdmitted(() => commitPayoutRow(through.tenant(owner.accountId), { ...owner, payoutId })),
    quoteAndCommit: async (
      owner: Owner,
      changes: Partial<NewPayout> = {},
    ): Promise<CommittedPayout> => {
      const { id, client_transfer_id: clientTransferId } = await test.quote(owner, changes);
      assert.equal((await test.commit(owner, id)).result, 'success');
      const paymentId = derivePaymentId({
        accountId: owner.accountId,
        clientTransferId,
        attempt: 1,
      });
      return { ...owner, payoutId: id, reference: encodeReference('digits', paymentId) };
    },
    observe: (
      { accountId, payoutId }: Omit<CommittedPayout, 'reference'>,
      outcome: string,
      changes: {
        fence?: bigint;
        dueAt?: Date;
        source?: Observation['source'];
        details?: ObservationDetails;
      } = {},
    ): Promise<ApplyResult> =>
      db.systemTransaction((session) =>
        applyObservation(
          { session, keys },
          {
            accountId,
            payoutId,
            rail: undefined,
            observationId: newId(),
            source: changes.source ?? (changes.fence === undefined ? 'sandbox' : 'query'),
            outcome,
            reason: `a test says ${outcome}`,
            fence: changes.fence,
            dueAt: changes.dueAt,
            details: changes.details,
          },
        ),
      ),
    /** In staging only. */
    advance: async (milliseconds: number): Promise<void> => {
      // In a transaction of its own, as `moveClock` does.
      await rows(`select open_months(environment_now() + $1 * interval '1 millisecond')`, [
        milliseconds,
      ]);
      await rows(
        'update environment set clock_offset_us = clock_offset_us + $1, clock_target_us = clock_target_us + $1',
        [BigInt(milliseconds) * 1000n],
      );
      await clock.refresh(db.system);
    },
    createDispatcher: (rail: Rail, through: Database = db) =>
      test.createDispatcherOf([rail], { through }),
    createDispatcherOf: (rails: readonly Rail[], more: DispatcherOptions = {}) => {
      const routing = createRouting(db, rails, more.rates);
      const errors: unknown[] = [];
      const dispatcher = createDispatcher({
        times: more.times ?? dispatchTimes.staging,
        db: more.through ?? db,
        keys,
        clock,
        rails: new Map(rails.map((rail) => [rail.name, rail])),
        ...routing,
        router: { ...routing.router, ...(more.catalog && { catalog: more.catalog }) },
        ...(more.requestPrices && { requestPrices: more.requestPrices }),
        ...(more.marker && { marker: more.marker }),
        ...(more.travelRules && { travelRules: more.travelRules }),
        rules: more.rules,
        onAnswer: () => undefined,
        onError: (error) => errors.push(error),
      });
      return { ...dispatcher, errors, measurements: routing.measurements };
    },
    /** The balance of one ledger account in minor units; 0n where there is none. */
    balance: async (accountId: string, currency: string, name = 'wallet'): Promise<bigint> => {
      const [row] = await rows<{ balance: bigint }>(
        'select balance from ledger_accounts where account_id = $1 and currency = $2 and name = $3',
        [accountId, currency, name],
      );
      return row?.balance ?? 0n;
    },
    payout: async (id: string) => {
      const [row] = await rows<{ status: string; status_reason: string; pickup_code: string }>(
        'select status, status_reason, pickup_code from payouts where id = $1',
        [id],
      );
      assert.ok(row !== undefined);
      return row;
    },
    attempts: (id: string) =>
      rows<{ number: number; state: string; reference: string; fence: bigint }>(
        'select number, state, reference, fence from attempts where payout_id = $1 order by number',
        [id],
      ),
    dispatch: async (id: string) => {
      const [row] = await rows<{ fence: bigint; due_at: Date; lease_until: Date | null }>(
        'select fence, due_at, lease_until from payout_dispatches where payout_id = $1',
        [id],
      );
      return row;
    },
    assertSound: async (): Promise<void> => {
      const { isSound, ...proof } = await verifyLedger(db);
      assert.ok(isSound, JSON.stringify(proof).slice(0, 1000));
      assert.deepEqual((await verifyChains(db)).findings, []);
      // Ids of journals are in the order of posting, on which statements rely.
      const mixed = `select l.account_id, l.number from ledger_links l
        join ledger_links p on p.account_id = l.account_id and p.number = l.number - 1
        where l.first_id <= p.last_id limit 3`;
      assert.deepEqual(await rows(mixed), []);
      assert.deepEqual(await verifyJournals(db), []);
      // Tests write votes, and damage or lock users, past the service.
      const wrongMoves = await verifyMoves(db, { keys, isSandbox: true });
      const wrongEvents = await verifyEvents(db);
      assert.deepEqual(
        [
          ...wrongMoves.filter(({ code }) => code !== 'forged'),
          ...wrongEvents.filter(({ type }) => !type.startsWith('user.')),
        ],
        [],
      );
    },
    /** Asserts that the database refuses the statement even to the owner of its tables. */
    refuse: (text: string, values: readonly unknown[], refusal: Refusal): Promise<void> =>
      assertRefused(schemaOwner.transaction, { text, values }, refusal),
    /** The same for a tenant connection; an account of '' is none. */
    refuseTenant: (
      accountId: string,
      statement: { text: string; values?: readonly unknown[] },
      refusal: Refusal,
    ): Promise<void> => {
      const run: Transaction =
        accountId === ''
          ? (work) =>
              db.systemTransaction(async (session) => {
                await readRows(session, { name: '', text: 'set local role outlay_tenant' });
                await work(session);
              })
          : (work) => db.tenantTransaction(accountId, work);
      return assertRefused(run, statement, refusal);
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await Promise.all([db, schemaOwner, ...others].map((one) => one.close()));
      await database.drop();
    },
  };
  return test;
}

/** A quote of 100.00 USD and a fee of 1.00 for 1,800.00 MXN. */
export function describeQuote(owner: Owner): NewPayout {
  return {
    ...owner,
    id: newId(),
    clientTransferId: newId(),
    sourceToken: newId(),
    sourceCurrency: 'USD',
    sourceMinor: 10_000n,
    feeMinor: 100n,
    destinationToken: newId(),
    destinationCurrency: 'MXN',
    destinationMinor: 180_000n,
    exchangeRate: '18',
    midRate: '18.2',
    usdMinor: 10_000n,
    roundingNano: 0n,
    rail: 'fake',
    payerKey: 'one',
    payerName: 'Bank',
    attrSetId: undefined,
    deliveryType: 'BANK_DEPOSIT',
    countryCode: 'MEX',
    needsAttributes: false,
    needsVerification: false,
    notifyUser: false,
    metadata: '{}',
    lockSeconds: 900,
    estimatedAvailability: new Date(Date.now() + hourMs),
    metadataHashes: [],
  };
}

export type RailCall = { kind: 'send' | 'query'; reference: string };

/** A rail that answers with the given function and records its calls. */
export function createFakeRail(answer: (call: RailCall) => RailAnswer | Promise<RailAnswer>) {
  const calls: RailCall[] = [];
  const call = (kind: RailCall['kind']) => async (instruction: { reference: string }) => {
    const made = { kind, reference: instruction.reference };
    calls.push(made);
    return answer(made);
  };
  return {
    name: 'fake',
    kind: 'fake',
    pace: { concurrencyMax: 1000, perSecondMax: null, failuresMax: Number.POSITIVE_INFINITY },
    dailyLimits: {},
    reference: { lengthMax: 64, charset: /^[0-9a-z]+$/ },
    companies: [],
    payers: [],
    send: call('send'),
    query: call('query'),
    calls,
    /** How often it was called to send. */
    sends: () => calls.filter(({ kind }) => kind === 'send').length,
  } satisfies Rail & Record<string, unknown>;
}

export type Refusal = { states: readonly string[]; what: string };

type Transaction = (work: (session: Session) => Promise<void>) => Promise<void>;

class NotRefused extends Error {}

/**
 * Asserts that the database refuses the statement with one of these SQLSTATEs. Otherwise the statement
 * is rolled back.
 */
export async function assertRefused(
  transaction: Transaction,
  statement: { text: string; values?: readonly unknown[] },
  refusal: Refusal,
): Promise<void> {
  const { text, values = [] } = statement;
  const { states, what } = refusal;
  try {
    await transaction(async (session) => {
      await readRows(session, { name: '', text }, values);
      await readRows(session, { name: '', text: 'set constraints all immediate' });
      throw new NotRefused();
    });
  } catch (error) {
    if (error instanceof NotRefused) assert.fail(`not refused: ${what}`);
    const state = findSqlState(error);
    assert.ok(
      state !== undefined && states.includes(state),
      `${what}: refused with ${state} (${String(error)}) instead of ${states.join(' or ')}`,
    );
  }
}

/** Moves the clock to the next query of the payout, and returns by how much. */
export async function advanceToNextQuery(
  money: MoneyTest,
  { payoutId }: Pick<CommittedPayout, 'payoutId'>,
): Promise<number> {
  const row = await money.dispatch(payoutId);
  assert.ok(row !== undefined, 'no next query is planned');
  await money.clock.refresh(money.db.system);
  const waitMs = Math.max(0, row.due_at.getTime() - money.clock.nowMs()) + 1;
  await money.advance(waitMs);
  return waitMs;
}
