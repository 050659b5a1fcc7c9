import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPayer } from '../../../testing/setups/destinations.ts';
import { openTestHost, type TestHost } from '../../../testing/setups/rail.ts';
import { readRows } from '../../../testing/setups/read-rows.ts';
import type { Rail, RailPrice } from '../contract/contract.ts';
import { openQuotedPrices } from './prices.ts';

let host: TestHost;
before(async () => {
  host = await openTestHost({ name: 'any' });
});
after(() => host.close());

const stopping = new AbortController().signal;
const price: RailPrice = {
  payerKey: 'bank',
  sourceCurrency: 'USD',
  destinationCurrency: 'MXN',
  rate: '19.8',
  fee: [{ upTo: null, fixed: '0.5', basisPoints: 40 }],
};

type Quoting = Pick<Rail, 'name' | 'payers' | 'readPrices' | 'priceRules'>;

function createRail(name: string, readPrices: NonNullable<Rail['readPrices']>): Quoting {
  const priceRules = { readEveryMs: 60_000, ageMsMax: 900_000, bearBasisPoints: 50 };
  return { name, payers: [createPayer('bank')], readPrices, priceRules };
}

async function open(rail: Quoting) {
  const lines: object[] = [];
  const log = (_level: 'warn', _message: string, fields: object) => lines.push(fields);
  const prices = await openQuotedPrices({ db: host.db, rails: [rail], log });
  return { ...prices, lines };
}

const advance = (seconds: number) =>
  readRows(host.db.system, {
    name: '',
    text: `
      update environment set clock_offset_us = clock_offset_us + ${seconds}000000,
        clock_target_us = clock_target_us + ${seconds}000000`,
  });

describe('the prices of a rail', () => {
  it('are read by one process at a time, when they are due, and used by all', async () => {
    let asked = 0;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const rail = createRail('one', async () => {
      asked += 1;
      await held;
      return [{ ...price, rate: `19.${asked}`, holdsUntilMs: 5_000, deliverySeconds: 1.5 }];
    });
    const [first, second] = [await open(rail), await open(rail)];
    const reading = first.read('one', stopping);
    while (asked === 0) await new Promise(setImmediate);
    assert.equal(await second.read('one', stopping), false);
    release();
    assert.equal(await reading, true);
    assert.equal(await second.read('one', stopping), false, 'it is not due');
    assert.equal(asked, 1);
    assert.deepEqual(second.list(), []);
    await second.refresh();
    const [stored] = second.list();
    assert.deepEqual(
      [stored?.rate, stored?.fee, stored?.holds_until?.getTime(), stored?.delivery_seconds],
      ['19.1', price.fee, 5_000, 2],
    );
    const before = second.list();
    await second.refresh();
    assert.equal(second.list(), before, 'the same object until prices change');
    await advance(60);
    assert.equal(await second.read('one', stopping), true);
    assert.equal((await open(rail)).list()[0]?.rate, '19.2', 'a new process has them at once');
  });

  it('stay when the counterparty fails, and are read again at once', async () => {
    let isDown = true;
    const rail = createRail('failing', async () => {
      if (isDown) throw new Error('down');
      return [price];
    });
    const prices = await open(rail);
    await assert.rejects(prices.read('failing', stopping), /down/);
    isDown = false;
    assert.equal(await prices.read('failing', stopping), true);
    await advance(60);
    isDown = true;
    await assert.rejects(prices.read('failing', stopping), /down/);
    assert.equal(prices.list().length, 1);
  });

  it('are due again when a payment was refused at them', async () => {
    const prices = await open(createRail('refusing', async () => [price]));
    assert.equal(await prices.read('refusing', stopping), true);
    await prices.request('refusing');
    assert.equal(await prices.read('refusing', stopping), true);
  });

  it('of a process that lost its lease are not stored', async () => {
    const rail = createRail('slow', async () => {
      await readRows(host.db.system, {
        name: '',
        text: `update rail_price_readings set holder = gen_random_uuid() where rail = 'slow'`,
      });
      return [price];
    });
    const prices = await open(rail);
    assert.equal(await prices.read('slow', stopping), false);
    assert.deepEqual(prices.list(), []);
  });

  it('are left out one by one where they cannot be used', async () => {
    const steps = (...bounds: (string | null)[]) =>
      bounds.map((upTo) => ({ upTo, fixed: '1', basisPoints: 0 }));
    const wrong: Partial<RailPrice>[] = [
      { rate: '0' },
      { rate: 'NaN' },
      { sourceCurrency: 'MXN', rate: '1.01' },
      { sourceCurrency: '???' },
      { fee: [] },
      { fee: steps(null, null) },
      { fee: steps('5', '5', null) },
      { fee: [{ upTo: null, fixed: '-1', basisPoints: 0 }] },
      { deliverySeconds: -1 },
      { holdsUntilMs: Number.NaN },
      { payerKey: 'other' },
      { destinationCurrency: 'EUR' },
    ];
    const fee = [{ upTo: null, fixed: '1', basisPoints: 0.5 }];
    const good = { ...price, sourceCurrency: 'EUR', fee };
    const given = [...wrong.map((changes) => ({ ...price, ...changes })), good, good];
    const prices = await open(createRail('wrong', async () => given));
    assert.equal(await prices.read('wrong', stopping), true);
    assert.deepEqual(
      prices.list().map((one) => [one.source_currency, one.fee[0]?.basisPoints]),
      [['EUR', 1]],
    );
    assert.equal(prices.lines.length, wrong.length);
    assert.deepEqual(prices.lines[0], { rail: 'wrong', fault: 'bank: rate' });
  });
});
