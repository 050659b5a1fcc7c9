import assert from 'node:assert/strict';
import { beginRecovery, describeRecovery, runRecovery } from '../../src/dispatch/recovery.ts';
import type { RecoveredPayment } from '../../src/rails/contract/contract.ts';
import { createFakeRail, type MoneyTest } from './money.ts';

const marker = {
  advance: async () => undefined,
  retryAdvance: async () => undefined,
  isFailing: () => false,
  findLead: async () => 0,
  follow: async () => 0,
  raise: async () => undefined,
  reset: async () => undefined,
};

/** A rail lists the payments in a recovery, which is released then; by default the fake rail. */
export async function recoverPayments(
  money: MoneyTest,
  listed: readonly RecoveredPayment[],
  { name }: { name?: string } = {},
) {
  const fake = createFakeRail(() => ({ outcome: 'paid' }));
  const rail = { ...fake, name: name ?? fake.name, recover: async () => listed };
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const services = { db: money.db, rails: [rail], marker, onError };
  await beginRecovery(services, 'a test');
  await runRecovery(services);
  assert.deepEqual(errors, []);
  const { payments = [] } = await describeRecovery({ db: money.db });
  await endRecovery(money);
  return { rail, payments };
}

export const endRecovery = (money: MoneyTest) =>
  money.rows(
    `update recoveries set listed_at = now(), released_at = now(), closed_at = now()
     where closed_at is null`,
  );
