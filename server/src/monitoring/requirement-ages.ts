import type { Rail } from '../rails/contract/contract.ts';

/** How current is what the counterparty of a rail asks for its recipients. */
export type RequirementsAge = {
  readonly rail: string;
  /** Of the payer and currency that was not read for the longest time. */
  readonly ageMs: number;
};

/** One for each rail whose requirements were ever read. */
export function measureRequirements(
  rails: readonly Pick<Rail, 'name' | 'payers' | 'findRequirementsTime'>[],
  nowMs: number,
): RequirementsAge[] {
  return rails.flatMap(({ name, payers, findRequirementsTime }) => {
    const times = payers.flatMap(({ key, currencies }) =>
      currencies.flatMap((currency) => findRequirementsTime?.(key, currency) ?? []),
    );
    return times.length === 0 ? [] : [{ rail: name, ageMs: nowMs - Math.min(...times) }];
  });
}
