import type { Beneficiary } from '../contract/contract.ts';
import type { FspiopConfig } from './config.ts';

/** Letters and digits in lower case without their accents: `Ngũgĩ wa Thiong'o` has three words. */
export function splitName(name: string): string[] {
  return name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/['’ʼ`]/g, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

/** The words that the name on the wallet must have. None: nothing is compared. */
export function listWantedWords(
  beneficiary: Beneficiary,
  rule: FspiopConfig['nameCheck'],
): readonly string[] {
  if (rule === 'off') return [];
  const { businessName, firstName, lastName } = beneficiary;
  if (businessName !== '') return splitName(businessName);
  return splitName(rule === 'last_name' ? lastName : `${firstName} ${lastName}`);
}

/** A name of the wallet that has more words, or the same ones in another order, is the same one. */
export function hasWords(name: string, wanted: readonly string[]): boolean {
  const words = new Set(splitName(name));
  return wanted.every((word) => words.has(word));
}
