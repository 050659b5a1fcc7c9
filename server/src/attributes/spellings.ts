import type { DeliveryType } from '../rails/contract/declarations.ts';
import type { Requirement } from './field.ts';

/**
 * How people write values: with spaces and punctuation, in lower case, a telephone number without its
 * plus. A spelling is accepted where its meaning is plain, and the stored value has the right form.
 */

/** Separators that people put into numbers and codes. */
const separators = /[ .\u00a0\u202f]/g;
const allSeparators = /[ .\-/()\u00a0\u202f]/g;

/** The value as it was sent, and then as it may have been meant; the first that matches counts. */
export function listSpellings(
  requirement: Requirement,
  deliveryType: DeliveryType,
  value: string,
): string[] {
  const trimmed = value.replace(/^[ \u00a0]+/, '').replace(/(?<![ \u00a0])[ \u00a0]+$/, '');
  const { inputType, validation } = requirement;
  if (inputType === 'options') {
    const choices = validation.split('|');
    return [trimmed, ...choices.filter((choice) => choice.toLowerCase() === trimmed.toLowerCase())];
  }
  // Punctuation is part of free text, and every character of a wallet address counts.
  if (isFreeText(requirement) || inputType === 'date' || deliveryType === 'CRYPTOCURRENCY') {
    return [value, trimmed];
  }
  const bare = [trimmed.replaceAll(separators, ''), trimmed.replaceAll(allSeparators, '')];
  const numbers = bare.flatMap((text) => [text, `+${text}`, text.replace(/^00/, '+')]);
  const shown = requirement.type === 'PhoneNumber' ? numbers : bare;
  return [value, trimmed, ...shown, ...shown.map((text) => text.toUpperCase())];
}

function isFreeText({ validation }: Requirement): boolean {
  return validation.includes('[^');
}
