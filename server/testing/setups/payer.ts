import type { PayerDeclaration } from '../../src/rails/contract/declarations.ts';

/** Open around the clock, and paying after this time. */
export function openAlways(minutes: number): PayerDeclaration['availability'] {
  return { timeZone: 'UTC', calendar: null, weekend: [], cutOff: null, delay: { minutes } };
}

/** What the payers of tests have in common; each set-up adds who, where and in which currency. */
export const payerBase = {
  logo: '',
  tariffs: [],
  availability: openAlways(5),
  numberOfLocations: 0,
  additionalDescription: '',
  isDynamicToken: false,
  verification: { kind: 'never' },
  rateLockSeconds: null,
  options: {},
} satisfies Partial<PayerDeclaration>;
