import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { openTestHost, type TestHost } from '../../../testing/setups/rail.ts';
import type { Instruction } from '../contract/contract.ts';
import { openCounters } from './counters.ts';
import { openPaymentBook } from './payment-book.ts';
import { emptyBeneficiary } from './recipient.ts';
import { minorUnits, openRecords } from './records.ts';

const value = z.object({ amountMinor: minorUnits, note: z.string() });

let host: TestHost;
before(async () => {
  host = await openTestHost({ name: 'kit' });
});
after(() => host.close());

function openBook(again: Pick<TestHost, 'store' | 'log'> = host) {
  return openPaymentBook(again, {
    collection: 'payments',
    states: ['waiting', 'filed', 'rejected'],
    value,
    isSame: (record, { amountMinor }) => record.value.amountMinor === amountMinor,
    answer: ({ state }) =>
      state === 'rejected' ? { outcome: 'rejected', reason: 'cancelled' } : { outcome: 'accepted' },
    // A waiting payment has an entry in a queue.
    changeCompanions: (previous, { key, state }) => {
      const [wasWaiting, isWaiting] = [previous?.state === 'waiting', state === 'waiting'];
      if (wasWaiting === isWaiting) return [];
      const next = isWaiting ? { state: 'open', value: {} } : undefined;
      return [{ collection: 'queue', key, revision: isWaiting ? 0 : 1, next }];
    },
  });
}

function instruct(reference: string, amountMinor = 500n): Instruction {
  return {
    reference,
    amountMinor,
    payerKey: 'bank',
    countryCode: 'DEU',
    deliveryType: 'BANK_DEPOSIT',
    currency: 'EUR',
    attributes: {},
    beneficiary: { ...emptyBeneficiary, countryCode: 'DEU' },
    originator: { accountId: 'a', name: 'A' },
    pickupCode: '',
    committedAtMs: 0,
    availableAtMs: 0,
  };
}

const waiting = { state: 'waiting', value: { amountMinor: 500n, note: '' } } as const;
const tombstone = { state: 'rejected', value: { amountMinor: 500n, note: '' } } as const;
const withdraw = (record: { state: string; value: z.infer<typeof value> }) =>
  record.state === 'waiting' ? ({ ...record, state: 'rejected' } as const) : undefined;

const hasQueueEntry = async (reference: string) =>
  (await host.store.get('queue', reference)) !== undefined;

describe('a payment book', () => {
  it('enters a reference once, even when two writers race', async () => {
    const instruction = instruct('once');
    assert.equal(await openBook().answer(instruction), undefined);
    const entries = await Promise.all([
      openBook().enter(instruction, waiting),
      openBook(host.again()).enter(instruction, tombstone),
    ]);
    assert.deepEqual(entries.map(({ isNew }) => isNew).toSorted(), [false, true]);
    assert.deepEqual(entries[0]?.answer, entries[1]?.answer);
    const record = await openBook().find('once');
    assert.deepEqual([record?.revision, record?.value.amountMinor], [1, 500n]);
  });

  it('answers nothing about another instruction of the reference, and changes nothing', async () => {
    const book = openBook();
    await book.enter(instruct('same'), waiting);
    const duplicate = { outcome: 'unknown', reason: 'duplicate' };
    assert.deepEqual(await book.answer(instruct('same', 501n)), duplicate);
    const cancelled = await book.cancel(instruct('same', 501n), { tombstone, withdraw });
    assert.deepEqual(cancelled, duplicate);
    assert.equal((await book.find('same'))?.state, 'waiting');
    assert.equal(host.lines.at(-1)?.fields['reference'], 'same');
  });

  it('refuses a payment whose cancellation came first', async () => {
    const book = openBook();
    const rejected = { outcome: 'rejected', reason: 'cancelled' };
    assert.deepEqual(await book.cancel(instruct('late'), { tombstone, withdraw }), rejected);
    const entry = await book.enter(instruct('late'), waiting);
    assert.deepEqual(entry, { isNew: false, answer: rejected });
  });

  it('stops what has not left, and nothing that has', async () => {
    const book = openBook();
    await book.enter(instruct('stopped'), waiting);
    assert.equal(await hasQueueEntry('stopped'), true);
    const stopped = await book.cancel(instruct('stopped'), { tombstone, withdraw });
    assert.equal(stopped.outcome, 'rejected');
    assert.equal(await hasQueueEntry('stopped'), false);
    await book.enter(instruct('filed'), waiting);
    await book.update('filed', (record) => record && { ...record, state: 'filed' });
    const filed = await book.cancel(instruct('filed'), { tombstone, withdraw });
    assert.equal(filed.outcome, 'accepted');
  });

  it('writes a change with its companions or not at all', async () => {
    const book = openBook();
    await book.enter(instruct('stale'), waiting);
    const record = await book.find('stale');
    assert.ok(record);
    await book.update('stale', () => ({ state: 'waiting', value: { ...record.value, note: 'x' } }));
    assert.equal(await book.write(record, { ...record, state: 'filed' }), false);
    assert.equal(await hasQueueEntry('stale'), true);
  });

  it('applies a change again where another writer was faster', async () => {
    const book = openBook();
    await book.enter(instruct('busy'), waiting);
    const addX = () =>
      book.update(
        'busy',
        (record) =>
          record && { ...record, value: { ...record.value, note: `${record.value.note}x` } },
      );
    await Promise.all(Array.from({ length: 8 }, addX));
    assert.equal((await book.find('busy'))?.value.note, 'xxxxxxxx');
    assert.deepEqual(await book.update('none', () => undefined), {
      record: undefined,
      isChanged: false,
    });
  });

  it('reads all payments of a state, over all pages', async () => {
    const keys = Array.from({ length: 450 }, (_, index) => `page-${1000 + index}`);
    const book = openBook();
    await host.store.write(
      keys.flatMap((key) => book.change({ key, revision: 0 }, { ...waiting, state: 'filed' })),
    );
    const listed = await Array.fromAsync(book.list({ state: 'filed', prefix: 'page-' }));
    assert.deepEqual(
      listed.map(({ key }) => key),
      keys,
    );
    const page = await book.page({ state: 'filed', after: 'page-1000', count: 2 });
    assert.deepEqual(
      page.map(({ key }) => key),
      ['page-1001', 'page-1002'],
    );
  });
});

describe('records of a rail', () => {
  it('are checked when they are read', async () => {
    const write = (key: string, state: string, stored: unknown) =>
      host.store.write([{ collection: 'odd', key, revision: 0, next: { state, value: stored } }]);
    await write('state', 'other', { amountMinor: '1', note: '' });
    await write('value', 'known', { amountMinor: 'x', note: '' });
    const records = openRecords(host.store, { collection: 'odd', states: ['known'], value });
    await assert.rejects(records.find('state'), /known/);
    await assert.rejects(records.find('value'), /amountMinor/);
    assert.equal(await records.find('none'), undefined);
  });
});

describe('counters', () => {
  it('give out a number once', async () => {
    const counters = openCounters(host.store, { collection: 'counters', first: 1 });
    const [one, two] = [await counters.read('2026-11-20'), await counters.read('2026-11-20')];
    assert.equal(one.next, 1);
    assert.equal(await host.store.write([counters.change(one, 2)]), true);
    assert.equal(await host.store.write([counters.change(two, 2)]), false);
    assert.equal((await counters.read('2026-11-20')).next, 2);
    assert.equal((await counters.read('2026-11-21')).next, 1);
  });
});

describe('the record of an erased recipient', () => {
  it('is not found, keeps its reference taken, and is not decided again', async () => {
    const book = openBook();
    const instruction = instruct('erased');
    await book.enter(instruction, waiting);
    assert.equal(await book.isKnown('erased'), true);
    await host.eraseRecipient('erased');
    assert.equal(await book.find('erased'), undefined);
    assert.equal(await book.isKnown('erased'), true);
    assert.equal(await book.isKnown('never sent'), false);
    const updated = await book.update('erased', () => waiting);
    assert.deepEqual(updated, { record: undefined, isChanged: false });
    assert.deepEqual(await book.cancel(instruction, { tombstone, withdraw }), {
      outcome: 'unknown',
      reason: 'no_answer',
    });
  });
});
