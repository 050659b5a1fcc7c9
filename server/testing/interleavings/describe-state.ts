import type { Seen } from './seen.ts';
import { namePayment, type World } from './world.ts';

const writeAmount = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? value.toString() : value;

/** Two states with the same text have the same future: numbers of claims and times do not matter. */
export function describeState(world: World, seen: Seen): string {
  const { payments, wire, reports, workers, freeze, left } = world;
  const attemptOf = (payment: string) => seen.attempts.find((one) => namePayment(one) === payment);
  const described = reports.map(({ payment, outcome, amount, atMs }) => {
    const reportedAtMs = attemptOf(payment)?.reportedAtMs ?? null;
    return [payment, outcome, amount, reportedAtMs === null || atMs > reportedAtMs];
  });
  const working = workers.map(({ row, isCanceling, answer }) => [
    row.mode,
    namePayment(row),
    row.was_taken,
    row.fence.toString() === seen.fence,
    isCanceling,
    answer,
  ]);
  const known = {
    ...seen,
    fence: '',
    attempts: seen.attempts.map((attempt) => ({ ...attempt, reportedAtMs: null })),
  };
  return JSON.stringify([
    Object.entries(payments).toSorted(),
    wire.toSorted(),
    freeze === undefined,
    described.map((one) => JSON.stringify(one)).toSorted(),
    working.map((one) => JSON.stringify(one, writeAmount)).toSorted(),
    left,
    known,
  ]);
}
