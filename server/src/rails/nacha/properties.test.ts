import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  makeForeignEntry,
  makeInstruction,
  readTestConfig,
  withIat,
} from '../../../testing/setups/nacha.ts';
import { parseAchFile } from './ach-parser.ts';
import { buildFile } from './build-file.ts';
import { type Draft, draftEntry } from './drafts.ts';
import { checkBuiltFile, listEntries } from './final-check.ts';
import { readInboundFile } from './inbound-reader.ts';
import { AchFormatError } from './record-layout.ts';

const config = readTestConfig(withIat());
const created = { day: '2026-11-20', time: '10:00' };

/** The short form tries a sixth of the cases. */
const share = process.env['OUTLAY_TEST_LONG'] === '1' ? 1 : 6;

const text = fc.string({ unit: 'binary', maxLength: 60 });

/** Payments with names and addresses of any characters at all; those that are refused are left out. */
const draftArbitrary = fc
  .record({
    reference: fc.stringMatching(/^[0-9a-f]{32}$/),
    amountMinor: fc.bigInt({ min: 1n, max: 9_999_999_999n }),
    account: fc.stringMatching(/^[1-9][0-9]{3,16}$/),
    type: fc.constantFrom('CHECKING', 'SAVINGS'),
    isForeign: fc.boolean(),
    firstName: text,
    lastName: text,
    city: text,
    street: text,
  })
  .map(({ reference, amountMinor, account, type, isForeign, ...person }) => {
    const base = (isForeign ? makeForeignEntry : makeInstruction)(reference, { amountMinor });
    const { beneficiary, attributes } = base;
    return draftEntry(
      {
        ...base,
        attributes: { ...attributes, BankAccountNumber: account, BankAccountType: type },
        beneficiary: {
          ...beneficiary,
          firstName: person.firstName,
          lastName: person.lastName,
          city: person.city,
          address1: person.street,
        },
      },
      config,
      undefined,
    );
  })
  .filter((result) => result.ok)
  .map(({ draft }) => draft);

const draftsArbitrary = fc.uniqueArray(draftArbitrary, {
  minLength: 1,
  maxLength: 12,
  selector: ({ reference }) => reference,
});

function build(drafts: readonly Draft[]) {
  const plan = {
    config,
    created,
    modifier: 'A',
    referenceCode: '',
    effectiveOn: '2026-11-23',
    drafts,
    traceFirst: 1,
  };
  return buildFile(plan);
}

test('a file of any drafts is valid and reads back as them', () => {
  fc.assert(
    fc.property(draftsArbitrary, (drafts) => {
      const built = build(drafts);
      checkBuiltFile(built, drafts);
      for (const line of built.text.split('\n').slice(0, -1)) assert.equal(line.length, 94);
    }),
    { numRuns: Math.ceil(200 / share) },
  );
});

test('a file with one changed character is refused, or pays the same', () => {
  const drafts = ['a1', 'a2'].map((reference) => {
    const result = draftEntry(makeInstruction(reference), config, undefined);
    assert.ok(result.ok);
    return result.draft;
  });
  const { text: right } = build(drafts);
  const money = (bytes: Uint8Array) =>
    listEntries(parseAchFile(bytes)).map(
      ({ amountMinor, routingNumber, transactionCode }) =>
        `${amountMinor} ${routingNumber} ${transactionCode}`,
    );
  const expected = money(Buffer.from(right));
  fc.assert(
    fc.property(fc.nat(right.length - 1), fc.nat(255), (place, byte) => {
      const bytes = Buffer.from(right);
      bytes[place] = byte;
      try {
        assert.deepEqual(money(bytes), expected);
      } catch (error) {
        // Another transaction code of a credit changes no sum; the last look compares it by itself.
        const column = place % 95;
        const isOtherType = right[place - column] === '6' && (column === 1 || column === 2);
        if (!isOtherType && !(error instanceof AchFormatError)) throw error;
      }
    }),
    { numRuns: Math.ceil(1_500 / share) },
  );
});

test('any other bytes are refused with a message', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      assert.throws(() => parseAchFile(bytes), AchFormatError);
      assert.throws(() => parseAchFile(bytes, 'lenient'), AchFormatError);
      assert.ok(readInboundFile(bytes).faults.length > 0);
    }),
    { numRuns: Math.ceil(1_000 / share) },
  );
});
