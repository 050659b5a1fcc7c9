import type { Beneficiary } from '../contract/contract.ts';
import type { FspiopConfig } from './config.ts';

/** Words in lower case without accents and apostrophes: `Ngũgĩ wa Thiong'o` has three. */
export function splitName(name: string): string[] {
  return name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/['’ʼ`]/g, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

/** Words that the name on the wallet must have; none: names are not compared. */
export function listWantedWords(
  beneficiary: Beneficiary,
  rule: FspiopConfig['nameCheck'],
): readonly string[] {
  if (rule === 'off') return [];
  const { businessName, firstName, lastName } = beneficiary;
  if (businessName !== '') return splitName(businessName);
  return splitName(rule === 'last_name' ? lastName : `${firstName} ${lastName}`);
}

/** Whether the name has all the words, in any order. */
export function hasWords(name: string, wanted: readonly string[]): boolean {
  const words = new Set(splitName(name));
  return wanted.every((word) => words.has(word));
}
