import { randomInt } from 'node:crypto';

/** Decimal digits; tests need account numbers and codes that no other test uses. */
export function randomDigits(count: number): string {
  return Array.from({ length: count }, () => randomInt(10)).join('');
}
