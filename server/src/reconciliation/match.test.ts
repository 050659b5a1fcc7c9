import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { matchItems, type OpenEntry, type OpenItem } from './match.ts';

const entry = (parts: Partial<OpenEntry>): OpenEntry => ({
  id: 'entry',
  bookedOn: '2026-03-04',
  direction: 'debit',
  amountMinor: 100n,
  references: ['a'],
  bankReference: '',
  batchReferences: [],
  batchCount: undefined,
  ...parts,
});
const item = (parts: Partial<OpenItem>): OpenItem => ({
  id: 'item',
  bookedOn: '2026-03-03',
  direction: 'debit',
  amountMinor: 100n,
  reference: 'a',
  providerReference: '',
  isCharge: false,
  ...parts,
});

test('an entry is matched by our reference with equal amount and direction', () => {
  assert.deepEqual(matchItems([entry({})], [item({})]), [
    { kind: 'reference', entryId: 'entry', itemIds: ['item'] },
  ]);
  assert.deepEqual(matchItems([entry({ amountMinor: 99n })], [item({})]), []);
  assert.deepEqual(matchItems([entry({ direction: 'credit' })], [item({})]), []);
  assert.deepEqual(matchItems([entry({ references: ['b'] })], [item({})]), []);
});

test("an entry is matched by the bank's reference where ours is missing", () => {
  const given = entry({ references: [], bankReference: 'BANK-1' });
  assert.equal(matchItems([given], [item({ providerReference: 'BANK-1' })]).length, 1);
});

test('equal amounts without a common reference are not matched', () => {
  assert.deepEqual(matchItems([entry({ references: [] })], [item({ reference: '' })]), []);
});

test('a debit that includes a charge is matched with the payment and its charge', () => {
  const charge = item({ id: 'charge', amountMinor: 3n, isCharge: true });
  assert.deepEqual(matchItems([entry({ amountMinor: 103n })], [charge, item({})]), [
    { kind: 'reference', entryId: 'entry', itemIds: ['charge', 'item'] },
  ]);
});

test('a payment and its return are matched each with its own entry', () => {
  const entries = [entry({ id: 'out' }), entry({ id: 'back', direction: 'credit' })];
  const items = [item({ id: 'return', direction: 'credit' }), item({ id: 'payment' })];
  assert.deepEqual(
    matchItems(entries, items).map(({ entryId, itemIds }) => [entryId, ...itemIds]),
    [
      ['out', 'payment'],
      ['back', 'return'],
    ],
  );
});

test('a batch that is booked as one amount is matched where its payments add up to it', () => {
  const items = ['a', 'b', 'c'].map((reference) => item({ id: reference, reference }));
  const listed = entry({ amountMinor: 300n, references: ['a', 'b', 'c'] });
  const named = entry({ amountMinor: 300n, references: [], batchReferences: ['a', 'b', 'c'] });
  for (const one of [listed, named]) {
    assert.deepEqual(matchItems([one], items), [
      { kind: 'batch', entryId: 'entry', itemIds: ['a', 'b', 'c'] },
    ]);
    assert.deepEqual(matchItems([{ ...one, amountMinor: 299n }], items), []);
    assert.deepEqual(matchItems([{ ...one, batchCount: 2 }], items), []);
    const charge = item({ id: 'charge', amountMinor: 1n, isCharge: true });
    assert.deepEqual(matchItems([one], [charge, ...items])[0]?.itemIds, ['a', 'b', 'c']);
  }
});

test('every match has equal sums, and nothing is matched twice', () => {
  const reference = fc.constantFrom('a', 'b', 'c', '');
  const amountMinor = fc.bigInt({ min: 1n, max: 4n });
  const direction = fc.constantFrom('debit' as const, 'credit' as const);
  const references = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 });
  const entries = fc.array(
    fc.record({ amountMinor, direction, references, batchReferences: references }),
    { maxLength: 12 },
  );
  const items = fc.array(fc.record({ amountMinor, direction, reference }), { maxLength: 12 });
  fc.assert(
    fc.property(entries, items, (givenEntries, givenItems) => {
      const allEntries = givenEntries.map((one, index) => entry({ ...one, id: `e${index}` }));
      const allItems = givenItems.map((one, index) => item({ ...one, id: `i${index}` }));
      const matches = matchItems(allEntries, allItems);
      const sign = (one: OpenEntry | OpenItem | undefined): bigint =>
        one?.direction === 'debit' ? one.amountMinor : -(one?.amountMinor ?? 0n);
      for (const { entryId, itemIds } of matches) {
        const total = itemIds
          .map((id) => sign(allItems.find((one) => one.id === id)))
          .reduce((sum, amount) => sum + amount, 0n);
        assert.equal(sign(allEntries.find((one) => one.id === entryId)), total);
      }
      const used = matches.flatMap(({ entryId, itemIds }) => [entryId, ...itemIds]);
      assert.equal(new Set(used).size, used.length);
    }),
  );
});
