import type { EnvironmentName } from '../core/access.ts';
import { findCurrency, getCurrency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { convert } from '../core/rate.ts';
import { rowContext } from '../core/sealing.ts';
import { defineProtectedTable, renewMac } from '../db/protected-tables.ts';
import { column } from '../db/rows.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { OperatorServices } from './operators.ts';
import { selectPolicies, storePolicy } from './policies.sql.ts';

/** What needs two people, and from which value on. It stands in the database, not in a setting. */

export const policyActions = [
  'operator',
  'credential',
  'funding',
  'adjustment',
  'limit',
  'resume',
  'decision',
  'screening',
  'erasure',
  'policy',
] as const;
export type PolicyAction = (typeof policyActions)[number];

/** Those about money: two people are needed above a value. */
const valuedActions: ReadonlySet<PolicyAction> = new Set(['funding', 'decision']);
export const isValued = (action: PolicyAction): boolean => valuedActions.has(action);

export type Policy = {
  readonly action: PolicyAction;
  readonly persons: 1 | 2;
  /** Whole USD; two people are needed from just above it. */
  readonly aboveUsd: bigint;
};

/** Live: two people for everything. Staging: for decisions and corrections, as one rehearses them. */
function createDefaults(name: EnvironmentName): Policy[] {
  return policyActions.map((action) => ({
    action,
    persons: name === 'live' || action === 'decision' || action === 'adjustment' ? 2 : 1,
    aboveUsd: isValued(action) ? 10_000n : 0n,
  }));
}

type Vouched = { action: string; persons: number; aboveUsd: bigint };

/** What the code of a policy covers. */
function describePolicy({ action, persons, aboveUsd }: Vouched): string {
  return rowContext('policies', action, persons, aboveUsd.toString());
}

export const protectedPolicies = defineProtectedTable({
  table: 'policies',
  key: { action: 'text' },
  values: ['mac'],
  columns: { action: column.text, persons: column.integer, above_usd: column.bigint },
  renew: renewMac(({ above_usd: aboveUsd, ...row }) => describePolicy({ ...row, aboveUsd })),
});

/** Stores the policies that a new environment begins with. */
export async function storeDefaultPolicies(
  services: OperatorServices,
  name: EnvironmentName,
): Promise<void> {
  const stored = new Set((await selectPolicies(services.session)).map(({ action }) => action));
  for (const policy of createDefaults(name)) {
    if (!stored.has(policy.action)) await changePolicy(services, policy);
  }
}

export async function changePolicy(
  { session, keys }: OperatorServices,
  policy: Policy,
): Promise<void> {
  const { action, persons, aboveUsd } = policy;
  await storePolicy(session, {
    action,
    persons,
    above_usd: aboveUsd,
    mac: keys.mac(describePolicy(policy)),
  });
}

/** One that is missing, or was changed past the service, is the strictest. */
export async function listPolicies({ session, keys }: OperatorServices): Promise<Policy[]> {
  const rows = await selectPolicies(session);
  return policyActions.map((action) => {
    const row = rows.find((each) => each.action === action);
    const strictest: Policy = { action, persons: 2, aboveUsd: 0n };
    if (row === undefined) return strictest;
    const policy: Policy = { action, persons: row.persons === 1 ? 1 : 2, aboveUsd: row.above_usd };
    return keys.isMac(describePolicy(policy), row.mac) ? policy : strictest;
  });
}

export async function getPolicy(services: OperatorServices, action: PolicyAction): Promise<Policy> {
  const found = (await listPolicies(services)).find((policy) => policy.action === action);
  if (found === undefined) throw new AppError('not_found', `there is no policy ${action}`);
  return found;
}

export type Money = { readonly currency: string; readonly minor: bigint };

/** An amount, and what the same person did alone shortly before, so that dividing it changes nothing. */
export type ValuedAct = Money & { readonly earlier?: readonly Money[] };

/**
 * Whether an amount needs two people; one without a price in USD does where any amount can. Earlier
 * amounts count together with it, except those that needed two people by themselves.
 */
export function needsTwoPersons(
  { persons, aboveUsd }: Pick<Policy, 'persons' | 'aboveUsd'>,
  { earlier = [], ...money }: ValuedAct,
  rates: MidRates,
): boolean {
  if (persons === 1) return false;
  const boundMinor = aboveUsd * 10n ** BigInt(getCurrency('USD').scale);
  const value = findUsdMinor(money, rates);
  if (value === undefined) return true;
  const alone = earlier
    .map((each) => findUsdMinor(each, rates))
    .filter((each) => each !== undefined && each <= boundMinor);
  return alone.reduce((sum: bigint, each = 0n) => sum + each, value) > boundMinor;
}

/** Rounded up; undefined without a price in USD. */
function findUsdMinor({ currency, minor }: Money, rates: MidRates): bigint | undefined {
  const usd = getCurrency('USD');
  const source = findCurrency(currency);
  if (source === undefined) return undefined;
  const amount = minor < 0n ? -minor : minor;
  if (source === usd) return amount;
  const found = rates.find(source.code, usd.code);
  if (!found.ok) return undefined;
  return convert(amount, { from: source, to: usd, rate: found.rate }, 'ceil');
}
