import { createHash } from 'node:crypto';
import { bech32 } from '@scure/base';
import { composeIBAN } from 'ibantools';
import examples from 'libphonenumber-js/examples.mobile.json';
import { getCountry } from '../core/country.ts';
import { matchesPattern } from './checks.ts';
import type { AttributeType, Field } from './field.ts';
import { expandPattern, type Slot } from './pattern-slots.ts';
import { formatEthereumAddress } from './wallet-addresses.ts';

/**
 * Made-up values that pass every check: for the sandbox's documented values and for tests. They
 * are a function of their seed alone, so that a documented value stays what it is.
 */

const attemptsMax = 20_000;
const phrase = 'a made-up value of the outlay sandbox';

function hash(text: string): Buffer {
  return createHash('sha256').update(`${phrase}: ${text}`).digest();
}

/** A stream of numbers below a bound that depends on the text alone. */
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
  /** Decimal digits that show in the value where it has room for them. */
  readonly seed: string;
  readonly countryCode: string;
  readonly values: ReadonlyMap<AttributeType, string>;
  readonly today: string;
};

/** The longest run of places, from `start` on, that can hold any digit. */
function findDigitRun(slots: readonly Slot[], start: number): { from: number; length: number } {
  let best = { from: start, length: 0 };
  let length = 0;
  for (let index = start; index < slots.length; index += 1) {
    length = slots[index]?.isAnyDigit ? length + 1 : 0;
    if (length > best.length) best = { from: index - length + 1, length };
  }
  return best;
}

/** One candidate; `attempt` moves the seed through its run and changes all that is free. */
function fill(field: Field, sample: Sample, attempt: number): string {
  const { requirement } = field;
  const start = field.sampleStart;
  const choose = makeChooser(`${requirement.validation} ${sample.seed} ${attempt}`);
  const slots = expandPattern(requirement.validation);
  const characters = slots.map((slot, index) => {
    return start[index] ?? slot.choices[choose(slot.choices.length)] ?? '';
  });
  const run = findDigitRun(slots, start.length);
  const room = run.length - sample.seed.length;
  if (room >= 0 && attempt < attemptsMax / 2) {
    const offset = run.from + room - (attempt % (room + 1));
    characters.splice(offset, sample.seed.length, ...Array.from(sample.seed));
  }
  return characters.join('');
}

const exampleByRegion: Readonly<Record<string, string | undefined>> = examples;

/**
 * A mobile number that begins like the numbering plan's example, so that its prefix is in use, and
 * ends in as much of the seed as the plan has room for.
 */
function findMobileNumber(field: Field, sample: Sample): string | undefined {
  const example = exampleByRegion[getCountry(sample.countryCode).alpha2];
  const callingCode = /^\^(?:\(\?:)?\\\+([0-9]+)/.exec(field.requirement.validation)?.[1];
  if (example === undefined || callingCode === undefined) return undefined;
  for (let free = sample.seed.length; free >= 2; free -= 1) {
    const value = `+${callingCode}${example.slice(0, -free)}${sample.seed.slice(-free)}`;
    if (isRight(field, value, sample)) return value;
  }
  return undefined;
}

function isRight(field: Field, value: string, sample: Sample): boolean {
  if (!matchesPattern(field.requirement, value)) return false;
  return field.check?.(value, sample) === undefined;
}

/** An IBAN's own check digits are computed; the search is for the national ones inside. */
function completeIban(value: string): string {
  return composeIBAN({ countryCode: value.slice(0, 2), bban: value.slice(4) }) ?? value;
}

/** A wallet whose key nobody has, since its hash is that of a phrase. */
function makeWallet(field: Field, sample: Sample): string {
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
  if (requirement.label === 'Wallet address') return makeWallet(field, sample);
  if (requirement.validation.includes('[^')) return 'Sandbox';
  if (requirement.type === 'PhoneNumber') {
    const number = findMobileNumber(field, sample);
    if (number !== undefined) return number;
  }
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const filled = fill(field, sample, attempt);
    const value = requirement.label === 'IBAN' ? completeIban(filled) : filled;
    if (isRight(field, value, sample)) return value;
  }
  throw new Error(`impossible: no value for ${requirement.type} ${requirement.validation}`);
}

/** Values for all required fields of a profile; they fit each other. */
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
