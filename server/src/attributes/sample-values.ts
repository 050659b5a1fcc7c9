import { createHash } from 'node:crypto';
import { base58, bech32 } from '@scure/base';
import { composeIBAN } from 'ibantools';
import examples from 'libphonenumber-js/examples.mobile.json';
import randexp from 'randexp';
import { getCountry } from '../core/country.ts';
import { matchesPattern } from './checks.ts';
import type { AttributeType, Field } from './field.ts';
import { formatEthereumAddress } from './wallet-addresses.ts';

/**
 * Made-up values that pass every check: for the sandbox's documented values, for checking rails and
 * for tests. They depend on their seed alone, so that documented values do not change.
 */

/** The module is the class itself; its types name it `default`. */
const RandExp = randexp as unknown as typeof randexp.default;

const attemptsMax = 20_000;
/** Beyond this many repetitions a value gets no longer than it must. */
const repetitionsUsual = 12;
const phrase = 'a made-up value of the outlay sandbox';

function hash(text: string): Buffer {
  return createHash('sha256').update(`${phrase}: ${text}`).digest();
}

/** A function whose numbers, each below the bound, depend on the text alone. */
function makeChooser(text: string): (bound: number) => number {
  let block = hash(text);
  let position = 0;
  return (bound) => {
    if (position + 2 > block.length) {
      block = createHash('sha256').update(block).digest();
      position = 0;
    }
    const number = block.readUInt16BE(position);
    position += 2;
    return number % bound;
  };
}

export type Sample = {
  /** Decimal digits that occur in the value if its form admits them. */
  readonly seed: string;
  readonly countryCode: string;
  readonly values: ReadonlyMap<AttributeType, string>;
  readonly today: string;
};

/**
 * The pattern with digits wherever they may stand, and of usual length: there the seed has room.
 */
function narrow(pattern: string): string {
  return pattern
    .replaceAll(/\[[^\]]*0-9[^\]]*\]/g, '[0-9]')
    .replaceAll(/\{(\d+),(\d+)\}/g, (_range, minimum: string, maximum: string) => {
      return `{${Math.max(Number(minimum), Math.min(Number(maximum), repetitionsUsual))}}`;
    });
}

/**
 * Candidates for a field, one for each attempt. In the first half of the attempts the seed stands
 * in each, at every place in turn.
 */
function createCandidates(field: Field, sample: Sample): (attempt: number) => string {
  const { requirement, sampleStart } = field;
  const generator = new RandExp(narrow(requirement.validation));
  return (attempt) => {
    const choose = makeChooser(`${requirement.validation} ${sample.seed} ${attempt}`);
    generator.randInt = (from, to) => from + choose(to - from + 1);
    const value = sampleStart + generator.gen().slice(sampleStart.length);
    const end = value.length - sample.seed.length;
    if (end < sampleStart.length || attempt >= attemptsMax / 2) return value;
    const offset = end - (attempt % (end - sampleStart.length + 1));
    return value.slice(0, offset) + sample.seed + value.slice(offset + sample.seed.length);
  };
}

const exampleByRegion: Readonly<Record<string, string | undefined>> = examples;

/**
 * A mobile number with the prefix of the numbering plan's example, so that it is in use, and as
 * much of the end of the seed as is valid.
 */
function findMobileNumber(field: Field, sample: Sample): string | undefined {
  const example = exampleByRegion[getCountry(sample.countryCode).alpha2];
  const callingCode = /^\^(?:\(\?:)?\\\+([0-9]+)/.exec(field.requirement.validation)?.[1];
  if (example === undefined || callingCode === undefined) return undefined;
  for (let free = sample.seed.length; free >= 2; free -= 1) {
    const value = `+${callingCode}${example.slice(0, -free)}${sample.seed.slice(-free)}`;
    if (isValid(field, value, sample)) return value;
  }
  return undefined;
}

function isValid(field: Field, value: string, sample: Sample): boolean {
  if (!matchesPattern(field.requirement, value)) return false;
  return field.check?.(value, sample) === undefined;
}

/** Computes an IBAN's own check digits; national ones inside it are found by trial. */
function completeIban(value: string): string {
  return composeIBAN({ countryCode: value.slice(0, 2), bban: value.slice(4) }) ?? value;
}

/** A wallet without a known key, since its hash is that of a phrase. */
function makeWallet(field: Field, sample: Sample): string {
  if (field.requirement.validation.endsWith('{32,44}$')) {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const candidate = base58.encode(hash(`wallet ${sample.seed} ${attempt}`));
      // About half of all keys are points on the curve.
      if (isValid(field, candidate, sample)) return candidate;
    }
  }
  const key = hash(`wallet ${sample.seed}`).subarray(0, 20);
  if (field.requirement.validation.startsWith('^0x')) {
    return formatEthereumAddress(key.toString('hex'));
  }
  const prefix = field.requirement.validation.includes('ltc1') ? 'ltc' : 'bc';
  return bech32.encode(prefix, [0, ...bech32.toWords(key)]);
}

/** A value of the field that passes its pattern and its check. */
export function makeSampleValue(field: Field, sample: Sample): string {
  const { requirement } = field;
  if (requirement.inputType === 'options') return requirement.validation.split('|')[0] ?? '';
  if (requirement.inputType === 'date') return '2099-12-31';
  if (requirement.label.startsWith('Wallet address')) return makeWallet(field, sample);
  if (requirement.validation.includes('[^')) return 'Sandbox';
  if (requirement.type === 'PhoneNumber') {
    const number = findMobileNumber(field, sample);
    if (number !== undefined) return number;
  }
  const makeCandidate = createCandidates(field, sample);
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const candidate = makeCandidate(attempt);
    const value = requirement.label === 'IBAN' ? completeIban(candidate) : candidate;
    if (isValid(field, value, sample)) return value;
  }
  throw new Error(`no valid value found for ${requirement.type} ${requirement.validation}`);
}

/** Values for all required fields of a profile, consistent with each other. */
export function makeSampleSet(
  fields: readonly Field[],
  sample: Omit<Sample, 'values'>,
): Map<AttributeType, string> {
  const values = new Map<AttributeType, string>();
  for (const field of fields) {
    if (field.requirement.isOptional) continue;
    values.set(field.requirement.type, makeSampleValue(field, { ...sample, values }));
  }
  return values;
}
