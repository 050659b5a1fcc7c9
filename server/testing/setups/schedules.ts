import assert from 'node:assert/strict';
import { formatAttributeToken, storeAttributes } from '../../src/attributes/attributes.ts';
import { collectAttributes } from '../../src/attributes/collected-attributes.ts';
import { getProfile } from '../../src/attributes/requirements.ts';
import { getRate } from '../../src/core/rate.ts';
import type { Database } from '../../src/db/postgres/pool.ts';
import { compileCatalog, getDestinationToken } from '../../src/destinations/catalog.ts';
import type { MidRates } from '../../src/fx/rate-book.ts';
import { findPayoutRow } from '../../src/payouts/payouts.sql.ts';
import { type NewPayout } from '../../src/payouts/quotes.sql.ts';
import { cancelledByClient } from '../../src/payouts/schedule-reasons.ts';
import { createScheduler } from '../../src/payouts/scheduler.ts';
import { cancelScheduleRow, type NewSchedule } from '../../src/payouts/schedules.sql.ts';
import type { Rail } from '../../src/rails/contract/contract.ts';
import type { StoredPrice } from '../../src/rails/host/prices.ts';
import { createRates } from './destinations.ts';
import { createMoneyTest, type Owner } from './money.ts';
import { first, pay } from './routes.ts';

/** Scheduled payouts of an empty environment, through one payer in Mexico. */

export const rail = first(pay);
export const usdMxn = (rate: string): MidRates => createRates({ 'USD/MXN': getRate(rate) });
export const hourMs = 3_600_000;

export type ScheduleTest = Awaited<ReturnType<typeof createScheduleTest>>;

export type OpenOptions = {
  rates?: MidRates;
  through?: Database;
  rail?: Rail;
  leaseMs?: number;
  prices?: readonly StoredPrice[];
};

export async function createScheduleTest() {
  const money = await createMoneyTest();

  /** The payer's rate is the mid rate less one percent, its fee 1 USD. */
  function open({ rates = usdMxn('20'), through = money.db, ...options }: OpenOptions = {}) {
    const errors: unknown[] = [];
    const used = options.rail ?? rail;
    const catalog = compileCatalog([used], money.clock.nowMs(), options.prices);
    const scheduler = createScheduler({
      db: through,
      keys: money.keys,
      rails: [used],
      catalog: () => catalog,
      rates: () => rates,
      nowMs: money.clock.nowMs,
      leaseMs: options.leaseMs ?? 5000,
      wakeDispatch: () => undefined,
      onError: (error) => errors.push(error),
    });
    return { ...scheduler, errors };
  }

  /** 100 USD for 1,900 MXN, committed to run in an hour. */
  async function schedule(
    owner: Owner,
    changes: Partial<NewPayout> & { terms?: Partial<NewSchedule> } = {},
  ): Promise<string> {
    const { terms, ...quote } = changes;
    const nowMs = money.clock.nowMs();
    const { id } = await money.quote(owner, {
      rail: 'first',
      payerKey: 'first',
      destinationToken: getDestinationToken('first', 'first'),
      destinationMinor: 190_000n,
      schedule: {
        scheduledFor: '2030-01-01',
        runsAt: new Date(nowMs + hourMs),
        deadlineAt: new Date(nowMs + 3 * hourMs),
        givenSide: 'source',
        maxSourceMinor: undefined,
        minDestinationMinor: undefined,
        ...terms,
      },
      ...quote,
    });
    assert.equal((await money.commit(owner, id)).result, 'success');
    assert.equal((await money.payout(id)).status, 'SCHEDULED');
    return id;
  }

  const read = async (owner: Owner, payoutId: string) => {
    const row = await findPayoutRow(money.db.tenant(owner.accountId), { ...owner, payoutId });
    assert.ok(row !== undefined);
    return row;
  };

  const cancel = (owner: Owner, payoutId: string) =>
    cancelScheduleRow(money.db.tenant(owner.accountId), {
      ...owner,
      payoutId,
      reason: cancelledByClient,
    });

  /** A complete set of attributes, without which the rail is not asked. */
  async function storeSet({ accountId, userId }: Owner): Promise<Partial<NewPayout>> {
    const corridor = { countryCode: 'MEX', deliveryType: 'BANK_DEPOSIT', currency: 'MXN' } as const;
    const [payer] = compileCatalog([rail]).payersIn('MEX');
    assert.ok(payer !== undefined);
    const profile = getProfile(corridor);
    const { sample } = collectAttributes(corridor);
    await storeAttributes(
      { session: money.db.tenant(accountId), keys: money.keys, accountId },
      {
        userId,
        destination: { payer, currency: 'MXN' },
        values: profile.requirements.map(({ type }) => ({
          token: formatAttributeToken(profile, type),
          value: sample[type] ?? '',
        })),
        attrSetToken: undefined,
        today: '2026-01-01',
      },
    );
    return { needsAttributes: true };
  }

  return { money, open, schedule, read, cancel, storeSet };
}
