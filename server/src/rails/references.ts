import type { ReferenceRule } from './contract.ts';

/**
 * The reference by which a rail and its counterpart know a payout: the payout's identifier, written
 * in a way that the rail can carry whole. It is a function of the payout and of nothing else.
 */
export type ReferenceEncoding = 'digits' | 'dashed';

const encodings: readonly ReferenceEncoding[] = ['digits', 'dashed'];

/** Identifiers that between them have every hexadecimal digit at the places where it may vary. */
const samples = Array.from('0123456789abcdef', (digit) => {
  const run = (length: number): string => digit.repeat(length);
  return `${run(8)}-${run(4)}-7${run(3)}-8${run(3)}-${run(12)}`;
});

/** @throws Error where the rail can carry none of them: a reference is never cut to fit. */
export function chooseEncoding(railName: string, rule: ReferenceRule): ReferenceEncoding {
  const found = encodings.find((encoding) =>
    samples.every((sample) => {
      const reference = encodeReference(encoding, sample);
      return reference.length <= rule.lengthMax && rule.charset.test(reference);
    }),
  );
  if (found === undefined) {
    throw new Error(
      `rail ${railName}: it carries at most ${rule.lengthMax} characters of ${rule.charset.source}, ` +
        'and no reference of a payout fits',
    );
  }
  return found;
}

export function encodeReference(encoding: ReferenceEncoding, payoutId: string): string {
  return encoding === 'dashed' ? payoutId : payoutId.replaceAll('-', '');
}

/** The payout that a reference names, in either encoding; undefined where it names none. */
export function decodeReference(reference: string): string | undefined {
  const digits = reference.toLowerCase().replaceAll('-', '');
  if (!/^[0-9a-f]{32}$/.test(digits)) return undefined;
  const parts = [0, 8, 12, 16, 20].map((from, index, all) => digits.slice(from, all[index + 1]));
  return parts.join('-');
}
